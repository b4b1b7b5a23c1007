"""Subwords: byte-level BPE, trained on a corpus or taken from any BPE file (the `tokenizers` library)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

from hashbench.errors import InputError
from hashbench.text.types import Interner, TokenizedTexts, TypeTable
from hashbench.text.unicode import pack, well_formed

SPECIALS = frozenset(("<s>", "<pad>", "</s>", "<unk>", "<mask>"))  # RoBERTa's: never pieces
FILE = "tokenizer.json"
MIN_FREQUENCY = 2  # of a merged pair; RoBERTa's BPE training


class SubwordTokenizer:
    """Byte-level BPE, cased. A type is a piece as its vocabulary spells it, word-start marker included."""

    kind = "bpe"

    def __init__(self, bpe: str = "train") -> None:
        """`bpe`: train (on the corpora), a tokenizer.json or a folder with one (or vocab.json, merges.txt), a hub name.

        Raises:
            InputError: no such file, nor such a name on the hub, or it holds no BPE.
        """
        if not isinstance(bpe, str) or not bpe:
            raise InputError(f"tokenizer bpe: {bpe!r} is no name; give train, a tokenizer.json or a hub name")
        self.bpe = bpe
        self.vocabulary_size: int | None = None  # asked for in training, specials included
        self._digest: str | None = None  # of the file's content
        self._tokenizer: Tokenizer | None = None
        if bpe != "train":
            text = read_bpe(bpe)
            self._digest = hashlib.sha256(text.encode()).hexdigest()
            self._tokenizer = without_specials(text, where=bpe)

    @property
    def needs_training(self) -> bool:
        """Whether `train` or `load` must come before anything else."""
        return self._tokenizer is None

    def recipe(self) -> dict[str, object]:
        """The content of the file, or the size of the training; never a path."""
        made_by = {"train": self.vocabulary_size} if self._digest is None else {"sha256": self._digest}
        return {"kind": self.kind, "bpe": made_by}

    def train(self, texts: Iterable[str], vocabulary_size: int) -> None:
        """Learn `vocabulary_size` - 5 pieces (five rows are for special tokens), or fewer where texts give no more."""
        tokenizer = Tokenizer(models.BPE())
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        tokenizer.decoder = decoders.ByteLevel()
        trainer = trainers.BpeTrainer(
            vocab_size=vocabulary_size - len(SPECIALS),
            min_frequency=MIN_FREQUENCY,
            initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),  # all bytes: no text is unknown
            show_progress=False,
        )
        tokenizer.train_from_iterator(map(well_formed, texts), trainer)
        self._tokenizer, self.vocabulary_size = tokenizer, vocabulary_size

    def save(self, folder: Path) -> None:
        """Write a trained tokenizer into a folder."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "bpe.json").write_text(json.dumps({"vocabulary_size": self.vocabulary_size}))
        self._ready().save(str(folder / FILE))

    def load(self, folder: Path) -> None:
        """Take what `save` wrote."""
        if not (folder / FILE).is_file():
            raise InputError(f"{folder}: no trained BPE; prepare the data again")
        self.vocabulary_size = json.loads((folder / "bpe.json").read_text())["vocabulary_size"]
        self._tokenizer = Tokenizer.from_file(str(folder / FILE))

    @property
    def pieces(self) -> list[str]:
        """The vocabulary in the order of its ids, without special tokens."""
        vocabulary = self._ready().get_vocab(with_added_tokens=False)
        return [piece for piece in sorted(vocabulary, key=vocabulary.__getitem__) if piece not in SPECIALS]

    def piece_ids(self, texts: Sequence[str]) -> list[list[int]]:
        """Ids of the pieces of each text, in the file's own numbering (which counts its specials)."""
        encodings = self._ready().encode_batch_fast([well_formed(text) for text in texts], add_special_tokens=False)
        return [encoding.ids for encoding in encodings]

    def tokenize(self, text: str) -> list[str]:
        """The pieces of one text."""
        return self._ready().encode(well_formed(text), add_special_tokens=False).tokens

    def interner(self) -> Interner:
        """A counter of pieces."""
        return PieceInterner(self)

    def library_tokenizer(self) -> Tokenizer:
        """The object of the `tokenizers` library behind it."""
        return self._ready()

    def spellings(self) -> list[str]:
        """The string of every id, specials included; ids without a piece are empty."""
        vocabulary = self._ready().get_vocab(with_added_tokens=False)
        strings = [""] * (max(vocabulary.values()) + 1)
        for piece, i in vocabulary.items():
            strings[i] = piece
        return strings

    def _ready(self) -> Tokenizer:
        if self._tokenizer is None:
            raise RuntimeError("this BPE is not trained yet: call train or load first")
        return self._tokenizer


