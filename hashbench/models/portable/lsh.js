// LSH of HashFormers: signs or the best offset of Gaussian numbers over the character n-grams of a token.
// What numpy.random.RandomState(seed).standard_normal gives: MT19937 seeded by init_genrand, the polar method.
function drawnGaussians(seed, n) {
  const state = new Uint32Array(624);
  state[0] = seed;
  for (let i = 1; i < 624; i++) state[i] = Math.imul(1812433253, state[i - 1] ^ (state[i - 1] >>> 30)) + i;
  let at = 624;
  const next = () => {
    if (at === 624) {
      for (let i = 0; i < 624; i++) {
        const y = (state[i] & 0x80000000) | (state[(i + 1) % 624] & 0x7fffffff);
        state[i] = state[(i + 397) % 624] ^ (y >>> 1) ^ (y & 1 ? 0x9908b0df : 0);
      }
      at = 0;
    }
    let y = state[at++];
    y ^= y >>> 11;
    y ^= (y << 7) & 0x9d2c5680;
    y ^= (y << 15) & 0xefc60000;
    return (y ^ (y >>> 18)) >>> 0;
  };
  const uniform = () => {
    const high = next() >>> 5;
    return (high * 67108864 + (next() >>> 6)) / 9007199254740992;
  };
  const found = new Float64Array(n);
  for (let i = 0; i < n; ) {
    const x = 2 * uniform() - 1;
    const y = 2 * uniform() - 1;
    const squares = x * x + y * y;
    if (squares >= 1 || squares === 0) continue;
    const factor = Math.sqrt((-2 * Math.log(squares)) / squares);
    found[i++] = factor * y;
    if (i < n) found[i++] = factor * x;
  }
  return found;
}

function knownNgrams(values, read) {
  const ranks = new Map(JSON.parse(read("ngrams.json")).map((ngram, rank) => [ngram, rank]));
  return (token) => {
    const points = Array.from(token);
    const counts = new Map();
    for (let length = 1; length <= values.longest; length++) {
      for (let start = 0; start + length <= points.length; start++) {
        const rank = ranks.get(points.slice(start, start + length).join(""));
        if (rank !== undefined) counts.set(rank, (counts.get(rank) ?? 0) + 1);
      }
    }
    return Array.from(counts).sort((one, other) => one[0] - other[0]);
  };
}

function lshBits(values, read) {
  const features = knownNgrams(values, read);
  const { bits, zero_bit: zero } = values;
  let planes = null;
  return (token) => {
    planes ??= drawnGaussians(values.seed, values.features * bits);
    const scores = new Float64Array(bits);
    for (const [rank, count] of features(token)) {
      for (let j = 0; j < bits; j++) scores[j] += count * planes[rank * bits + j];
    }
    return Array.from(scores, (score) => Number(score > 0 || (score === 0 && zero === 1)));
  };
}

function lshRows(values, read) {
  const features = knownNgrams(values, read);
  const { num_buckets: buckets, dimension } = values;
  let eta = null;
  return (token) => {
    eta ??= drawnGaussians(values.seed, dimension);
    const scores = new Float64Array(buckets);
    for (const [rank, count] of features(token)) {
      for (let i = 0; i < buckets; i++) scores[i] += count * eta[(rank + i) % dimension];
    }
    let best = 0;
    let bestScore = -Infinity;
    scores.forEach((score, i) => {
      const signed = values.negate_half && i >= Math.floor(buckets / 2) ? -score : score;
      if (signed > bestScore) [best, bestScore] = [i, signed];
    });
    return [values.first_row + best];
  };
}
