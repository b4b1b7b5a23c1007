"""Subwords: byte-level BPE, trained on a corpus or taken from any BPE file (the `tokenizers` library)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

from hashbench.common.errors import InputError
from hashbench.models.text.base import CORPUS, PortablePart
from hashbench.models.text.pieces import FILE, TRAIN, TrainablePieces, read_file, read_model
from hashbench.models.text.unicode import CODE_POINTS, well_formed
from hashbench.models.text.unicode_values import SURROGATES, packed, rules_of

SPECIALS = frozenset(("<s>", "<pad>", "</s>", "<unk>", "<mask>"))  # RoBERTa's: never pieces
MIN_FREQUENCY = 2  # of a merged pair; RoBERTa's BPE training
MERGES = "merges.txt"
CHARACTERS_AT_ONCE = 8_192  # characters in one call of the library
SPACE = ord(" ")  # joins the piece behind it
# Parts of a tokenizer.json that a text side without the library can do; other parts must be absent or empty.
PLAIN_MODEL = {"type", "vocab", "merges"}
NORMALISERS = (None, "Lowercase")


class SubwordTokenizer(TrainablePieces):
    """Byte-level BPE, cased or not. A type is a piece as its vocabulary spells it, word-start marker included."""

    kind = "bpe"
    title = "BPE"
    argument = "bpe"
    facts_file = "bpe.json"
    special_tokens = SPECIALS

    def __init__(
        self,
        bpe: str = TRAIN,
        lowercase: bool = False,
        prefix_space: bool = False,
        learn_on: Sequence[str] = (CORPUS,),
    ) -> None:
        """`bpe`: train, a tokenizer.json or a folder with one (or vocab.json, merges.txt), a hub name.

        For one that is trained: `lowercase`: texts are lower-cased, character by character; `prefix_space`: a text
        that begins without a space gets one, so that its first word is spelled as any other; `learn_on`: corpus, tasks
        (training texts of the experiment's tasks) or names of tasks.

        Raises:
            InputError: no such file, nor such a name on the hub, or it holds no BPE; an option that does not fit.
        """
        if not isinstance(bpe, str) or not bpe:
            raise InputError(f"tokenizer bpe: {bpe!r} is no name; give train, a tokenizer.json or a hub name")
        super().__init__(bpe, learn_on)
        self.lowercase, self.prefix_space = lowercase, prefix_space
        for key in ("lowercase", "prefix_space"):
            value = getattr(self, key)
            if not isinstance(value, bool):
                raise InputError(f"tokenizer bpe: {key} {value!r}; give true or false")
            if value and not self.trained:
                raise InputError(f"tokenizer bpe: {bpe} says itself how it reads a text; leave {key} out")
        if bpe != TRAIN:
            text = read_bpe(bpe)
            self._take_file(text, without_specials(text, where=bpe))

    def options(self) -> dict[str, object]:
        """The options that are set, as stored runs know none."""
        written = {"lowercase": self.lowercase, "prefix_space": self.prefix_space}
        return {**{key: True for key, value in written.items() if value}, **super().options()}

    def portable(self) -> PortablePart | None:
        """The step for a device without hashbench; None for a file with more than byte-level BPE in it."""
        content = json.loads(self.library_tokenizer().to_str())
        if not is_plain(content):
            return None
        merges = [pair if isinstance(pair, str) else " ".join(pair) for pair in content["model"]["merges"]]
        values = {
            "prefix_space": content["pre_tokenizer"]["add_prefix_space"],
            **byte_level_classes(),
            **lowercase_values(content["normalizer"] is not None),
        }
        return PortablePart(
            "byte_pairs", "byte_pairs", values, {MERGES: "\n".join(merges).encode()}, needs=("letters",)
        )

    def train(self, texts: Iterable[str], vocabulary_size: int, *, bars: bool = False) -> None:
        """Learns `vocabulary_size` - 5 pieces (five rows are for special tokens), or fewer where texts give no more."""
        tokenizer = Tokenizer(models.BPE())
        if self.lowercase:
            tokenizer.normalizer = normalizers.Lowercase()
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=self.prefix_space)
        tokenizer.decoder = decoders.ByteLevel()
        trainer = trainers.BpeTrainer(
            vocab_size=vocabulary_size - len(SPECIALS),
            min_frequency=MIN_FREQUENCY,
            # All bytes: no text is unknown.
            initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
            show_progress=bars,
        )
        tokenizer.train_from_iterator(map(well_formed, texts), trainer)
        self._tokenizer, self.vocabulary_size = tokenizer, vocabulary_size


def is_plain(content: Mapping[str, Any]) -> bool:
    """True for a tokenizer.json with byte-level BPE, perhaps lower-cased, and nothing else."""
    model, before, normaliser = content["model"], content["pre_tokenizer"] or {}, content["normalizer"] or {}
    return (
        not any(value for key, value in model.items() if key not in PLAIN_MODEL)
        and set(pre_tokenizers.ByteLevel.alphabet()) <= set(model["vocab"])
        and before.get("type") == "ByteLevel"
        and before.get("use_regex", True)
        and normaliser.get("type") in NORMALISERS
    )


def read_bpe(name: str) -> str:
    """The tokenizer.json of a file, a folder or a hub name, as text."""
    path = Path(name).expanduser()
    if path.is_dir() and (path / FILE).is_file():
        path = path / FILE
    elif path.is_dir():
        return _from_vocabulary_and_merges(path)
    return read_file(path, name, FILE, "bpe")


def _from_vocabulary_and_merges(folder: Path) -> str:
    """GPT-2's pair of files as one tokenizer.json."""
    vocabulary, merges = folder / "vocab.json", folder / "merges.txt"
    if not (vocabulary.is_file() and merges.is_file()):
        raise InputError(f"bpe {folder}: neither {FILE} nor vocab.json with merges.txt is in it; name another folder")
    tokenizer = Tokenizer(models.BPE.from_file(str(vocabulary), str(merges)))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    return tokenizer.to_str()


def without_specials(text: str, where: str) -> Tokenizer:
    """The BPE of a tokenizer.json, stripped of all that makes special tokens out of a text or adds some to it."""
    content = read_model(text, "BPE", f"bpe {where}", remedy="give one", wanted="a BPE")
    content |= {"added_tokens": [], "post_processor": None, "truncation": None, "padding": None}
    return Tokenizer.from_str(json.dumps(content))


@lru_cache(maxsize=1)
def byte_level_classes() -> dict[str, str]:
    """Values for portable/byte_pairs.py: the characters that byte-level BPE cuts as letters, figures or white space.

    Neighbours in Unicode with one class make one piece, whose class is read from its last character.
    """
    splits = pre_tokenizers.ByteLevel(add_prefix_space=False)
    classes = {kind: np.zeros(CODE_POINTS, bool) for kind in ("letter", "figure", "space", "other")}
    points = [point for point in range(CODE_POINTS) if point not in SURROGATES]
    for start in range(0, len(points), CHARACTERS_AT_ONCE):
        block = points[start : start + CHARACTERS_AT_ONCE]
        for _, (first, end) in splits.pre_tokenize_str("".join(map(chr, block))):
            piece = [point for point in block[first:end] if point != SPACE]
            if piece:
                classes[_class_of(chr(piece[-1]), splits)][piece] = True
    classes["space"][SPACE] = True
    return {kind: packed(classes[kind]) for kind in ("letter", "figure", "space")}


def _class_of(character: str, splits: pre_tokenizers.ByteLevel) -> str:
    """The class of a character: letter, figure or other, whichever example it is not parted from."""
    for kind, before in (("letter", "a"), ("figure", "1"), ("other", "!")):
        if len(splits.pre_tokenize_str(before + character)) == 1:
            return kind
    return "space"


@lru_cache(maxsize=2)
def lowercase_values(lowercase: bool) -> dict[str, Any]:
    """Values for portable/byte_pairs.py: what the library's lower-casing, if any, makes of each character."""
    single: dict[int, int] = {}
    others: dict[str, str] = {}
    for point in range(CODE_POINTS if lowercase else 0):
        lowered = chr(point) if point in SURROGATES else normalizers.Lowercase().normalize_str(chr(point))
        if len(lowered) == 1 and lowered != chr(point):
            single[point] = ord(lowered)
        elif lowered != chr(point):
            others[chr(point)] = lowered
    return {"lower": rules_of(single), "lower_others": others}
