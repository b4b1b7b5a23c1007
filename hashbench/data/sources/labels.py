"""Labels as numbers: class ids from integers or names, or floats; what is no label is wrong input.

Names come from the task or its label_names.json, else from all splits. A label that only an evaluation split has is a
class like any other, which training never saw and the model hardly predicts: it counts as an error, as it should.
What is odd in texts and labels (missing texts, repeated rows, texts of train in test sets, unseen labels) gets a note.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np

from hashbench.common.errors import InputError
from hashbench.data.sources.files import Cells

INTEGER = re.compile(r"[+-]?[0-9]+")
SHOWN = 60  # characters of a wrong label that a message repeats
Label = str | int | float | None
SHOWN_NAMES = 5  # names of labels in a note


def read_values(columns: Mapping[str, Cells], where: Mapping[str, str]) -> dict[str, np.ndarray]:
    """Labels of a regression, float32 (n,) for each split. Raises InputError for a cell that is no finite number."""
    return {
        split: np.array([_number(cell, f"{where[split]}: row {row}") for row, cell in enumerate(cells, 1)], np.float32)
        for split, cells in columns.items()
    }


def read_classes(
    columns: Mapping[str, Cells], where: Mapping[str, str], names: Sequence[str] = ()
) -> tuple[dict[str, np.ndarray], tuple[str, ...]]:
    """Class ids, int64 (n,) for each split, and the names of the classes in the order of their ids.

    `where` names the table of each split in messages; `names` are the classes where they are known beforehand.

    Raises:
        InputError: a cell is no label: missing, NaN, out of range, of another kind than the rest.
    """
    labels = {split: [_plain(cell) for cell in column] for split, column in columns.items()}
    present = [label for column in labels.values() for label in column]
    ids, names, expected = _known(names) if names else _discover(present)
    class_ids = {}
    for split, column in labels.items():
        numbers = [ids.get(label) for label in column]
        if None in numbers:
            row = numbers.index(None)
            shown = repr(columns[split][row])[:SHOWN]
            raise InputError(f"{where[split]}: row {row + 1}: {shown} is not a label; expected {expected}")
        class_ids[split] = np.array(numbers, np.int64)
    if len(names) < 2:
        raise InputError(f"{next(iter(where.values()))}: every label is {names[0]!r}; a task needs two or more")
    return class_ids, tuple(names)


def names_of(cells: Cells, names: Sequence[str]) -> tuple[list[str | None], list[str]]:
    """The class that each cell names, and the distinct cells that name none, as a message shows them.

    `names`: of the classes in the order of their ids. A cell is a name, or an id where no class has such a name.

    >>> names_of([1, "no", 2.0, None], ["no", "yes"])
    (['yes', 'no', None, None], ['2.0', 'None'])
    """
    name_of: dict[str, str] = {str(number): name for number, name in enumerate(names)}
    name_of |= {name: name for name in names}
    named = [name_of.get(str(_plain(cell))) for cell in cells]
    strange = [repr(cell)[:SHOWN] for cell, name in zip(cells, named, strict=True) if name is None]
    return named, list(dict.fromkeys(strange))


def _known(names: Sequence[str]) -> tuple[dict[Label, int], Sequence[str], str]:
    """Ids by label (an id or a name) of classes named beforehand, their names, and what a message says is expected."""
    ids: dict[Label, int] = {str(i): i for i in range(len(names))}  # cells of a CSV file are text
    ids |= {i: i for i in range(len(names))} | {name: i for i, name in enumerate(names)}
    return ids, names, f"0 to {len(names) - 1}, or one of {', '.join(names[:8])}{', ...' if len(names) > 8 else ''}"


def _discover(present: Sequence[Label]) -> tuple[dict[Label, int], Sequence[str], str]:
    """Ids by label of the labels that occur, the names of the classes, and what a message says is expected.

    The kind of most labels, number or name, is the kind of all.
    """
    numbers = {label: int(label) for label in present if _is_integer(label)}  # type: ignore[arg-type]
    if 2 * sum(label in numbers for label in present) >= len(present):
        order = sorted({number for number in numbers.values() if number >= 0})
        ids: dict[Label, int] = {label: order.index(number) for label, number in numbers.items() if number >= 0}
        return ids, [str(number) for number in order], "an integer from 0 on, as most labels are here"
    order_of_names = sorted({label for label in present if isinstance(label, str) and label})
    return {name: i for i, name in enumerate(order_of_names)}, order_of_names, "a name, as most labels are here"


def _plain(cell: object) -> Label:
    """A cell as a label: text without space around it, whole floats as integers (1.0 is how pandas writes 1)."""
    if isinstance(cell, str):
        return cell.strip()
    if isinstance(cell, float) and cell.is_integer():
        return int(cell)
    return int(cell) if isinstance(cell, bool) else cell if isinstance(cell, int | float) else None


def _is_integer(label: Label) -> bool:
    return isinstance(label, int) or (isinstance(label, str) and INTEGER.fullmatch(label) is not None)


def _number(cell: object, where: str) -> float:
    try:
        read = isinstance(cell, str | int | float) and not isinstance(cell, bool)
        # Python's float reads 1_5 as 15, no reader of tables does
        value = float(cell) if read and not (isinstance(cell, str) and "_" in cell) else math.nan  # type: ignore[arg-type]
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise InputError(
            f"{where}: {repr(cell)[:SHOWN]} is not a label; a regression needs finite numbers; "
            "correct it, or give the task a metric of classes, such as accuracy"
        )
    return value


class LabelledTexts(Protocol):
    """Texts with labels."""

    @property
    def texts(self) -> tuple[list[str], ...]: ...
    @property
    def labels(self) -> np.ndarray: ...


def missing_texts(splits: Mapping[str, LabelledTexts]) -> list[str]:
    """A note with the number of rows of each split in which a text is missing or empty, if there are such rows."""
    counts = {
        name: sum(any(not text.strip() for text in row) for row in zip(*split.texts, strict=True))
        for name, split in splits.items()
    }
    counted = [f"{_rows(n)} of {split}" for split, n in counts.items() if n]
    return [f"missing texts: {', '.join(counted)}"] if counted else []


def repeated_rows(splits: Mapping[str, LabelledTexts]) -> list[str]:
    """Notes on rows that repeat a text and label of their split, and on those of other splits with a text of train."""
    rows = {name: list(zip(*split.texts, strict=True)) for name, split in splits.items()}
    twice = {
        name: len(texts) - len(set(zip(texts, splits[name].labels.tolist(), strict=True)))
        for name, texts in rows.items()
    }
    trained = set(rows["train"])
    seen = {name: sum(text in trained for text in texts) for name, texts in rows.items() if name != "train"}
    again = [f"{_rows(n)} of {name}" for name, n in twice.items() if n]
    also_in_train = [f"{_rows(n)} of {name}" for name, n in seen.items() if n]
    notes = [f"repeated: {', '.join(again)}"] if again else []
    return notes + ([f"texts also in train: {', '.join(also_in_train)}"] if also_in_train else [])


def unseen_note(unit: str, label: str, split: str, ids: Sequence[int] | np.ndarray, names: Sequence[str]) -> str:
    """A note on labels of a split that train never has, with their names; `ids`: one for each `unit` that has one.

    >>> unseen_note("row", "label", "test", [2, 2], ["no", "yes", "maybe"])
    "2 rows of test have a label that train never has: 'maybe'"
    """
    shown = [repr(names[number]) for number in sorted(set(map(int, ids)))]
    listed = ", ".join(shown[:SHOWN_NAMES]) + (
        f" and {len(shown) - SHOWN_NAMES} more" if len(shown) > SHOWN_NAMES else ""
    )
    have = f"{unit} of {split} has" if len(ids) == 1 else f"{unit}s of {split} have"
    return f"{len(ids):,} {have} a {label} that train never has: {listed}"


def _rows(n: int) -> str:
    return f"{n:,} row{'' if n == 1 else 's'}"
