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
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np

from hashbench.common.errors import InputError, located, near_match
from hashbench.common.invisible import UNSEEN
from hashbench.common.showing import SHOWN_CHARACTERS, whole_number
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
PERHAPS_MISSING = frozenset(("-", "--", "?", "n/a", "na", "null", "unlabeled", "unlabelled"))  # noted, not refused
JOINS_ALONE = ("|", ";", ",", "#", "\t")  # between labels of a row; the others are within names too, as in Sci/Tech
JOINS = (*JOINS_ALONE, "::", "__", " and ", "/", "+", "&", "_", " ")
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


class ReadClasses(NamedTuple):
    """Class ids int64 (n,) of each split, the names in the order of their ids, and notes on how they were read."""

    ids: dict[str, np.ndarray]
    names: tuple[str, ...]
    notes: tuple[str, ...] = ()


def read_classes(
    columns: Mapping[str, Cells],
    where: Mapping[str, str],
    declared: Classes | None = None,
    positive: str | None = None,
    rows: Mapping[str, Sequence[int]] | None = None,
) -> ReadClasses:
    """The class ids of each split, and the names of the classes.

    `where` names the table of each split in messages; `declared`: the classes, where the task or a file declares them.
    `positive`: the name of the class of two that is to have id 1. `rows`: the row of each cell as messages number it,
    where rows have several cells or none; None: one cell a row.

    Raises:
        InputError: a cell is no label: missing, NaN, out of range, of another kind than the rest. Two labels could be
            one class. Every label of a split is one that train never has.
    """
    classes: Classes | _Discovered
    of_cells = rows or {split: range(1, len(column) + 1) for split, column in columns.items()}
    for split, column in columns.items():
        _refuse_nested(column, where[split], of_cells[split])
    with located(next(iter(where.values()))):
        classes = declared or _Discovered(columns)
    named = {split: _named(column, where[split], classes, of_cells[split]) for split, column in columns.items()}
    with located(next(iter(where.values()))):
        if len(classes.names) < 2:
            raise InputError(f"every label is {classes.names[0]!r}; a task needs two or more")
        names = _with_positive(classes.names, positive)
    refuse_all_unseen({split: set(column) for split, column in named.items()}, where)
    ids = {name: number for number, name in enumerate(names)}
    present = {name for column in named.values() for name in column}
    notes = [*respelled(columns, named), *_perhaps_missing(present)] if isinstance(classes, Classes) else classes.notes
    numbered = {split: np.array([ids[name] for name in column], np.int64) for split, column in named.items()}
    return ReadClasses(numbered, names, tuple(notes))


def _named(column: Cells, where: str, classes: Classes | _Discovered, rows: Sequence[int]) -> list[str]:
    """The class of each cell, `rows` as in `read_classes`. Raises InputError for the first that has none."""
    names: list[str] = []
    remembered: dict[tuple[type, object], str | None] = {}
    for row, cell in zip(rows, column, strict=True):
        key = (type(cell), cell)
        if key not in remembered:
            remembered[key] = classes.name_of(cell)
        name = remembered[key]
        if name is None:
            shown = (
                f"row {row}: {repr(cell)[:SHOWN_CHARACTERS]} is not a label; expected {classes.expected}{_hint(cell)}"
            )
            raise InputError(f"{where}: {shown}")
        names.append(name)
    return names


def _refuse_nested(column: Cells, where: str, rows: Sequence[int]) -> None:
    """Raises InputError for a cell that holds several values."""
    for row, cell in zip(rows, column, strict=True):
        if isinstance(cell, list | tuple | dict):
            raise InputError(f"{where}: row {row}: {repr(cell)[:SHOWN_CHARACTERS]} is not a label; {_of_several(cell)}")


def _of_several(cell: object) -> str:
    """The reason against a cell that holds several values, with the remedy."""
    if isinstance(cell, dict):
        return "it is nested; write its name into a column of its own"
    return "a row has one: several labels a row need metric: label_f1_micro, tags, one a word, metric: span_f1"


def _hint(cell: object) -> str:
    """The end of a message about a cell that is not a label."""
    label = label_of(cell)
    if label.kind == "decimal":
        return "; numbers to predict as such need metric: pearson or spearman, codes of classes labels: [...]"
    if label.text == "-1":
        return "; -1 often means no label: leave such rows out, or list the classes, as labels: [-1, 0, 1]"
    if LIST.fullmatch(label.text):
        return f"; {_of_several(cell)}"
    return "; leave the row out" if label.kind == "none" else ""


