// Byte trigrams of a word between two spaces, each with several rows of a table: T-FREE.
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
