"""The released HashFormers code's LSH features: byte-level BPE of a word and of its splits, instead of n-grams."""

from __future__ import annotations

from collections import Counter

import numpy as np

from hashbench.coders.ngrams import Features, laid_out
from hashbench.text.subwords import SubwordTokenizer

LONGEST = 256  # characters of a word that is still split; splits of n characters make n^2 to read
BATCH = 4096  # words a call of the BPE


class SplitFeatures:
    """Feature id = BPE id; weight = count / max(len(word) + 1 - len(piece), 1), lengths in characters and byte symbols.

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
        """The BPE's content."""
        return self._tokenizer.recipe()

    def features(self, blob: np.ndarray, offsets: np.ndarray) -> Features:
        """Packed strings -> their features (m,), ids ascending within a type."""
        words = [blob[a:b].tobytes().decode() for a, b in zip(offsets[:-1], offsets[1:], strict=True)]
        per_type: list[dict[int, float]] = []
        for start in range(0, len(words), BATCH):
            batch = words[start : start + BATCH]
            for word, ids in zip(batch, self._tokenizer.piece_ids([with_splits(word) for word in batch]), strict=True):
                per_type.append(self._weighted(word, Counter(ids)))
        return laid_out(per_type)

    def _weighted(self, word: str, counts: Counter[int]) -> dict[int, float]:
        if len(counts) > 1:
            counts.pop(self._hyphen, None)
        return {i: count / max(len(word) + 1 - self._lengths[i], 1) for i, count in counts.items()}


def with_splits(word: str) -> str:
    """A word and its splits at each inner position, joined by hyphens.

    >>> with_splits("cat")
    'cat-c-at-ca-t'
    """
    if len(word) > LONGEST:
        return word
    return "-".join([word, *(part for i in range(1, len(word)) for part in (word[:i], word[i:]))])
