// Characters: every code point of a text is a token, and its own code.
function characters(values, read) {
  return (text) => Array.from(withoutLoneSurrogates(text));
}

function codepoints(values, read) {
  return (token) => [Array.from(token).length === 1 ? token.codePointAt(0) : values.other];
}
