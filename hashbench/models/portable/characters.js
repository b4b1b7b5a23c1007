// Characters and bytes: every code point, or every byte of UTF-8, is a token, and its code its number.
function characters(values, read) {
  return (text) => Array.from(withoutLoneSurrogates(text));
}

function codepoints(values, read) {
  return (token) => [Array.from(token).length === 1 ? token.codePointAt(0) : values.other];
}

function textBytes(values, read) {
  return (text) => Array.from(new TextEncoder().encode(withoutLoneSurrogates(text)), (byte) => String.fromCharCode(byte));
}

function byteRows(values, read) {
  return (token) => [token.length === 1 && token.charCodeAt(0) < 256 ? values.first_row + token.charCodeAt(0) : values.unknown_row];
}
