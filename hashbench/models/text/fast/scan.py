"""Reading words in one compiled pass over UTF-8: class and lower case of each character, and look-up of each token.

A stretch of text is cut into tokens, whose lower-cased bytes are laid down in a buffer; then all tokens of the buffer
are looked up. Blocks of 64 ASCII bytes are classified at once, and their tokens are where the classes change. All other
characters are read one by one, by a table that holds class and lower case of every code point. Look-ups go by batches:
what each needs of the memory is requested before the first is made.

`data` (n,) uint8 are the texts, `fold` (0x110000,) int32 is that table (`unicode.fold_table`); table.py says what
`slots`, `blob`, `offsets` and `size` are. `low` (b,) uint8 is the buffer of lower-cased bytes, `begins` and `ends` (t,)
int64 say where its tokens are.
"""

from __future__ import annotations

import numpy as np

from hashbench.models.text.compiled import code_point, compiled, inlined, put
from hashbench.models.text.fast.machine import SCAN_BLOCK, copy_block, load_number, masks, prefetch, trailing_zeros
from hashbench.models.text.fast.table import (
    BATCH,
    FOUR,
    HALF,
    LONG,
    LOW_HALF,
    ONE,
    OWN,
    SLACK,
    THREE,
    TWO,
    enter,
    find,
    long_key,
    mixed,
    own_key,
    shift_of,
)

WordArrays = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]  # slots, blob, offsets, size

TOP_BITS = np.uint64(0x8080808080808080)
ALL_BITS = np.uint64(0xFFFFFFFFFFFFFFFF)
NO_BITS = np.uint64(0)
SPACE, WORD, OTHER, LETTER, MARK = 0, 1, 2, 3, 4  # as in unicode.py
OWN_BYTES = 16  # the longest token that is its own key
# Added to the end of a token that holds a NUL, so that it counts as a long one
HOLDS_NUL = 1 << 40
# Bytes of the buffer that one step of the reading may need
STEP = 2 * SCAN_BLOCK + SLACK
# Why a scan ended: all texts are read, or an array must grow first
DONE, LOW, WORDS, OWN_WORDS, MET = 0, 1, 2, 3, 4
# The places in `cursor`: text and byte to go on at; tokens begun and ended in the buffer and its bytes; class of the
# token that is open (0: none) and whether it holds a NUL; tokens looked up; ids of earlier buffers; types met
TEXT, AT, BEGUN, ENDED, TAIL, RUN, NUL, LOOKED_UP, IDS, N_MET = range(10)
PLACES = 10


@inlined
def read_block(
    valid: np.uint64,
    word: np.uint64,
    other: np.uint64,
    run: int,
    tail: int,
    begins: np.ndarray,
    ends: np.ndarray,
    begun: int,
    ended: int,
) -> tuple[int, int]:
    """Tokens of up to 64 ASCII bytes, which are low[tail:] -> (tokens begun, ended).

    The bits of `valid` are the bytes to read, `word` and `other` the bytes of either class; `run` is the class of
    the token that was open.
    """
    words_before = (word << ONE) | np.uint64(run == WORD)
    others_before = (other << ONE) | np.uint64(run == OTHER)
    starts = (word & ~words_before) | (other & ~others_before)
    stops = ((words_before & ~word) | (others_before & ~other)) & valid
    if run == LETTER:
        stops |= ONE
    while starts != NO_BITS:
        begins[begun] = tail + trailing_zeros(starts)
        starts &= starts - ONE
        begun += 1
    while stops != NO_BITS:
        ends[ended] = tail + trailing_zeros(stops)
        stops &= stops - ONE
        ended += 1
    return begun, ended


