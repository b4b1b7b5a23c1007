"""Reading words in one compiled pass over UTF-8: class, lower case and look-up of each token.

Most tokens are ASCII words of at most eight bytes: these are classified and lower-cased as one 64-bit number. All
others are read character by character, by a table that holds class and lower case of every code point.

`data` (n,) uint8 are the texts, `fold` (0x110000,) int32 is that table (`unicode.fold_table`); table.py says what
`words`, `blob`, `offsets`, `short` and `long` are.
"""

from __future__ import annotations

import numpy as np

from hashbench.models.text.compiled import compiled, inlined
from hashbench.models.text.table import eight_bytes, find_long, find_short, short_key

PADDING = 16  # zero bytes behind the texts: eight are read at a time
ONES = np.uint64(0x0101010101010101)
SEVEN_BITS = np.uint64(0x7F7F7F7F7F7F7F7F)
TOP_BITS = np.uint64(0x8080808080808080)
CASE_BIT = np.uint64(0x2020202020202020)


@inlined
def code_point(data: np.ndarray, at: int) -> tuple[int, int]:
    """The code point that begins at a byte of valid UTF-8 `data` (n,), and its width in bytes."""
    first = np.int64(data[at])
    if first < 0x80:
        return int(first), 1
    if first < 0xE0:
        return int(((first & 0x1F) << 6) | (np.int64(data[at + 1]) & 0x3F)), 2
    point = (np.int64(data[at + 1]) & 0x3F) << 6 | (np.int64(data[at + 2]) & 0x3F)
    if first < 0xF0:
        return int(((first & 0x0F) << 12) | point), 3
    return int(((first & 0x07) << 18) | (point << 6) | (np.int64(data[at + 3]) & 0x3F)), 4


@compiled
def longest_string(offsets: np.ndarray, first: int) -> int:
    """Bytes of the longest of packed strings, `offsets` (n + 1,), from number `first` on; 0 where there is none."""
    longest = 0
    for t in range(first, len(offsets) - 1):
        longest = max(longest, offsets[t + 1] - offsets[t])
    return longest


@compiled
def put(point: int, blob: np.ndarray, at: int) -> int:
    """Writes a code point to `blob` (n,) as UTF-8; returns its number of bytes."""
    if point < 0x80:
        blob[at] = point
        return 1
    if point < 0x800:
        blob[at] = 0xC0 | (point >> 6)
        blob[at + 1] = 0x80 | (point & 0x3F)
        return 2
    if point < 0x10000:
        blob[at] = 0xE0 | (point >> 12)
        blob[at + 1] = 0x80 | ((point >> 6) & 0x3F)
        blob[at + 2] = 0x80 | (point & 0x3F)
        return 3
    blob[at] = 0xF0 | (point >> 18)
    blob[at + 1] = 0x80 | ((point >> 12) & 0x3F)
    blob[at + 2] = 0x80 | ((point >> 6) & 0x3F)
    blob[at + 3] = 0x80 | (point & 0x3F)
    return 4


@inlined
def read_token(data: np.ndarray, at: int, end: int, fold: np.ndarray, blob: np.ndarray, tail: int) -> tuple[int, int]:
    """Writes the next token of data[at:end] of `data` (n,), lower-cased, to blob[tail:].

    -> (where reading goes on, bytes written).
    """
    while at < end:  # white space before it
        point, width = code_point(data, at)
        if fold[point] & 7:
            break
        at += width
    n, run = 0, 0
    while at < end:
        first = data[at]
        if first < 0x80:  # most text
            folded = fold[first]
            if n == 0:
                run = 1 if folded & 7 == 4 else folded & 7
            elif folded & 7 != 4 and (run == 3 or folded & 7 != run):
                break
            blob[tail + n] = np.uint8(folded >> 3)
            at += 1
            n += 1
        else:
            point, width = code_point(data, at)
            folded = fold[point]
            if n == 0:
                run = 1 if folded & 7 == 4 else folded & 7
            elif folded & 7 != 4 and (run == 3 or folded & 7 != run):
                break
            n += put(folded >> 3, blob, tail + n)
            at += width
    return at, n


@inlined
def word_marks(eight: np.uint64, lowercase: bool) -> tuple[np.uint64, np.uint64]:
    """Eight bytes -> (the top bit of each byte that is an ASCII word character, the bytes with A-Z lower-cased).

    All eight at once: adding 0x80 - c to a seven-bit number sets the top bit where it is at least c.
    """
    low = eight & SEVEN_BITS
    either = low | CASE_BIT
    # a .. z
    letter = (either + np.uint64(0x1F1F1F1F1F1F1F1F)) & ~(either + np.uint64(0x0505050505050505))
    digit = (low + np.uint64(0x5050505050505050)) & ~(low + np.uint64(0x4646464646464646))  # 0 .. 9
    # Zero only where the byte is _.
    underscore = ~((low ^ np.uint64(0x5F5F5F5F5F5F5F5F)) + SEVEN_BITS)
    if lowercase:
        upper = letter & ~(eight << np.uint64(2)) & ~eight & TOP_BITS  # the case bit is not set
        return (letter | digit | underscore) & ~eight & TOP_BITS, eight | (upper >> np.uint64(2))
    return (letter | digit | underscore) & ~eight & TOP_BITS, eight


