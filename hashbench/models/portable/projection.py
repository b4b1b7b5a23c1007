"""The projection of ProFormer: sums of the sides of hashed hyperplanes over the n-grams of a word.

All numbers of a word that are hashed are in one long integer, each in a lane of 128 bits, in which a product of 64
bits has room: a dozen operations on it replace a dozen on each of some hundreds. Sides are counted by carrying.
"""

from __future__ import annotations

import hashlib
import struct
from array import array
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from hashbench.models.portable.hashing import ALL_64, GAMMA_64, MIX_FIRST, MIX_SECOND
from hashbench.models.portable.letters import lowering


def word_features(word: str, longest: int) -> Iterator[str]:
    """Yields features of a word: n:cat for n-grams with markers (none of one marker), s:ct for characters one apart."""
    marked = f"^{word}$"
    for start in range(len(marked)):
        for end in range(start + 1, min(start + longest, len(marked)) + 1):
            if end - start > 1 or 0 < start < len(marked) - 1:
                yield "n:" + marked[start:end]
    for start in range(len(marked) - 2):
        yield "s:" + marked[start] + marked[start + 2]


def as_number(data: bytes) -> int:
    """Bytes as a little-endian integer."""
    return int.from_bytes(data, "little")


def mixed_lanes(z: int, full: int) -> int:
    """SplitMix64's finaliser of every lane. `full`: the 64 bits of each, since what a shift or a product moves beyond
    them would reach the lane beside."""
    z = ((z ^ (z >> 30 & full)) * MIX_FIRST) & full
    z = ((z ^ (z >> 27 & full)) * MIX_SECOND) & full
    return z ^ (z >> 31 & full)


def counted(rows: int, n: int, width: int) -> list[int]:
    """Planes of counters: bit k of all counters is plane k. A counter says how many of `n` rows, `width` bits each and
    laid end to end, have a bit. Halves are added, until one row is left."""
    planes, span = [rows], 1 << (n - 1).bit_length()
    while span > 1:
        span //= 2
        low, carry, added = (1 << span * width) - 1, 0, []
        for plane in planes:
            lower, other = plane & low, plane >> span * width
            differ = lower ^ other
            added.append(differ ^ carry)
            carry = lower & other | carry & differ
        planes = [*added, carry]
    return planes


def sums_of(planes: list[int], n: int, width: int) -> tuple[int, ...]:
    """Planes of counters -> for each counter c of `n` rows the sum 2 c - n, below 32,768; the lowest bit first."""
    # A bit that is written out as a character takes 16 bits in UTF-16, and is the last of them.
    first = as_number(b"\1\0" * width)
    total = first * (0x8000 - n)  # never below 0, and the sign is turned at the end
    for k, plane in enumerate(planes):
        total += (as_number(format(plane, f"0{width}b").encode("utf-16-le")) & first) << k + 1
    signed = total ^ first << 15
    return struct.unpack(f"<{width}h", signed.to_bytes(2 * width, "little"))[::-1]  # the highest is written first


def projection(values: Mapping[str, Any], read: Callable[[str], str]) -> Callable[[str], list[int]]:
    """A function from a word to its sums: those of the first place, then those of the others."""
    lower, bits, places, flip = lowering(values), values["bits"], values["places"], int(values["flip"])
    blocks = (bits + 63) // 64
    feature_lanes = places * blocks  # lanes of a feature
    steps = b"".join((k * GAMMA_64 & ALL_64).to_bytes(16, "little") for k in range(1, feature_lanes + 1))
    turned = flip.to_bytes(16, "little") * feature_lanes

    def encode(token: str) -> list[int]:
        features = list(word_features(lower(token)[: values["most_characters"]], values["longest"]))
        digests = [hashlib.md5(feature.encode(), usedforsecurity=False).digest() for feature in features]
        n = len(features)
        full = as_number((b"\xff" * 8 + bytes(8)) * (n * feature_lanes))
        prints = as_number(b"".join([(digest[:8] + bytes(8)) * feature_lanes for digest in digests]))
        sides = mixed_lanes((prints ^ as_number(turned * n)) + as_number(steps * n) & full, full)
        dense = array("Q", sides.to_bytes(16 * n * feature_lanes, "little"))[::2].tobytes()  # without the upper halves
        sums = sums_of(counted(as_number(dense), n, 64 * feature_lanes), n, 64 * feature_lanes)
        totals: list[int] = []
        for at in range(0, 64 * feature_lanes, 64 * blocks):
            totals += sums[at : at + bits]
        return totals

    return encode
