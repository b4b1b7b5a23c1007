// Tokens: words, characters and bytes; and tokens whose code is their number.
function words(values, read) {
  const lower = values.lowercase ? lowering(values) : (text) => text;
  const textOf = reading(values);
  const expression = new RegExp(patternOf(values), "gu");
  return (text) => lower(textOf(text)).match(expression) ?? [];
}

// The words as a regular expression in which every class of characters is spelled out.
function patternOf(values) {
  if (values.alternatives) return values.alternatives.map(([packed, many]) => `[${charactersOf(packed)}]${many}`).join("|");
  const word = charactersOf(values.word);
  const space = charactersOf(values.space);
  if (values.letter) {
    const letter = charactersOf(values.letter);
    const mark = charactersOf(values.mark);
    return `[${letter}][${mark}]*|[${word}${mark}]+|[^${word}${space}${letter}${mark}][^${word}${space}${letter}]*`;
  }
  return word ? `[${word}]+|[^${word}${space}]+` : `[^${space}]+`;
}

function characters(values, read) {
  const textOf = reading(values);
  return (text) => Array.from(textOf(text));
}

function codepoints(values, read) {
  return (token) => [Array.from(token).length === 1 ? token.codePointAt(0) : values.other];
}

function textBytes(values, read) {
  const textOf = reading(values);
  return (text) => Array.from(new TextEncoder().encode(textOf(text)), (byte) => String.fromCharCode(byte));
}

function byteRows(values, read) {
  return (token) => [token.length === 1 && token.charCodeAt(0) < 256 ? values.first_row + token.charCodeAt(0) : values.unknown_row];
}

function vocabulary(values, read) {
  const rows = new Map(JSON.parse(read("rows.json")).map((token, i) => [token, values.first_row + i]));
  return (token) => [rows.get(token) ?? values.unknown_row];
}
