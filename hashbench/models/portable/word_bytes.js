// Codes made of the bytes of a word: their ids, hashed n-grams of them, one number for all, or rows that it chooses.
function wordBytes(values, read) {
  const bytes = new TextEncoder();
  return (token) => {
    const ids = Array.from(bytes.encode(token).slice(0, values.length - 2), (byte) => byte + 1);
    const framed = [values.begin + 1, ...ids, values.end + 1];
    return framed.concat(Array(values.length - framed.length).fill(0));
  };
}

function byteNgrams(values, read) {
  const { frame, offset, sizes, num_buckets: buckets, signs, most, pad } = values;
  const bytes = new TextEncoder();
  const powers = [1n];
  while (powers.length < Math.max(...sizes)) powers.push(powers.at(-1) * BigInt(values.prime));
  return (token) => {
    const ids = [frame, ...Array.from(bytes.encode(token), (byte) => byte + offset), frame].slice(0, most);
    const found = [];
    ids.forEach((own, i) => {
      found.push(own);
      sizes.forEach((size, s) => {
        if (i + 1 < size && !pad) return found.push(-1);
        const missing = Math.max(size - i - 1, 0);
        const window = ids.slice(Math.max(i + 1 - size, 0), i + 1);
        const total = window.reduce((sum, each, j) => sum + BigInt(each) * powers[missing + j], 0n);
        const row = Number(BigInt.asIntN(64, total) % BigInt(buckets));
        const number = BigInt.asUintN(64, total);
        return found.push(signedRow(row < 0 ? row + buckets : row, buckets, number, s, signs));
      });
    });
    return found.concat(Array(most * (1 + sizes.length) - found.length).fill(-1));
  };
}

// Numbers of 64 bits are BigInt.
function wordKeys(values, read) {
  const bytes = new TextEncoder();
  return (token) => [new DataView(md5(bytes.encode(token)).buffer).getBigInt64(0, true)];
}

function hashRows(values, read) {
  const { num_buckets: buckets, hashes: count, factor_rows: factorRows, nested, signs } = values;
  const nth = (key, i, n) => Number(mix64(BigInt.asUintN(64, key + BigInt(i + 1) * GAMMA_64)) % BigInt(n));
  return (token) => {
    let key = new DataView(md5(utf8.encode(token)).buffer).getBigUint64(0, true);
    const factors = nth(key, 0, factorRows);
    if (nested) key = BigInt(factors);
    const rows = Array.from({ length: count }, (_, i) => {
      const row = nth(key, 1 + i, buckets);
      return signs ? row + buckets * nth(key, 1 + count + i, signs) : row;
    });
    return [factors, ...rows];
  };
}
