"""The hashes of HashFormers in slow, plain Python and dense numpy, from their definitions."""

from __future__ import annotations

import hashlib
import hmac
from collections import Counter

import numpy as np


def md5_number(word: str, key: str = "en") -> int:
    """HMAC-MD5 as a big-endian number of 128 bits."""
    return int(hmac.new(key.encode(), word.encode(), hashlib.md5).hexdigest(), 16)


def ngrams(word: str) -> list[str]:
    """All character n-grams, n = 1..4."""
    return [word[i : i + n] for n in (1, 2, 3, 4) for i in range(len(word)) if i + n <= len(word)]


def dictionary(counts: dict[str, int], most: int) -> list[str]:
    """The most frequent n-grams of a corpus, by (count descending, code points)."""
    totals: Counter[str] = Counter()
    for word, count in counts.items():
        for ngram in ngrams(word):
            totals[ngram] += count
    return sorted(totals, key=lambda ngram: (-totals[ngram], [ord(c) for c in ngram]))[:most]


def features(word: str, known: list[str]) -> np.ndarray:
    """x: counts of the known n-grams, dense."""
    return np.array([ngrams(word).count(ngram) for ngram in known], dtype=float)


def rolled_row(x: np.ndarray, n: int, negate_half: bool = False) -> int:
    """argmax_i x . r^i over the dense matrix of rolled hyperplanes; r^i[f] = eta[(f + i) mod D]."""
    d = max(len(x), n)
    eta = np.random.RandomState(42).standard_normal(d)
    planes = np.array([[eta[(f + i) % d] for f in range(len(x))] for i in range(n)])
    scores = planes @ x
    if negate_half:
        scores[n // 2 :] *= -1
    return int(np.argmax(scores))


def sign_bits(x: np.ndarray, width: int, zero_bit: int) -> str:
    """The bits x . r^j >= 0 (or > 0) of the dense matrix, as hexadecimal."""
    planes = np.random.RandomState(43).standard_normal((len(x), width))
    scores = x @ planes
    bits = "".join("1" if score > 0 or (score == 0 and zero_bit) else "0" for score in scores)
    return f"{int(bits, 2):0{width // 4}x}"


def split_weights(word: str, pieces: list[str]) -> dict[str, float]:
    """Weights of the BPE pieces of a word's splits, given the pieces of the joined string."""
    counts = Counter(pieces)
    if len(counts) > 1:
        counts.pop("-", None)
    return {piece: count / max(len(word) + 1 - len(piece), 1) for piece, count in counts.items()}
