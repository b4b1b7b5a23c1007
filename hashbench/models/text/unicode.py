"""Tables of Python's class under `re` and lower case for each code point, and packed strings in UTF-8."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

import numpy as np

from hashbench.common.invisible import INVISIBLE, JOINERS, ZERO_WIDTH_SPACE, Ranges, without

CODE_POINTS = 0x110000
# Classes of a code point. A token is a run of WORD or of OTHER, or one LETTER, each with the MARKs behind it.
SPACE, WORD, OTHER, LETTER, MARK = 0, 1, 2, 3, 4
CLASS_BITS = 3  # scan.py has this number written out
# Blocks of scripts that put no white space between words, as ranges of code points, both ends included. Within them
# count what Unicode calls letters, and numbers that are written with them
UNSPACED = (
    # Thai, Lao, Myanmar, Khmer
    (0x0E00, 0x0EFF), (0x1000, 0x109F), (0xA9E0, 0xA9FF), (0xAA60, 0xAA7F), (0x1780, 0x17FF),
    # Han, kana, Bopomofo
    (0x3005, 0x3007), (0x3021, 0x3029), (0x3031, 0x3035), (0x3038, 0x303C), (0x3040, 0x312F), (0x31A0, 0x31BF),
    (0x31F0, 0x31FF), (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0xFF66, 0xFF9F), (0x1AFF0, 0x1AFFF),
    (0x1B000, 0x1B16F), (0x20000, 0x3FFFF),
)  # fmt: skip
FIGURES = ("Nd", "No", "Pc")  # these make runs in every script
# Vowels of Thai and Lao that are letters, and part of the cluster before them (UAX 29)
AM = "\u0e33\u0eb3"
# Format characters (category Cf) that version 2 of the tokenizer `unicode` leaves out. By rule WB4 of UAX 29 format
# characters part no word, except the zero width space. One that shows nothing (Default_Ignorable_Code_Point) would make
# another word of the word that holds it. Kept are the ones that change the letters beside them or an emoji: joiners,
# Mongolian vowel separator, tags.
IGNORED: Ranges = (
    (0x00AD, 0x00AD), (0x061C, 0x061C), (0x200E, 0x200F), (0x202A, 0x202E), (0x2060, 0x2064), (0x2066, 0x206F),
    (0xFEFF, 0xFEFF), (0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A), (0xE0001, 0xE0001),
)  # fmt: skip
# What the versions of the tokenizer `unicode` leave out. Version 3: all that shows nothing, but for joiners, which
# change the letters beside them, and the zero width space, which parts words.
LEFT_OUT: dict[int, Ranges] = {1: (), 2: IGNORED, 3: without(INVISIBLE, map(ord, JOINERS + ZERO_WIDTH_SPACE))}
# Signs that begin a number or a word and enclose it (Prepended_Concatenation_Mark), which WB4 does not mention
PREPENDED = "\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd"
# str.lower() works character by character but for these two: U+0130 becomes two characters, and capital sigma
# becomes a final sigma at the end of a word. A text that holds one of the two is lower-cased by Python beforehand.
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
    """UTF-8 of a text, changed so that lower-casing it by characters equals `str.lower()` on the whole text."""
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


def packed_utf8(texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Texts -> (UTF-8 laid end to end, uint8; offsets (n + 1,) int64), both read-only.

    Unpaired surrogates become U+FFFD. Arrow takes longer for new texts, and leaves its UTF-8 in each.
    """
    try:
        data, ends = join([text.encode() for text in texts])
    except UnicodeEncodeError:
        data, ends = pack(texts)
    return read_only(data), read_only(ends)


def read_only(array: np.ndarray) -> np.ndarray:
    """The array, which cannot be written any more: for one that can, numba would compile another kernel."""
    array.setflags(write=False)
    return array


def offsets_from(lengths: np.ndarray | Sequence[int]) -> np.ndarray:
    """Lengths (n,) of what lies end to end -> where each begins, and the end of the last: (n + 1,) int64.

    >>> offsets_from([2, 0, 3]).tolist()
    [0, 2, 2, 5]
    """
    offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


