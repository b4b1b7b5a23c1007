"""What a claim's column reads from the store: scores of tasks, times, sizes, operation counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from hashbench.claims.expressions import Score
from hashbench.claims.published import ALIASES, COSTS, EXACT, EXACT_FORMS
from hashbench.errors import InputError, near_match
from hashbench.papers.column import Column
from hashbench.papers.paper import Layout, Paper, load_paper, papers
from hashbench.results.measured import Measured
from hashbench.tables.paper import ANY_TASK

PRR = "prr_"
AVERAGE = "average"
# column -> (stored time, whether over the baseline's, measured in turn in the same run)
TIMES: dict[str, tuple[str, bool]] = {
    "pt_ms": ("pretrain_ms", False), "pt_speedup": ("pretrain_ms", True),
    "infer_ms": ("infer_ms", False), "infer_speedup": ("infer_ms", True),
    "latency_ms": ("latency_cold_ms", False),
}  # fmt: skip
LATENCY_RATIO = "latency_ratio"  # the time over that of the plain model of the size
SHARES = ("pcr_all", "pcr_emb", "poep", "rec@1_ceiling")  # stored as shares, said in percent
FACT_UNITS = {
    "total_params": "count", "emb_params": "count", "weight_bytes": "bytes", "peak_bytes": "bytes",
    **dict.fromkeys(SHARES, "percent"),
}  # fmt: skip


@dataclass(frozen=True)
class Reading:
    """One score: a metric of a task on a split, as it is stored."""

    task: str
    metric: str
    split: str

    def __str__(self) -> str:
        return self.task or self.metric


@dataclass(frozen=True)
class Scored:
    """The mean over groups of the mean of their readings (both MNLI sets count as one task), in percent."""

    groups: tuple[tuple[Reading, ...], ...]
    over_baseline: bool = False  # a ratio of two such means: performance retention
    measure: Literal["percent"] = "percent"

    @property
    def readings(self) -> tuple[Reading, ...]:
        """All of them."""
        return tuple(reading for group in self.groups for reading in group)


@dataclass(frozen=True)
class Timed:
    """A stored time of efficiency runs in ms, or the baseline's over it."""

    name: str
    end: Literal["low", "high", ""]
    speedup: bool = False
    over_pair: bool = False  # over the time of the plain model of its size
    measure: Literal["ms", "x"] = "ms"


@dataclass(frozen=True)
class Counted:
    """A size or share that follows from the model's shape."""

    name: str
    measure: str


Meaning = Scored | Timed | Counted


@dataclass(frozen=True)
class Absent:
    """A column that could be read, but of which the experiment has nothing; `why` says what is missing."""

    why: str


def meaning(measured: Measured, paper: Paper | None, score: Score) -> Meaning | Absent | None:
    """What a column of a paper, or (None) of an experiment's own claim, reads; None for an unknown column."""
    name = score.name
    if name in TIMES:
        fact, speedup = TIMES[name]
        return Timed(fact, score.end, speedup, measure="x" if speedup else "ms")
    if name == LATENCY_RATIO:
        return Timed("latency_cold_ms", score.end, over_pair=True, measure="x")
    if name in COSTS:
        return Counted(name, "count")
    if paper is None:
        return _own(measured, name)
    if name.startswith(PRR):
        inner = meaning(measured, paper, replace(score, name=name.removeprefix(PRR)))
        return replace(inner, over_baseline=True) if isinstance(inner, Scored) else inner
    found = _layout_column(paper, name)
    if found and found[1].measure in ("score", "average"):
        return _scored(measured, paper, *found)
    return _counted(name)


def _counted(name: str) -> Counted | None:
    plain = name.removesuffix(EXACT)
    if plain in FACT_UNITS:
        return Counted(plain, FACT_UNITS[plain])
    if plain in EXACT_FORMS:
        return Counted(plain, "bytes" if plain in ("size", "embedding_memory") else "percent")
    return None


