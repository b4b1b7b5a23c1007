// Character n-grams of a framed word as rows of a table: fastText's subwords and floret's.
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