def _with_positive(names: Sequence[str], positive: str | None) -> tuple[str, ...]:
    """The names, with the positive one of two as the second."""
    if positive is None:
        return tuple(names)
    name = Classes(tuple(names)).name_of(positive)
    if name is None or len(names) != 2:
        hint = near_match(positive, list(names)) if name is None else ""
        raise InputError(f"positive: {positive!r} is none of two classes{hint or '; the classes are ' + listed(names)}")
    return (names[1 - list(names).index(name)], name)


YES = frozenset(("1", "true", "yes", "y", "positive", "pos", "t"))
NO = frozenset(("0", "-1", "false", "no", "n", "negative", "neg", "f", "none", "other", "neutral"))
NOT = re.compile(r"(not|no|non|un|in|dis)[ _-]?")


def positive_by_name(names: Sequence[str]) -> str | None:
    """The one of two classes that is positive by its name: yes, not no; duplicate, not not_duplicate. None: none is.

    >>> [positive_by_name(names) for names in (["duplicate", "not_duplicate"], ["hate", "none"], ["a", "b"])]
    ['duplicate', 'hate', None]
    """
    keys = {name: variant_key(name) for name in names}
    for name, other in (names, names[::-1]):
        negated = NOT.match(keys[other])
        is_negation = negated is not None and keys[other][negated.end() :] == keys[name]
        if (
            is_negation
            or (keys[name] in YES and keys[other] not in YES)
            or (keys[other] in NO and keys[name] not in NO)
        ):
            return name
    return None


def is_unlabelled(cells: Cells) -> bool:
    """True where no row has a label: each is missing, or -1, which the package `datasets` writes for none.

    >>> is_unlabelled([-1, -1]), is_unlabelled([[], [None]]), is_unlabelled([-1, 0])
    (True, True, False)
    """
    return all(
        is_unlabelled(cell)
        if isinstance(cell, list)
        else (label := label_of(cell)).kind == "none" or label.text == "-1"
        for cell in cells
    )


def refuse_all_unseen(names: Mapping[str, Collection[str]], where: Mapping[str, str]) -> None:
    """Raises InputError where train has none of the labels of a split."""
    trained = set(names.get("train", ()))
    for split, present in names.items():
        if trained and present and trained.isdisjoint(present):
            raise InputError(
                f"{where[split]}: no row has a label that train has ({listed(sorted(present))}; train: "
                f"{listed(sorted(trained))}); spell both alike, or give labels: {{SPELLING: NAME, ...}} in the task's "
                "entry; a split without labels is no split to evaluate on"
            )


def respelled(columns: Mapping[str, Cells], named: Mapping[str, Sequence[object]]) -> list[str]:
    """A note on labels that were read as a name which they equal but for case, blanks or invisible characters.

    Cells may be lists, each as long as the list of its names.
    """
    pairs = dict.fromkeys(
        pair
        for split, column in columns.items()
        for pair in zip(flat(column), flat(named[split]), strict=True)
        if isinstance(pair[0], str)
    )
    shown = [
        f"{cell!r} as {name!r}"
        for cell, name in ((str(cell).strip(), str(name)) for cell, name in pairs)
        if cell != name and variant_key(cell) == variant_key(name)
    ]
    return [f"labels read in another spelling: {listed(list(dict.fromkeys(shown)), NOTED_NAMES)}"] if shown else []


