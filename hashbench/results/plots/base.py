"""The data of figures, their pictures, the score that they draw, and the registry of all figures."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from hashbench.common.errors import InputError, near_match
from hashbench.common.registry import registered, unreadable
from hashbench.results.papers.paper import Column
from hashbench.results.tables.report import tables_of
from hashbench.results.tables.request import ReportRequest, ReportSource
from hashbench.results.tables.table import Row, Table

Width = Literal["single", "double"]
ImageFormat = Literal["png", "svg", "pdf"]


class NothingToDraw(Exception):
    """Raised where an experiment has no data for a figure. The message names what is missing and what to do."""


@dataclass(frozen=True)
class FigureData(ReportSource):
    """The source of an experiment's results for figures, and the width of a figure.

    `alone`: the figure has its title, warnings and small print on it; on a page they are text beside it.
    """

    request: ReportRequest = ReportRequest(examples=True)
    width: Width = "double"
    alone: bool = True

    @cached_property
    def tables(self) -> list[Table]:
        """The experiment's own tables."""
        return tables_of(self.under(replace(self.request, paper=None, table=None, all_metrics=False)))

    @property
    def table(self) -> Table:
        """The first of the experiment's own tables."""
        return self.tables[0]


@dataclass(frozen=True)
class Drawn:
    """One drawn picture. `name` is its file name without suffix."""

    name: str
    title: str
    note: str  # small print: explanations, seeds, encoder and pre-training
    figure: Figure
    panels: tuple[Axes, ...]  # row by row


@dataclass(frozen=True)
class Plot:
    """A named figure, of one picture or several. `draw` raises NothingToDraw where there is no data for any."""

    name: str
    what: str  # one line for a list of figures
    draw: Callable[[FigureData], list[Drawn]]


def plots() -> dict[str, Plot]:
    """All figures, by name in alphabetical order. Raises InputError that names both files of a double name."""
    return dict(sorted(registered("figure").items()))


def find_plot(name: str) -> Plot:
    """The figure of a name. Raises InputError with the nearest names."""
    figures = plots()
    if name not in figures:
        hint = f"{near_match(name, list(figures))}; there are: {', '.join(figures)}"
        raise InputError(f"plot: no figure {name!r}{hint}{unreadable()}")
    return figures[name]


def score_column(table: Table) -> str:
    """The name of the table's score column that figures draw: the average, else the first score, else ''."""
    names = [column.name for column in table.columns if column.measure in ("average", "score")]
    return "average" if "average" in names else next(iter(names), "")


def drawn_score(table: Table) -> tuple[Column, str]:
    """The column that `score_column` names, with a description: 'average over ...' or 'score: ...'."""
    name = score_column(table)
    column = next(column for column in table.columns if column.name == name)
    tasks = ", ".join(part if isinstance(part, str) else " and ".join(part) for part in column.tasks)
    return column, f"average over {tasks}" if tasks else f"score: {name}"


def label_of(row: Row) -> str:
    """The row's model, followed by the settings that tell it from other rows of the model."""
    return row.model + (f" ({row.settings})" if row.settings else "")
