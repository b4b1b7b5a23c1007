"""The stored numbers that a claim's column reads: scores of tasks, times, sizes, operation counts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import product
from typing import Literal

from hashbench.common.errors import InputError, near_match
from hashbench.results.claims.grammar import ColumnName
from hashbench.results.claims.published import ALIASES, COSTS, EXACT, EXACT_FORMS
from hashbench.results.papers.paper import Column, Layout, Paper, layouts, load_paper, papers
from hashbench.results.read.measured import AVERAGE, Measured
from hashbench.results.tables.paper import ANY_TASK

PRR = "prr_"
# column -> (stored time, whether over the baseline's, measured in turn in the same run)
TIMES: dict[str, tuple[str, bool]] = {
    "pt_ms": ("pretrain_ms", False), "pt_speedup": ("pretrain_ms", True),
    "infer_ms": ("infer_ms", False), "infer_speedup": ("infer_ms", True),
    "latency_ms": ("latency_cold_ms", False),
}  # fmt: skip
LATENCY_RATIO = "latency_ratio"  # the time over that of the plain model of the size
SHARES = ("pcr_all", "pcr_emb", "poep", "rec@1_ceiling")  # stored as shares, printed in percent
FACT_UNITS = {
    "total_params": "count", "emb_params": "count", "weight_bytes": "bytes", "peak_bytes": "bytes",
    **dict.fromkeys(SHARES, "percent"),
}  # fmt: skip


@dataclass(frozen=True)
class StoredScore:
    """The key of a stored score: task, metric and split."""

    task: str
    metric: str
    split: str


@dataclass(frozen=True)
class ScoreColumn:
    """A column of scores in percent: the mean over groups of their mean score. Both MNLI sets are one group."""

    groups: tuple[tuple[StoredScore, ...], ...]
    over_baseline: bool = False  # a ratio of two such means: performance retention
    measure: Literal["percent"] = "percent"

    @property
    def scores(self) -> tuple[StoredScore, ...]:
        """The scores of all groups."""
        return tuple(score for group in self.groups for score in group)


@dataclass(frozen=True)
class TimeColumn:
    """A column of times from efficiency runs, in ms or as a ratio to the baseline or to the plain model of its size."""

    name: str
    end: Literal["low", "high", ""]
    speedup: bool = False
    over_pair: bool = False  # over the time of the plain model of its size
    measure: Literal["ms", "x"] = "ms"


@dataclass(frozen=True)
class SizeColumn:
    """A column of sizes, shares or operation counts, which follow from a model's shape."""

    name: str
    measure: str


Meaning = ScoreColumn | TimeColumn | SizeColumn


@dataclass(frozen=True)
class Absent:
    """A valid column for which the experiment has no number. `why` names what is missing."""

    why: str


def meaning(measured: Measured, paper: Paper | None, column: ColumnName) -> Meaning | Absent | None:
    """The stored numbers behind a column name; None for an unknown name. `paper` None: of a user-defined claim."""
    name = column.name
    if paper is None and name in measured.tasks():  # whatever other column has the name of a task
        return _own(measured, name)
    if name in TIMES:
        fact, speedup = TIMES[name]
        return TimeColumn(fact, column.end, speedup, measure="x" if speedup else "ms")
    if name == LATENCY_RATIO:
        return TimeColumn("latency_cold_ms", column.end, over_pair=True, measure="x")
    if name in COSTS:
        return SizeColumn(name, "count")
    plain = name.removeprefix(PRR)
    scored = _own(measured, plain) if paper is None else None
    scored = scored or _printed(measured, [paper] if paper else map(load_paper, papers()), plain)
    if isinstance(scored, ScoreColumn) and plain != name:
        return replace(scored, over_baseline=True)
    return scored or _counted(plain)


def _counted(name: str) -> SizeColumn | None:
    """The column of sizes or shares of that name, or None."""
    plain = name.removesuffix(EXACT)
    if plain in FACT_UNITS:
        return SizeColumn(plain, FACT_UNITS[plain])
    if plain in EXACT_FORMS:
        return SizeColumn(plain, "bytes" if plain in ("size", "embedding_memory") else "percent")
    return None


def _printed(measured: Measured, sources: Iterable[Paper], name: str) -> ScoreColumn | Absent | None:
    """The score column of that name or its alias, in the first of the papers that has one; None if none has."""
    names = (name, *(alias for alias, other in ALIASES.items() if other == name))
    for paper, wanted in product(sources, names):
        for layout in paper.tables.values():
            for column in layout.columns:
                if column.name == wanted and column.measure in ("score", "average"):
                    return _scored(measured, paper, layout, column=column)
    return None