class PieceInterner:
    """Counts pieces; a provisional id is the id in the BPE file."""

    def __init__(self, tokenizer: SubwordTokenizer) -> None:
        self._tokenizer = tokenizer
        self._spellings = tokenizer.spellings()
        self._counts = np.zeros(len(self._spellings), dtype=np.int64)

    def add(self, texts: Sequence[str]) -> TokenizedTexts:
        """Texts -> ids of the BPE file."""
        per_text = [np.asarray(ids, dtype=np.int32) for ids in self._tokenizer.piece_ids(texts)]
        offsets = np.zeros(len(per_text) + 1, dtype=np.int64)
        np.cumsum([len(ids) for ids in per_text], out=offsets[1:])
        ids = np.concatenate([np.zeros(0, dtype=np.int32), *per_text])
        self._counts += np.bincount(ids, minlength=len(self._counts))
        return TokenizedTexts(ids, offsets)

    def finish(self) -> tuple[TypeTable, np.ndarray]:
        """-> (table of the pieces that occur, remap int32 with -1 for the others)."""
        seen = np.flatnonzero(self._counts)
        table, rank = TypeTable.sorted(*pack([self._spellings[i] for i in seen]), self._counts[seen])
        remap = np.full(len(self._counts), -1, dtype=np.int32)
        remap[seen] = rank
        return table, remap


def read_bpe(name: str) -> str:
    """The tokenizer.json of a file, a folder or a hub name, as text."""
    path = Path(name).expanduser()
    if path.is_dir() and (path / FILE).is_file():
        path = path / FILE
    elif path.is_dir():
        return _from_vocabulary_and_merges(path)
    elif not path.exists():
        path = _from_hub(name)
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"bpe {name}: cannot be read ({error}); give a tokenizer.json") from None


def _from_vocabulary_and_merges(folder: Path) -> str:
    """GPT-2's pair of files as one tokenizer.json."""
    vocabulary, merges = folder / "vocab.json", folder / "merges.txt"
    if not (vocabulary.is_file() and merges.is_file()):
        raise InputError(f"bpe {folder}: neither {FILE} nor vocab.json with merges.txt is in it; name another folder")
    tokenizer = Tokenizer(models.BPE.from_file(str(vocabulary), str(merges)))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    return tokenizer.to_str()


def _from_hub(name: str) -> Path:
    from huggingface_hub import hf_hub_download  # here: a network client, which most uses never need

    try:
        return Path(hf_hub_download(name, FILE))
    except (OSError, ValueError) as error:  # the hub's errors derive from these
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        remedy = f"give the path of a {FILE}, or train"
        raise InputError(f"bpe {name}: no such file, and the hub gave none ({reason}); {remedy}") from None


def without_specials(text: str, where: str) -> Tokenizer:
    """The BPE of a tokenizer.json, stripped of all that makes special tokens out of a text or adds some to it."""
    try:
        content = json.loads(text)
        kind = content["model"]["type"]
    except (ValueError, KeyError, TypeError):
        raise InputError(f"bpe {where}: no {FILE} of the tokenizers library; give one") from None
    if kind != "BPE":
        raise InputError(f"bpe {where}: holds a {kind} model; give a BPE")
    content |= {"added_tokens": [], "post_processor": None, "truncation": None, "padding": None}
    return Tokenizer.from_str(json.dumps(content))
