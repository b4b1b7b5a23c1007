"""Which cells are missing and why, in as few lines as say it."""

from __future__ import annotations

from collections.abc import Sequence

from hashbench.papers.column import Column
from hashbench.tables.table import Row


def missing_lines(rows: Sequence[Row], columns: Sequence[Column]) -> list[str]:
    """One line a reason: first models that the experiment has not, then the missing cells of those that it has.

    A missing average is left out: it follows from a missing score.
    """
    absent = list(dict.fromkeys(row.model for row in rows if not row.encoder and row.kind in ("model", "family")))
    lines = [f"not in this experiment: {', '.join(absent)}"] if absent else []
    by_reason: dict[str, dict[str, list[str]]] = {}  # reason -> row -> columns
    for row in rows:
        for column in columns:
            cell = row.cells[column.name]
            if row.encoder and cell.value is None and cell.reason and column.measure != "average":
                by_reason.setdefault(cell.reason, {}).setdefault(row.title.strip(), []).append(column.name)
    for reason, cells in by_reason.items():
        lines.append(f"{reason}: {_grouped(cells, len(columns))}")
    return lines


def _grouped(cells: dict[str, list[str]], n_columns: int) -> str:
    """'a, b (cola, rte); c': rows that miss the same columns stand together."""
    by_columns: dict[tuple[str, ...], list[str]] = {}
    for row, names in cells.items():
        by_columns.setdefault(tuple(names), []).append(row)
    parts = []
    for missed, rows in by_columns.items():
        where = "" if len(missed) == n_columns else f" ({', '.join(missed)})"
        parts.append(f"{', '.join(rows)}{where}")
    return "; ".join(parts)
