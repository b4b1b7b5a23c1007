"""The projection of ProFormer (Sankar, Ravi and Kozareva 2021, section 2.1): hashed hyperplanes over n-grams of a word.

The paper publishes T = 420 bits, n-grams to 5, skip-grams of 1 and features of the context words; the rest is ours. A
word between ^ and $ gives its substrings of 1 to 5 characters but for the two bare markers, and its pairs of
characters one apart. Feature f lies on side r_j(f, p) = +1 or -1 of hyperplane j, as place p (0 the word itself, 1 the
left neighbour, 2 the right one) sees it; the side is a bit of a hash, so that no hyperplane is stored.

A code is the sums s^p_j = sum_f r_j(f, p) of one word, before any sign: who adds the sums of neighbours, or of all
words of a sentence, before taking the sign gets the projection of the words together.
"""

from __future__ import annotations

import numpy as np

from hashbench.common.splitmix import GAMMA, mix
from hashbench.models.coders.base import Coder, checked_count
from hashbench.models.coders.projection_kernels import LONGEST, project
from hashbench.models.text.base import PortablePart
from hashbench.models.text.shipped import case_values
from hashbench.models.text.unicode import pack, split

BITS = 420  # T of the paper, section 3
MOST_CHARACTERS = 256  # of a word, ours: |s| <= 1,534 features fits an int16
BEGIN, END = "^", "$"


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
        return project(*pack([f"{BEGIN}{word}{END}" for word in words]), self._flip(), self.n_bits, self.places)

    def portable(self) -> PortablePart:
        """The sizes, and how words are lower-cased."""
        values = {
            "bits": self.n_bits, "places": self.places, "flip": str(self._flip()), "longest": LONGEST,
            "most_characters": MOST_CHARACTERS, **case_values(),
        }  # fmt: skip
        return PortablePart("projection", "projection", values, needs=("letters", "hashing"))

    def _flip(self) -> np.uint64:
        """What fingerprints are xor-ed with; 0 for seed 0."""
        return mix(np.array([self.seed * GAMMA % 2**64], dtype=np.uint64))[0]

    def recipe(self) -> dict[str, object]:
        """Name and arguments."""
        return super().recipe() | {"bits": self.n_bits}
