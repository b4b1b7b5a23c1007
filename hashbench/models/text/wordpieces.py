"""Word pieces: BERT's uncased subwords trained on a corpus, or those of any file (the `tokenizers` library).

Text is normalised and split as BERT does it, or as the file says (`wordpiece_files`); a word is cut greedily into the
longest pieces, all but the first spelled with "##" before them. A word that cannot be cut is one [UNK].
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers

from hashbench.common.errors import InputError
from hashbench.models.text.base import CORPUS, PortablePart
from hashbench.models.text.normaliser import normaliser_values
from hashbench.models.text.pieces import FILE, TRAIN, TrainablePieces, lower_cases
from hashbench.models.text.unicode import in_chunks, well_formed
from hashbench.models.text.wordpiece_files import LIST, LONGEST_WORD, MARKER, SPECIALS, UNKNOWN, read_word_pieces

# Characters that a trained vocabulary can spell, the most frequent ones; the library's BERT recipe.
ALPHABET = 1_000
MIN_FREQUENCY = 2  # of a merged pair; as above
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
