// Hashes of tokens and numbers: HMAC-MD5 with its bits and rows, SplitMix64, MurmurHash64A and MurmurHash3 x64.
const MD5_SHIFTS = [7, 12, 17, 22, 5, 9, 14, 20, 4, 11, 16, 23, 6, 10, 15, 21];
const MD5_SINES = Array.from({ length: 64 }, (_, i) => Math.floor(Math.abs(Math.sin(i + 1)) * 2 ** 32) | 0);

function md5(bytes) {
  const blocks = new Uint8Array(((bytes.length + 8) >> 6 << 6) + 64);
  blocks.set(bytes);
  blocks[bytes.length] = 0x80;
  const view = new DataView(blocks.buffer);
  view.setUint32(blocks.length - 8, (bytes.length * 8) >>> 0, true);
  view.setUint32(blocks.length - 4, Math.floor(bytes.length / 2 ** 29), true);
  const state = [0x67452301, 0xefcdab89 | 0, 0x98badcfe | 0, 0x10325476];
  for (let start = 0; start < blocks.length; start += 64) {
    let [a, b, c, d] = state;
    for (let i = 0; i < 64; i++) {
      const turn = i >> 4;
      let mixed;
      let k;
      if (turn === 0) [mixed, k] = [(b & c) | (~b & d), i];
      else if (turn === 1) [mixed, k] = [(d & b) | (~d & c), (5 * i + 1) & 15];
      else if (turn === 2) [mixed, k] = [b ^ c ^ d, (3 * i + 5) & 15];
      else [mixed, k] = [c ^ (b | ~d), (7 * i) & 15];
      const total = (a + mixed + MD5_SINES[i] + view.getInt32(start + 4 * k, true)) | 0;
      const shift = MD5_SHIFTS[4 * turn + (i & 3)];
      [a, d, c, b] = [d, c, b, (b + ((total << shift) | (total >>> (32 - shift)))) | 0];
    }
    [a, b, c, d].forEach((value, i) => (state[i] = (state[i] + value) | 0));
  }
  const digest = new DataView(new ArrayBuffer(16));
  state.forEach((value, i) => digest.setInt32(4 * i, value, true));
  return new Uint8Array(digest.buffer);
}

const utf8 = new TextEncoder();

function md5Of(key) {
  let secret = utf8.encode(key);
  if (secret.length > 64) secret = md5(secret);
  const padded = (mark) => Uint8Array.from({ length: 64 }, (_, i) => (secret[i] ?? 0) ^ mark);
  const joined = (first, second) => Uint8Array.from([...first, ...second]);
  const [inner, outer] = [padded(0x36), padded(0x5c)];
  return (token) => md5(joined(outer, md5(joined(inner, utf8.encode(token)))));
}

function md5Bits(values, read) {
  const digest = md5Of(values.key);
  return (token) => Array.from(digest(token)).flatMap((byte) => [7, 6, 5, 4, 3, 2, 1, 0].map((p) => (byte >> p) & 1));
}

function md5Rows(values, read) {
  const digest = md5Of(values.key);
  return (token) => [values.first_row + digest(token).reduce((rest, byte) => (rest * 256 + byte) % values.num_buckets, 0)];
}

const [GAMMA_64, MIX_FIRST, MIX_SECOND] = [0x9e3779b97f4a7c15n, 0xbf58476d1ce4e5b9n, 0x94d049bb133111ebn];

function mix64(z) {
  z = BigInt.asUintN(64, (z ^ (z >> 30n)) * MIX_FIRST);
  z = BigInt.asUintN(64, (z ^ (z >> 27n)) * MIX_SECOND);
  return z ^ (z >> 31n);
}

const A_FACTOR = 0xc6a4a7935bd1e995n;
const [FIRST_64, SECOND_64] = [0x87c37b91114253d5n, 0x4cf5ad432745937fn];
const [MIX_A, MIX_B] = [0xff51afd7ed558ccdn, 0xc4ceb9fe1a85ec53n];
const [ADD_A, ADD_B] = [0x52dce729n, 0x38495ab5n];
const low64 = (x) => BigInt.asUintN(64, x);

// Bytes start..stop as a little-endian number.
function little(data, start, stop) {
  let value = 0n;
  for (let i = Math.min(stop, data.length) - 1; i >= start; i--) value = (value << 8n) | BigInt(data[i]);
  return value;
}

function murmur64a(data, seed) {
  const shifted = (x) => low64((x ^ (x >> 47n)) * A_FACTOR);
  let h = BigInt(seed) ^ low64(BigInt(data.length) * A_FACTOR);
  const whole = data.length & ~7;
  for (let at = 0; at < whole; at += 8) {
    h = low64((h ^ shifted(low64(little(data, at, at + 8) * A_FACTOR))) * A_FACTOR);
  }
  if (whole < data.length) h = low64((h ^ little(data, whole, data.length)) * A_FACTOR);
  h = shifted(h);
  return h ^ (h >> 47n);
}

const turned = (x, bits) => low64((low64(x) << bits) | (low64(x) >> (64n - bits)));

function finalised(k) {
  k = low64((k ^ (k >> 33n)) * MIX_A);
  k = low64((k ^ (k >> 33n)) * MIX_B);
  return k ^ (k >> 33n);
}

// MurmurHash3_x64_128: its two halves.
function murmur3(data, seed) {
  let [h1, h2] = [BigInt(seed), BigInt(seed)];
  const first = (value) => low64(turned(value * FIRST_64, 31n) * SECOND_64);
  const second = (value) => low64(turned(value * SECOND_64, 33n) * FIRST_64);
  const whole = data.length & ~15;
  for (let at = 0; at < whole; at += 16) {
    h1 ^= first(little(data, at, at + 8));
    h1 = low64((turned(h1, 27n) + h2) * 5n + ADD_A);
    h2 ^= second(little(data, at + 8, at + 16));
    h2 = low64((turned(h2, 31n) + h1) * 5n + ADD_B);
  }
  h2 ^= second(little(data, whole + 8, data.length));
  h1 ^= first(little(data, whole, whole + 8));
  h1 ^= BigInt(data.length);
  h2 ^= BigInt(data.length);
  h1 = low64(h1 + h2);
  [h1, h2] = [finalised(h1), finalised(low64(h2 + h1))];
  h1 = low64(h1 + h2);
  return [h1, low64(h2 + h1)];
}

// The i-th of four 32-bit parts: low and high of the first half, then of the second.
const quarter = (halves, i) => Number((halves[i >> 1] >> BigInt(32 * (i & 1))) & 0xffffffffn);

// A row with the i-th sign vector of a number, where there are sign vectors.
function signedRow(row, buckets, number, i, signs) {
  return signs ? row + buckets * Number(mix64(low64(number + BigInt(i + 1) * GAMMA_64)) % BigInt(signs)) : row;
}