def split(blob: np.ndarray, offsets: np.ndarray) -> list[bytes]:
    """Bytes laid end to end and their offsets (n + 1,) -> a list of n byte strings."""
    first = int(offsets[0])
    data, ends = blob[first : int(offsets[-1])].tobytes(), (offsets - first).tolist()
    return [data[a:b] for a, b in zip(ends[:-1], ends[1:], strict=True)]


def ranges(starts: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """The numbers start, ..., start + length - 1 of each pair, laid end to end: (n,) and (n,) -> (total,).

    >>> ranges(np.array([5, 1]), np.array([2, 3])).tolist()
    [5, 6, 1, 2, 3]
    """
    before = np.cumsum(lengths) - lengths
    return np.repeat(starts - before, lengths) + np.arange(int(lengths.sum()))


def in_chunks(texts: Iterable[str], characters: int) -> Iterator[list[str]]:
    """Texts in lists of about so many characters.

    >>> list(in_chunks(["ab", "cd", "e"], 4))
    [['ab', 'cd'], ['e']]
    """
    chunk: list[str] = []
    size = 0
    for text in texts:
        chunk.append(text)
        size += len(text) + 1  # so that empty texts come to an end too
        if size >= characters:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk


@lru_cache(maxsize=4)
def fold_table(words_apart: bool, lowercase: bool) -> np.ndarray:
    """Code point -> (its lower case << 3) | class: (n,) int32, n = 0x110000.

    `words_apart` separates word characters (`\\w`) from the rest, as `\\w+|[^\\w\\s]+` does; without it a run is all
    that is not white space. The lower-cased character decides the class, since `re` reads the lower-cased text.
    """
    classes = np.full(CODE_POINTS, OTHER, dtype=np.int32)
    everything = _string(np.arange(CODE_POINTS, dtype="<u4"))
    for pattern, value in ((r"\s+", SPACE), (r"\w+", WORD if words_apart else OTHER)):
        for match in re.finditer(pattern, everything):
            # The index in `everything` is the code point.
            classes[match.start() : match.end()] = value
    return _folded(classes, lowercase)


@lru_cache(maxsize=6)
def unicode_table(lowercase: bool, version: int = 1) -> np.ndarray:
    """Code point -> (its lower case << 3) | class: (n,) int32, by Unicode's categories.

    Letters, numbers and connectors (`_`) are WORD, in scripts without white space LETTER; marks and joiners
    belong to the character before them, and from `version` 2 on other format characters too.
    """
    classes = np.full(CODE_POINTS, OTHER, dtype=np.int32)
    for point in (*range(0x40000), *range(0xE0000, 0xE01F0)):  # no others are assigned but for private use
        character = chr(point)
        category = unicodedata.category(character)
        if character.isspace():
            classes[point] = SPACE
        elif category[0] == "M" or character in JOINERS or character in AM:
            classes[point] = MARK
        elif category[0] in "LN" or category == "Pc":
            classes[point] = WORD
        elif version > 1 and category == "Cf":
            space = character == ZERO_WIDTH_SPACE
            classes[point] = SPACE if space else WORD if character in PREPENDED else MARK
    for first, last in UNSPACED:
        for point in range(first, last + 1):
            if classes[point] == WORD and unicodedata.category(chr(point)) not in FIGURES:
                classes[point] = LETTER
    return _folded(classes, lowercase)


def _folded(classes: np.ndarray, lowercase: bool) -> np.ndarray:
    """Classes of code points (n,) -> (lower case << 3) | class of the lower case, for each (n,) int32."""
    points = np.arange(CODE_POINTS, dtype="<u4")
    lowered = points.copy()
    if lowercase:
        # Any character that lower() leaves alone.
        points[[ord(odd) for odd in NOT_BY_CHARACTER]] = ord("x")
        lowered = np.frombuffer(_string(points).lower().encode("utf-32-le", "surrogatepass"), dtype="<u4")
        if len(lowered) != CODE_POINTS:
            raise RuntimeError("this Python lower-cases a further character into several; extend NOT_BY_CHARACTER")
    table = (lowered.astype(np.int32) << CLASS_BITS) | classes[lowered]
    table.setflags(write=False)
    return table


def _string(points: np.ndarray) -> str:
    """Code points (n,) uint32 -> a string of n characters, surrogates included."""
    return points.tobytes().decode("utf-32-le", "surrogatepass")
