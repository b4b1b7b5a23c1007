// Signatures of words: numbers of buckets by several seeds of MurmurHash3.
function signature(values, read) {
  const modulus = BigInt(values.num_buckets - 1);
  const bytes = new TextEncoder();
  return (token) => {
    const data = bytes.encode(token);
    return Array.from({ length: values.hashes }, (_, seed) => {
      const [low, high] = murmur3(data, seed);
      return Number((low + (high << 64n)) % modulus) + 1;
    });
  };
}
