// Tokens: words, characters and bytes; and tokens whose code is their number.
function words(values, read) {
  const lower = values.lowercase ? lowering(values) : (text) => text;
  const characters = (packed) =>
    unpacked(packed).map(([first, end]) => `\\u{${first.toString(16)}}-\\u{${(end - 1).toString(16)}}`).join("");
  const word = characters(values.word ?? "");
  const space = characters(values.space ?? "");
  const classes = word ? `[${word}]+|[^${word}${space}]+` : `[^${space}]+`;
  const given = (values.alternatives ?? []).map(([packed, many]) => `[${characters(packed)}]${many}`).join("|");
  const expression = new RegExp(given || classes, "gu");
  return (text) => lower(withoutLoneSurrogates(text)).match(expression) ?? [];
}

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

function vocabulary(values, read) {
  const rows = new Map(JSON.parse(read("rows.json")).map((token, i) => [token, values.first_row + i]));
  return (token) => [rows.get(token) ?? values.unknown_row];
}
