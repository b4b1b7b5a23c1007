"""Word pieces: BERT's uncased subwords trained on a corpus, or read from any file (the `tokenizers` library).

Text is normalised and split as BERT does it, or as the file says (`wordpiece_files`); a word is cut greedily into the
longest pieces, all but the first spelled with "##" before them. A word that cannot be cut is one [UNK].
"""

from __future__ import annotations

import json
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers

from hashbench.common.errors import InputError
from hashbench.models.text.base import CORPUS, PortablePart
from hashbench.models.text.pieces import FILE, TRAIN, TrainablePieces, lower_cases
from hashbench.models.text.unicode import CODE_POINTS, in_chunks, well_formed
from hashbench.models.text.unicode_values import SURROGATES, packed, rules_of
from hashbench.models.text.wordpiece_files import LIST, LONGEST_WORD, MARKER, SPECIALS, UNKNOWN, read_word_pieces

# Characters that a trained vocabulary can spell, the most frequent ones; the library's BERT recipe.
ALPHABET = 1_000
MIN_FREQUENCY = 2  # of a merged pair; as above
BETWEEN = "\u2603"  # a snowman: no normaliser changes it, or joins anything to it
CHARACTERS_AT_ONCE = 8_192  # characters in one call of the library
HANGUL = range(0xAC00, 0xD7A4)  # syllables, which fall apart by arithmetic
BLOCK_CHARACTERS = 1_000_000  # normalised at a time to count characters


class WordPieceTokenizer(TrainablePieces):
    """BERT's word pieces. A type is a piece as its vocabulary spells it, "##" included."""

    kind = "wordpieces"
    title = "word-piece vocabulary"
    argument = "vocab"
    from_recipe = True
    facts_file = "wordpieces.json"

    def __init__(self, vocab: str = TRAIN, lowercase: bool | None = None, learn_on: Sequence[str] = (CORPUS,)) -> None:
        """`vocab`: train, a vocab.txt or tokenizer.json, a folder with them, or a hub name.

        `lowercase`: None: as the files say, and true where none does. `learn_on`, of one that is trained: corpus, tasks
        (training texts of the experiment's tasks) or names of tasks.

        Raises:
            InputError: no such file, nor such a name on the hub, or it holds no word pieces; a wrong `learn_on`; files
                that disagree, or whose reading cannot be had.
        """
        if not isinstance(vocab, str) or not vocab or not isinstance(lowercase, bool | None):
            options = f"vocab {vocab!r}, lowercase {lowercase!r}"
            raise InputError(f"tokenizer wordpieces: {options}; give train, a {LIST} or a hub name, and true or false")
        super().__init__(vocab, learn_on)
        self.unknown, self.special_tokens, self.lowercase = UNKNOWN, SPECIALS, lowercase is not False
        if vocab != TRAIN:
            file = read_word_pieces(vocab, lowercase)
            self._take_file(file.identity, file.tokenizer)
            self.vocabulary_size = file.size
            self._read_off()

    def _read_off(self) -> None:
        """Takes what the library's tokenizer says of itself."""
        tokenizer = self.library_tokenizer()
        self.unknown, self.lowercase = tokenizer.model.unk_token, lower_cases(tokenizer)
        self.special_tokens = SPECIALS | {self.unknown}

    def load(self, folder: Path) -> None:
        """Loads the tokenizer that `save` wrote, with its reading."""
        super().load(folder)
        self._read_off()

    def options(self) -> dict[str, object]:
        """The option `lowercase`, and what the vocabulary is learned on."""
        return {"lowercase": self.lowercase, **super().options()}

    def portable(self) -> PortablePart | None:
        """The step for a device without hashbench: a tokenizer.json, and how the library normalises each character.

        None for a file that is not split as BERT's, or normalised by more than its own normalizer.
        """
        library = self.library_tokenizer()
        content = json.loads(library.to_str())
        normalizer, split = content["normalizer"] or {}, content["pre_tokenizer"] or {}
        bert = normalizer.get("type") == "BertNormalizer" and normalizer["clean_text"]
        if not bert or split.get("type") != "BertPreTokenizer" or content["added_tokens"]:
            return None
        model = library.model
        values = {
            "marker": model.continuing_subword_prefix, "unknown": model.unk_token,
            "longest": model.max_input_chars_per_word,
        }  # fmt: skip
        values |= normaliser_values(library)
        return PortablePart("wordpieces", "wordpieces", values, {FILE: library.to_str().encode()}, needs=("letters",))

    def unreachable(self) -> str | None:
        """The first piece with a capital letter, where texts are lower-cased; None where there is none."""
        if self.needs_training or not self.lowers:
            return None
        normaliser = self.library_tokenizer().normalizer
        words = (piece for piece in self.pieces if not piece.startswith("[") and any(map(str.isupper, piece)))
        return next((piece for piece in words if normaliser.normalize_str(piece) != piece), None)

    def remarks(self) -> list[str]:
        """A remark on pieces with capital letters, where texts are lower-cased."""
        piece = self.unreachable()
        keep = "tokenizer: {lowercase: false} keeps the case of texts"
        return [] if piece is None else [f"texts are lower-cased, so pieces as {piece!r} never occur; {keep}"]

    def train(self, texts: Iterable[str], vocabulary_size: int, *, bars: bool = False) -> None:
        """Learns `vocabulary_size` - 5 pieces (five rows are for special tokens), or fewer where texts give no more.

        The texts are read twice. The library numbers characters in the order of a hash table that differs from process
        to process, and ties between merges go by number; with the alphabet and its "##" forms given, nothing is open.
        """
        texts = list(texts) if isinstance(texts, Iterator) else texts
        tokenizer = word_piece_tokenizer([UNKNOWN], self.lowercase)
        alphabet = frequent_characters(tokenizer, texts)
        trainer = trainers.WordPieceTrainer(
            vocab_size=vocabulary_size - len(SPECIALS),
            min_frequency=MIN_FREQUENCY,
            initial_alphabet=alphabet,
            limit_alphabet=len(alphabet),
            special_tokens=[MARKER + character for character in alphabet if continues(tokenizer, character)],
            continuing_subword_prefix=MARKER,
            show_progress=bars,
        )
        tokenizer.train_from_iterator(map(well_formed, texts), trainer)
        learned = tokenizer.get_vocab()
        pieces = [piece for piece in sorted(learned, key=learned.__getitem__) if piece not in SPECIALS]
        self._tokenizer = word_piece_tokenizer([*sorted(SPECIALS), *pieces], self.lowercase)
        self.vocabulary_size = vocabulary_size


