"""The base of the tokenizers of subwords: a vocabulary of pieces, learned from texts or read from a file."""

from __future__ import annotations

import functools
import hashlib
import json
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hashbench.common.errors import InputError
from hashbench.common.hub import answering, fetched, import_package, not_found
from hashbench.models.text.base import CORPUS, LEARN_ON, TASKS, Tokenizer
from hashbench.models.text.types import Interner, NumberedInterner, lay_end_to_end
from hashbench.models.text.unicode import well_formed

if TYPE_CHECKING:
    from tokenizers import Tokenizer as LibraryTokenizer

FILE = "tokenizer.json"
SNAPSHOTS = "snapshots"  # the folder in the hub's cache with a folder for each commit
# In place of a file or a hub name: learn the vocabulary from texts.
TRAIN = "train"


class PieceTokenizer(Tokenizer):
    """A vocabulary of pieces and the way from a text to them. A type is a piece as the vocabulary spells it."""

    argument: str

    @abstractmethod
    def piece_ids(self, texts: Sequence[str]) -> list[list[int]]:
        """Ids of the pieces of each text, in the file's own numbering (which counts its specials)."""

    def tokenize(self, text: str) -> list[str]:
        """The pieces of one text."""
        strings = self.spellings()
        return [strings[i] for i in self.piece_ids([text])[0]]

    def interner(self) -> Interner:
        """A counter of pieces, whose provisional ids are the file's."""
        spellings = self.spellings()
        return NumberedInterner(
            len(spellings), lambda texts: lay_end_to_end(self.piece_ids(texts)), spellings.__getitem__
        )


class TrainablePieces(PieceTokenizer):
    """A vocabulary that is learned from texts here or read from a file, by the `tokenizers` library."""

    facts_file: str  # beside the tokenizer.json of a trained vocabulary
    special_tokens: frozenset[str]  # never pieces

    def __init__(self, source: str, learn_on: Sequence[str] = (CORPUS,)) -> None:
        """`source`: train, or the file or hub name that the subclass reads; `learn_on`: the texts to learn from.

        Raises InputError for a `learn_on` that names no texts, or is not for a vocabulary that is learned.
        """
        self.vocabulary_size = None
        self.trained = source == TRAIN
        self.learn_on = checked_learn_on(learn_on, self.kind)
        if not self.trained and self.learn_on != (CORPUS,):
            raise InputError(f"tokenizer {self.kind}: {source} is learned already; leave learn_on out")
        self._digest = ""  # of the content of a file
        self._tokenizer: LibraryTokenizer | None = None

    def _take_file(self, content: str, tokenizer: LibraryTokenizer) -> None:
        """Takes the tokenizer of a file, and the digest of the file's content for the recipe."""
        self._digest, self._tokenizer = hashlib.sha256(content.encode()).hexdigest(), tokenizer

    def options(self) -> dict[str, object]:
        """The kinds of texts that the vocabulary is learned on, where tasks are among them.

        A run's spec has these tasks beside the corpora, with the fingerprints of their data.
        """
        kinds = {CORPUS if name == CORPUS else TASKS for name in self.learn_on}
        return {} if kinds == {CORPUS} else {LEARN_ON: sorted(kinds)}

    def recipe(self) -> dict[str, object]:
        """The kind, the options, and the digest of the file or the size of the training; never a path."""
        made_by = {"train": self.vocabulary_size} if self.trained else {"sha256": self._digest}
        return {"kind": self.kind, self.argument: made_by, **self.options()}

    @property
    def lowers(self) -> bool:
        """True where it lower-cases texts, by its option or its file."""
        return super().lowers or lower_cases(self._tokenizer)

    @property
    def needs_training(self) -> bool:
        """True where `train` or `load` must come before anything else."""
        return self._tokenizer is None

    def save(self, folder: Path) -> None:
        """Writes a trained tokenizer into a folder."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / self.facts_file).write_text(json.dumps({"vocabulary_size": self.vocabulary_size}))
        self.library_tokenizer().save(str(folder / FILE))

    def load(self, folder: Path) -> None:
        """Loads the trained tokenizer that `save` wrote."""
        from tokenizers import Tokenizer as LibraryTokenizer  # here: `schema` does not need it

        if not (folder / FILE).is_file():
            raise InputError(f"{folder}: no trained {self.title}; prepare the data again")
        self.vocabulary_size = json.loads((folder / self.facts_file).read_text())["vocabulary_size"]
        self._tokenizer = LibraryTokenizer.from_file(str(folder / FILE))

    @classmethod
    def saved(cls, folder: Path, arguments: Mapping[str, Any]) -> Tokenizer:
        """A tokenizer with these arguments and the folder's vocabulary."""
        tokenizer = cls(**{key: TRAIN if key == cls.argument else value for key, value in arguments.items()})
        tokenizer.load(folder)
        return tokenizer

    @property
    def pieces(self) -> list[str]:
        """The vocabulary in the order of its ids, without special tokens."""
        vocabulary = self.library_tokenizer().get_vocab(with_added_tokens=True)
        return [piece for piece in sorted(vocabulary, key=vocabulary.__getitem__) if piece not in self.special_tokens]

    def piece_ids(self, texts: Sequence[str]) -> list[list[int]]:
        """Ids of the pieces of each text, in the file's own numbering (which counts its specials)."""
        encodings = self.library_tokenizer().encode_batch_fast(
            [well_formed(text) for text in texts], add_special_tokens=False
        )
        return [encoding.ids for encoding in encodings]

    def reach(self, texts: Sequence[str], kept: Sequence[int]) -> list[int]:
        """The number of characters of each text up to the end of its first `kept` pieces, as the library says."""
        encodings = self.library_tokenizer().encode_batch(list(texts), add_special_tokens=False)
        return [encoding.offsets[n - 1][1] if n else 0 for encoding, n in zip(encodings, kept, strict=True)]

    def tokenize(self, text: str) -> list[str]:
        """The pieces of one text."""
        return self.library_tokenizer().encode(well_formed(text), add_special_tokens=False).tokens

    def library_tokenizer(self) -> LibraryTokenizer:
        """The object of the `tokenizers` library behind it. Raises RuntimeError before `train` or `load`."""
        if self._tokenizer is None:
            raise RuntimeError(f"this {self.title} tokenizer is not trained yet: call train or load first")
        return self._tokenizer

    def spellings(self) -> list[str]:
        """The string of every id, specials included; ids without a piece are empty."""
        return spelled(self.library_tokenizer().get_vocab(with_added_tokens=True))


