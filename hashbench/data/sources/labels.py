"""Labels as numbers: class ids from cells of any kind, or floats; what is no label is wrong input.

A label is the name of its class. Names come from the task (its own, or the key `labels` of an entry), from ClassLabel
features of a parquet file, from label_names.json, else from the cells of all splits. A cell that equals a name is that
name, whether it is text or a number: 1, 1.0, "1" and "1.0" are one label, and true is "true". It counts as a position
only where an order is declared and no name is a number. What could be two classes of one, or one of two, is refused.
A label that only an evaluation split has is a class like any other, which training never saw and the model hardly
predicts: it counts as an error, as it should.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np

from hashbench.common.errors import InputError
from hashbench.common.invisible import UNSEEN
from hashbench.data.sources.files import Cells

# 1, -1, and 1.0 as pandas writes 1 in a column with gaps; longer ones are no numbers of classes
WHOLE = re.compile(r"(-?(?:0|[1-9][0-9]{0,29}))(?:\.0*)?")
CODE = re.compile(r"[+-]?[0-9]{1,30}")  # of the others: 01, +1, 007, whose spelling may be their meaning
DECIMAL = re.compile(r"[+-]?[0-9]*[.,]?[0-9]+(?:[eE][+-]?[0-9]+)?")
LARGEST_FLOAT, LARGEST_DECIMAL = 2**53, 10**30  # whole floats above it are not the number that was written
LIST = re.compile(r"\[.*\]", re.DOTALL)  # several labels of a row, as a table writes them
TRUTH = {"false": "0", "true": "1"}
# How pandas and spreadsheets spell a cell that is not there. "none" and "null" are names of classes in published sets.
MISSING = frozenset(("nan", "<na>", "nat", "#n/a"))
SHOWN_NAMES = 8  # names of labels in a message
NOTED_NAMES = 5  # the same in a note
LabelKind = Literal["number", "code", "decimal", "truth", "name", "none"]


class Label(NamedTuple):
    """A cell as a label: what it looks like, and its text, which is one for all spellings of a whole number."""

    kind: LabelKind
    text: str
    typed: bool = False  # whether the cell is no text


def label_of(cell: object) -> Label:
    """The label in a cell. Text has no meaning of space around it; kind "none" is a cell without a label.

    >>> label_of(" 1.0"), label_of(1), label_of("01").kind, label_of(True).text, label_of(float("nan")).kind
    (Label(kind='number', text='1', typed=False), Label(kind='number', text='1', typed=True), 'code', 'True', 'none')
    """
    if isinstance(cell, bool | np.bool_):
        return Label("truth", str(bool(cell)), True)
    if isinstance(cell, int | np.integer):
        return Label("number", str(int(cell)), True)
    if isinstance(cell, float | np.floating | Decimal):
        return _of_fraction(cell)
    if not isinstance(cell, str) or not (text := cell.strip()):
        return Label("none", "")
    if whole := WHOLE.fullmatch(text):
        return Label("number", "0" if int(whole[1]) == 0 else whole[1])
    if CODE.fullmatch(text):
        return Label("code", text)
    if text.lower() in TRUTH:
        return Label("truth", text)
    return Label("decimal" if DECIMAL.fullmatch(text) else "name", text)


def _of_fraction(cell: float | np.floating | Decimal) -> Label:
    if not math.isfinite(cell):
        return Label("none", "")
    largest = LARGEST_DECIMAL if isinstance(cell, Decimal) else LARGEST_FLOAT
    whole = int(cell)
    if abs(whole) <= largest and cell == whole:
        return Label("number", str(whole), True)
    return Label("decimal", str(cell), True)


def variant_key(name: str) -> str:
    """A key that is equal for names that differ in case, blanks, Unicode normal form or invisible characters alone.

    >>> variant_key("Very  Positive") == variant_key("very positive\\u200b")
    True
    """
    plain = unicodedata.normalize("NFKC", name)
    return " ".join(UNSEEN.sub("", plain).casefold().split())


@dataclass(frozen=True)
class Classes:
    """Classes with declared names, which turn a cell of any kind into the name of its class.

    `order`: the names by their numbers; () where no order is declared. `spellings`: texts or numbers of the files, each
    with the name that it means.
    """

    names: tuple[str, ...]
    order: tuple[str, ...] = ()
    spellings: tuple[tuple[str, str], ...] = ()

    @classmethod
    def declared(cls, names: Sequence[str], labels: Sequence[tuple[str, str]] = ()) -> Classes | None:
        """The classes of `labels`, pairs of a spelling and a name, else of `names` in their order; None of neither.

        Pairs of equal texts are a list of names in order.
        """
        if any(spelling != name for spelling, name in labels):
            return cls(tuple(dict.fromkeys(name for _, name in labels)), (), tuple(labels))
        in_order = tuple(name for _, name in labels) or tuple(names)
        return cls(in_order, in_order) if in_order else None

    @classmethod
    def of_trained(
        cls, names: Sequence[str], order: Sequence[str] | None, labels: Sequence[tuple[str, str]]
    ) -> Classes:
        """The classes of a trained task, for cells of another data set: a mapping in `labels` counts over `order`.

        `order`: None for the order of the names.
        """
        spellings = tuple(labels) if any(spelling != name for spelling, name in labels) else ()
        in_order = tuple(names if order is None else order)
        return cls(tuple(names), () if spellings else in_order, spellings)

    def name_of(self, cell: object) -> str | None:
        """The name of the class that a cell means; None where it means none, or could mean two."""
        label = label_of(cell)
        if label.kind == "none":
            return None
        written = cell.strip() if isinstance(cell, str) else label.text
        for among in (dict(self.spellings), {name: name for name in self.names}):
            if (name := _among(among, written, label)) is not None:
                return name
        if label.kind == "number" and label.text.isdigit():
            places = (self.order if self.has_positions else ())[int(label.text) :][:1]
            means = {*places, *self._by_truth(label.text)}
            return means.pop() if len(means) == 1 else None
        name = self._by_variant.get(variant_key(written))
        # NFKC makes numbers of superscripts and of digits in circles, which are none
        is_odd = any(letter.isnumeric() and not letter.isdecimal() for letter in written)
        return None if is_odd and name is not None and label_of(name).kind != "name" else name

    def _by_truth(self, number: str) -> list[str]:
        """The class that 0 or 1 means where the classes are true and false."""
        truths = {name: TRUTH.get(name.lower()) for name in self.names}
        return [name for name in truths if truths[name] == number] if set(truths.values()) == {"0", "1"} else []

    @cached_property
    def has_positions(self) -> bool:
        """True where a number means a class by its place: an order is declared, and no name is a number."""
        numbers = ("number", "code", "decimal")
        return bool(self.order) and not any(label_of(name).kind in numbers for name in self.order)

    @cached_property
    def _by_variant(self) -> dict[str, str]:
        """The names by `variant_key`, without names that share a key."""
        counts = Counter(map(variant_key, self.names))
        return {key: name for name in self.names if counts[key := variant_key(name)] == 1}

    @property
    def expected(self) -> str:
        """The expected cells, as a message lists them."""
        places = f"0 to {len(self.order) - 1}, or " if self.has_positions else ""
        spelled = [spelling for spelling, name in self.spellings if spelling != name]
        mapped = f"{listed(spelled)}, or " if spelled else ""
        return f"{mapped}{places}one of {listed(self.names)}"


def _among(names: Mapping[str, str], written: str, label: Label) -> str | None:
    """The value of the key that a label equals: as it is written, else by its number or its truth; None for none."""
    if written in names:
        return names[written]
    same = {names[key] for key in names if _equal(label_of(key), label)}
    if not same and label.kind == "truth":
        same = {names[key] for key in names if label_of(key)[:2] == ("number", TRUTH[label.text.lower()])}
    return same.pop() if len(same) == 1 else None


def _equal(label: Label, other: Label) -> bool:
    if label.kind == other.kind == "truth":
        return label.text.lower() == other.text.lower()
    return label.kind == other.kind == "number" and label.text == other.text


def apart(first: str, second: str) -> str:
    """Two different names as a message shows them: with escapes where they may look equal.

    >>> apart("Yes", "yes"), apart("a", "a\\u200b")
    ("'Yes' and 'yes'", "'a' and 'a\\\\u200b'")
    """
    shown = repr if first.casefold() == second.casefold() else ascii
    return f"{shown(first)} and {shown(second)}"


def listed(names: Sequence[str], most: int = SHOWN_NAMES) -> str:
    """The names joined by commas; of many the first ones.

    >>> listed(["a", "b", "c"], 2)
    'a, b, ...'
    """
    return ", ".join(names[:most]) + (", ..." if len(names) > most else "")


def flat(cells: Cells) -> Iterator[object]:
    """The cells, a list as what is in it.

    >>> list(flat(["a", ["b", "c"], []]))
    ['a', 'b', 'c']
    """
    for cell in cells:
        yield from cell if isinstance(cell, list) else (cell,)


class UnseenLabels(InputError):
    """Raised for labels of another set that mean no class of the training; `what` is the message without its remedy."""

    def __init__(self, what: str, remedy: str) -> None:
        super().__init__(what + remedy)
        self.what = what