class _Discovered:
    """The classes of labels whose names nobody declared. All labels are read as most are: as numbers or as names.

    Raises InputError where two labels could be one class, or one label no class.
    """

    def __init__(self, columns: Mapping[str, Cells]) -> None:
        self._by_split = {split: _counted(column) for split, column in columns.items()}
        counts = sum(self._by_split.values(), Counter[Label]())
        others = {label.text for label in counts if label.kind not in ("truth", "none")}
        self._truth_is_number = bool(others) and others <= {"0", "1"}
        self._truths = _spelled_truths(counts)
        numeric = ("number", "decimal", *(("truth",) if self._truth_is_number else ()))
        n_numbers = sum(n for label, n in counts.items() if label.kind in numeric)
        self._has_codes = any(label.kind == "code" for label in counts)
        self._are_numbers = not self._has_codes and 2 * n_numbers >= counts.total()
        self._hidden = ""
        self.notes: list[str] = []
        texts = {label: text for label in counts if (text := self._text(label)) is not None}
        self.names = self._numbers(texts) if self._are_numbers else self._names(texts)
        above = "" if any(name.startswith("-") for name in self.names) else " from 0 on"
        self.expected = f"{f'an integer{above}' if self._are_numbers else 'a name'}, as most labels are here"

    def name_of(self, cell: object) -> str | None:
        """The name of the class of a cell; None where the cell is no label."""
        return self._text(label_of(cell))

    def _text(self, label: Label) -> str | None:
        if label.kind == "none" or label.text.lower() in MISSING or label.text == self._hidden:
            return None
        text = label.text
        if LIST.fullmatch(text):
            return None
        if label.kind == "truth":
            text = TRUTH[text.lower()] if self._truth_is_number else self._truths[text.lower()]
        return text if not self._are_numbers or WHOLE.fullmatch(text) else None

    def _numbers(self, texts: Mapping[Label, str]) -> tuple[str, ...]:
        """The classes in the order of their numbers; -1 beside 0 is none, since it may mean that a row has no label."""
        numbers = sorted(set(map(int, texts.values())))
        if numbers[:1] == [-1] and numbers != [-1, 1]:
            self._hidden = str(numbers.pop(0))
        return tuple(map(str, numbers))

    def _names(self, texts: Mapping[Label, str]) -> tuple[str, ...]:
        """The classes in the order of their names. Raises InputError where two names may mean one class."""
        by_key: dict[str, set[str]] = {}
        for label, text in texts.items():
            number = str(int(text)) if label.kind in ("number", "code") else ""
            by_key.setdefault(number or variant_key(text), set()).add(text)
        for group in by_key.values():
            if len(group) > 1:
                first, second = sorted(group)[:2]
                # 01 and 1 in one split are two codes; nobody means two classes by +1 and 1, or by Yes and yes
                are_numbers = whole_number(first) is not None and whole_number(second) is not None
                if not (are_numbers and self._in_one_split(first, second)):
                    raise InputError(
                        f"labels {apart(first, second)}: one class in two spellings, or two classes? list the "
                        "classes in the task's entry, labels: [...], or join them, labels: "
                        f"{{{first}: NAME, {second}: NAME, ...}}"
                    )
                self.notes.append(f"labels {first!r} and {second!r} are two classes")
        numbers = sorted({text for label, text in texts.items() if label.kind in ("number", "decimal")})
        if numbers and not self._has_codes:
            self.notes.append(f"numbers among names of classes: {listed([repr(n) for n in numbers], NOTED_NAMES)}")
        self.notes += _perhaps_missing(set(texts.values()))
        return tuple(sorted(set(texts.values())))

    def _in_one_split(self, *texts: str) -> bool:
        """True where a split has all of these labels as texts, and no split has one as a number."""
        typed = any(label.text in texts and label.typed for counts in self._by_split.values() for label in counts)
        return not typed and any(set(texts) <= {label.text for label in counts} for counts in self._by_split.values())


def joined_labels(
    names: Collection[str], remark: str = "each counts as one class; to split it: metric: label_f1_micro, separator: {}"
) -> list[str]:
    """A note on names of classes that may be several labels of one row, joined. `remark`: with {} for the mark.

    They are where all parts are also classes ("a+b", "a" and "b"), or the parts of another name are the same in another
    order; with a mark that is seldom within a name, where one part is also a class or a part of another name.

    >>> joined_labels(["a|b", "b|a", "c"])[0][:50]
    "perhaps several labels a row, joined by '|': 'a|b'"
    >>> joined_labels(["Sci/Tech", "Arts, music", "World"])
    []
    """
    for mark in JOINS:
        parts = {
            name: tuple(part for part in map(variant_key, name.split(mark)) if part)
            for name in sorted(names)
            if mark in name and label_of(name).kind == "name"
        }
        several = {name: of for name, of in parts.items() if len(of) > 1}
        orders = Counter(tuple(sorted(of)) for of in several.values())
        uses = Counter(part for of in several.values() for part in set(of))
        classes = set(map(variant_key, names))
        joined = [
            name
            for name, of in several.items()
            if orders[tuple(sorted(of))] > 1
            or classes.issuperset(of)
            or (mark in JOINS_ALONE and any(part in classes or uses[part] > 1 for part in of))
        ]
        if joined:
            shown = listed([repr(name) for name in joined], NOTED_NAMES)
            return [f"perhaps several labels a row, joined by {mark!r}: {shown} ({remark.format(repr(mark))})"]
    return []


