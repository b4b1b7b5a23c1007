"""The small print under a table, in plain sentences that all formats share."""

from __future__ import annotations

import re
from collections.abc import Sequence

from hashbench.results.papers.column import Column
from hashbench.results.tables.numbers import CONSTANT, HOLLOW_F1, MISSING, SUPERSCRIPTS, UNAVAILABLE, UNDER
from hashbench.results.tables.table import Cell, Row, Table


def legend(table: Table, *, best: str) -> str:
    """How a cell is read; only what occurs in the table. `best`: how the best value is marked.

    >>> legend(Table("", "own", "", "", (), ()), best="bold")
    ''
    """
    cells = [cell for row in table.rows for cell in row.cells.values()]
    ours = [cell for row in table.rows if row.kind not in ("quoted", "task", "claim") for cell in row.cells.values()]
    deviation = any(cell.std is not None for cell in cells)
    few = {None: "number of seeds in parentheses", 1: "one seed each"}
    seeds = few[table.seeds] if table.seeds in few else f"{table.seeds} seeds each"
    parts = {
        f"{table.statistic} ± sd over seeds (n - 1 in the denominator), {seeds}": deviation,
        f"{seeds}; no deviation over seeds with one": not deviation and any(cell.n is not None for cell in cells),
        "(2/3): a value of two of three seeds": any(0 < (cell.n or 0) < (cell.planned or 0) for cell in cells),
        "a..b: 95 % interval over examples (bootstrap of the stored predictions), not over seeds": any(
            cell.interval and cell.n_examples for cell in cells
        ),
        "a..b of a speed-up: 95 % interval over measured rounds (model, baseline, baseline, model)": any(
            cell.interval and cell.unit == "x" for cell in cells
        ),
        "a–b: least and greatest over tasks": any(cell.value_high is not None for cell in cells),
        "in brackets: published": table.published and any(cell.published for cell in cells),
        f"[{UNAVAILABLE}]: the paper's number is not available to us": table.published
        and any(cell.unavailable for cell in cells),
        f"{best}: best of the models, trivial baselines aside": any(cell.best for cell in cells),
        f"{UNDER}: the value is not above that of the best trivial baseline": any(cell.under for cell in cells),
        f"{CONSTANT}: one constant prediction for every example, in a seed at least": any(c.constant for c in cells),
        f"{HOLLOW_F1}: counts the F1 of a task whose accuracy is below the majority class": any(
            cell.hollow_f1 for cell in cells
        ),
        "brackets alone: quoted by the paper, not trained here": any(row.kind == "quoted" for row in table.rows),
        f"{MISSING}: missing": any(cell.value is None for cell in ours),
    }
    line = "; ".join(words for words, occurs in parts.items() if occurs)
    return line and f"{line}."


def notes(table: Table) -> list[str]:
    """Footnotes with their numbers, then what is missing and why."""
    lines = [f"{str(number).translate(SUPERSCRIPTS)} {text}" for number, text in enumerate(table.footnotes, start=1)]
    lines.extend(table.notes)
    if table.missing:
        lines.append("Missing: " + "; ".join(table.missing) + ".")
    return lines


def has_published(cell: Cell, table: Table) -> bool:
    """Whether a published value stands beside the cell, or the sign of one that is not at hand."""
    return table.published and (cell.published is not None or cell.unavailable)


def row_head(table: Table) -> str:
    """What the rows of a table are."""
    kinds = {row.kind for row in table.rows}
    return "data set" if kinds == {"task"} else "claim" if kinds == {"claim"} else "model"


def without_details(line: str) -> str:
    """A warning without its details in parentheses, for where there is little room.

    >>> without_details("SAMPLED DATA: qqp (train 20,000 of 363,846 rows), mnli (train 5 rows); not comparable.")
    'SAMPLED DATA: qqp, mnli; not comparable.'
    """
    return re.sub(r" \([^()]*\)", "", line)


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
    return lines + [f"{reason}: {_grouped(cells, len(columns))}" for reason, cells in by_reason.items()]


def _grouped(cells: dict[str, list[str]], n_columns: int) -> str:
    """'a, b (cola, rte); c': rows that miss the same columns stand together."""
    by_columns: dict[tuple[str, ...], list[str]] = {}
    for row, names in cells.items():
        by_columns.setdefault(tuple(names), []).append(row)
    return "; ".join(
        ", ".join(rows) + ("" if len(missed) == n_columns else f" ({', '.join(missed)})")
        for missed, rows in by_columns.items()
    )
