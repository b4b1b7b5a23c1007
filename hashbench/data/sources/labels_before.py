"""Labels as they were read before a label was its name: to tell data whose stored runs learned other classes.

A number was a position where classes were declared, else one of the numbers that occur, and text was its own name. A
run on labels that are read otherwise now is another run, so its data have another fingerprint.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from hashbench.data.sources.files import Cells

INTEGER = re.compile(r"[+-]?[0-9]+")
PlainCell = str | int | float | None


def classes_before(columns: Mapping[str, Cells], names: Sequence[str]) -> dict[str, list[int]] | None:
    """The class id of each cell by split; None where a cell was refused.

    `names`: of the classes in the order of their ids, where a file declares them.

    >>> classes_before({"train": [1, "1", 2.0]}, ())
    {'train': [0, 0, 1]}
    >>> classes_before({"train": [1]}, ("1", "2"))
    {'train': [1]}
    """
    labels = {split: [_plain(cell) for cell in column] for split, column in columns.items()}
    ids: dict[PlainCell, int]
    if names:
        ids = {str(i): i for i in range(len(names))}
        ids |= {i: i for i in range(len(names))} | {name: i for i, name in enumerate(names)}
    else:
        ids = _discovered([label for column in labels.values() for label in column])
    if any(label not in ids for column in labels.values() for label in column):
        return None
    return {split: [ids[label] for label in column] for split, column in labels.items()}


def _discovered(present: Sequence[PlainCell]) -> dict[PlainCell, int]:
    """Ids by label: numbers in their order where at least half of the labels are some, else texts by the alphabet."""
    numbers = {label: int(label) for label in present if _is_integer(label)}  # type: ignore[arg-type]
    if 2 * sum(label in numbers for label in present) >= len(present):
        order = sorted({number for number in numbers.values() if number >= 0})
        return {label: order.index(number) for label, number in numbers.items() if number >= 0}
    return {name: i for i, name in enumerate(sorted({label for label in present if isinstance(label, str) and label}))}


def _plain(cell: object) -> PlainCell:
    if isinstance(cell, str):
        return cell.strip()
    if isinstance(cell, float) and cell.is_integer():
        return int(cell)
    return int(cell) if isinstance(cell, bool) else cell if isinstance(cell, int | float) else None


def _is_integer(label: PlainCell) -> bool:
    return isinstance(label, int) or (isinstance(label, str) and INTEGER.fullmatch(label) is not None)
