// Tokens between spaces, as the projection of PRADO and pQRNN reads them.
function spaces(values, read) {
  const textOf = reading(values);
  const lowered = lowerTable(values.lower, values.lower_others);
  lowered.set("\ufffd", "");
  const tokenOf = (part) => Array.from(part, (point) => lowered.get(point) ?? point).join("");
  return (text) => textOf(text).split(" ").filter(Boolean).map(tokenOf);
}
