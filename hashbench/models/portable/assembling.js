// From tokens and codes to the inputs of a graph: special tokens, truncation, pairs, distinct tokens, padding.
function lengthsKept(first, second, budget, truncation) {
  const less = Math.floor(budget / 2);
  const more = budget - less;
  let halves;
  if (truncation === "balanced") halves = [less, less];
  else if (truncation === "longest_first") halves = [more, less];
  else halves = first > second ? [more, less] : [less, more];
  if (first + second <= budget) return [first, second];
  if (first >= halves[0] && second >= halves[1]) return halves;
  return first > second ? [budget - second, second] : [first, budget - first];
}

class TextSide {
  constructor(tokenize, encode, values) {
    Object.assign(this, { tokenize, encode, values, known: new Map() });
  }

  code(token) {
    if (!this.known.has(token)) {
      if (this.known.size >= this.values.remembered) this.known.clear();
      this.known.set(token, this.encode(token));
    }
    return this.known.get(token);
  }

  // Texts, or pairs of texts -> {codes, positions[, segments]} as arrays of arrays.
  inputs(texts) {
    const places = new Map();
    const rows = texts.map((text) => this.row(typeof text === "string" ? [text] : text, places));
    const { multiple, pad, width, shortest, has_segments: hasSegments } = this.values;
    const longest = Math.max(shortest, ...rows.map(([positions]) => positions.length));
    const length = Math.ceil(longest / multiple) * multiple;
    const filled = (row, value) => row.concat(Array(length - row.length).fill(value));
    const codes = Array.from(places.keys(), (token) => this.code(token));
    const found = {
      codes: codes.length ? codes : [Array(width).fill(0)],
      positions: rows.map(([positions]) => filled(positions, pad)),
    };
    if (hasSegments) found.segments = rows.map(([, segments]) => filled(segments, 0));
    return found;
  }

  row(texts, places) {
    const form = texts.length === 2 ? this.values.pair : this.values.single;
    const budget = this.values.max_length - form.filter((part) => typeof part === "number").length;
    const tokens = texts.map(this.tokenize);
    const kept =
      tokens.length === 2
        ? lengthsKept(tokens[0].length, tokens[1].length, budget, this.values.truncation)
        : [Math.min(tokens[0].length, budget)];
    const positions = [];
    const segments = [];
    let segment = 0;
    for (const part of form) {
      if (part === "B") segment = 1;
      let added = [part];
      if (typeof part !== "number") {
        const which = "AB".indexOf(part);
        added = tokens[which].slice(0, kept[which]).map((token) => {
          if (!places.has(token)) places.set(token, places.size);
          return this.values.specials + places.get(token);
        });
      }
      positions.push(...added);
      segments.push(...added.map(() => segment));
    }
    return [positions, segments];
  }
}