def _scored(measured: Measured, paper: Paper, layout: Layout, *, column: Column) -> ScoreColumn | Absent:
    """The stored scores behind a paper's column of scores or averages, or the first of them that is absent."""
    if column.measure == "score":
        score = _stored(measured, paper, column)
        return score if isinstance(score, Absent) else ScoreColumn(((score,),))
    by_name = {other.name: other for other in reversed(layout.columns) if other.measure == "score"}
    groups: list[tuple[StoredScore, ...]] = []
    for part in column.tasks:
        group: list[StoredScore] = []
        for name in (part,) if isinstance(part, str) else part:
            score = _stored(measured, paper, by_name[name])
            if isinstance(score, Absent):
                return score
            group.append(score)
        groups.append(tuple(group))
    return ScoreColumn(tuple(groups))


def _stored(measured: Measured, paper: Paper, column: Column) -> StoredScore | Absent:
    """The stored score behind a paper's column. A column for any task reads the only task that has its metric."""
    if column.task == ANY_TASK:
        tasks = measured.tasks_with(column.metric, column.split)
        if len(tasks) == 1:
            return StoredScore(tasks[0], column.metric, column.split)
        several = f"several tasks have {column.metric} ({', '.join(tasks)}): one experiment a task"
        return Absent(several if tasks else f"no task with {column.metric}")
    assert column.task is not None
    metric, split = (column.metric, column.split) if column.metric else measured.readings(paper.name)[column.task]
    return StoredScore(column.task, metric, split)


def _own(measured: Measured, name: str) -> ScoreColumn | Absent | None:
    """The scores that a user-defined claim reads from TASK, TASK_METRIC or the average column; None for other names."""
    tasks = measured.tasks()
    if name in tasks:
        return ScoreColumn(((_reported(measured, name),),))
    if name == AVERAGE:
        models = [entry for entry in measured.entries if not entry.is_baseline]
        further = measured.further_sets()
        # A task of which only the trivial baselines are finished is not begun yet.
        trained = [
            task for task in tasks if task not in further
            and any(score.value is not None for entry in models for score in measured.own(entry, task))
        ]  # fmt: skip
        return ScoreColumn(tuple((_reported(measured, task),) for task in trained)) if trained else Absent("no task")
    for task in tasks:
        metrics = {score.metric for scores in measured.scores.values() for score in scores if score.run.task == task}
        metric = name.removeprefix(f"{task}_")
        if metric in metrics and metric != name:
            return ScoreColumn(((replace(_reported(measured, task), metric=metric),),))
    return None


def _reported(measured: Measured, task: str) -> StoredScore:
    """The metric and split that the experiment itself reads for a task."""
    for scores in measured.scores.values():
        for score in scores:
            if score.own and score.run.task == task:
                return StoredScore(task, score.metric, score.split)
    return StoredScore(task, "", "")


def check_column(measured: Measured, column: ColumnName, where: str) -> None:
    """Raises InputError if the column of a user-defined claim is unknown."""
    if meaning(measured, None, column) is None:
        shown = [*measured.tasks(), AVERAGE, *TIMES, *FACT_UNITS]
        raise InputError(f"{where}: unknown column {column.name!r}{near_match(column.name, nameable(shown))}; there "
                         f"are: {', '.join(shown)}, and the columns of the papers' tables")  # fmt: skip


def nameable(tasks: Iterable[str]) -> list[str]:
    """The columns that a user-defined claim on these tasks may name, without composed names such as TASK_METRIC."""
    readable = [*tasks, ANY_TASK, None]
    printed = (column.name for layout in layouts() for column in layout.columns if column.task in readable)
    return list(dict.fromkeys([*tasks, AVERAGE, *TIMES, *FACT_UNITS, LATENCY_RATIO, *COSTS, *printed]))


def is_nameable(name: str, tasks: Mapping[str, Iterable[str]]) -> bool:
    """True if a user-defined claim may name a column, in an experiment with these tasks and their metrics."""
    plain = name.removeprefix(PRR)
    scores = {f"{task}_{metric}" for task, metrics in tasks.items() for metric in metrics}
    return plain in scores or ALIASES.get(plain, plain) in nameable(tasks) or _counted(plain) is not None
