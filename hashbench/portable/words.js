// Words: runs of word characters or of others, white space apart; or all that is between white space.
function words(values, read) {
  const lower = values.lowercase ? lowering(values) : (text) => text;
  const characters = (packed) =>
    unpacked(packed).map(([first, end]) => `\\u{${first.toString(16)}}-\\u{${(end - 1).toString(16)}}`).join("");
  const word = characters(values.word);
  const space = characters(values.space);
  const expression = new RegExp(word ? `[${word}]+|[^${word}${space}]+` : `[^${space}]+`, "gu");
  return (text) => lower(withoutLoneSurrogates(text)).match(expression) ?? [];
}
