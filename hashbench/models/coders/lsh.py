"""LSH codes of HashFormers (Xue and Aletras 2022, sections 3.3 and 3.5): rows by argmax, bits by signs.

Features are the paper's character n-grams (`ngram`) or the released code's BPE pieces of a word's splits
(`bpe-splits`). Neither form ever holds types x hyperplanes: scores of one type live in a few KB.

LSH scores of sparse features in float64; of the scores of rows float32 finds the few that float64 must check.

Features of n types are three arrays: `ids` (m,) int32, `weights` (m,) float64 and `bounds` (n + 1,) int64; type t has
the features ids[bounds[t]:bounds[t + 1]]. Scores are sums in that order.
"""

from __future__ import annotations

import json
from functools import cached_property
from typing import Any

import numpy as np

from hashbench.common.errors import InputError, near_match
from hashbench.models.coders.base import FIRST_ROW, Coder, checked_count, checked_switch
from hashbench.models.coders.ngrams import LONGEST_NGRAM, Features, NgramFeatures, SplitFeatures
from hashbench.models.text.base import PortablePart
from hashbench.models.text.compiled import compiled, compiled_fast
from hashbench.models.text.types import TypeTable

ROW_SEED = 42  # of eta, as in the released code
BIT_SEED = 43  # of the hyperplanes of bits; chosen here, the paper names none
KINDS = ("ngram", "bpe-splits")


