"""Several labels a row, or none: a list in each cell, or names joined by a separator; read as `labels.py` reads one.

An empty list is a row without a label, and so is an empty cell of joined names. A name that is in a row twice counts
once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from hashbench.common.errors import InputError
from hashbench.common.showing import SHOWN_CHARACTERS
from hashbench.data.sources.class_labels import ReadClasses, read_classes
from hashbench.data.sources.files import Cells
from hashbench.data.sources.labels import LIST, Classes, flat, label_of

MOST_BYTES = 2**32  # of the labels of a split, a byte for each row and label
FEWEST_COLUMNS = 3  # of lists of 0 and 1 that are taken for a column a label
ZERO_OR_ONE = ("0", "1", "False", "True")


def lists_of_labels(cells: Cells, separator: str | None, where: str) -> list[list[object]]:
    """The labels of each row. `separator`: between the names in a cell that is text; None: each cell is a list.

    Raises InputError for a cell that is neither.
    """
    return [_labels_in(cell, separator, f"{where}: row {row}") for row, cell in enumerate(cells, start=1)]


def _labels_in(cell: object, separator: str | None, where: str) -> list[object]:
    shown = repr(cell)[:SHOWN_CHARACTERS]
    if isinstance(cell, list):
        if any(isinstance(inner, list | tuple | dict) for inner in cell):
            raise InputError(f"{where}: {shown} has a list within a list; a row has one list of names or numbers")
        return cell
    if isinstance(cell, str) and LIST.fullmatch(cell.strip()):
        raise InputError(f"{where}: {shown} is a list written as text; save the table as JSON lines or parquet")
    if separator is None:
        if cell is None:
            raise InputError(f"{where}: its labels are missing; write [] where a text has none, or leave the row out")
        raise InputError(
            f"{where}: {shown} is no list of labels; take JSON lines or parquet with lists, or say what joins the "
            "names, as separator: '|' (of a command: --separator)"
        )
    if isinstance(cell, str):
        return [part for part in map(str.strip, cell.split(separator)) if part]
    return [] if cell is None else [cell]


def read_label_sets(
    columns: Mapping[str, Sequence[list[object]]], where: Mapping[str, str], declared: Classes | None = None
) -> ReadClasses:
    """The labels of each split, uint8 (n, C), 1 where a row has a label, with the names; arguments as `read_classes`.

    Raises InputError as it does, and where train has no label, or lists are columns of 0 and 1.
    """
    for split, column in columns.items():
        _refuse_indicators(column, where[split])
        if split == "train" and not any(column):
            raise InputError(f"{where[split]}: no row has a label; name the column of labels (label)")
    rows = {split: [row for row, cell in enumerate(of, start=1) for _ in cell] for split, of in columns.items()}
    if not any(map(len, rows.values())):
        raise InputError(f"{next(iter(where.values()))}: no row has a label; name the column of labels")
    read = read_classes({split: list(flat(of)) for split, of in columns.items()}, where, declared, rows=rows)
    sets, twice = {}, {}
    for split, of in columns.items():
        if len(of) * len(read.names) > MOST_BYTES:
            raise InputError(
                f"{where[split]}: {len(of):,} rows and {len(read.names):,} labels are more than {MOST_BYTES:,} bytes, "
                "one for each row and label; leave rare labels out"
            )
        sets[split] = np.zeros((len(of), len(read.names)), np.uint8)
        sets[split][np.array(rows[split], np.int64) - 1, read.ids[split]] = 1
        twice[split] = int((np.array(list(map(len, of))) > sets[split].sum(axis=1, dtype=np.int64)).sum())
    counted = ", ".join(f"{n:,} of {split}" for split, n in twice.items() if n)
    notes = [f"rows with a label twice, which counts once: {counted}"] if counted else []
    return ReadClasses(sets, read.names, (*read.notes, *notes))


def _refuse_indicators(column: Sequence[list[object]], where: str) -> None:
    """Raises InputError where each row has equally many cells, all 0 or 1: the labels are their places, not these."""
    lengths = set(map(len, column))
    if (
        len(lengths) == 1
        and min(lengths) >= FEWEST_COLUMNS
        and {label_of(cell).text for cell in flat(column)} <= {*ZERO_OR_ONE}
    ):
        raise InputError(
            f"{where}: each list has {lengths.pop()} times 0 or 1; write the names or the numbers of the labels that a "
            "row has, as [2, 5]"
        )
