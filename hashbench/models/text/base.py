"""The interface of a tokenizer: from a text to token types; and the tokenizers by name."""

from __future__ import annotations

import importlib
import inspect
from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import resources
from itertools import accumulate
from pathlib import Path
from types import ModuleType
from typing import Any, cast

from hashbench.common.errors import InputError, first_line
from hashbench.common.registry import class_of, make, registered
from hashbench.models.text.normal_forms import ARGUMENT, TextForm, checked_form
from hashbench.models.text.types import Again, Interner

VERSION = "version"  # the argument of a tokenizer that has several; stored arguments without it mean 1
LEARN_ON = "learn_on"  # the argument of a tokenizer whose vocabulary can be learned, with these values:
# the corpora, the training texts of the experiment's tasks, or a task by its name
CORPUS, TASKS = "corpus", "tasks"
PORTABLE = "hashbench.models.portable"


@dataclass(frozen=True)
class PortablePart:
    """One step from a text to tokens, or from a token to its code (a list of numbers), on a device without hashbench.

    `source`.py and `source`.js of models/portable/ each have the function `entry`, which gets `values` and a function
    that reads one of `files`, and returns the step. A part of a plug-in has these two texts in `code`; its Python may
    import from hashbench.models.portable what the sources in `needs` have.
    """

    source: str
    entry: str  # as Python spells it; JavaScript has it in camel case
    values: Mapping[str, Any]  # plain JSON
    files: Mapping[str, bytes] = field(default_factory=dict)  # tables that were fitted, by the names they ship under
    needs: tuple[str, ...] = ()  # further sources that the source calls
    code: Mapping[str, str] = field(default_factory=dict)  # of a plug-in: its source by "py" and "js"

    def text(self, language: str) -> str:
        """The text of its source in a language, "py" or "js". Raises InputError where there is none."""
        if not self.code:
            return shipped_source(f"{self.source}.{language}")
        if language not in self.code:
            raise InputError(f"text side {self.source!r}: code has no {language!r}; add that source")
        return self.code[language]

    def step(self) -> Callable[[str], Any]:
        """The step, made in this process. Raises InputError where its source is missing or wrong."""
        text = self.text("py")
        try:
            if self.code:
                module = ModuleType(self.source)
                exec(compile(text, f"<text side {self.source}>", "exec"), vars(module))
            else:
                module = importlib.import_module(f"{PORTABLE}.{self.source}")
            step: Callable[[str], Any] = getattr(module, self.entry)(
                self.values, lambda name: self.files[name].decode()
            )
        except Exception as error:  # of a plug-in's code
            if not self.code:
                raise
            reason = f"{type(error).__name__}: {first_line(error)}"
            raise InputError(f"text side {self.source!r}: {self.entry} cannot be made: {reason}; correct it") from error
        return step


def shipped_source(file: str) -> str:
    """The text of a file of models/portable. Raises InputError for a source that is not there."""
    place = resources.files(PORTABLE).joinpath(file)
    if not place.is_file():
        raise InputError(f"text side: hashbench.models.portable has no {file}; give the source in PortablePart.code")
    return place.read_text(encoding="utf-8")