def spelled(vocabulary: Mapping[str, int]) -> list[str]:
    """The string of every id of a vocabulary; empty for an id that no string has.

    >>> spelled({"b": 2, "a": 0})
    ['a', '', 'b']
    """
    strings = [""] * (max(vocabulary.values(), default=-1) + 1)
    for string, i in vocabulary.items():
        strings[i] = string
    return strings


def lower_cases(tokenizer: LibraryTokenizer | None) -> bool:
    """True where a tokenizer of the `tokenizers` library lower-cases texts."""
    normaliser = None if tokenizer is None else tokenizer.normalizer
    return normaliser is not None and normaliser.normalize_str("A") == normaliser.normalize_str("a")


def checked_learn_on(names: object, kind: str) -> tuple[str, ...]:
    """The texts that a vocabulary is learned on, each once. Raises InputError for a value that is no list of names."""
    listed = [names] if isinstance(names, str) else names
    if not isinstance(listed, list | tuple) or not listed or not all(isinstance(n, str) and n for n in listed):
        raise InputError(
            f"tokenizer {kind}: learn_on {names!r} names no texts; give a list of {CORPUS}, {TASKS} or names of tasks"
        )
    return tuple(dict.fromkeys(listed))


def read_file(path: Path, name: str, file: str, where: str) -> str:
    """The text of `path`, or where nothing is there, of a file of the hub's model `name`.

    Raises:
        InputError: neither is there, or it cannot be read.
    """
    if not path.exists():
        path = from_hub(name, file, where)
    if not path.is_file():  # to open a pipe never ends
        raise InputError(f"{where} {name}: {path} is no file; give a {file}")
    try:
        return path.read_text(encoding="utf-8-sig")  # as data files, without a byte order mark
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{where} {name}: cannot be read ({error}); give a {file}") from None


def read_model(text: str, kind: str, where: str, *, remedy: str, wanted: str) -> dict[str, Any]:
    """The content of a tokenizer.json with a model of this kind. Raises InputError, with what to give, for another."""
    try:
        content: dict[str, Any] = json.loads(text)
        model = content["model"]
        if "type" not in model and "max_input_chars_per_word" in model:  # as early files of word pieces
            model["type"] = "WordPiece"
        stored, _ = model["type"], model["vocab"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise InputError(f"{where}: no {FILE} of the tokenizers library; {remedy}") from None
    if stored != kind:
        raise InputError(f"{where}: holds a {stored} model; give {wanted}")
    return content


_commits: dict[str, str] = {}  # name of a model of the hub -> the commit that this process read it at


def noted(name: str, path: Path) -> Path:
    """`path`, a file or folder in the hub's cache; the commit in it is kept as the commit of `name`."""
    parts = path.parts
    if SNAPSHOTS in parts[:-1]:
        _commits[name] = parts[parts.index(SNAPSHOTS) + 1]
    return path


def commits_of(arguments: Mapping[str, Any]) -> dict[str, str]:
    """The names of the hub among these arguments that name no commit, each with the commit that was read.

    >>> _ = noted("of/doctest", Path("hub/models--of--doctest/snapshots/0123abc/vocab.txt"))
    >>> commits_of({"vocab": "of/doctest", "lowercase": True})
    {'of/doctest': '0123abc'}
    """
    names = [name for name in arguments.values() if isinstance(name, str) and name in _commits]
    return {name: _commits[name] for name in names if not name.endswith(f"@{_commits[name]}")}


def from_hub(name: str, file: str, where: str) -> Path:
    """A file of a model of the hub (REPOSITORY or REPOSITORY@REVISION), in its cache. Raises InputError without one."""
    repository, _, revision = name.partition("@")
    with answering(not_found(f"{where} {name}: no such file", f"give the path of a {file}, or {TRAIN}")):
        return noted(name, fetched(repository, file, revision or None))


PATTERNS = ["*.json", "*.txt", "*.model"]  # of a tokenizer's files, which lie beside the weights


@functools.cache
def folder_from_hub(name: str, problem: str, remedy: str) -> Path:
    """The folder with the files of a model of the hub that a tokenizer may need, in the hub's cache.

    Raises InputError (`problem`, the reason, `remedy`) where there is no such model, or the hub is out of reach.
    """
    repository, _, revision = name.partition("@")
    with answering(not_found(problem, remedy)):
        folder = import_package("huggingface_hub").snapshot_download(
            repository, revision=revision or None, allow_patterns=PATTERNS, ignore_patterns="*/*"
        )
        return noted(name, Path(folder))
