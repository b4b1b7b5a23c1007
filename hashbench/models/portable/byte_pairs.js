// Byte-level BPE: a text is cut into runs of letters, figures or others, and their bytes are joined pair by pair.
const KNOWN_WORDS = 20000; // whose pieces are kept

// The character with which each byte is spelled; a byte that no character shows has one behind them (GPT-2).
function byteLetters() {
  const isShown = (byte) => (byte >= 33 && byte < 127) || (byte >= 161 && byte < 173) || byte >= 174;
  let hidden = 256;
  return Array.from({ length: 256 }, (_, byte) => String.fromCharCode(isShown(byte) ? byte : hidden++));
}

function bytePairs(values, read) {
  const ranks = new Map(read("merges.txt").split("\n").filter(Boolean).map((pair, rank) => [pair, rank]));
  const never = ranks.size;
  const letters = byteLetters();
  const textOf = reading(values);
  const lower = lowerTable(values.lower, values.lower_others);
  const [space, letter, figure] = ["space", "letter", "figure"].map((kind) => charactersOf(values[kind]));
  const words = new RegExp(
    `'s|'t|'re|'ve|'m|'ll|'d| ?[${letter}]+| ?[${figure}]+| ?[^${space}${letter}${figure}]+|[${space}]+(?![^${space}])|[${space}]+`,
    "gu",
  );
  const known = new Map();
  const rankOf = (first, second) => ranks.get(`${first} ${second}`) ?? never;
  // The parts with the best pair joined wherever it is, up to the place where that makes a better one.
  const joinedOnce = (parts, best) => {
    const made = [];
    let place = 0;
    while (place < parts.length) {
      if (place + 1 < parts.length && rankOf(parts[place], parts[place + 1]) === best) {
        made.push(parts[place] + parts[place + 1]);
        place += 2;
        const last = made.length - 1;
        const before = last > 0 ? rankOf(made[last - 1], made[last]) : never;
        const behind = place < parts.length ? rankOf(made[last], parts[place]) : never;
        if (Math.min(before, behind) < best) return made.concat(parts.slice(place));
      } else {
        made.push(parts[place++]);
      }
    }
    return made;
  };
  const cut = (word) => {
    let parts = Array.from(new TextEncoder().encode(word), (byte) => letters[byte]);
    while (parts.length > 1) {
      let best = never;
      for (let i = 0; i + 1 < parts.length; i++) best = Math.min(best, rankOf(parts[i], parts[i + 1]));
      if (best === never) break;
      parts = joinedOnce(parts, best);
    }
    return parts;
  };
  const pieces = (word) => {
    if (!known.has(word)) {
      if (known.size >= KNOWN_WORDS) known.clear();
      known.set(word, cut(word));
    }
    return known.get(word);
  };
  return (text) => {
    let made = Array.from(textOf(text), (point) => lower.get(point) ?? point).join("");
    if (values.prefix_space && made && !made.startsWith(" ")) made = ` ${made}`;
    return (made.match(words) ?? []).flatMap(pieces);
  };
}