class Tokenizer(ABC):
    """From texts to tokens. Special tokens never arise from a text, whatever it spells."""

    kind: str  # the name that a model gives
    # Whether its tokens are meant to be words of a text, whatever the language.
    makes_words = False
    # The token of a word that it cannot spell; None: it spells all.
    unknown: str | None = None
    # For a vocabulary of pieces (`text.pieces`): its name in messages, and the argument that names it; None: no pieces.
    title = ""
    argument: str | None = None
    # Whether `pretrain.vocabulary` of a recipe may replace that argument.
    from_recipe = False
    # Whether the vocabulary comes, or will come, from texts.
    trained = False
    learn_on: tuple[str, ...] = (CORPUS,)  # the texts that a vocabulary which is learned comes from
    vocabulary_size: int | None = None  # requested for training, specials included

    @property
    def lowers(self) -> bool:
        """True where it lower-cases texts, so that a normal form must hold for their lower case."""
        return bool(getattr(self, "lowercase", False))

    @classmethod
    def may_not_end(cls, arguments: Mapping[str, Any]) -> bool:
        """True if tokenizing might never end with these arguments: a user-defined regular expression."""
        return False

    @property
    def needs_training(self) -> bool:
        """True where a vocabulary must be learned or loaded before anything else."""
        return False

    @property
    def pieces(self) -> list[str]:
        """The vocabulary in the order of its ids, without special tokens that never arise from a text; empty: none."""
        return []

    def spellings(self) -> list[str]:
        """The string of every id, specials included; ids without a piece are empty."""
        return []

    @property
    def spelled_specials(self) -> tuple[str, ...]:
        """Special tokens that arise from a text that spells them, as in a library's tokenizer; else none."""
        return ()

    def unreachable(self) -> str | None:
        """A piece that no text can give, however it is spelled, because of how texts are read; None where all can."""
        return None

    def remarks(self) -> list[str]:
        """Remarks for the user on how its files are read."""
        return []

    def options(self) -> dict[str, object]:
        """The options besides the vocabulary that decide the pieces of a text."""
        return {}

    def train(self, texts: Iterable[str], vocabulary_size: int, *, bars: bool = False) -> None:
        """Learns a vocabulary of this size, specials included, where `trained`. The texts may be read more than once.

        `bars`: the library shows on the terminal how far it is with words, pairs and merges.
        """
        raise NotImplementedError(f"tokenizer {self.kind} learns nothing from texts")

    def load(self, folder: Path) -> None:  # noqa: B027  # most have nothing to read
        """Loads a trained vocabulary that `save` wrote."""

    def recipe(self) -> dict[str, object]:
        """The kind and arguments of this tokenizer, as plain values without a path: part of a run's identity."""
        return {"kind": self.kind}

    @abstractmethod
    def tokenize(self, text: str) -> list[str]:
        """The tokens of one text."""

    @abstractmethod
    def interner(self) -> Interner:
        """A fresh counter of types for many texts."""

    def reach(self, texts: Sequence[str], kept: Sequence[int]) -> list[int]:
        """The number of characters of each text up to the end of its first `kept` tokens, one number a text.

        `texts` are well-formed. Tokens are looked for in the text, one behind the other and in any case of letters; a
        tokenizer whose tokens are spelled otherwise than the text has its own way.
        """
        return [end_of_tokens(text, self.tokenize(text)[:n]) for text, n in zip(texts, kept, strict=True)]

    def portable(self) -> PortablePart | None:
        """The code and values with which a device tokenizes without hashbench; None where it needs a library."""
        return None

    def save(self, folder: Path) -> None:  # noqa: B027  # most have nothing to write
        """Writes what it needs besides its arguments into a folder, which need not be there."""

    @classmethod
    def saved(cls, folder: Path, arguments: Mapping[str, Any]) -> Tokenizer:
        """The tokenizer with these arguments that `save` wrote into a folder."""
        return cls(**arguments)


def end_of_tokens(text: str, tokens: Iterable[str]) -> int:
    """The number of characters of a text up to the end of the last of these tokens, found one behind the other.

    A token that does not occur counts with its own length, until a later one occurs.

    >>> end_of_tokens("Don't stop!!!", ["don", "'", "t", "stop"])
    10
    """
    lowered, at, missed = text.lower(), 0, 0
    for token in tokens:
        place = lowered.find(token.lower(), at)
        at, missed = (at, missed + len(token)) if place < 0 else (place + len(token.lower()), 0)
    end = min(at + missed, len(lowered))
    if len(lowered) != len(text):  # one character may become several: capital I with a dot
        return bisect_left(list(accumulate(len(character.lower()) for character in text)), end) + 1 if end else 0
    return end


