// Scores of texts by hashed words: a hash of each word, and perhaps of each pair of neighbours, and one linear layer.
const rotated = (x, bits) => (x << bits) | (x >>> (32 - bits));
const mixed32 = (k) => Math.imul(rotated(Math.imul(k, 0xcc9e2d51), 15), 0x1b873593);

// MurmurHash3_x86_32 of a text's UTF-8 with seed 0, as a signed number.
function murmur32(text) {
  const data = new TextEncoder().encode(text);
  const whole = data.length & ~3;
  let h = 0;
  for (let at = 0; at < whole; at += 4) {
    h ^= mixed32(data[at] | (data[at + 1] << 8) | (data[at + 2] << 16) | (data[at + 3] << 24));
    h = (Math.imul(rotated(h, 13), 5) + 0xe6546b64) | 0;
  }
  let rest = 0;
  for (let at = data.length - 1; at >= whole; at--) rest = (rest << 8) | data[at];
  h ^= mixed32(rest) ^ data.length;
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return h ^ (h >>> 16);
}

class HashedWords {
  // `weights`: bytes, those of each output behind each other.
  constructor(values, weights) {
    this.values = values;
    this.tokenize = words(values.tokenizer, null);
    this.weights = new Int8Array(weights.buffer, weights.byteOffset, weights.byteLength);
  }

  // The sum of the signs of the words of an input in each bucket that has one.
  counts(tokens) {
    const features = [...tokens];
    if (this.values.pairs) for (let i = 1; i < tokens.length; i++) features.push(`${tokens[i - 1]} ${tokens[i]}`);
    const counts = new Map();
    for (const feature of features) {
      const h = murmur32(feature);
      const bucket = Math.abs(h) % this.values.buckets;
      counts.set(bucket, (counts.get(bucket) ?? 0) + (h >= 0 ? 1 : -1));
    }
    return counts;
  }

  // The score of each output for a text, or for the texts of a pair, which are read one behind the other.
  scores(...texts) {
    const counts = this.counts(this.tokenize(texts.join(" ")));
    return this.values.scales.map((scale, output) => {
      let sum = 0;
      for (const [bucket, n] of counts) {
        sum += Math.sign(n) * Math.log1p(Math.abs(n)) * this.weights[output * this.values.buckets + bucket];
      }
      return this.values.intercepts[output] + scale * sum;
    });
  }

  // The label of an input, or the value of a regression, or the list of labels where it may have several.
  answer(...texts) {
    const scores = this.scores(...texts);
    if (this.values.multi_label) return this.values.labels.filter((_, i) => scores[i] > 0);
    if (!this.values.labels.length) return scores[0];
    return this.values.labels[scores.length === 1 ? Number(scores[0] > 0) : scores.indexOf(Math.max(...scores))];
  }
}