@inlined
def short_token(words: np.ndarray, data: np.ndarray, at: int, lowercase: bool) -> tuple[np.uint64, int]:
    """An ASCII token of at most eight bytes of `data` (n,), before an ASCII byte -> (its key, its bytes); else (0, 0).

    A token is a word, or one character that is no word character with a word or a space behind it.
    """
    marks, lowered = word_marks(eight_bytes(words, at), lowercase)
    others = marks ^ TOP_BITS
    if others == 0:
        after = word_marks(np.uint64(data[at + 8]), False)[0]
        return (lowered, 8) if data[at + 8] < 0x80 and after == 0 else (np.uint64(0), 0)
    # All bits of the bytes before it.
    below = ((others & (~others + np.uint64(1))) - np.uint64(1)) >> np.uint64(7)
    n = int(np.int64(((below & ONES) * ONES) >> np.uint64(56)))
    if n == 0:  # a comma, mostly
        alone = 32 < data[at] < 0x7F and (data[at + 1] == 32 or (marks >> np.uint64(15)) & np.uint64(1) != 0)
        return (np.uint64(data[at]), 1) if alone else (np.uint64(0), 0)
    if data[at + n] >= 0x80:  # the word may go on with a character that is not ASCII
        return np.uint64(0), 0
    return lowered & below, n


@inlined
def next_token(
    data: np.ndarray,
    words: np.ndarray,
    at: int,
    end: int,
    fold: np.ndarray,
    words_apart: bool,
    blob: np.ndarray,
    offsets: np.ndarray,
    short: np.ndarray,
    long: np.ndarray,
    n_types: int,
) -> tuple[int, int, int, bool]:
    """Reads one token of `data` (n,), and finds or enters it in the tables of types.

    -> (where reading goes on, its bytes, its id, whether it is its own key).

    A new token's bytes are put behind those of the known ones; 0 bytes: there was only white space.
    """
    tail = offsets[n_types]
    if words_apart:
        key, n = short_token(words, data, at, (fold[65] >> 3) != 65)  # 65 is A
        if n > 0 and at + n <= end:
            type_id = find_short(key, short, n_types)
            if type_id == n_types:
                for i in range(n):
                    blob[tail + i] = np.uint8((key >> np.uint64(8 * i)) & np.uint64(0xFF))
            return at + n, n, type_id, True
    at, n = read_token(data, at, end, fold, blob, tail)
    if n == 0:
        return at, 0, 0, False
    key = short_key(blob, tail, n)
    if key != 0:
        return at, n, find_short(key, short, n_types), True
    return at, n, find_long(blob.view(np.uint64), offsets, tail, n, long, n_types), False


@compiled
def scan(
    data: np.ndarray,
    ends: np.ndarray,
    fold: np.ndarray,
    words_apart: bool,
    blob: np.ndarray,
    offsets: np.ndarray,
    short: np.ndarray,
    long: np.ndarray,
    cursor: np.ndarray,
    ids: np.ndarray,
    text_ends: np.ndarray,
) -> bool:
    """Tokens of the texts laid end to end in `data` (n,) -> `ids` (t,); False where the tables must grow first.

    `data` ends in PADDING zero bytes, `ends` (m,) says where each text does. `cursor` (5,) = (text, byte, types, short
    types, tokens) says where to go on and is brought up to date; `text_ends` (m,): where each text's ids end.
    """
    text, at, n_types, n_short, n_ids = cursor[0], cursor[1], cursor[2], cursor[3], cursor[4]
    words, full = data.view(np.uint64), False
    while text < len(ends) and not full:
        end = ends[text]
        # a lower case takes at most 3 bytes where there were 2
        full = offsets[n_types] + 2 * (end - at) + PADDING > len(blob)
        while at < end and not full:
            if data[at] == 32:  # a space, the most frequent character
                at += 1
                continue
            at, n, type_id, own_key = next_token(
                data, words, at, end, fold, words_apart, blob, offsets, short, long, n_types
            )
            if n == 0:
                continue
            ids[n_ids] = type_id
            n_ids += 1
            if type_id == n_types:
                offsets[n_types + 1] = offsets[n_types] + n
                n_types += 1
                n_short += own_key
                # one place stays free everywhere, so that the next look-up ends
                full = n_types + 1 >= len(offsets) or 2 * n_short >= len(short) or 2 * (n_types - n_short) >= len(long)
        if at >= end:
            text_ends[text] = n_ids
            text += 1
    cursor[0], cursor[1], cursor[2], cursor[3], cursor[4] = text, at, n_types, n_short, n_ids
    return text == len(ends)
