// Tokens between spaces, as the projection of PRADO and pQRNN reads them.
function spaces(values, read) {
  const textOf = reading(values);
  const apart = cutUp(values);
  const lowered = lowerTable(values.lower, values.lower_others);
  lowered.set("\ufffd", "");
  const kept = values.kept === undefined ? null : members(values.kept);
  const tokenOf = (part) =>
    Array.from(part, (point) => lowered.get(point) ?? point)
      .filter((point) => !kept || kept.has(point))
      .join("");
  return (text) => apart(textOf(text)).map(tokenOf);
}

// From a text to its parts as they are spelled, but for repeated patterns.
function cutUp(values) {
  const repeated = values.contract ? [0, 1, 2].map((n) => new RegExp(`([^ 0-9][^ ]{${n}})\\1{2,}`, "gu")) : [];
  const marks = Array.from(values.separators, (mark) => `\\u{${mark.codePointAt(0).toString(16)}}`).join("");
  const behind = marks && new RegExp(`(?!')([${marks}])(?=[^ ])`, "gu");
  const before = marks && new RegExp(`(?<=[^ ])([${marks}])`, "gu");
  return (text) => {
    let spaced = repeated.reduce((shorter, pattern) => shorter.replace(pattern, "$1$1"), text);
    if (marks) spaced = spaced.replace(behind, "$1 ").replace(before, " $1");
    return values.split ? spaced.split(" ").filter(Boolean) : Array.from(spaced);
  };
}
