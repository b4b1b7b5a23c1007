"""What a figure is: a name, what it reads, and the drawing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from matplotlib.figure import Figure

from hashbench.papers.paper import Paper
from hashbench.results.measured import Measured, measure
from hashbench.store.engine import Store
from hashbench.tables.report import tables
from hashbench.tables.request import ReportRequest, paper_of
from hashbench.tables.table import Table

Width = Literal["single", "double"]
Format = Literal["png", "svg", "pdf"]


class NothingToDraw(Exception):
    """The experiment has no data for a figure; the message says what is missing and what to do."""


@dataclass(frozen=True)
class Source:
    """What figures are drawn from, each part read from the store once, when it is first asked for."""

    store: Store
    experiment: str | None
    width: Width

    @cached_property
    def measured(self) -> Measured:
        """Runs, scores and facts of the experiment."""
        return measure(self.store, self.experiment)

    @cached_property
    def paper(self) -> Paper:
        """The paper in whose tables most of the experiment's models stand."""
        return paper_of(self.measured)

    @cached_property
    def tables(self) -> list[Table]:
        """The experiment's own tables, with intervals over examples where predictions are stored."""
        return tables(self.store, ReportRequest(self.experiment, examples=True))

    @property
    def table(self) -> Table:
        """The first of them."""
        return self.tables[0]


@dataclass(frozen=True)
class Drawn:
    """One picture; `name` is the file's, without ending."""

    name: str
    figure: Figure


@dataclass(frozen=True)
class Plot:
    """A named figure, of one picture or several. `draw` raises NothingToDraw where there is no data for any."""

    name: str
    what: str  # one line for a list of figures
    draw: Callable[[Source], list[Drawn]]
