"""Columns of labels as class ids, of classes that are declared or found in the cells, with notes on their reading."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from hashbench.common.errors import InputError, located, near_match
from hashbench.common.showing import SHOWN_CHARACTERS, whole_number
from hashbench.data.sources.files import Cells
from hashbench.data.sources.labels import (
    LIST,
    MISSING,
    NOTED_NAMES,
    TRUTH,
    WHOLE,
    Classes,
    Label,
    apart,
    flat,
    label_of,
    listed,
    variant_key,
)

PERHAPS_MISSING = frozenset(("-", "--", "?", "n/a", "na", "null", "unlabeled", "unlabelled"))  # noted, not refused
JOINS_ALONE = ("|", ";", ",", "#", "\t")  # between labels of a row; the others are within names too, as in Sci/Tech
JOINS = (*JOINS_ALONE, "::", "__", " and ", "/", "+", "&", "_", " ")
YES = frozenset(("1", "true", "yes", "y", "positive", "pos", "t"))
NO = frozenset(("0", "-1", "false", "no", "n", "negative", "neg", "f", "none", "other", "neutral"))
NOT = re.compile(r"(not|no|non|un|in|dis)[ _-]?")


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