class _LshCoder(Coder):
    """Base of the LSH coders of rows and of bits: the features of types, and their fitted state."""

    def __init__(self, *, lsh_features: str, lsh_bpe: str, max_features: int) -> None:
        if lsh_features not in KINDS:
            hint = f"{near_match(str(lsh_features), list(KINDS))}; choose from {', '.join(KINDS)}"
            raise InputError(f"coder {self.name}: unknown lsh_features {lsh_features!r}{hint}")
        self.lsh_features = lsh_features
        self.needs_fit = lsh_features == "ngram"
        self.max_features = checked_count(self.name, "max_features", max_features)
        self.ngrams = NgramFeatures(max_features)
        self.splits = None if self.needs_fit else SplitFeatures(lsh_bpe)

    def fit(self, types: TypeTable) -> None:
        """Learns the dictionary of n-grams, and draws the Gaussian numbers of the hash."""
        if self.needs_fit:
            self.ngrams.fit(types)
        self._draw()

    def state(self) -> dict[str, np.ndarray]:
        """The dictionary: n-grams in order of rank, (features, 4) int32 of code point + 1, 0 behind the end."""
        return {} if self.ngrams.ngrams is None else {"ngrams": self.ngrams.ngrams}

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Restores the dictionary (features, 4) that `state` returned, and draws the Gaussian numbers of the hash."""
        if self.needs_fit:
            self.ngrams.restore(state["ngrams"])
        self._draw()

    @cached_property
    def _drawn(self) -> Any:
        """The Gaussian numbers of the hash for the fitted features."""
        raise NotImplementedError

    def features(self, blob: np.ndarray, offsets: np.ndarray) -> Features:
        """Packed strings -> sparse features: ids (m,), weights (m,), bounds (n + 1,)."""
        if self.splits is not None:
            return self.splits.features(blob, offsets)
        if self.ngrams.ngrams is None:
            raise RuntimeError(f"coder {self.name}: not fitted; call fit or restore first")
        return self.ngrams.features(blob, offsets)

    def _portable(self, entry: str, values: dict[str, object]) -> PortablePart | None:
        """The step for a device without hashbench, which draws the Gaussian numbers again; None for features of a
        BPE."""
        if self.splits is not None:
            return None
        listed = json.dumps(self.ngrams.strings(), ensure_ascii=False).encode()
        return PortablePart("lsh", entry, {"longest": LONGEST_NGRAM, **values}, {"ngrams.json": listed})

    def _draw(self) -> None:
        """Draws the Gaussian numbers of the hash anew for the current features."""
        self.__dict__.pop("_drawn", None)
        _ = self._drawn

    def _recipe(self) -> dict[str, object]:
        shared = {"name": self.name, "lsh_features": self.lsh_features}
        if self.splits is None:
            return {**shared, "max_features": self.max_features}
        return {**shared, "lsh_bpe": self.splits.recipe()["bpe"]}


class LshRows(_LshCoder):
    """Row 5 + argmax_i sum_f x[f] eta[(f + i) mod D], i = 0..N-1, first maximum; eta ~ N(0, 1)^D, D = max(features, N).

    Differs from the paper: offsets start at 0 (its 1..N only renames rows). `lsh_negate_half` negates the scores of the
    offsets from N // 2 on, as the released code does.
    """

    name = "lsh-rows"
    width = 1
    dtype = np.int64

    def __init__(
        self,
        num_buckets: int = 50_260,
        lsh_features: str = "ngram",
        lsh_bpe: str = "roberta-base",
        lsh_negate_half: bool = False,
        max_features: int = 50_000,
    ) -> None:
        self.num_buckets = checked_count(self.name, "num_buckets", num_buckets)
        self.lsh_negate_half = checked_switch(self.name, "lsh_negate_half", lsh_negate_half)
        super().__init__(lsh_features=lsh_features, lsh_bpe=lsh_bpe, max_features=max_features)

    def encode_utf8(self, blob: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        """Packed strings -> rows (n, 1) int64."""
        return (self.offsets_of(*self.features(blob, offsets)) + FIRST_ROW)[:, None]

    def portable(self) -> PortablePart | None:
        """The step for a device without hashbench; None for features of a BPE, which needs a library."""
        values: dict[str, object] = {
            "seed": ROW_SEED, "num_buckets": self.num_buckets, "dimension": self._dimension,
            "negate_half": self.lsh_negate_half, "first_row": FIRST_ROW,
        }  # fmt: skip
        return self._portable("lsh_rows", values)

    def offsets_of(self, ids: np.ndarray, weights: np.ndarray, bounds: np.ndarray) -> np.ndarray:
        """Sparse features -> winning offsets (n,) int64. Feature ids beyond D wrap."""
        eta, rounded = self._drawn
        ids = (ids % self._dimension).astype(np.int64)
        blocks = offset_blocks(self.num_buckets, self.lsh_negate_half)
        return best_offsets(eta, rounded, blocks, ids, weights, bounds)

    def recipe(self) -> dict[str, object]:
        """Name and arguments; a BPE is identified by its content."""
        return {**self._recipe(), "num_buckets": self.num_buckets, "lsh_negate_half": self.lsh_negate_half}

    @property
    def _dimension(self) -> int:
        """D, the size of eta; special ids of a BPE are not counted, so RoBERTa's gives the released code's 50,260."""
        return max(len(self.ngrams) if self.splits is None else self.splits.n_pieces, self.num_buckets)

    @cached_property
    def _drawn(self) -> tuple[np.ndarray, np.ndarray]:
        """eta (D + N,), laid out so that no index wraps, in float64 and float32."""
        eta = np.random.RandomState(ROW_SEED).standard_normal(self._dimension)
        wrapped = np.concatenate([eta, eta[: self.num_buckets]])
        return wrapped, wrapped.astype(np.float32)


class LshBits(_LshCoder):
    """T bits [x . r^j >= 0], packed (n, T / 8) uint8, hyperplane 0 first; x . r = 0 gives `lsh_zero_bit`.

    The hyperplanes are one seeded Gaussian matrix, row = feature; with `bpe-splits` row f is drawn from seed f, as the
    released code does.
    """

    name = "lsh-bits"
    dtype = np.uint8

    def __init__(
        self,
        bits: int = 128,
        lsh_zero_bit: int = 1,
        lsh_features: str = "ngram",
        lsh_bpe: str = "roberta-base",
        max_features: int = 50_000,
    ) -> None:
        self.bits: int = checked_count(self.name, "bits", bits)
        if bits % 8:
            raise InputError(f"coder {self.name}: bits {bits} is no multiple of 8; choose one that is")
        self.width = bits // 8
        self.lsh_zero_bit = checked_count(self.name, "lsh_zero_bit", lsh_zero_bit, least=0, most=1)
        super().__init__(lsh_features=lsh_features, lsh_bpe=lsh_bpe, max_features=max_features)

    def encode_utf8(self, blob: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        """Packed strings -> packed bits (n, T / 8)."""
        return self.bits_of(*self.features(blob, offsets))

    def portable(self) -> PortablePart | None:
        """The step for a device without hashbench; None for features of a BPE, which needs a library."""
        features = len(self.ngrams)
        return self._portable(
            "lsh_bits", {"seed": BIT_SEED, "bits": self.bits, "features": features, "zero_bit": self.lsh_zero_bit}
        )

    def bits_of(self, ids: np.ndarray, weights: np.ndarray, bounds: np.ndarray) -> np.ndarray:
        """Sparse features -> packed bits (n, T / 8)."""
        return sign_bits(self._drawn, self.lsh_zero_bit, ids, weights, bounds)

    def recipe(self) -> dict[str, object]:
        """Name and arguments; a BPE is identified by its content."""
        return {**self._recipe(), "bits": self.bits, "lsh_zero_bit": self.lsh_zero_bit}

    @cached_property
    def _drawn(self) -> np.ndarray:
        """The hyperplanes R (features, T) float64."""
        if self.splits is None:
            return np.random.RandomState(BIT_SEED).standard_normal((len(self.ngrams), self.bits))
        return np.stack([np.random.RandomState(f).standard_normal(self.bits) for f in range(len(self.splits))])


def offset_blocks(n: int, negate_half: bool) -> np.ndarray:
    """Offsets 0..n-1 cut into (first, last, sign), int64 (b, 3); no block lies on both sides of n // 2."""
    edges = sorted({*range(0, n, OFFSETS_AT_ONCE), n // 2, n})
    signs = [-1 if negate_half and first >= n // 2 else 1 for first in edges[:-1]]
    return np.array([edges[:-1], edges[1:], signs], dtype=np.int64).T.copy()


# Offsets scored at a time: 4 KB of float32 stay in the nearest cache.
OFFSETS_AT_ONCE = 1024
# Twice float32's unit roundoff: covers rounded inputs, products and sums.
ROUNDING = 2.0**-23


@compiled
def exact_rolled(eta: np.ndarray, ids: np.ndarray, weights: np.ndarray, start: int, stop: int, offset: int) -> float:
    """sum_f x[f] eta[f + offset] of the features start..stop of (m,)."""
    score = 0.0
    for k in range(start, stop):
        score += weights[k] * eta[ids[k] + offset]
    return score


@compiled_fast
def screened_maximum(
    eta: np.ndarray,
    ids: np.ndarray,
    weights: np.ndarray,
    start: int,
    stop: int,
    first: int,
    last: int,
    sign: float,
    scores: np.ndarray,
) -> float:
    """The largest sign * score of the offsets first..last, in float32. `scores` (OFFSETS_AT_ONCE,) is scratch."""
    n = last - first
    scores[:n] = np.float32(0)
    k = start
    # Four features a pass: the sums are loaded and stored a quarter as often.
    while k + 4 <= stop:
        w0, w1 = np.float32(sign * weights[k]), np.float32(sign * weights[k + 1])
        w2, w3 = np.float32(sign * weights[k + 2]), np.float32(sign * weights[k + 3])
        e0, e1 = eta[ids[k] + first : ids[k] + last], eta[ids[k + 1] + first : ids[k + 1] + last]
        e2, e3 = eta[ids[k + 2] + first : ids[k + 2] + last], eta[ids[k + 3] + first : ids[k + 3] + last]
        for j in range(n):
            scores[j] += w0 * e0[j] + w1 * e1[j] + w2 * e2[j] + w3 * e3[j]
        k += 4
    while k < stop:
        w0 = np.float32(sign * weights[k])
        e0 = eta[ids[k] + first : ids[k] + last]
        for j in range(n):
            scores[j] += w0 * e0[j]
        k += 1
    largest = scores[0]
    for j in range(n):
        largest = max(largest, scores[j])
    return largest


@compiled
def first_best(
    eta: np.ndarray,
    ids: np.ndarray,
    weights: np.ndarray,
    start: int,
    stop: int,
    blocks: np.ndarray,
    maxima: np.ndarray,
    margin: float,
) -> int:
    """The first offset of the largest exact score, of the blocks (b, 3) whose maximum (b,) comes within the margin."""
    threshold = maxima.max() - margin
    best, best_score = 0, -np.inf
    for b in range(len(blocks)):
        if maxima[b] < threshold:
            continue
        sign = float(blocks[b, 2])
        for offset in range(blocks[b, 0], blocks[b, 1]):
            score = sign * exact_rolled(eta, ids, weights, start, stop, offset)
            if score > best_score:
                best, best_score = offset, score
    return best


@compiled
def best_offsets(
    eta: np.ndarray, rounded: np.ndarray, blocks: np.ndarray, ids: np.ndarray, weights: np.ndarray, bounds: np.ndarray
) -> np.ndarray:
    """argmax over offsets i of sum_f x[f] eta[f + i], first maximum -> int64 (n,).

    `eta` (D + N - 1 or more) float64 is wrapped already, `rounded` the same in float32, `blocks` (b, 3) int64 are
    (first, last, sign) in the order of the offsets.
    """
    n = len(bounds) - 1
    out = np.zeros(n, dtype=np.int64)
    maxima = np.empty(len(blocks), dtype=np.float64)
    scratch = np.empty(OFFSETS_AT_ONCE, dtype=np.float32)
    largest = np.abs(eta).max()
    for t in range(n):
        start, stop = bounds[t], bounds[t + 1]
        if start == stop:
            continue  # no known feature: every score is 0, the first offset wins
        for b in range(len(blocks)):
            maxima[b] = screened_maximum(
                rounded, ids, weights, start, stop, blocks[b, 0], blocks[b, 1], float(blocks[b, 2]), scratch
            )
        error = largest * np.abs(weights[start:stop]).sum() * (stop - start + 2) * ROUNDING
        out[t] = first_best(eta, ids, weights, start, stop, blocks, maxima, 2 * error)
    return out


@compiled
def sign_bits(
    planes: np.ndarray, zero_bit: int, ids: np.ndarray, weights: np.ndarray, bounds: np.ndarray
) -> np.ndarray:
    """Bits of x . r^j > 0, `zero_bit` where it is 0, most significant first -> uint8 (n, T / 8).

    `planes` (features, T) float64.
    """
    n, width = len(bounds) - 1, planes.shape[1]
    out = np.zeros((n, width // 8), dtype=np.uint8)
    scores = np.empty(width, dtype=np.float64)
    for t in range(n):
        scores[:] = 0
        for k in range(bounds[t], bounds[t + 1]):
            weight, row = weights[k], planes[ids[k]]
            for j in range(width):
                scores[j] += weight * row[j]
        for j in range(width):
            if scores[j] > 0 or (scores[j] == 0 and zero_bit == 1):
                out[t, j >> 3] |= np.uint8(128 >> (j & 7))
    return out