def _layout_column(paper: Paper, name: str) -> tuple[Layout, Column] | None:
    """A column of any of the paper's tables, under either of its names."""
    for wanted in (name, *(own for own, other in ALIASES.items() if other == name)):
        for layout in paper.tables.values():
            for column in layout.columns:
                if column.name == wanted and column.measure in ("score", "average"):
                    return layout, column
    return None


def _scored(measured: Measured, paper: Paper, layout: Layout, column: Column) -> Scored | Absent:
    """A column of scores: one reading, or the groups of an average."""
    if column.measure == "score":
        readings = _readings(measured, paper, column)
        return Scored((readings,)) if isinstance(readings, tuple) else readings
    groups = []
    for part in column.tasks:
        names = (part,) if isinstance(part, str) else part
        group: list[Reading] = []
        for name in names:
            inner = next(one for one in layout.columns if one.name == name and one.measure == "score")
            found = _readings(measured, paper, inner)
            if isinstance(found, Absent):
                return found
            group += found
        groups.append(tuple(group))
    return Scored(tuple(groups))


def _readings(measured: Measured, paper: Paper, column: Column) -> tuple[Reading, ...] | Absent:
    """The one score that a column reads; of a column that speaks of any task, the one task that has the metric."""
    if column.task == ANY_TASK:
        tasks = measured.tasks_with(column.metric, column.split)
        if len(tasks) == 1:
            return (Reading(tasks[0], column.metric, column.split),)
        several = f"several tasks have {column.metric} ({', '.join(tasks)}): one experiment a task"
        return Absent(several if tasks else f"no task with {column.metric}")
    assert column.task is not None
    known = measured.readings(paper.name)
    metric, split = (column.metric, column.split) if column.metric else known[column.task]
    return (Reading(column.task, metric, split),)


def _own(measured: Measured, name: str) -> Meaning | Absent | None:
    """A column of an own claim: a task, its average, a metric of a task or of the one task that has it, or a size."""
    tasks = measured.tasks()
    if name.startswith(PRR):
        inner = _own(measured, name.removeprefix(PRR))
        return replace(inner, over_baseline=True) if isinstance(inner, Scored) else inner
    if name == AVERAGE:
        return Scored(tuple((_own_reading(measured, task),) for task in tasks)) if tasks else Absent("no task")
    if name in tasks:
        return Scored(((_own_reading(measured, name),),))
    for task in tasks:
        metrics = {score.metric for found in measured.scores.values() for score in found if score.run.task == task}
        if name.removeprefix(f"{task}_") in metrics and name.startswith(f"{task}_"):
            reading = _own_reading(measured, task)
            return Scored(((replace(reading, metric=name.removeprefix(f"{task}_")),),))
    for source in map(load_paper, papers()):
        found = _layout_column(source, name)
        if found:
            return _scored(measured, source, *found)
    return _counted(name)


def _own_reading(measured: Measured, task: str) -> Reading:
    """The metric and split that the experiment itself reads for a task."""
    for found in measured.scores.values():
        for score in found:
            if score.own and score.run.task == task:
                return Reading(task, score.metric, score.split)
    return Reading(task, "", "")


def check_column(measured: Measured, score: Score, where: str) -> None:
    """That an own claim's column is one that can be read.

    Raises InputError.
    """
    if meaning(measured, None, score) is None:
        known = [*measured.tasks(), AVERAGE, *TIMES, LATENCY_RATIO, *FACT_UNITS, *_names()]
        shown = ", ".join([*measured.tasks(), AVERAGE, *TIMES, *FACT_UNITS])
        raise InputError(f"{where}: unknown column {score.name!r}{near_match(score.name, known)}; there are: {shown}, "
                         "and the columns of the papers' tables")  # fmt: skip


def _names() -> list[str]:
    """The names of all columns of scores in the papers' tables."""
    layouts: Sequence[Layout] = [layout for name in papers() for layout in load_paper(name).tables.values()]
    return list(dict.fromkeys(column.name for layout in layouts for column in layout.columns))
