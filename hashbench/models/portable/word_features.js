// spaCy's four features of a word and the rows of their tables.
function wordFeatures(values, read) {
  const kinds = [[members(values.upper), "X"], [members(values.alpha), "x"], [members(values.digits), "d"]];
  const { long_shape: longest, longest_run: run, hashes, signs } = values;
  const bytes = new TextEncoder();
  const shown = (character) => (kinds.find(([kind]) => kind.has(character)) ?? [null, character])[1];
  const shape = (points) => {
    if (points.length >= longest) return values.long_text;
    const found = [];
    for (const letter of points.map(shown)) {
      if (found.length < run || found.slice(-run).some((each) => each !== letter)) found.push(letter);
    }
    return found.join("");
  };
  const lower = lowering(values);
  const makers = {
    norm: (points) => lower(points.join("")),
    prefix: (points) => points.slice(0, 1).join(""),
    suffix: (points) => points.slice(-values.suffix_length).join(""),
    shape,
  };
  return (token) => {
    const points = Array.from(token);
    return values.tables.flatMap(([name, buckets, seed]) => {
      const number = murmur64a(bytes.encode(makers[name](points)), values.string_seed);
      const halves = murmur3(Uint8Array.from({ length: 8 }, (_, i) => Number((number >> BigInt(8 * i)) & 255n)), seed);
      return Array.from({ length: hashes }, (_, i) =>
        signedRow(quarter(halves, i) % buckets, buckets, number, i, signs),
      );
    });
  };
}
