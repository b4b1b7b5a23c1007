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
    """A stored score: a metric of a task on a split."""

    task: str
    metric: str
    split: str


@dataclass(frozen=True)
class ScoreColumn:
    """The mean over groups of the mean of their scores (both MNLI sets count as one task), in percent."""

    groups: tuple[tuple[StoredScore, ...], ...]
    over_baseline: bool = False  # a ratio of two such means: performance retention
    measure: Literal["percent"] = "percent"

    @property
    def scores(self) -> tuple[StoredScore, ...]:
        """The scores of all groups."""
        return tuple(score for group in self.groups for score in group)


@dataclass(frozen=True)
class TimeColumn:
    """A stored time of efficiency runs in ms, or the baseline's over it."""

    name: str
    end: Literal["low", "high", ""]
    speedup: bool = False
    over_pair: bool = False  # over the time of the plain model of its size
    measure: Literal["ms", "x"] = "ms"


@dataclass(frozen=True)
class SizeColumn:
    """A size or share that follows from the model's shape."""

    name: str
    measure: str


Meaning = ScoreColumn | TimeColumn | SizeColumn


@dataclass(frozen=True)
class Absent:
    """A column that could be read, but of which the experiment has nothing; `why` names what is missing."""

    why: str


def meaning(measured: Measured, paper: Paper | None, column: ColumnName) -> Meaning | Absent | None:
    """The numbers that a column of a paper, or (None) of an experiment's own claim, reads; None if it is unknown."""
    name = column.name
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
    """A size or a share."""
    plain = name.removesuffix(EXACT)
    if plain in FACT_UNITS:
        return SizeColumn(plain, FACT_UNITS[plain])
    if plain in EXACT_FORMS:
        return SizeColumn(plain, "bytes" if plain in ("size", "embedding_memory") else "percent")
    return None


def _printed(measured: Measured, sources: Iterable[Paper], name: str) -> ScoreColumn | Absent | None:
    """A column of scores of the first paper that has one of this name, or under its other name."""
    names = (name, *(alias for alias, other in ALIASES.items() if other == name))
    for paper, wanted in product(sources, names):
        for layout in paper.tables.values():
            for column in layout.columns:
                if column.name == wanted and column.measure in ("score", "average"):
                    return _scored(measured, paper, layout, column=column)
    return None


def _scored(measured: Measured, paper: Paper, layout: Layout, *, column: Column) -> ScoreColumn | Absent:
    """A column of scores: one score, or the groups of an average."""
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
    """The score that a column reads; of a column of any task, that of the only task that has the metric."""
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
    """A column of an own claim: a task, the average of all, or a metric of a task."""
    tasks = measured.tasks()
    if name == AVERAGE:
        models = [entry for entry in measured.entries if not entry.is_baseline]
        further = measured.further_sets()
        # A task of which only the trivial baselines are finished is not begun yet.
        trained = [
            task for task in tasks if task not in further
            and any(score.value is not None for entry in models for score in measured.own(entry, task))
        ]  # fmt: skip
        return ScoreColumn(tuple((_reported(measured, task),) for task in trained)) if trained else Absent("no task")
    if name in tasks:
        return ScoreColumn(((_reported(measured, name),),))
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
    """Checks that an own claim's column can be read. Raises InputError."""
    if meaning(measured, None, column) is None:
        shown = [*measured.tasks(), AVERAGE, *TIMES, *FACT_UNITS]
        raise InputError(f"{where}: unknown column {column.name!r}{near_match(column.name, nameable(shown))}; there "
                         f"are: {', '.join(shown)}, and the columns of the papers' tables")  # fmt: skip


def nameable(tasks: Iterable[str]) -> list[str]:
    """The columns that an own claim of an experiment with these tasks may name, except metrics and other forms."""
    readable = [*tasks, ANY_TASK, None]
    printed = (column.name for layout in layouts() for column in layout.columns if column.task in readable)
    return list(dict.fromkeys([*tasks, AVERAGE, *TIMES, *FACT_UNITS, LATENCY_RATIO, *COSTS, *printed]))


def is_nameable(name: str, tasks: Mapping[str, Iterable[str]]) -> bool:
    """True if an own claim of an experiment with these tasks, and their metrics, may name a column."""
    plain = name.removeprefix(PRR)
    scores = {f"{task}_{metric}" for task, metrics in tasks.items() for metric in metrics}
    return plain in scores or ALIASES.get(plain, plain) in nameable(tasks) or _counted(plain) is not None