@inlined
def read_characters(
    data: np.ndarray,
    at: int,
    stop: int,
    fold: np.ndarray,
    run: int,
    nul: bool,
    low: np.ndarray,
    tail: int,
    begins: np.ndarray,
    ends: np.ndarray,
    begun: int,
    ended: int,
) -> tuple[int, int, int, bool, int, int]:
    """Tokens of characters one by one, until eight ASCII bytes follow, or the text or a buffer ends.

    -> (where reading goes on, the buffer's bytes, the class and NUL of the open token, tokens begun, ended).
    """
    last, most, first = len(low) - STEP, len(begins) - SCAN_BLOCK - 2, at
    while at < stop and tail < last and begun < most:
        point, width = int(data[at]), 1
        if point >= 0x80:
            point, width = code_point(data, at)
        elif at > first and at + 8 <= stop and load_number(data, at) & TOP_BITS == NO_BITS:
            break
        folded = fold[point]
        kind = folded & 7
        if run != 0 and kind != MARK and (kind != run or run == LETTER):
            ends[ended] = tail + HOLDS_NUL if nul else tail
            ended += 1
            run, nul = 0, False
        if run == 0:
            if kind == SPACE:
                at += width
                continue
            run = WORD if kind == MARK else int(kind)
            begins[begun] = tail
            begun += 1
        nul = nul or point == 0
        if folded < 0x80 << 3:
            low[tail] = np.uint8(folded >> 3)
            tail += 1
        else:
            tail += put(int(folded >> 3), low, tail)
        at += width
    return at, tail, run, nul, begun, ended


@inlined
def read_text(
    data: np.ndarray,
    stop: int,
    fold: np.ndarray,
    words_apart: bool,
    edge: np.ndarray,
    cursor: np.ndarray,
    low: np.ndarray,
    begins: np.ndarray,
    ends: np.ndarray,
) -> None:
    """Reads on in the text that ends at data[:stop], until its end or until a buffer is full; `edge` (64,) uint8."""
    at, tail, run, nul = cursor[AT], cursor[TAIL], cursor[RUN], cursor[NUL] != 0
    begun, ended = cursor[BEGUN], cursor[ENDED]
    lower, last, most = (fold[65] >> 3) != 65, len(low) - STEP, len(begins) - SCAN_BLOCK - 2  # 65 is A
    while at < stop and tail < last and begun < most:
        inside = at + SCAN_BLOCK <= len(data)
        if inside:
            word, space, odd = masks(data, at)
        else:
            for i in range(len(data) - at):
                edge[i] = data[at + i]
            word, space, odd = masks(edge, 0)
        n = min(SCAN_BLOCK, stop - at, trailing_zeros(odd))
        if n > 0:
            valid = ALL_BITS >> np.uint64(SCAN_BLOCK - n)
            word = word & valid if words_apart else NO_BITS
            other = ~(word | space) & valid
            first = ended
            if inside:
                copy_block(data, at, low, tail, lower)
            else:
                copy_block(edge, 0, low, tail, lower)
            begun, ended = read_block(valid, word, other, run, tail, begins, ends, begun, ended)
            if nul and ended > first:
                ends[first] += HOLDS_NUL
                nul = False
            at, tail = at + n, tail + n
            bit = np.uint64(n - 1)
            run = WORD if (word >> bit) & ONE else OTHER if (other >> bit) & ONE else 0
        if n < SCAN_BLOCK and at < stop:
            at, tail, run, nul, begun, ended = read_characters(
                data, at, stop, fold, run, nul, low, tail, begins, ends, begun, ended
            )
    cursor[AT], cursor[TAIL], cursor[RUN], cursor[NUL] = at, tail, run, nul
    cursor[BEGUN], cursor[ENDED] = begun, ended


@inlined
def fill(
    data: np.ndarray,
    starts: np.ndarray,
    stops: np.ndarray,
    fold: np.ndarray,
    words_apart: bool,
    edge: np.ndarray,
    cursor: np.ndarray,
    low: np.ndarray,
    begins: np.ndarray,
    ends: np.ndarray,
    text_ends: np.ndarray,
) -> bool:
    """Fills the buffers with tokens of the texts from `cursor` on; False where one token is larger than the buffer.

    A token that is only partly read comes to the front; all others in the buffers have been looked up.
    """
    tail = 0
    if cursor[RUN] != 0:
        begin = begins[cursor[BEGUN] - 1]
        tail = cursor[TAIL] - begin
        for i in range(tail):
            low[i] = low[begin + i]
        begins[0] = 0
    cursor[BEGUN], cursor[ENDED], cursor[TAIL] = np.int64(cursor[RUN] != 0), 0, tail
    cursor[IDS] += cursor[LOOKED_UP]
    cursor[LOOKED_UP] = 0
    if tail >= len(low) - STEP:
        return False
    while cursor[TEXT] < len(stops):
        text = cursor[TEXT]
        read_text(data, stops[text], fold, words_apart, edge, cursor, low, begins, ends)
        if cursor[AT] < stops[text]:
            return True
        if cursor[RUN] != 0:
            ends[cursor[ENDED]] = cursor[TAIL] + HOLDS_NUL if cursor[NUL] != 0 else cursor[TAIL]
            cursor[ENDED] += 1
            cursor[RUN], cursor[NUL] = 0, 0
        text_ends[text] = cursor[IDS] + cursor[ENDED]
        cursor[TEXT] += 1
        if cursor[TEXT] < len(stops):
            cursor[AT] = starts[cursor[TEXT]]
    return True


