// Features -1, 0 and 1 of a word by a hash of its bytes, four in a byte.
const GOLDEN = 0x9e3779b97f4a7835n;
const NULL_WORD = new TextEncoder().encode("<null>"); // what the empty word is hashed as

function ternaryProjection(values, read) {
  const { width, bits } = values;
  return (token) => {
    const spelled = utf8.encode(token);
    const data = spelled.length ? spelled : NULL_WORD;
    const numbers = bits ? xfixNumbers(data, bits, width / 8) : murmurNumbers(data, width / 8);
    const view = new DataView(new ArrayBuffer(width));
    numbers.forEach((number, i) => view.setBigUint64(8 * i, number, true));
    return Array.from(new Uint8Array(view.buffer));
  };
}

function shiftMixed(value) {
  const low = low64(value);
  return low ^ (low >> 47n);
}

// MurmurHash64A, a mix of its inner states, and further numbers made of these two.
function murmurNumbers(data, nNumbers) {
  let h = low64(BigInt(data.length) * A_FACTOR);
  let g = 0n;
  const whole = data.length & ~7;
  for (let at = 0; at < whole; at += 8) {
    h = low64((h ^ low64(shiftMixed(little(data, at, at + 8) * A_FACTOR) * A_FACTOR)) * A_FACTOR);
    g ^= h;
  }
  if (whole < data.length) {
    h = low64((h ^ little(data, whole, data.length)) * A_FACTOR);
    g ^= h;
  }
  h = low64(shiftMixed(h) * A_FACTOR);
  const numbers = [shiftMixed(h), low64(shiftMixed((g ^ h) * GOLDEN) * GOLDEN)];
  while (numbers.length < nNumbers) {
    const [low, high] = numbers.slice(-2);
    h = low64(shiftMixed(low) * A_FACTOR);
    numbers.push(low64(shiftMixed((high ^ h) * GOLDEN) * GOLDEN), shiftMixed(h));
  }
  return numbers;
}

// The lowest bits of each step of running products from both ends.
function xfixNumbers(data, bits, nNumbers) {
  const step = BigInt(bits);
  const mask = (1n << step) - 1n;
  let [front, back, at] = [A_FACTOR, GOLDEN, 0];
  let [low, high] = [low64(BigInt(data.length) * A_FACTOR), low64(BigInt(data.length) * GOLDEN)];
  const numbers = [];
  while (numbers.length < nNumbers) {
    for (let i = numbers.length ? 0 : 1; i < 64 / bits; i++) {
      front = low64(((front << 8n) | BigInt(data[at])) * A_FACTOR);
      back = low64(((back << 8n) | BigInt(data[data.length - 1 - at])) * GOLDEN);
      low = low64((low << step) | (front & mask));
      high = low64((high << step) | (back & mask));
      at = (at + 1) % data.length;
    }
    numbers.push(low, high);
  }
  return numbers;
}
