"""The projection of ProFormer: sums of the sides of hashed hyperplanes over the n-grams of a word.

All numbers of a word that are hashed are in one long integer, each in a lane of 128 bits, in which a product of 64
bits has room: a dozen operations on it replace a dozen on each of some hundreds. numpy hashes those of a sentence at
once.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hashbench.models.portable.assembling import BothWays
from hashbench.models.portable.hashing import ALL_64, GAMMA_64, MIX_FIRST, MIX_SECOND, md5
from hashbench.models.portable.letters import lowering


def word_features(word: str, longest: int) -> list[str]:
    """Features of a word: n:cat for n-grams with markers (none of one marker), s:ct for characters one apart."""
    marked = f"^{word}$"
    size = len(marked)
    features = ["n:" + character for character in word]
    for length in range(2, longest + 1):
        features += ["n:" + marked[at : at + length] for at in range(size - length + 1)]
    return features + ["s:" + marked[at] + marked[at + 2] for at in range(size - 2)]


def as_number(data: bytes) -> int:
    """Bytes as a little-endian integer."""
    return int.from_bytes(data, "little")


def mixed_lanes(z: int, full: int) -> int:
    """SplitMix64's finaliser of every lane. `full`: the 64 bits of each, since what a shift or a product moves beyond
    them would reach the lane beside."""
    z = ((z ^ (z >> 30 & full)) * MIX_FIRST) & full
    z = ((z ^ (z >> 27 & full)) * MIX_SECOND) & full
    return z ^ (z >> 31 & full)


class Masks:
    """Constants for rows of lanes of 128 bits in one integer, `n` rows. Beyond the other number, `&` costs nothing."""

    def __init__(self, lanes: int, n: int) -> None:
        size = 16 * lanes * n
        steps = b"".join((k * GAMMA_64 & ALL_64).to_bytes(16, "little") for k in range(1, lanes + 1))
        self.n, self.added = n, as_number(steps * n)
        self.full = as_number((b"\xff" * 8 + bytes(8)) * (size // 16))
        # Every other lane of 1, 2, 4 and 8 bits
        halves = {1: b"\x55", 2: b"\x33", 4: b"\x0f", 8: b"\xff\0"}
        self.halves = {lane: as_number(half * (size // len(half))) for lane, half in halves.items()}


class LaneRows:
    """Rows of lanes of 128 bits, one row a feature, in one integer. The lower half of a lane is a hash."""

    def __init__(self, lanes: int) -> None:
        self.lanes, self.width = lanes, 128 * lanes
        self.made = Masks(lanes, 64)

    def masks(self, n: int) -> Masks:
        """Constants for `n` rows or more. Threads may make some at once; each goes on with its own."""
        masks = self.made
        if masks.n < n:
            self.made = masks = Masks(self.lanes, 2 * n)
        return masks

    def mixed(self, prints: int, n: int) -> int:
        """Fingerprints, one in each lane of `n` rows -> the hash of each and its lane (SplitMix64)."""
        masks = self.masks(n)
        added = masks.added & (1 << n * self.width) - 1
        return mixed_lanes((prints & masks.full) + added & masks.full, masks.full)

    def counted(self, rows: int, n: int) -> bytes:
        """How many of `n` rows have each bit: bytes, or where `n` is above 127 pairs of them, the lowest bit first.

        The second half of the rows fills the upper halves of lanes. Then lanes of a bit are split into lanes of two, of
        which halves of the rows are added while sums fit, then into lanes of four, and so on.
        """
        masks = self.masks(n)
        n_rows, last = (n + 1) // 2, 8 if n < 128 else 16
        size = n_rows * self.width
        parts, lane, most = [rows & (1 << size) - 1 | rows >> size << 64], 1, 1  # the largest sum
        while n_rows > 1 or lane < last:
            if n_rows > 1 and 2 * most < 1 << lane:
                n_rows, most = (n_rows + 1) // 2, 2 * most
                size = n_rows * self.width
                low = (1 << size) - 1
                parts = [(part & low) + (part >> size) for part in parts]
            else:
                mask = masks.halves[lane]
                parts = [part & mask for part in parts] + [part >> lane & mask for part in parts]
                lane *= 2
        n_bytes = lane // 8
        content = bytearray(64 * self.lanes * n_bytes)
        for bit, part in enumerate(parts):
            both = (part & masks.full) + (part >> 64 & masks.full)
            laid = array("Q", both.to_bytes(16 * self.lanes, "little"))[::2].tobytes()  # without the upper halves
            for byte in range(n_bytes):
                content[n_bytes * bit + byte :: n_bytes * lane] = laid[byte::n_bytes]
        return bytes(content)


class Sums:
    """Counters c of `n` features as the numbers 2 c - n, of 32 bits."""

    def __init__(self) -> None:
        self.tables: dict[int, bytes] = {}  # n below 128 -> the low byte for each c
        self.above = bytes(255 * (byte > 127) for byte in range(256))  # the other three

    def of(self, counters: bytes, n: int) -> array[int]:
        """Counters as `counted` lays them."""
        if n > 127:
            return array("i", [2 * as_number(counters[i : i + 2]) - n for i in range(0, len(counters), 2)])
        if n not in self.tables:
            self.tables[n] = bytes([2 * c - n & 255 for c in range(256)])
        content = bytearray(4 * len(counters))
        content[::4] = low = counters.translate(self.tables[n])
        content[1::4] = content[2::4] = content[3::4] = low.translate(self.above)
        numbers = array("i", bytes(content))
        if sys.byteorder == "big":
            numbers.byteswap()
        return numbers


def projection(values: Mapping[str, Any], read: Callable[[str], str]) -> BothWays:
    """A function from a word to its sums: those of the first place, then those of the others."""
    lower, bits, places, flip = lowering(values), values["bits"], values["places"], int(values["flip"])
    blocks = (bits + 63) // 64
    rows, sums = LaneRows(places * blocks), Sums()
    turned = flip.to_bytes(16, "little")

    def digests_of(token: str) -> list[bytes]:
        features = word_features(lower(token)[: values["most_characters"]], values["longest"])
        return [md5(feature.encode()).digest() for feature in features]

    def of_one(token: str) -> array[int]:
        digests = digests_of(token)
        n = len(digests)
        prints = as_number(b"".join([digest * rows.lanes for digest in digests]))
        if flip:
            prints ^= as_number(turned * (n * rows.lanes))
        numbers = sums.of(rows.counted(rows.mixed(prints, n), n), n)
        totals = array("i")
        for place in range(places):
            totals += numbers[64 * blocks * place : 64 * blocks * place + bits]
        return totals

    def of_many(np: Any, tokens: Sequence[str]) -> Any:
        """The sums (n, places * T) int32."""
        listed = [digests_of(token) for token in tokens]
        prints = np.frombuffer(b"".join([digest for digests in listed for digest in digests]), "<u8")[::2]  # (f,)
        number = np.uint64
        lanes = (prints ^ number(flip))[:, None] + np.arange(1, rows.lanes + 1, dtype=number) * number(GAMMA_64)
        for shift, factor in ((30, MIX_FIRST), (27, MIX_SECOND)):
            lanes ^= lanes >> number(shift)
            lanes *= number(factor)
        lanes ^= lanes >> number(31)
        sides = np.unpackbits(lanes.astype("<u8", copy=False).view(np.uint8), axis=1, bitorder="little")
        sizes = np.array([len(digests) for digests in listed], np.int32)
        ones = np.empty((len(tokens), 64 * rows.lanes), np.uint8 if sizes.max() < 256 else np.uint16)
        at = 0
        for of_token, digests in zip(ones, listed, strict=True):
            np.add.reduce(sides[at : at + len(digests)], dtype=ones.dtype, out=of_token)
            at += len(digests)
        used = ones.reshape(len(tokens), places, -1)[:, :, :bits]
        return (used * np.int32(2) - sizes[:, None, None]).reshape(len(tokens), -1)

    return BothWays(of_one, of_many)
