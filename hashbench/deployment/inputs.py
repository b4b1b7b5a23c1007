"""The inputs of a predictor: one text or several, single texts or pairs, from Python or as lines."""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from hashbench.common.errors import InputError
from hashbench.common.showing import SHOWN_CHARACTERS

Pair: TypeAlias = tuple[str, str]
Asked: TypeAlias = str | Pair | Iterable[str] | Iterable[Pair]
CONFIG = "config.json"  # the file that makes a folder an exported model
GRAPHS = ("model.onnx", "model_int8.onnx")  # in its folder onnx/, by the names that transformers.js knows
WANTED = {
    None: "give a text, or a pair of texts as a tuple, or a list of either",
    False: "this model reads single texts: give one, or a list of texts",
    True: "this model reads pairs of texts: give one as a tuple, ('a text', 'another'), or a list of pairs",
}

BASELINES = ("bag_of_words.py", "hashed_words.py")  # code in the folder of an exported trivial baseline


def check_exported(folder: Path) -> None:
    """Raises InputError where a folder holds no exported model, before anything heavy is imported."""
    if not (folder / CONFIG).is_file():
        raise not_exported(folder)


def is_graph(folder: Path) -> bool:
    """True for the folder onnx/ of an exported model, if it has a graph."""
    return (folder.parent / CONFIG).is_file() and any((folder / name).is_file() for name in GRAPHS)


def not_exported(folder: Path) -> InputError:
    """The error about a folder that holds no exported model."""
    for code in BASELINES:
        if (folder / code).is_file():
            return InputError(
                f"{folder}: a trivial baseline, which answers without hashbench: python {folder / code} TEXT"
            )
    if (folder.parent / CONFIG).is_file():  # its onnx/ is for devices
        return InputError(f"{folder}: is a part of an exported model; name {folder.parent}")
    return InputError(f"{folder}: no exported model; make one with hashbench export --run ID NEW_FOLDER")


@dataclass(frozen=True)
class Question:
    """Input texts as one column (n,), or two for pairs. `is_one`: a single input was given, not a list."""

    columns: list[list[str]]
    is_one: bool

    def __len__(self) -> int:
        return len(self.columns[0])


def question(texts: Asked, is_pair: bool | None) -> Question:
    """The input of a model as columns of texts. `is_pair`: True for pairs, False for single texts, None for either.

    >>> question("a film", is_pair=False)
    Question(columns=[['a film']], is_one=True)
    >>> question([("a", "b"), ("c", "d")], is_pair=True).columns
    [['a', 'c'], ['b', 'd']]

    Raises TypeError for anything else, in one line that says what to give.
    """
    is_one = isinstance(texts, str | tuple)
    if not is_one and (not isinstance(texts, Iterable) or isinstance(texts, bytes | Mapping)):
        raise TypeError(f"{_shown(texts)}: {WANTED[is_pair]}")
    rows: list[Any] = [texts] if is_one else list(texts)
    if is_pair is None:
        is_pair = bool(rows) and not isinstance(rows[0], str)
        wanted = WANTED[None]
    else:
        wanted = WANTED[is_pair]
    for row in rows:
        fits = _is_pair(row) if is_pair else isinstance(row, str)
        if not fits:
            raise TypeError(f"{_shown(row)}: {wanted}")
    return Question([[row[i] for row in rows] for i in (0, 1)] if is_pair else [rows], is_one)


def asked_line(line: str | bytes, where: str, is_pair: bool) -> str:
    """A line of the command or of stdin as text without line end. `where`: the name of a stdin line in messages.

    Raises InputError where it is not UTF-8, or no pair where the model takes pairs.

    >>> asked_line(b"it rains\\tit is wet\\r\\n", "line 1", is_pair=True)
    'it rains\\tit is wet'
    """
    if isinstance(line, str):
        where, text = repr(line[:SHOWN_CHARACTERS]), line
    else:
        try:
            text = line.decode().rstrip("\r\n")
        except UnicodeDecodeError as error:
            byte = f"byte {error.start + 1} is 0x{line[error.start]:02x}"
            raise InputError(f"{where}: is not UTF-8 ({byte}); convert the text, as with iconv -t utf-8") from None
    if is_pair and "\t" not in text:
        raise InputError(f"{where}: no pair; write two texts with a tab between")
    return text


def without_mark(lines: Iterable[bytes]) -> Iterator[bytes]:
    """The lines of a file or of stdin without the byte order mark that the first may begin with, as data files."""
    for number, line in enumerate(lines):
        yield line if number else line.removeprefix(BOM_UTF8)


def of_lines(lines: Sequence[str], is_pair: bool) -> list[str] | list[Pair]:
    """The lines as texts, or for a model of pairs as pairs, split at the first tab.

    >>> of_lines(["a\\tb\\tc"], is_pair=True)
    [('a', 'b\\tc')]
    """
    if not is_pair:
        return list(lines)
    parts = [line.partition("\t") for line in lines]
    return [(first, second) for first, _, second in parts]


def _is_pair(row: object) -> bool:
    return isinstance(row, tuple | list) and len(row) == 2 and all(isinstance(text, str) for text in row)


def _shown(value: object) -> str:
    """A value's type and shortened repr, for messages."""
    return f"{type(value).__name__} {repr(value)[:SHOWN_CHARACTERS]}"
