"""What a figure is: a name, what it reads, and the drawing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from hashbench.results.tables.report import tables
from hashbench.results.tables.request import ReportRequest, ReportSource
from hashbench.results.tables.table import Table

Width = Literal["single", "double"]
ImageFormat = Literal["png", "svg", "pdf"]


class NothingToDraw(Exception):
    """The experiment has no data for a figure; the message says what is missing and what to do."""


@dataclass(frozen=True)
class FigureData(ReportSource):
    """What figures are drawn from: what tables are made from, and how large a figure is.

    `alone`: the figure carries its title, warnings and small print; otherwise they stand beside it on a page.
    """

    request: ReportRequest = ReportRequest(examples=True)
    width: Width = "double"
    alone: bool = True

    @cached_property
    def tables(self) -> list[Table]:
        """The experiment's own tables."""
        return tables(self.store, replace(self.request, paper=None, table=None, all_metrics=False))

    @property
    def table(self) -> Table:
        """The first of them."""
        return self.tables[0]


@dataclass(frozen=True)
class Drawn:
    """One picture; `name` is the file's, without ending."""

    name: str
    title: str
    note: str  # small print: what the figure shows and what it stands on
    figure: Figure
    panels: tuple[Axes, ...]  # row by row


@dataclass(frozen=True)
class Plot:
    """A named figure, of one picture or several. `draw` raises NothingToDraw where there is no data for any."""

    name: str
    what: str  # one line for a list of figures
    draw: Callable[[FigureData], list[Drawn]]
