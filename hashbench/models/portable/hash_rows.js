// Rows and a row of factors, chosen by hashes of a token: hash embeddings.
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
