"""The projection of ProFormer: sums of the sides of hashed hyperplanes over the n-grams of a word.

Numpy hashes the n-grams of a sentence at once. Without it they are hashed in one long integer, each number in a lane of
128 bits, in which a product of 64 bits has room: a dozen operations on it replace a dozen on each of some hundreds.
Words share n-grams, so the first that are met are remembered there; for numpy a search among them costs more than MD5.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Callable, Mapping, Sequence
from operator import add
from typing import Any

from hashbench.models.portable.assembling import BothWays
from hashbench.models.portable.hashing import ALL_64, GAMMA_64, MIX_FIRST, MIX_SECOND, md5
from hashbench.models.portable.letters import lowering

TOGETHER = 64  # n-grams that are hashed in one integer
ROWS_KEPT = 8_192  # n-grams, some 7 MB: of English, four in five of a new word are then known


def word_features(word: str, longest: int) -> list[str]:
    """Features of a word: n:cat for n-grams with markers (none of one marker), s:ct for characters one apart."""
    marked = f"^{word}$"
    grams = ["n:" + character for character in marked]
    features = grams[1:-1]
    for length in range(1, longest):
        grams = list(map(add, grams, marked[length:]))  # each with the character behind it
        features += grams
    return [*features, *map(add, map("s:".__add__, marked), marked[2:])]


def as_number(data: bytes) -> int:
    """Bytes as a little-endian integer."""
    return int.from_bytes(data, "little")


def mixed_lanes(z: int, full: int) -> int:
    """SplitMix64's finaliser of every lane. `full`: the 64 bits of each, since what a shift or a product moves beyond
    them would reach the lane beside."""
    z = ((z ^ (z >> 30 & full)) * MIX_FIRST) & full
    z = ((z ^ (z >> 27 & full)) * MIX_SECOND) & full
    return z ^ (z >> 31 & full)


class LaneRows:
    """Rows of hashes: `lanes` of each fingerprint, which are its sides of 64 hyperplanes each."""

    def __init__(self, lanes: int, flip: int) -> None:
        self.lanes, self.size = lanes, 8 * lanes  # bytes of a row
        # Of as many rows as are hashed together. Beyond the other number, `&` costs nothing
        steps = b"".join((k * GAMMA_64 & ALL_64).to_bytes(16, "little") for k in range(1, lanes + 1))
        self.steps, self.full = as_number(steps * TOGETHER), as_number((b"\xff" * 8 + bytes(8)) * lanes * TOGETHER)
        self.turned = as_number(flip.to_bytes(16, "little") * lanes * TOGETHER)

    def of(self, digests: Sequence[bytes]) -> list[bytes]:
        """MD5 digests -> the row of each, whose fingerprint is the first half: SplitMix64 of it and its lane."""
        together = [self.mixed(digests[at : at + TOGETHER]) for at in range(0, len(digests), TOGETHER)]
        return [mixed[at : at + self.size] for mixed in together for at in range(0, len(mixed), self.size)]

    def mixed(self, digests: Sequence[bytes]) -> bytes:
        """The rows of some digests, one behind another."""
        n_bytes = 2 * self.size * len(digests)
        below = (1 << 8 * n_bytes) - 1
        prints = as_number(b"".join([digest * self.lanes for digest in digests]))
        if self.turned:
            prints ^= self.turned & below
        z = (prints & self.full) + (self.steps & below) & self.full
        lanes = array("Q", mixed_lanes(z, self.full).to_bytes(n_bytes, "little"))
        return lanes[::2].tobytes()  # without the upper halves


class BitLanes:
    """Rows of `size` bytes as integers in which each bit has a lane of four, so that sums of them count bits."""

    def __init__(self, size: int) -> None:
        self.size, self.bits = size, 8 * size
        self.ones, self.halves = as_number(b"\x11" * (4 * size)), as_number(b"\x0f" * (4 * size))

    def of(self, row: bytes) -> int:
        """A row four times, of which the first has its bits 0, 4, 8 ..., the second 1, 5, 9 ..., and so on."""
        once = as_number(row)
        twice = once | once << self.bits - 1
        return (twice | twice << 2 * self.bits - 2) & self.ones

    def counted(self, rows: Sequence[int]) -> bytearray:
        """How many of at most 255 rows have each bit, a byte each, the lowest bit first."""
        low = high = 0
        for at in range(0, len(rows), 15):  # the sum of so many fits a lane
            some = sum(rows[at : at + 15])
            low += some & self.halves
            high += some >> 4 & self.halves
        size, content = self.size, bytearray(self.bits)
        laid = (high << 4 * self.bits | low).to_bytes(8 * size, "little")
        for bit in range(8):
            content[bit::8] = laid[size * bit : size * (bit + 1)]
        return content


class Sums:
    """Counters c of `n` features as the numbers 2 c - n, of 32 bits."""

    def __init__(self) -> None:
        self.tables: dict[int, bytes] = {}  # n -> the low byte for each c
        self.above = bytes(255 * (byte > 127) for byte in range(256))  # the other three

    def of(self, counters: bytearray, n: int) -> array[int]:
        """Counters, a byte each, of at most 127 features."""
        if n not in self.tables:
            self.tables[n] = bytes([2 * c - n & 255 for c in range(256)])
        content = bytearray(4 * len(counters))
        content[::4] = low = counters.translate(self.tables[n])
        content[1::4] = content[2::4] = content[3::4] = low.translate(self.above)
        numbers = array("i", content)
        if sys.byteorder == "big":
            numbers.byteswap()
        return numbers


class Remembered:
    """The values of the first features that are met, by a function of their MD5 digests."""

    def __init__(self, values_of: Callable[[list[bytes]], list[Any]]) -> None:
        self.values_of = values_of
        self.known: dict[str, Any] = {}

    def of(self, features: list[str]) -> list[Any]:
        """The value of each feature."""
        values = list(map(self.known.get, features))
        new = [at for at, value in enumerate(values) if value is None]
        if new:
            digests = [md5(features[at].encode()).digest() for at in new]
            for at, value in zip(new, self.values_of(digests), strict=True):
                values[at] = value
                if len(self.known) < ROWS_KEPT:
                    self.known[features[at]] = value
        return values


def projection(values: Mapping[str, Any], read: Callable[[str], str]) -> BothWays:
    """A function from a word to its sums: those of the first place, then those of the others."""
    lower, bits, places, flip = lowering(values), values["bits"], values["places"], int(values["flip"])
    width = 64 * ((bits + 63) // 64)  # hyperplanes of a place that are hashed
    rows, sums = LaneRows(places * width // 64, flip), Sums()
    spread = BitLanes(rows.size)
    remembered = Remembered(lambda digests: [spread.of(row) for row in rows.of(digests)])

    def features_of(tokens: Sequence[str]) -> tuple[list[str], list[int]]:
        """The features of all tokens, and how many each has."""
        listed = [word_features(lower(token)[: values["most_characters"]], values["longest"]) for token in tokens]
        return [feature for features in listed for feature in features], list(map(len, listed))

    def of_some(tokens: Sequence[str]) -> list[array[int]]:
        features, sizes = features_of(tokens)
        spreads, at, totals = remembered.of(features), 0, []
        for n in sizes:
            counted = [spread.counted(spreads[first : min(first + 255, at + n)]) for first in range(at, at + n, 255)]
            if n < 128:
                numbers = sums.of(counted[0], n)
            else:
                numbers = array("i", [2 * sum(counts) - n for counts in zip(*counted, strict=True)])
            for place in reversed(range(places)):
                del numbers[width * place + bits : width * (place + 1)]
            totals.append(numbers)
            at += n
        return totals

    def of_many(np: Any, tokens: Sequence[str]) -> Any:
        """The sums (n, places * T) int32."""
        features, sizes = features_of(tokens)
        number = np.uint64
        prints = np.frombuffer(b"".join([md5(feature.encode()).digest() for feature in features]), "<u8")[::2]
        lanes = (prints ^ number(flip))[:, None] + np.arange(1, rows.lanes + 1, dtype=number) * number(GAMMA_64)
        for shift, factor in ((30, MIX_FIRST), (27, MIX_SECOND)):
            lanes ^= lanes >> number(shift)
            lanes *= number(factor)
        lanes ^= lanes >> number(31)
        packed = lanes.astype("<u8", copy=False).view(np.uint8).reshape(-1)
        sides = np.unpackbits(packed, bitorder="little").reshape(len(features), -1)
        small = max(sizes) < 128
        if small:  # then eight counters are added as one number
            sides = sides.view(number)
        ones, at = np.empty((len(tokens), sides.shape[1]), number if small else np.int32), 0
        for of_token, n in zip(ones, sizes, strict=True):
            np.add.reduce(sides[at : at + n], dtype=ones.dtype, out=of_token)
            at += n
        counted = ones.view(np.int8) if small else ones
        totals = counted + counted - np.array(sizes, counted.dtype)[:, None]
        used = totals.reshape(len(tokens), places, width)[:, :, :bits]
        return used.astype(np.int32).reshape(len(tokens), -1)

    return BothWays(lambda token: of_some([token])[0], of_many, of_some)