@inlined
def has_room(
    tokens: int, n_bytes: int, slots: np.ndarray, blob: np.ndarray, offsets: np.ndarray, size: np.ndarray
) -> bool:
    """True where so many more tokens and bytes fit into a table, and it stays half empty."""
    n = size[0]
    return (
        n + tokens < len(offsets) and 2 * (n + tokens) <= len(slots) >> 2 and offsets[n] + n_bytes + SLACK <= len(blob)
    )


@inlined
def prepare(
    low: np.ndarray,
    begins: np.ndarray,
    ends: np.ndarray,
    first: int,
    n: int,
    slots: np.ndarray,
    shift: np.uint64,
    keys: np.ndarray,
) -> None:
    """The keys (BATCH, 4) of `n` tokens from number `first` on: two numbers, the kind, 64 bits that choose the slot."""
    for j in range(n):
        at = begins[first + j]
        n_bytes = ends[first + j] - at
        if n_bytes <= OWN_BYTES:
            head, rest = own_key(low, at, n_bytes)
            keys[j, 2] = OWN
        else:
            head, rest = long_key(low, at, n_bytes & (HOLDS_NUL - 1))
            keys[j, 2] = LONG
        bits = mixed(head, rest)
        keys[j, 0], keys[j, 1], keys[j, 3] = head, rest, bits
        prefetch(slots, int(np.int64(FOUR * (bits >> shift))))


@inlined
def probe(
    low: np.ndarray,
    begins: np.ndarray,
    first: int,
    n: int,
    slots: np.ndarray,
    shift: np.uint64,
    blob: np.ndarray,
    keys: np.ndarray,
    words: np.ndarray,
    tally: np.ndarray,
) -> bool:
    """Writes the ids of `n` tokens from number `first` on to `words` (BATCH,), -1 for a new one -> is there a new one.

    Here are no tuples of arrays and no calls that may fail: for each, numba would count references in the loop.
    """
    last, new = np.uint64((len(slots) >> 2) - 1), False
    for j in range(n):
        head, rest, kind, slot, word = keys[j, 0], keys[j, 1], keys[j, 2], keys[j, 3] >> shift, -1
        entry = slots[FOUR * slot + TWO]
        while entry != 0:
            if slots[FOUR * slot] == head and slots[FOUR * slot + ONE] == rest and entry >> HALF == kind:
                at, n_bytes, i = begins[first + j], int(np.int64(rest)), 0
                start = int(np.int64(slots[FOUR * slot + THREE]))
                if kind == LONG:
                    while i < n_bytes and load_number(low, at + i) == load_number(blob, start + i):
                        i += 8
                    i = max(i - 8, 0)
                    while i < n_bytes and low[at + i] == blob[start + i]:
                        i += 1
                if kind == OWN or i == n_bytes:
                    word = int(np.int64(entry & LOW_HALF)) - 1
                    break
            slot = (slot + ONE) & last
            entry = slots[FOUR * slot + TWO]
        words[j] = word
        new = new or word < 0
        prefetch(tally, max(2 * word, 0))
    return new


