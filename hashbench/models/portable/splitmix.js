// SplitMix64, whose finaliser makes hashes of 64-bit numbers.
const [GAMMA_64, MIX_FIRST, MIX_SECOND] = [0x9e3779b97f4a7c15n, 0xbf58476d1ce4e5b9n, 0x94d049bb133111ebn];

function mix64(z) {
  z = BigInt.asUintN(64, (z ^ (z >> 30n)) * MIX_FIRST);
  z = BigInt.asUintN(64, (z ^ (z >> 27n)) * MIX_SECOND);
  return z ^ (z >> 31n);
}