class NormalisedTokenizer:
    """A tokenizer of any kind, on texts that are brought to a normal form of Unicode before.

    All other attributes are the inner tokenizer's.
    """

    def __init__(self, within: Tokenizer, reading: TextForm) -> None:
        self._within, self._reading = within, replace(reading, lowers=within.lowers)

    def __getattr__(self, name: str) -> Any:
        if name == "_within":  # while it is unpickled
            raise AttributeError(name)
        return getattr(self._within, name)

    def __setattr__(self, name: str, value: object) -> None:
        if name in ("_within", "_reading"):
            super().__setattr__(name, value)
        else:
            setattr(self._within, name, value)

    def options(self) -> dict[str, object]:
        """The options of the tokenizer within, and the normal form."""
        return {**self._within.options(), ARGUMENT: self._reading.form}

    def recipe(self) -> dict[str, object]:
        """The recipe of the tokenizer within, and the normal form."""
        return {**self._within.recipe(), ARGUMENT: self._reading.form}

    def train(self, texts: Iterable[str], vocabulary_size: int, *, bars: bool = False) -> None:
        """Learns a vocabulary of this size from the texts in the normal form."""
        read = map(self._reading, texts) if isinstance(texts, Iterator) else Again(lambda: map(self._reading, texts))
        self._within.train(read, vocabulary_size, bars=bars)

    def tokenize(self, text: str) -> list[str]:
        """The tokens of the text in the normal form."""
        return self._within.tokenize(self._reading(text))

    def interner(self) -> Interner:
        """A counter of types of texts in the normal form."""
        return self._reading.interner(self._within.interner())

    def reach(self, texts: Sequence[str], kept: Sequence[int]) -> list[int]:
        """`Tokenizer.reach`, in characters of the texts as they are."""
        return self._reading.reach(texts, kept, self._within.reach)

    def portable(self) -> PortablePart | None:
        """The step of the tokenizer within, with the normal form among its values; None where it needs a library."""
        part = self._within.portable()
        return None if part is None else replace(part, values={**part.values, **self._reading.values})


def _read_as(tokenizer: Tokenizer, reading: TextForm) -> Tokenizer:
    """The tokenizer, on texts after a reading."""
    return tokenizer if reading.is_plain else cast(Tokenizer, NormalisedTokenizer(tokenizer, reading))


def tokenizers() -> Mapping[str, type[Tokenizer]]:
    """All tokenizers by kind. Raises InputError where two have one kind."""
    return registered("tokenizer")


def find_tokenizer(kind: str) -> type[Tokenizer] | None:
    """The tokenizer class of a kind, also of one in an imported user-defined file; None where there is none."""
    return class_of("tokenizer", kind)


def make_tokenizer(kind: str, **arguments: object) -> Tokenizer:
    """A new tokenizer of a kind, with its arguments. Each takes `normalise`: none, NFC or NFKC.

    >>> make_tokenizer("words").tokenize("Don't stop!!!")
    ['don', "'", 't', 'stop', '!!!']
    >>> make_tokenizer("words", normalise="NFC").tokenize("cafe\u0301") == ["caf\u00e9"]
    True

    Raises:
        InputError: unknown name or argument, or a value that the tokenizer refuses.
    """
    own, reading = _parted(kind, arguments)
    tokenizer: Tokenizer = make("tokenizer", kind, own, elsewhere=(ARGUMENT,))
    return _read_as(tokenizer, reading)


def saved_tokenizer(kind: str, folder: Path, arguments: Mapping[str, Any]) -> Tokenizer:
    """The tokenizer with these arguments (`lasting`) that `save` wrote into a folder."""
    own, reading = _parted(kind, arguments)
    cls = tokenizers()[kind]
    tokenizer = cls.saved(folder, {**({VERSION: 1} if VERSION in _parameters(cls) else {}), **own})
    return _read_as(tokenizer, reading)


def lasting(kind: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments, with the version that a tokenizer without one has today, to be stored for later versions."""
    cls = find_tokenizer(kind)
    parameters = {} if cls is None else _parameters(cls)
    return {**({VERSION: parameters[VERSION].default} if VERSION in parameters else {}), **arguments}


def _parted(kind: str, arguments: Mapping[str, Any]) -> tuple[dict[str, Any], TextForm]:
    """Arguments -> arguments of this kind's class, and the reading that `normalise` means for a class without it."""
    cls = find_tokenizer(kind)
    if cls is None or ARGUMENT not in arguments or ARGUMENT in _parameters(cls):
        return dict(arguments), TextForm()
    own = {key: value for key, value in arguments.items() if key != ARGUMENT}
    return own, TextForm(checked_form(arguments[ARGUMENT], kind))


def _parameters(cls: type) -> Mapping[str, inspect.Parameter]:
    return inspect.signature(cls).parameters
