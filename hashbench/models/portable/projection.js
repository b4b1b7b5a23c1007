// The projection of ProFormer: sums of the sides of hashed hyperplanes over the n-grams of a word.
function wordFeatures(word, longest) {
  const marked = Array.from(`^${word}$`);
  const found = [];
  for (let start = 0; start < marked.length; start++) {
    for (let end = start + 1; end <= Math.min(start + longest, marked.length); end++) {
      if (end - start > 1 || (start > 0 && start < marked.length - 1)) found.push("n:" + marked.slice(start, end).join(""));
    }
  }
  for (let start = 0; start + 2 < marked.length; start++) found.push("s:" + marked[start] + marked[start + 2]);
  return found;
}

function projection(values, read) {
  const lower = lowering(values);
  const { bits, places, longest } = values;
  const flip = BigInt(values.flip);
  const blocks = (bits + 63) >> 6;
  return (token) => {
    const word = Array.from(lower(token)).slice(0, values.most_characters).join("");
    const features = wordFeatures(word, longest);
    const ones = new Int32Array(places * blocks * 64);
    for (const feature of features) {
      const digest = new DataView(md5(utf8.encode(feature)).buffer);
      let value = digest.getBigUint64(0, true) ^ flip;
      for (let block = 0; block < places * blocks; block++) {
        value = BigInt.asUintN(64, value + GAMMA_64);
        const sides = mix64(value);
        const [low, high] = [Number(sides & 0xffffffffn), Number(sides >> 32n)];
        for (let j = 0; j < 32; j++) {
          ones[64 * block + j] += (low >>> j) & 1;
          ones[64 * block + 32 + j] += (high >>> j) & 1;
        }
      }
    }
    const sums = [];
    for (let place = 0; place < places; place++) {
      for (let j = 0; j < bits; j++) sums.push(2 * ones[64 * place * blocks + j] - features.length);
    }
    return sums;
  };
}
