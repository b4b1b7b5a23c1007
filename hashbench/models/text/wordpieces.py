"""Word pieces: BERT's uncased subwords, trained on a corpus or taken from any vocabulary (the `tokenizers` library).

Text is normalised and split as BERT does it; a word is cut greedily into the longest pieces, all but the first spelled
with "##" before them. A word that cannot be cut is one [UNK].
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers

from hashbench.common.errors import InputError
from hashbench.models.text.base import CORPUS, PortablePart
from hashbench.models.text.normaliser import normaliser_values
from hashbench.models.text.pieces import FILE, TRAIN, TrainablePieces, read_file, read_model
from hashbench.models.text.unicode import in_chunks, well_formed

# BERT's: never pieces, but for [UNK].
SPECIALS = frozenset(("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"))
UNKNOWN = "[UNK]"
MARKER = "##"  # before a piece that goes on with a word
LIST = "vocab.txt"  # one piece a line
LONGEST_WORD = 100  # characters; longer words are [UNK], as in BERT
# Characters that a trained vocabulary can spell, the most frequent ones; the library's BERT recipe.
ALPHABET = 1_000
MIN_FREQUENCY = 2  # of a merged pair; as above
BLOCK_CHARACTERS = 1_000_000  # normalised at a time to count characters


class WordPieceTokenizer(TrainablePieces):
    """BERT's word pieces. A type is a piece as its vocabulary spells it, "##" included."""

    kind = "wordpieces"
    unknown = UNKNOWN
    title = "word-piece vocabulary"
    argument = "vocab"
    from_recipe = True
    facts_file = "wordpieces.json"
    special_tokens = SPECIALS

    def __init__(self, vocab: str = TRAIN, lowercase: bool = True, learn_on: Sequence[str] = (CORPUS,)) -> None:
        """`vocab`: train, a vocab.txt or tokenizer.json, a folder with one, or a hub name.

        `learn_on`, of one that is trained: corpus, tasks (training texts of the experiment's tasks) or names of tasks.

        Raises:
            InputError: no such file, nor such a name on the hub, or it holds no word pieces; a wrong `learn_on`.
        """
        if not isinstance(vocab, str) or not vocab or not isinstance(lowercase, bool):
            options = f"vocab {vocab!r}, lowercase {lowercase!r}"
            raise InputError(f"tokenizer wordpieces: {options}; give train, a {LIST} or a hub name, and true or false")
        super().__init__(vocab, learn_on)
        self.lowercase = lowercase
        if vocab != TRAIN:
            pieces = read_vocabulary(vocab)
            self._take_file("\n".join(pieces), word_piece_tokenizer(pieces, lowercase))
            self.vocabulary_size = len(pieces)

    def options(self) -> dict[str, object]:
        """The option `lowercase`, and what the vocabulary is learned on."""
        return {"lowercase": self.lowercase, **super().options()}

    def portable(self) -> PortablePart:
        """The step for a device without hashbench: a tokenizer.json, and how the library normalises each character."""
        library = self.library_tokenizer()
        return PortablePart(
            "wordpieces", "wordpieces",
            {"marker": MARKER, "unknown": UNKNOWN, "longest": LONGEST_WORD, **normaliser_values(library)},
            {FILE: library.to_str().encode()}, needs=("letters",),
        )  # fmt: skip

    def unreachable(self) -> str | None:
        """The first piece with a Latin capital, where texts are lower-cased; None where there is none."""
        if not self.lowercase or self.needs_training:
            return None
        words = (piece for piece in self.pieces if not piece.startswith("["))
        return next((piece for piece in words if re.search("[A-Z]", piece)), None)

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


def read_vocabulary(name: str) -> list[str]:
    """The pieces of a file, a folder or a hub name, in the order of their ids.

    Raises:
        InputError: there is no such file, or it is no vocabulary with [UNK] in which each piece occurs once.
    """
    path = Path(name).expanduser()
    if path.is_dir():
        there = [path / file for file in (LIST, FILE) if (path / file).is_file()]
        if not there:
            raise InputError(f"vocab {name}: neither {LIST} nor {FILE} is in it; name another folder")
        path = there[0]
    text = read_file(path, name, LIST, "vocab")
    if path.suffix == ".json":
        content = read_model(text, "WordPiece", f"vocab {name}", remedy=f"give one, or a {LIST}", wanted="word pieces")
        vocabulary = content["model"]["vocab"]
        pieces = sorted(vocabulary, key=vocabulary.__getitem__)
    else:
        pieces = [line.rstrip("\r") for line in text.split("\n")]
    while pieces and not pieces[-1]:
        pieces.pop()
    if UNKNOWN not in pieces:
        raise InputError(f"vocab {name}: there is no {UNKNOWN} in it; give a {LIST} of BERT's form, one piece a line")
    if len(set(pieces)) < len(pieces):
        double = next(piece for piece, n in Counter(pieces).items() if n > 1)
        raise InputError(f"vocab {name}: the piece {double!r} stands twice; leave one out")
    return pieces
