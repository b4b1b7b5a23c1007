"""The released HashFormers code's LSH features: byte-level BPE of a word and of its splits.

The paper (Xue and Aletras 2022, section 3.3) has counts of n-grams of 1 to 4 characters in their place, which are in
`ngrams.py`. Here x_f = count_f / max(len(word) + 1 - len(f), 1) for the pieces f of the word and its splits.
"""

from __future__ import annotations

from collections import Counter

import numpy as np

from hashbench.models.coders.ngrams import Features
from hashbench.models.text.subwords import SubwordTokenizer
from hashbench.models.text.unicode import offsets_from, split

# Characters of a word that is still split; splits of n characters make n^2 to read.
LONGEST = 256
BATCH = 4096  # words a call of the BPE


class SplitFeatures:
    """Features of words, by BPE id: count / max(len(word) + 1 - len(piece), 1), lengths in characters and byte symbols.

    `cat` is read as `cat-c-at-ca-t`; the piece `-` is dropped unless it is the only one. Differs from the released
    code: a word of more than 256 characters is read alone, without its splits.
    """

    def __init__(self, bpe: str) -> None:
        self._tokenizer = SubwordTokenizer(bpe)
        self.n_pieces = len(self._tokenizer.pieces)
        spellings = self._tokenizer.spellings()
        self._lengths = [len(piece) for piece in spellings]
        self._hyphen = spellings.index("-") if "-" in spellings else -1

    def __len__(self) -> int:
        return len(self._lengths)

    def recipe(self) -> dict[str, object]:
        """The recipe of the BPE, which identifies it by its content."""
        return self._tokenizer.recipe()

    def features(self, blob: np.ndarray, offsets: np.ndarray) -> Features:
        """Packed strings -> ids (m,) and weights (m,) of all features, bounds (n + 1,); ids ascend within a type."""
        words = [string.decode() for string in split(blob, offsets)]
        ids: list[int] = []
        weights: list[float] = []
        lengths = []
        for start in range(0, len(words), BATCH):
            batch = words[start : start + BATCH]
            pieces = self._tokenizer.piece_ids([with_splits(word) for word in batch])
            for word, counts in zip(batch, map(Counter, pieces), strict=True):
                if len(counts) > 1:
                    counts.pop(self._hyphen, None)
                ids += sorted(counts)
                weights += [counts[i] / max(len(word) + 1 - self._lengths[i], 1) for i in sorted(counts)]
                lengths.append(len(counts))
        return np.array(ids, dtype=np.int32), np.array(weights, dtype=np.float64), offsets_from(lengths)


def with_splits(word: str) -> str:
    """A word and its splits at each inner position, joined by hyphens.

    >>> with_splits("cat")
    'cat-c-at-ca-t'
    """
    if len(word) > LONGEST:
        return word
    return "-".join([word, *(part for i in range(1, len(word)) for part in (word[:i], word[i:]))])
