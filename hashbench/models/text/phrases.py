"""Phrases: word pieces, and beside them the most frequent words and pairs of neighbouring words (Superbloom, 4).

A text is cut into words as BERT's basic tokenizer does it. The vocabulary is all word pieces and, from one list by
count, the words and pairs that are most frequent; a text is read from left to right, a pair where it is listed, else a
word where it is, else the word's pieces. The paper shows pairs joined by "_", lower-cased and not filtered; that a
punctuation mark or a blank line ends every pair is chosen here.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from hashbench.models.text.pieces import PieceTokenizer
from hashbench.models.text.types import TypeTable
from hashbench.models.text.unicode import offsets_from, pack, ranges, well_formed

if TYPE_CHECKING:
    from tokenizers import normalizers

# Between the words of a pair; no word holds one, since BERT splits at it.
JOINT = "_"
# A word of unknown characters: special token <unk>, never hidden, never predicted.
UNKNOWN_ID = -1 - 3
RESERVED = re.compile(r"\[[^\[\]]+\]")  # pieces that no text is cut into: [PAD], [unused17]
BLANK_LINE = re.compile(r"\n\s*\n")


def paragraphs(text: str) -> list[str]:
    """The paragraphs of a text, each as the words of BERT's basic tokenizer with spaces between them.

    >>> paragraphs("Don't stop,\\nÉva!\\n\\nNew line")
    ["don ' t stop , eva !", 'new line']
    """
    normal = (_normalizer().normalize_str(part) for part in BLANK_LINE.split(well_formed(text)))
    spaced = (_punctuation().sub(r" \g<0> ", part) for part in normal)
    return [words for part in spaced if (words := " ".join(part.split()))]


@cache
def _normalizer() -> normalizers.Normalizer:
    from tokenizers import normalizers  # here: `schema` does not need it

    return normalizers.BertNormalizer(lowercase=True)


@cache
def _punctuation() -> re.Pattern[str]:
    """BERT's punctuation: ASCII that is no letter, digit, space or control, and Unicode's classes P."""
    marks = [chr(i) for i in range(sys.maxunicode + 1) if is_punctuation(chr(i))]
    return re.compile("[" + "".join(map(re.escape, marks)) + "]")


def is_punctuation(character: str) -> bool:
    """True for a character that BERT always makes a separate token."""
    if character.isascii():
        return "!" <= character <= "~" and not character.isalnum()
    return unicodedata.category(character).startswith("P")


class PairCounts:
    """How often each pair of neighbouring words occurs; a pair is one number, first * n_words + second."""

    def __init__(self, wanted: np.ndarray) -> None:
        """`wanted` (n_words,) bool: words whose pairs are counted."""
        self._wanted = wanted
        self.keys, self.counts = np.zeros(0, np.int64), np.zeros(0, np.int64)

    def add(self, ids: np.ndarray, begins: np.ndarray) -> None:
        """Counts the pairs in words (n,); `begins` (n,) bool marks words that begin a paragraph."""
        wanted = self._wanted[ids]
        inside = wanted[:-1] & wanted[1:] & ~begins[1:]
        keys = ids[:-1][inside].astype(np.int64) * len(self._wanted) + ids[1:][inside]
        keys, counts = np.unique(keys, return_counts=True)
        self.keys, where = np.unique(np.concatenate([self.keys, keys]), return_inverse=True)
        both = np.concatenate([self.counts, counts])
        self.counts = np.bincount(where, both, len(self.keys)).astype(np.int64)  # exact below 2^53


@dataclass(frozen=True)
class Phrases:
    """The items of words and pairs: numbered pieces first, then listed words and pairs by (count, string)."""

    strings: list[str]  # of the items
    pair_keys: np.ndarray  # (p,) int64 ascending
    pair_items: np.ndarray  # (p,) int32
    # int32, the items of all words laid end to end; one for a listed word.
    word_items: np.ndarray
    word_offsets: np.ndarray  # (n_words + 1,) int64

    def segment(self, ids: np.ndarray, begins: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Words (n,) and which begin a paragraph -> items (total,) int32, and where each word's items begin (n + 1,).

        Left to right, longest first: in a run of words where each makes a listed pair with the next, the pairs at
        even places are taken. The second word of a pair has no separate items.
        """
        n_words = len(self.word_offsets) - 1
        keys = ids[:-1].astype(np.int64) * n_words + ids[1:]
        place = np.minimum(np.searchsorted(self.pair_keys, keys), max(0, len(self.pair_keys) - 1))
        listed = ~begins[1:] & (self.pair_keys[place] == keys) if len(self.pair_keys) else np.zeros(len(keys), bool)
        columns = np.arange(len(keys))
        run = np.maximum.accumulate(np.where(listed, 0, columns + 1)) if len(keys) else columns
        taken = np.append(listed & ((columns - run) % 2 == 0), np.zeros(min(len(ids), 1), bool))  # (n,)
        covered = np.roll(taken, 1)  # the last word begins no pair
        lengths = np.where(taken, 1, np.diff(self.word_offsets)[ids] * ~covered)
        offsets = offsets_from(lengths)
        items = self.word_items[ranges(self.word_offsets[:-1][ids], lengths)]
        items[offsets[:-1][taken]] = self.pair_items[place[taken[:-1]]]
        return items, offsets


