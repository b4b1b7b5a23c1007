// The n-gram pooling hash of EELBERT: the mean of folded products of rolling hashes with seeds, one part an order.
function ngramPooling(values, read) {
  const { base, modulus, marker, scale, seeds, partition } = values;
  // Products of two numbers below 2^31 pass 2^53: one factor is cut into halves of 16 bits.
  const product = (a, b) => ((((a * (b >>> 16)) % modulus) * 65536) % modulus + a * (b & 65535)) % modulus;
  const half = Math.floor(modulus / 2);
  return (token) => {
    if (marker && token.startsWith(marker) && token.length > marker.length) token = token.slice(marker.length);
    const points = Array.from(token, (character) => character.codePointAt(0));
    const vector = [];
    let first = 0;
    partition.forEach((size, i) => {
      const signatures = [];
      for (let start = 0; start + i < points.length; start++) {
        let signature = 0;
        for (let k = start; k <= start + i; k++) signature = (product(signature, base) + points[k]) % modulus;
        signatures.push(signature);
      }
      const divisor = Math.max(signatures.length, 1) * modulus;
      for (const seed of seeds.slice(first, first + size)) {
        let total = 0;
        for (const signature of signatures) {
          const found = product(signature, seed);
          total += found > half ? found - modulus : found;
        }
        vector.push(Math.fround(((2.0 * total) / divisor) * scale));
      }
      first += size;
    });
    return vector;
  };
}
