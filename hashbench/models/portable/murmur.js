// MurmurHash of bytes: MurmurHash64A, 64 bits, and MurmurHash3 x64, 128 bits; signs by SplitMix64.
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