def frequent_words(words: TypeTable, counts: np.ndarray, pieces: PieceTokenizer, wanted: int) -> np.ndarray:
    """True for each word (n_words,) that may be in one of the `wanted` most frequent words and pairs.

    A pair is no more frequent than either of its words; what the rarest of `wanted` words exceeds comes too late.
    """
    listable = _listable(words, counts, pieces)
    least = np.sort(counts[listable])[::-1][wanted - 1] if wanted <= int(listable.sum()) else 1
    return _wordlike(words) & (counts >= max(1, least))


def choose(words: TypeTable, counts: np.ndarray, pairs: PairCounts, pieces: PieceTokenizer, wanted: int) -> Phrases:
    """The phrases: all pieces but reserved ones, then words that are no piece and pairs by count, ties by string.

    `counts` (n_words,) of the words in training, `wanted`: items in all. Where the pieces are that many already no word
    and no pair is listed.
    """
    spelled = [piece for piece in pieces.pieces if not RESERVED.fullmatch(piece)]
    first, wanted = len(spelled), max(0, wanted - len(spelled))
    kept = np.flatnonzero(frequent_words(words, counts, pieces, max(1, wanted)) & _listable(words, counts, pieces))
    every = np.concatenate([counts[kept], pairs.counts])
    chosen = np.arange(len(every))
    if wanted < len(every):
        chosen = np.flatnonzero(every >= np.sort(every)[::-1][wanted]) if wanted else chosen[:0]
    of_words = chosen[chosen < len(kept)]
    of_pairs = chosen[chosen >= len(kept)] - len(kept)
    strings = words.strings(kept[of_words])
    firsts, seconds = (words.strings(part) for part in np.divmod(pairs.keys[of_pairs], len(words)))
    strings += [f"{before}{JOINT}{behind}" for before, behind in zip(firsts, seconds, strict=True)]
    table, rank = TypeTable.sorted(*pack(strings), every[chosen])
    number = np.where(rank < wanted, rank + first, -1).astype(np.int32)  # -1: behind the last
    listed_words, listed_pairs = np.split(number, [len(of_words)])
    own = np.full(len(words), -1, np.int32)
    own[kept[of_words]] = listed_words
    inside = listed_pairs >= 0
    items, offsets = _items_of_words(words, own, pieces, spelled)
    return Phrases(
        [*spelled, *table.strings(np.arange(min(wanted, len(table))))],
        pairs.keys[of_pairs][inside],
        listed_pairs[inside],
        items,
        offsets,
    )


def _items_of_words(
    words: TypeTable, own: np.ndarray, pieces: PieceTokenizer, spelled: list[str]
) -> tuple[np.ndarray, np.ndarray]:
    """Each word's own item (`own` (n,), or -1), else its pieces -> items laid end to end (total,), offsets (n + 1,)."""
    item_of_piece = {piece: i for i, piece in enumerate(spelled)}
    meaning = np.array(
        [item_of_piece[piece] if piece in item_of_piece else UNKNOWN_ID for piece in pieces.spellings()], np.int32
    )
    others = np.flatnonzero(own < 0)
    cut = [meaning[ids] for ids in pieces.piece_ids(words.strings(others))]
    lengths = np.ones(len(words), np.int64)
    lengths[others] = [len(ids) for ids in cut]
    offsets = offsets_from(lengths)
    items = np.empty(offsets[-1], np.int32)
    items[offsets[:-1][own >= 0]] = own[own >= 0]
    cut_places = np.repeat(own < 0, lengths)
    items[cut_places] = np.concatenate([np.zeros(0, np.int32), *cut])
    return items, offsets


def _wordlike(words: TypeTable) -> np.ndarray:
    """True for each word (n_words,) that is no punctuation mark."""
    return np.array([not (len(word) == 1 and is_punctuation(word)) for word in words.strings()], bool)


def _listable(words: TypeTable, counts: np.ndarray, pieces: PieceTokenizer) -> np.ndarray:
    """True for each word (n_words,) that may be listed: it occurs in training and is no piece or punctuation mark."""
    spellings = set(pieces.pieces)
    return _wordlike(words) & (counts > 0) & np.array([word not in spellings for word in words.strings()], bool)
