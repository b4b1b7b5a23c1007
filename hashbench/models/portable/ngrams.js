// N-grams of a word as rows of a table: fastText's subwords, floret's, and the byte trigrams of T-FREE.
// FNV-1a of 32 bits: each byte is sign-extended.
const fnv = (data) => data.reduce((h, byte) => Math.imul(h ^ ((byte << 24) >> 24), 16777619) >>> 0, 2166136261);

function ngramBuckets(values, read) {
  const { num_buckets: buckets, hashes, signs, most, minn, maxn, seed } = values;
  const bytes = new TextEncoder();
  const rowsOf = (entry) => {
    if (values.hash === "fnv") {
      const h = fnv(entry);
      return [signedRow(h % buckets, buckets, BigInt(h), 0, signs)];
    }
    const halves = murmur3(entry, seed);
    return Array.from({ length: hashes }, (_, i) =>
      signedRow(quarter(halves, i) % buckets, buckets, halves[0], i, signs),
    );
  };
  return (token) => {
    const framed = ["<", ...token, ">"];
    const entries = values.word ? [framed.join("")] : [];
    for (let length = minn; length <= Math.min(maxn, framed.length); length++) {
      for (let i = 0; i + length <= framed.length && entries.length < most; i++) {
        if (length > 1 || (i > 0 && i < framed.length - 1)) entries.push(framed.slice(i, i + length).join(""));
      }
    }
    const found = entries.flatMap((entry) => rowsOf(bytes.encode(entry)));
    return found.concat(Array(most * hashes - found.length).fill(-1));
  };
}

function trigrams(values, read) {
  const { num_buckets: buckets, hashes, lowercase_rows: shared, signs, most, remembered } = values;
  const bytes = new TextEncoder();
  const known = new Map();
  const distinctRows = (number) => {
    const found = [];
    for (let k = 0; k < hashes; k++) {
      for (let j = 0; found.length === k; j++) {
        const digest = md5(bytes.encode(`${number}_${k}_${j}`));
        const row = digest.reduce((rest, byte) => (rest * 256 + byte) % buckets, 0);
        if (!found.includes(row)) found.push(row);
      }
    }
    return found.sort((a, b) => a - b);
  };
  // Its lower-case form; -1 where it holds anything but ASCII letters and spaces, or no capital.
  const lowered = (number) => {
    const three = [number & 255, (number >> 8) & 255, number >> 16];
    const small = three.map((byte) => (byte >= 65 && byte <= 90 ? byte + 32 : byte));
    if (!small.every((byte) => byte === 32 || (byte >= 97 && byte <= 122))) return -1;
    const made = small[0] | (small[1] << 8) | (small[2] << 16);
    return made === number ? -1 : made;
  };
  const rowsOf = (number) => {
    const rows = distinctRows(number);
    const small = shared ? lowered(number) : -1;
    if (small >= 0) rows.splice(hashes - shared, shared, ...distinctRows(small).slice(hashes - shared));
    return rows.map((row, k) => signedRow(row, buckets, BigInt(number), k, signs));
  };
  return (token) => {
    const framed = [32, ...bytes.encode(token), 32];
    const windows = new Set();
    for (let i = 0; i + 2 < framed.length && windows.size < most; i++) {
      windows.add(framed[i] | (framed[i + 1] << 8) | (framed[i + 2] << 16));
    }
    const found = [];
    for (const number of windows) {
      if (!known.has(number)) {
        if (known.size >= remembered) known.clear();
        known.set(number, rowsOf(number));
      }
      found.push(...known.get(number));
    }
    return found.concat(Array(most * hashes - found.length).fill(-1));
  };
}
