// BERT's word pieces: text normalised character by character, words cut greedily into the longest pieces.
const [HANGUL, HANGUL_END, VOWELS, TAILS] = [0xac00, 0xd7a4, 21, 28];

function characterTable(values) {
  const table = lowerTable(values.rules, values.others);
  if (values.splits_hangul) {
    for (let point = HANGUL; point < HANGUL_END; point++) {
      const tail = (point - HANGUL) % TAILS;
      const rest = Math.floor((point - HANGUL) / TAILS);
      const parts = [0x1100 + Math.floor(rest / VOWELS), 0x1161 + (rest % VOWELS)];
      if (tail) parts.push(0x11a7 + tail);
      table.set(String.fromCodePoint(point), String.fromCodePoint(...parts));
    }
  }
  for (const [kind, made] of [["dropped", () => ""], ["spaces", () => " "], ["alone", (point) => ` ${point} `]]) {
    for (const point of members(values[kind])) table.set(point, made(point));
  }
  return table;
}

function wordpieces(values, read) {
  const pieces = new Set(Object.keys(JSON.parse(read("tokenizer.json")).model.vocab));
  const table = characterTable(values);
  const punctuation = members(values.punctuation);
  const textOf = reading(values);
  const wordsOf = (text) => {
    const normal = Array.from(textOf(text), (point) => table.get(point) ?? point).join("");
    const spaced = Array.from(normal, (point) => (punctuation.has(point) ? ` ${point} ` : point)).join("");
    return spaced.split(" ").filter(Boolean);
  };
  const cut = (word) => {
    const points = Array.from(word);
    if (points.length > values.longest) return [values.unknown];
    const found = [];
    let start = 0;
    while (start < points.length) {
      const prefix = start ? values.marker : "";
      let end = points.length;
      while (end > start && !pieces.has(prefix + points.slice(start, end).join(""))) end--;
      if (end === start) return [values.unknown];
      found.push(prefix + points.slice(start, end).join(""));
      start = end;
    }
    return found;
  };
  return (text) => wordsOf(text).flatMap(cut);
}
