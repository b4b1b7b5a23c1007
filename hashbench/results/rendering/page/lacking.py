"""Empty cells of an experiment's tables and its unfinished runs, with reasons."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hashbench.results.read.measured import Measured
from hashbench.results.read.runs import grouped
from hashbench.results.tables.table import Table

MEASURES = ("score", "fact")  # of columns whose empty cells mean that something was not done
KINDS = ("model", "floor")


@dataclass(frozen=True)
class Lacking:
    """A column that some models have no number in: why, which models, and of how many rows of the table.

    `others`: the models that have one, where these are fewer.
    """

    what: str
    why: str
    models: tuple[str, ...]
    n_rows: int
    others: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The models in words."""
        if self.others:
            return f"{len(self.models)} of {self.n_rows}: all but {', '.join(self.others)}"
        return f"{len(self.models)} of {self.n_rows}: {', '.join(self.models)}"


def lacking_of(tables: Sequence[Table], measured: Measured) -> list[Lacking]:
    """The empty cells of tables by column and reason, then the runs that are not finished, by state."""
    lines: dict[tuple[str, str], Lacking] = {}
    for table in tables:
        rows = [row for row in table.rows if row.kind in KINDS]
        for column in table.columns:
            has_any = any(row.cells[column.name].value is not None for row in rows)
            if column.measure not in MEASURES or not (has_any or column.measure == "score"):
                continue
            what = " ".join(filter(None, (column.title or column.name, column.subtitle)))
            empty = [row for row in rows if (cell := row.cells[column.name]).value is None and cell.reason]
            for why, of in grouped((row.cells[column.name].reason, row.title.strip()) for row in empty).items():
                others = tuple(row.title.strip() for row in rows if row.cells[column.name].value is not None)
                few = others if len(of) == len(rows) - len(others) and len(others) < len(of) else ()
                lines.setdefault((what, why), Lacking(what, why, tuple(dict.fromkeys(of)), len(rows), few))
    open_runs = [run for run in measured.runs if run.state != "done"]
    for state, named in grouped((run.state, f"{run.model} on {run.task or run.kind}") for run in open_runs).items():
        what = f"{len(named)} runs" if len(named) > 1 else "1 run"
        lines["runs", state] = Lacking(what, state, tuple(dict.fromkeys(named)), len(measured.runs))
    return list(lines.values())