def _perhaps_missing(names: Collection[str]) -> list[str]:
    """A note on names of classes with which programs also write a cell that is not there."""
    perhaps = sorted(n for n in names if n.lower() in PERHAPS_MISSING | MISSING or n == "None")
    shown = listed([repr(name) for name in perhaps])
    return [f"counted as a class, though it often means no label: {shown}"] if perhaps else []


def _counted(column: Cells) -> Counter[Label]:
    """How often each label is in a column."""
    counts: Counter[Label] = Counter()
    for (_, cell), n in Counter((type(cell), cell) for cell in column).items():
        counts[label_of(cell)] += n
    return counts


def _spelled_truths(counts: Mapping[Label, int]) -> dict[str, str]:
    """The spellings of true and false: the spelling of most texts, else Python's."""
    spelled = {key: key.capitalize() for key in TRUTH}
    for label, _ in sorted(counts.items(), key=lambda item: item[1]):
        if label.kind == "truth" and not label.typed:
            spelled[label.text.lower()] = label.text
    return spelled


class UnseenLabels(InputError):
    """Raised for labels of another set that mean no class of the training; `what` is the message without its remedy."""

    def __init__(self, what: str, remedy: str) -> None:
        super().__init__(what + remedy)
        self.what = what


def named_by_features(
    columns: Mapping[str, Cells],
    features: Mapping[str, tuple[str, ...]],
    declared: Classes | None,
    where: Mapping[str, str] | None = None,
) -> tuple[dict[str, Cells], tuple[str, ...]]:
    """The columns with the names of ClassLabel features in place of their numbers, and the names of the classes.

    `features`: the names that the table of a split gives to the numbers in it, () for none. `declared`: the classes
    that the task declares; then their names are returned. A table whose names are other ones keeps its numbers where
    train has the same names. Cells may be lists. `where` names the table of each split in messages.

    Raises:
        InputError: a table has a name twice, or some of the declared names alone. Its names and its numbers mean
            different declared classes. Its names differ from train's, in another order, or are numbers out of
            place.
    """
    named = dict(columns)
    names: tuple[str, ...] = declared.names if declared else ()
    for split, of_table in features.items():
        if not of_table:
            continue
        with located((where or {}).get(split, split)):
            refuse_repeated(of_table)
            if declared is None:
                names = _joined(names, of_table)
            elif not _are_declared(of_table, declared):
                _refuse_other_order(of_table, features.get("train", ()), names)
                continue
        named[split] = [_feature(cell, of_table) for cell in columns[split]]
    if declared is None and not features.get("train") and have_numbers(columns.get("train", [])):
        with located((where or {}).get("train", "train")):
            _refuse_two_orders([of_table for of_table in features.values() if of_table])
    return named, names


def _joined(names: tuple[str, ...], more: tuple[str, ...]) -> tuple[str, ...]:
    """The names of two tables. Raises InputError where one of each may be one class."""
    keys = {variant_key(name): name for name in names}
    new = tuple(name for name in more if name not in names)
    for name in new:
        if (other := keys.get(variant_key(name))) is not None:
            raise InputError(
                f"classes {apart(other, name)}: one class in two spellings, or two classes? list the classes in the "
                f"task's entry, labels: [...], or join them, labels: {{{other}: NAME, {name}: NAME, ...}}"
            )
    return (*names, *new)


def _refuse_two_orders(tables: Sequence[tuple[str, ...]]) -> None:
    """Raises InputError where tables that name their numbers do not say what the numbers of one without names mean."""
    for of_table in tables[1:]:
        if Classes(of_table, of_table).has_positions and not _same_order(of_table, tables[0]):
            raise InputError(
                f"numbers without names, which are {listed(tables[0])} in one file of the data and {listed(of_table)} "
                "in another; list the classes in order, labels: [...]"
            )


def _same_order(names: Sequence[str], others: Sequence[str]) -> bool:
    """True where the numbers that two tables have in common mean the same names."""
    n = min(len(names), len(others))
    return n > 0 and list(map(variant_key, names[:n])) == list(map(variant_key, others[:n]))


def refuse_repeated(names: Sequence[str]) -> None:
    """Raises InputError where a name is there twice."""
    if twice := [name for name, n in Counter(map(str.strip, names)).items() if n > 1]:
        raise InputError(f"the name {twice[0]!r} is there twice among the classes ({listed(names)}); name each once")


