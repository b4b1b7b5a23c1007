"""The projection of ProFormer (Sankar, Ravi and Kozareva 2021, section 2.1): hashed hyperplanes over n-grams of a word.

The paper publishes T = 420 bits, n-grams to 5, skip-grams of 1 and features of the context words; the rest is ours. A
word between ^ and $ gives its substrings of 1 to 5 characters but for the two bare markers, and its pairs of
characters one apart. Feature f lies on side r_j(f, p) = +1 or -1 of hyperplane j, as place p (0 the word itself, 1 the
left neighbour, 2 the right one) sees it; the side is a bit of a hash, so that no hyperplane is stored.

A code is the sums s^p_j = sum_f r_j(f, p) of one word, before any sign: who adds the sums of neighbours, or of all
words of a sentence, before taking the sign gets the projection of the words together.
"""

from __future__ import annotations

import hashlib

import numpy as np

from hashbench.coders.base import Coder
from hashbench.coders.md5 import checked_count
from hashbench.coders.projection_kernels import LONGEST, project
from hashbench.coders.vocabulary import split
from hashbench.splitmix import GAMMA, mix
from hashbench.text.compiled import use_numba
from hashbench.text.unicode import pack

BITS = 420  # T of the paper, section 3
MOST_CHARACTERS = 256  # of a word, ours: |s| <= 1,534 features fits an int16
BEGIN, END = "^", "$"
N_GRAM, SKIP_GRAM = "n:", "s:"  # what kind a feature is, part of its hash


class ProjectionCoder(Coder):
    """Sums over the features of a type, int16 (n, places * T): those of place 0 first, hyperplane 0 first."""

    name = "projection"
    dtype = np.int16

    def __init__(self, bits: int = BITS, places: int = 3, seed: int = 0) -> None:
        """`places` 1 leaves out the sums of a neighbour, which the projection of a whole sentence has no use for."""
        # `bits` itself is of codes that are packed bits.
        self.n_bits = checked_count(self.name, "bits", bits)
        self.places = checked_count(self.name, "places", places, most=3)
        self.seed = checked_count(self.name, "seed", seed, least=0)
        self.width = self.places * self.n_bits

    def encode_utf8(self, blob: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        """Packed strings -> sums (n, places * T). Types are lower-cased, and cut behind 256 characters."""
        words = [string.decode().lower()[:MOST_CHARACTERS] for string in split(blob, offsets)]
        if not use_numba():
            return self._plainly(words)
        flip = np.uint64(seed_mask(self.seed))
        return project(*pack([f"{BEGIN}{word}{END}" for word in words]), flip, self.n_bits, self.places)

    def recipe(self) -> dict[str, object]:
        """Name and arguments."""
        return {"name": self.name, "bits": self.n_bits, "places": self.places, "seed": self.seed}

    def _plainly(self, words: list[str]) -> np.ndarray:
        """The same without a compiler, a word at a time."""
        blocks = -(-self.n_bits // 64)
        steps = np.arange(1, self.places * blocks + 1, dtype=np.uint64) * np.uint64(GAMMA)
        sums = np.empty((len(words), self.places, self.n_bits), dtype=np.int16)
        for row, word in zip(sums, words, strict=True):
            found = [fingerprint(feature) for feature in features(word)]
            hashes = np.array(found, dtype=np.uint64) ^ np.uint64(seed_mask(self.seed))
            sides = mix(hashes[:, None] + steps)  # (features, places * blocks), 64 sides in each
            octets = sides.astype("<u8").view(np.uint8)  # (features, places * blocks * 8), lowest first
            ones = np.unpackbits(octets, axis=1, bitorder="little").sum(axis=0, dtype=np.int64)
            row[:] = (2 * ones - len(hashes)).reshape(self.places, -1)[:, : self.n_bits]
        return sums.reshape(len(words), self.width)


def features(word: str) -> list[str]:
    """The features of a lower-cased word, repeats as often as they occur.

    >>> features("at")
    ['n:a', 'n:t', 'n:^a', 'n:at', 'n:t$', 'n:^at', 'n:at$', 'n:^at$', 's:^t', 's:a$']
    """
    whole = f"{BEGIN}{word}{END}"
    grams = list(word)  # of one character all but the markers
    for length in range(2, LONGEST + 1):
        grams += [whole[i : i + length] for i in range(len(whole) - length + 1)]
    pairs = [whole[i] + whole[i + 2] for i in range(len(whole) - 2)]
    return [N_GRAM + gram for gram in grams] + [SKIP_GRAM + pair for pair in pairs]


def fingerprint(feature: str) -> int:
    """The first eight bytes of MD5, little-endian.

    >>> fingerprint("n:cat")
    14434128026825898545
    """
    digest = hashlib.md5(feature.encode(), usedforsecurity=False).digest()
    return int.from_bytes(digest[:8], "little")


def seed_mask(seed: int) -> int:
    """What fingerprints are xor-ed with; nothing for seed 0."""
    return int(mix(np.array([seed * GAMMA % 2**64], dtype=np.uint64))[0])
