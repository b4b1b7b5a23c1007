"""The options of a report, the source that its tables read, and the entry of a table in the registry."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from hashbench.results.papers.paper import Paper, load_paper, papers, printed_numbers
from hashbench.results.read.evidence import Evidence
from hashbench.results.read.measured import Measured, measure
from hashbench.results.tables.table import Table
from hashbench.store.engine import Store
from hashbench.store.result import Checkpoint

DRAWS = 1000  # of the examples behind a table's many cells; comparisons take ten times as many


@dataclass(frozen=True)
class ReportRequest:
    """The options of a report: experiment, paper, tables and details. A command fills in the options that it has."""

    experiment: str | None = None  # None: the one that was swept last
    paper: str | None = None  # None: the one whose tables have most of the experiment's models
    # Names of tables or a paper's numbers, with commas between; None: the experiment's own
    table: str | None = None
    published: bool = True  # the paper's values beside the measured ones
    examples: bool = False  # 95 % intervals over examples
    all_metrics: bool = False  # the experiment's own table has a column for every stored metric
    checkpoint: Checkpoint = "best"
    ranks: bool = False  # ranks with intervals in the place of scores
    provenance: bool = True  # all lines on data, recipes, code and machines below the tables, or the five shortest
    claims_file: Path | None = None  # a CSV of further claims
    one_seed: bool = False  # whether claims on scores are decided with one seed, on its examples alone
    full: bool = False  # of robustness every task, rate and fact, not the summary alone
    models: tuple[str, ...] = ()  # of tables these alone, where a name may be a pattern; () for all
    sort: str | None = None  # the column that orders the rows of each section
    columns: tuple[str, ...] = ()  # of tables these alone; () for all

    def numbers(self) -> list[str]:
        """The names or numbers of the requested tables, none for the experiment's own.

        >>> ReportRequest(table="3, 1").numbers(), ReportRequest().numbers()
        (['3', '1'], [])
        """
        return [number.strip() for number in self.table.split(",")] if self.table else []

    def source(self, measured: Measured) -> Paper:
        """The requested paper, else that with most models of the experiment. Raises InputError for an unknown one."""
        return paper_of(measured) if self.paper is None else load_paper(self.paper)


@dataclass(frozen=True)
class ReportSource:
    """The results that tables are made from. Each part is read from the store once, when it is first needed."""

    store: Store
    request: ReportRequest = ReportRequest()
    read_before: Measured | None = field(default=None, kw_only=True)  # of the same experiment
    drawn_before: Evidence | None = field(default=None, kw_only=True)  # likewise
    # Likewise, by name and options: figures read the tables that a page has
    made_before: dict[tuple[str, ReportRequest], list[Table]] = field(default_factory=dict, kw_only=True, repr=False)

    def under(self, request: ReportRequest) -> ReportSource:
        """A source of these results for another request on the experiment; nothing is read, drawn or made twice."""
        return ReportSource(
            self.store, request, read_before=self.measured, drawn_before=self.draws, made_before=self.made_before
        )

    @cached_property
    def measured(self) -> Measured:
        """Runs, scores and facts of the experiment."""
        return self.read_before or measure(self.store, self.request.experiment, checkpoint=self.request.checkpoint)

    @cached_property
    def paper(self) -> Paper:
        """The paper with whose tables, tasks and recipe the experiment is compared."""
        return self.request.source(self.measured)

    @cached_property
    def draws(self) -> Evidence:
        """Scores with stored predictions and draws of their examples, by which models are compared."""
        return self.drawn_before or Evidence(self.store, self.measured, draws=DRAWS)

    @property
    def evidence(self) -> Evidence | None:
        """Scores and draws if intervals over examples are requested for every cell, else None."""
        return self.draws if self.request.examples else None


@dataclass(frozen=True)
class TableFile:
    """An entry of the registry of tables: the name of a file's tables and the function that makes them.

    `shows`: true for the experiments whose own tables these are, printed where none is named; `beside`: for those whose
    page has them too.
    """

    name: str
    what: str  # one line for a list of tables
    make: Callable[[ReportSource], Sequence[Table]]
    shows: Callable[[Measured], bool] = lambda measured: False
    beside: Callable[[Measured], bool] = lambda measured: False


def paper_of(measured: Measured) -> Paper:
    """The paper whose tables have the most models of an experiment; of equal ones the first in `papers()`."""
    return load_paper(max(papers(), key=lambda name: count_known(name, measured)))


def count_known(paper: str, measured: Measured) -> int:
    """The number of a paper's models that an experiment has. A variation (`like: MODEL`) counts as its model."""
    config = measured.experiment.config
    like = {entry["like"] for entry in config.get("models", []) if isinstance(entry, dict) and entry.get("like")}
    return len({model for _, model, _ in printed_numbers(paper)} & (measured.labels() | like))
