"""What Python says of each code point, as tables: class under `re` and lower case; and odd strings as UTF-8."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

CODE_POINTS = 0x110000
# Classes of a code point; a token is a run of one class other than SPACE.
SPACE, WORD, OTHER = 0, 1, 2
# str.lower() works character by character but for these two: U+0130 becomes two characters, and capital sigma
# becomes a final sigma at the end of a word. A text that holds one of them is lower-cased by Python beforehand.
NOT_BY_CHARACTER = ("\u0130", "\u03a3")


def utf8(text: str) -> bytes:
    """The UTF-8 of a text; unpaired surrogates become U+FFFD, surrogate pairs the character they mean.

    >>> utf8("a\\ud800b").decode()
    'a\ufffdb'
    """
    try:
        return text.encode()
    except UnicodeEncodeError:
        return well_formed(text).encode()


def well_formed(text: str) -> str:
    """The text with unpaired surrogates replaced by U+FFFD: what every tokenizer reads."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def lower_utf8(text: str) -> bytes:
    """UTF-8 of a text, of which lower-casing character by character equals `str.lower()` on the whole text."""
    if not text.isascii() and any(odd in text for odd in NOT_BY_CHARACTER):
        text = text.lower()
    return utf8(text)


def pack(strings: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Strings -> (UTF-8 bytes laid end to end, uint8; offsets (n + 1,) int64)."""
    return join([utf8(string) for string in strings])


def join(encoded: Sequence[bytes], padding: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Byte strings -> (bytes laid end to end, uint8; offsets (n + 1,) int64).

    With `padding`, at least so many zero bytes follow, up to a multiple of eight.
    """
    offsets = offsets_from(np.fromiter(map(len, encoded), dtype=np.int64, count=len(encoded)))
    filling = bytes(padding + -(int(offsets[-1]) + padding) % 8) if padding else b""
    return np.frombuffer(b"".join([*encoded, filling]), dtype=np.uint8), offsets


def offsets_from(lengths: np.ndarray | Sequence[int]) -> np.ndarray:
    """Lengths (n,) of what lies end to end -> where each begins, and the end of the last: (n + 1,) int64.

    >>> offsets_from([2, 0, 3]).tolist()
    [0, 2, 2, 5]
    """
    offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


@lru_cache(maxsize=4)
def fold_table(words_apart: bool, lowercase: bool) -> np.ndarray:
    """Code point -> (its lower case << 2) | class: (n,) int32, n = 0x110000.

    `words_apart` tells word characters (`\\w`) from the rest, as `\\w+|[^\\w\\s]+` does; without it a run is all that
    is not white space. The class is that of the lower-cased character, since `re` reads the lower-cased text.
    """
    points = np.arange(CODE_POINTS, dtype="<u4")
    lowered = points.copy()
    if lowercase:
        # Any character that lower() leaves alone.
        points[[ord(odd) for odd in NOT_BY_CHARACTER]] = ord("x")
        lowered = np.frombuffer(_string(points).lower().encode("utf-32-le", "surrogatepass"), dtype="<u4")
        if len(lowered) != CODE_POINTS:
            raise RuntimeError("this Python lower-cases a further character into several; extend NOT_BY_CHARACTER")
    classes = np.full(CODE_POINTS, OTHER, dtype=np.int32)
    everything = _string(np.arange(CODE_POINTS, dtype="<u4"))
    for pattern, value in ((r"\s+", SPACE), (r"\w+", WORD if words_apart else OTHER)):
        for match in re.finditer(pattern, everything):
            # The index in `everything` is the code point.
            classes[match.start() : match.end()] = value
    table = (lowered.astype(np.int32) << 2) | classes[lowered]
    table.setflags(write=False)
    return table


def _string(points: np.ndarray) -> str:
    """Code points (n,) uint32 -> a string of n characters, surrogates included."""
    return points.tobytes().decode("utf-32-le", "surrogatepass")