def word_piece_tokenizer(pieces: list[str], lowercase: bool) -> Tokenizer:
    """A BERT tokenizer of the library with these pieces; special tokens do not arise from their spelling."""
    vocabulary = {piece: i for i, piece in enumerate(pieces)}
    model = models.WordPiece(
        vocabulary, unk_token=UNKNOWN, continuing_subword_prefix=MARKER, max_input_chars_per_word=LONGEST_WORD
    )
    tokenizer = Tokenizer(model)
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=lowercase)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return tokenizer


def frequent_characters(tokenizer: Tokenizer, texts: Iterable[str]) -> list[str]:
    """The most frequent characters of normalised texts, sorted; equally frequent ones in the order of code points."""
    counts: Counter[int] = Counter()
    for block in in_chunks(map(well_formed, texts), BLOCK_CHARACTERS):
        normal = tokenizer.normalizer.normalize_str("\n".join(block))
        points, occurrences = np.unique(np.frombuffer(normal.encode("utf-32-le"), dtype="<u4"), return_counts=True)
        counts.update(dict(zip(points.tolist(), occurrences.tolist(), strict=True)))
    ranked = sorted(counts, key=lambda point: (-counts[point], point))
    return sorted([chr(point) for point in ranked if not chr(point).isspace()][:ALPHABET])


def continues(tokenizer: Tokenizer, character: str) -> bool:
    """True for a character that can follow another one in a word: punctuation and ideographs are separate words."""
    text = tokenizer.normalizer.normalize_str(f"a{character}")
    return len(tokenizer.pre_tokenizer.pre_tokenize_str(text)) == 1


def normaliser_values(tokenizer: Tokenizer) -> dict[str, Any]:
    """Values for portable/wordpieces.py: sets of characters by their treatment, and tables of replacements."""
    points = [point for point in range(CODE_POINTS) if point not in SURROGATES]
    kinds = {kind: np.zeros(CODE_POINTS, bool) for kind in ("dropped", "spaces", "alone", "punctuation")}
    single: dict[int, int] = {}
    others: dict[str, str] = {}
    for start in range(0, len(points), CHARACTERS_AT_ONCE):
        block = [chr(point) for point in points[start : start + CHARACTERS_AT_ONCE]]
        text = tokenizer.normalizer.normalize_str(BETWEEN + BETWEEN.join(block) + BETWEEN)
        for character, replacement in zip(block, _between(text, block), strict=True):
            if replacement == "":
                kinds["dropped"][ord(character)] = True
            elif replacement == " ":
                kinds["spaces"][ord(character)] = True
            elif replacement == f" {character} ":
                kinds["alone"][ord(character)] = True
            elif len(replacement) == 1 and replacement != character:
                single[ord(character)] = ord(replacement)
            elif replacement != character:
                others[character] = replacement
    for point in _punctuation(tokenizer):
        kinds["punctuation"][point] = True
    splits = all(
        chr(point) in others and others[chr(point)] == unicodedata.normalize("NFD", chr(point)) for point in HANGUL
    )
    if splits:
        others = {character: replacement for character, replacement in others.items() if ord(character) not in HANGUL}
    sets = {kind: packed(members) for kind, members in kinds.items()}
    return {"rules": rules_of(single), "others": others, "splits_hangul": splits, **sets}


def _between(text: str, block: list[str]) -> list[str]:
    """The normal form of each character of a block, from a text with snowmen between them; one may be in the block."""
    parts = text.split(BETWEEN)[1:-1]
    if BETWEEN in block:
        place = block.index(BETWEEN)
        parts[place : place + 2] = [BETWEEN]
    return parts


def _punctuation(tokenizer: Tokenizer) -> list[int]:
    """The code points of characters that are always separate words."""
    characters = [chr(point) for point in range(CODE_POINTS) if point not in SURROGATES and not chr(point).isspace()]
    pieces = tokenizer.pre_tokenizer.pre_tokenize_str("a" + "a".join(characters) + "a")
    return [ord(piece) for piece, _ in pieces if len(piece) == 1 and piece != "a"]
