// Rows of a vocabulary: the place of a known token, or the row of the unknown one.
function vocabulary(values, read) {
  const rows = new Map(JSON.parse(read("rows.json")).map((token, i) => [token, values.first_row + i]));
  return (token) => [rows.get(token) ?? values.unknown_row];
}
