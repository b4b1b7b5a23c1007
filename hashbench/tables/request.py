"""What a user asks of a report: one object that tables, claims, robustness and the page share."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from hashbench.papers.paper import Paper, load_paper, papers
from hashbench.results.measured import Measured
from hashbench.store.result import Checkpoint


@dataclass(frozen=True)
class ReportRequest:
    """Which report of which experiment. A command fills the fields that it has options for."""

    experiment: str | None = None  # None: the one that was swept last
    paper: str | None = None  # None: the one whose tables have most of the experiment's models
    table: str | None = None  # numbers of the paper's tables with commas between; None: the experiment's own
    published: bool = True  # the paper's values beside the measured ones
    examples: bool = False  # 95 % intervals over examples
    all_metrics: bool = False  # the experiment's own table has a column for every stored metric
    checkpoint: Checkpoint = "best"
    claims_file: Path | None = None  # a CSV of further claims
    parts: bool = False  # each part of a claim by itself
    versus: str | None = None  # the model that robustness is compared with; None: the baseline

    def numbers(self) -> list[str]:
        """The numbers of the tables that are named, none for the experiment's own.

        >>> ReportRequest(table="3, 1").numbers(), ReportRequest().numbers()
        (['3', '1'], [])
        """
        return [number.strip() for number in self.table.split(",")] if self.table else []

    def source(self, measured: Measured) -> Paper:
        """The paper that is named, else the one that the experiment is about. Raises InputError for an unknown one."""
        return paper_of(measured) if self.paper is None else load_paper(self.paper)


def paper_of(measured: Measured) -> Paper:
    """The paper in whose tables most models of an experiment stand; of several the first in `papers`."""
    return max((load_paper(name) for name in papers()), key=lambda paper: count_known(paper, measured))


def count_known(paper: Paper, measured: Measured) -> int:
    """How many models of a paper an experiment has. A variation stands for the model that it is like."""
    entries = measured.experiment.config.get("models", [])
    like = {entry["like"] for entry in entries if isinstance(entry, dict) and entry.get("like")}
    return len({model for _, model, _ in paper.numbers} & (measured.labels() | like))