@compiled
def add_words(
    low: np.ndarray,
    begins: np.ndarray,
    ends: np.ndarray,
    first: int,
    n: int,
    enters: bool,
    slots: np.ndarray,
    blob: np.ndarray,
    offsets: np.ndarray,
    size: np.ndarray,
    keys: np.ndarray,
    words: np.ndarray,
) -> None:
    """Fills in ids of a table for tokens without one in `words` (BATCH,); where not `enters`, as -1 - the id."""
    for j in range(n):
        if words[j] < 0:
            at, end = begins[first + j], ends[first + j]
            slot, word = find(keys, j, low, at, slots, blob)  # the same batch may have brought it
            if word < 0:
                word = enter(keys, j, slot, low, at, (end - at) & (HOLDS_NUL - 1), slots, blob, offsets, size)
            words[j] = word if enters else -1 - word


@inlined
def count(
    n: int,
    words: np.ndarray,
    tally: np.ndarray,
    own_tally: np.ndarray,
    met: np.ndarray,
    n_met: int,
    ids: np.ndarray,
    place: int,
) -> int:
    """Writes the caller's ids of `n` tokens, `words` in the tables, to ids[place:], and counts them -> types met."""
    for j in range(n):
        word = words[j]
        if word >= 0:
            type_id = tally[word, 0]
            tally[word, 1] += 1
        else:
            type_id = own_tally[-1 - word, 0]
            own_tally[-1 - word, 1] += 1
        if type_id == 0:
            met[n_met] = word
            n_met += 1
            type_id = n_met
            if word >= 0:
                tally[word, 0] = type_id
            else:
                own_tally[-1 - word, 0] = type_id
        ids[place + j] = type_id - 1
    return n_met


@compiled
def scan(
    data: np.ndarray,
    starts: np.ndarray,
    stops: np.ndarray,
    fold: np.ndarray,
    words_apart: bool,
    low: np.ndarray,
    begins: np.ndarray,
    ends: np.ndarray,
    cursor: np.ndarray,
    ids: np.ndarray,
    text_ends: np.ndarray,
    enters: bool,
    table: WordArrays,
    own: WordArrays,
    tally: np.ndarray,
    own_tally: np.ndarray,
    met: np.ndarray,
) -> int:
    """Tokens of the texts data[starts[i] : stops[i]] -> `ids` (t,) int32; returns DONE, or which array must grow first.

    An id numbers the types in the order in which this caller met them. `table` and `own` are slots, blob, offsets and
    size of two tables; a token that is in neither goes to the first where `enters`, else to the second. `tally` and
    `own_tally` (w, 2) int64 are, for either table, the id + 1 of each of its words, 0 for one not met, and how often it
    came; `met` (m,) is the word of each id, -1 - word for one of `own`. `cursor` (10,) int64 says where to go on and is
    brought up to date; `text_ends` (n,): where each text's ids end.
    """
    edge, keys = np.zeros(SCAN_BLOCK, dtype=np.uint8), np.empty((BATCH, 4), dtype=np.uint64)
    words = np.empty(BATCH, dtype=np.int64)
    slots, blob, offsets, size = table
    own_slots, own_blob, own_offsets, own_size = own
    shift = shift_of(slots)
    while True:
        first = cursor[LOOKED_UP]
        n = min(BATCH, cursor[ENDED] - first)
        if n == 0:
            if cursor[TEXT] == len(stops):
                return DONE
            if not fill(data, starts, stops, fold, words_apart, edge, cursor, low, begins, ends, text_ends):
                return LOW
            continue
        n_bytes = (ends[first + n - 1] & (HOLDS_NUL - 1)) - begins[first]
        if enters and not has_room(n, n_bytes, slots, blob, offsets, size):
            return WORDS
        if not enters and not has_room(n, n_bytes, own_slots, own_blob, own_offsets, own_size):
            return OWN_WORDS
        if cursor[N_MET] + n > len(met):
            return MET
        prepare(low, begins, ends, first, n, slots, shift, keys)
        if probe(low, begins, first, n, slots, shift, blob, keys, words, tally):
            if enters:
                add_words(low, begins, ends, first, n, True, slots, blob, offsets, size, keys, words)
            else:
                add_words(low, begins, ends, first, n, False, own_slots, own_blob, own_offsets, own_size, keys, words)
        place = cursor[IDS] + first
        cursor[N_MET] = count(n, words, tally, own_tally, met, cursor[N_MET], ids, place)
        cursor[LOOKED_UP] = first + n
