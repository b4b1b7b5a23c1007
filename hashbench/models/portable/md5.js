// HMAC-MD5 (RFC 1321, RFC 2104) of a token: its 128 bits, highest first, or its number modulo the rows of a table.
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
