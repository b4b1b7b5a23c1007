// Words: runs of word characters or of others, white space apart; or all that is between white space.
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