def _are_declared(of_table: Sequence[str], declared: Classes) -> bool:
    """True where all names of a table are declared classes or their spellings; then names count, not numbers.

    Raises InputError where some are, or where a mapping of the task gives their numbers other classes.
    """
    spelled = Classes(declared.names, (), declared.spellings)
    by_name = [spelled.name_of(name) for name in of_table]
    if None in by_name:
        if any(by_name):
            raise InputError(
                f"the file names its classes {listed(of_table)}, the task {listed(declared.names)}; "
                "map all names of the file, as labels: {SPELLING: NAME, ...}"
            )
        return False
    spellings = dict(declared.spellings)
    by_number = [spellings.get(str(number)) for number in range(len(of_table))]
    if None not in by_number and by_number != by_name:
        raise InputError(
            f"labels says that 0 to {len(of_table) - 1} are {listed(list(map(str, by_number)))}, but the file names "
            f"them {listed(of_table)}; list the classes in order, labels: [...], to read the file by its names, or map "
            "names alone"
        )
    return True


def _refuse_other_order(of_table: Sequence[str], of_train: Sequence[str], names: Sequence[str]) -> None:
    """Raises InputError where a table has other names than the task, and its numbers may differ from train's."""
    numbers = [label_of(name) for name in of_table]
    if not _same_order(of_table, of_train) or any(
        label.kind == "number" and label.text != str(at) for at, label in enumerate(numbers)
    ):
        raise InputError(
            f"the file names its classes {listed(of_table)}, the task {listed(names)}, so what its numbers mean is not "
            f"plain; say which name is which: labels: {{{of_table[0]}: NAME, ...}}"
        )


def values_by_features(
    columns: Mapping[str, Cells], features: Mapping[str, tuple[str, ...]], where: Mapping[str, str]
) -> dict[str, Cells]:
    """The columns of a regression, with names of ClassLabel features that are numbers in place of their numbers.

    Raises InputError where names are no numbers and have another order than train's.
    """
    named = dict(columns)
    for split, of_table in features.items():
        if of_table and all(label_of(name).kind in ("number", "code", "decimal") for name in of_table):
            named[split] = [_feature(cell, of_table) for cell in columns[split]]
        elif of_table and of_table != features.get("train", ()):
            raise InputError(
                f"{where[split]}: the file names its labels {listed(of_table)}, which are no numbers, and train does "
                "not name them so; write numbers"
            )
    return named


def flat(cells: Cells) -> Iterator[object]:
    """The cells, a list as what is in it.

    >>> list(flat(["a", ["b", "c"], []]))
    ['a', 'b', 'c']
    """
    for cell in cells:
        yield from cell if isinstance(cell, list) else (cell,)


def have_numbers(cells: Cells) -> bool:
    """True where a cell, or one in a list, is a whole number, in whatever type."""
    return any(label_of(cell).kind == "number" for cell in flat(cells))


def named_by_order(cells: Cells, names: Sequence[str]) -> Cells:
    """The cells as names of classes in a declared order, where they mean one, else as texts. Cells may be lists."""
    classes = Classes(tuple(names), tuple(names))

    def named(cell: object) -> object:
        if isinstance(cell, list):
            return [named(inner) for inner in cell]
        label = label_of(cell)
        return classes.name_of(cell) or (label.text if label.kind == "number" else cell)

    return [named(cell) for cell in cells]


def _feature(cell: object, names: Sequence[str]) -> object:
    """The name at the place that a cell of a table writes; text that may be a name itself stays as it is."""
    if isinstance(cell, list):
        return [_feature(inner, names) for inner in cell]
    kind, text, typed = label_of(cell)
    if kind != "number" or not text.isdigit() or int(text) >= len(names):
        return cell
    return names[int(text)] if typed or Classes((), tuple(names)).has_positions else cell


def unseen_note(
    unit: str, label: str, split: str, ids: Sequence[int] | np.ndarray, names: Sequence[str], n: int | None = None
) -> str:
    """A note on labels of a split that train never has, with their names; `ids`: one for each `unit` that has one.

    `n`: the number of these units, where a unit may have several labels.

    >>> unseen_note("row", "label", "test", [2, 2], ["no", "yes", "maybe"])
    "2 rows of test have a label that train never has: 'maybe'"
    """
    shown = [repr(names[number]) for number in sorted(set(map(int, ids)))]
    listed = ", ".join(shown[:NOTED_NAMES]) + (
        f" and {len(shown) - NOTED_NAMES} more" if len(shown) > NOTED_NAMES else ""
    )
    n = len(ids) if n is None else n
    have = f"{unit} of {split} has" if n == 1 else f"{unit}s of {split} have"
    return f"{n:,} {have} a {label} that train never has: {listed}"
