// Letters: what is a word character, and what its lower case is, by the Unicode version that a model was trained with.
const SIGMA = "\u03a3";
const FINAL_SIGMA = "\u03c2";

// Ranges [first, end), packed in base 36 as distances and lengths.
function unpacked(packed) {
  const numbers = packed.split(" ").filter(Boolean).map((number) => parseInt(number, 36));
  const found = [];
  let at = 0;
  for (let i = 0; i < numbers.length; i += 2) {
    found.push([at + numbers[i], at + numbers[i] + numbers[i + 1]]);
    at += numbers[i] + numbers[i + 1];
  }
  return found;
}

function members(packed) {
  const found = new Set();
  for (const [first, end] of unpacked(packed)) {
    for (let point = first; point < end; point++) found.add(String.fromCodePoint(point));
  }
  return found;
}

// Packed ranges as a regular expression writes a set of characters.
function charactersOf(packed) {
  return unpacked(packed).map(([first, end]) => `\\u{${first.toString(16)}}-\\u{${(end - 1).toString(16)}}`).join("");
}

// From a text to what its tokens are made of: well-formed, without what is left out, in a normal form. For tokens in
// lower case, a text whose lower case is not in the form is lower-cased, but for capital sigmas. The device normalises
// the characters that the Unicode of the training knew; their normal forms are the same in all later versions.
function reading(values) {
  const dropped = values.dropped && new RegExp(`[${charactersOf(values.dropped)}]`, "gu");
  const known = values.known && new RegExp(`[${charactersOf(values.known)}]+`, "gu");
  const table = values.form_lower && lowerTable(values.form_lower.lower, values.form_lower.lower_others);
  if (table) table.delete(SIGMA);
  const inForm = (text) => (known ? text.replace(known, (part) => part.normalize(values.form)) : text);
  return (text) => {
    let read = withoutLoneSurrogates(text);
    if (dropped) read = read.replace(dropped, "");
    read = inForm(read);
    if (!table) return read;
    const lowered = Array.from(read, (point) => table.get(point) ?? point).join("");
    const again = inForm(lowered);
    return again === lowered ? read : again;
  };
}

function lowerTable(rules, others) {
  const table = new Map(Object.entries(others));
  for (const [first, count, step, delta] of rules) {
    for (let i = 0; i < count; i++) {
      table.set(String.fromCodePoint(first + i * step), String.fromCodePoint(first + i * step + delta));
    }
  }
  return table;
}

// Lower-cases a text as Python's str.lower does, capital sigma at a word's end included.
function lowering(values) {
  const table = lowerTable(values.lower, values.lower_others);
  const ignorable = members(values.ignorable);
  const cased = members(values.cased);
  const isFinal = (points, i) => {
    let before = i - 1;
    let after = i + 1;
    while (before >= 0 && ignorable.has(points[before])) before--;
    while (after < points.length && ignorable.has(points[after])) after++;
    return before >= 0 && cased.has(points[before]) && (after === points.length || !cased.has(points[after]));
  };
  return (text) => {
    const points = Array.from(text);
    return points
      .map((point, i) => (point === SIGMA && isFinal(points, i) ? FINAL_SIGMA : (table.get(point) ?? point)))
      .join("");
  };
}

// The text with each unpaired surrogate replaced by U+FFFD.
function withoutLoneSurrogates(text) {
  return text.replace(/[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g, "\ufffd");
}
