"""The numbers that a claim's column reads: stored scores, times and sizes, and the papers' own numbers.

The papers' are their printed numbers, exact counts, and the systems whose scores they only quote.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import product
from typing import Literal

from hashbench.common.errors import InputError, near_match
from hashbench.results.claims.claim import UNITS, Claim, read_rows
from hashbench.results.claims.grammar import ColumnName, Missing
from hashbench.results.papers.paper import PUBLISHED, Column, Layout, Paper, layouts, load_paper, papers
from hashbench.results.read.measured import AVERAGE, PERCENT, Measured
from hashbench.results.read.origins import task_origins
from hashbench.results.tables.paper import ANY_TASK, printed_number

ALIASES = {"rec@1": "entity_rec@1"}  # one column under two names
# Bytes of a parameter in float32, in which the papers give sizes.
FLOAT_BYTES = 4
# Ends the name of a column of exact integers in the reference data.
EXACT = "_exact"
COSTS = ("attention_scores", "multiply_adds")  # columns of operations.csv
BASELINE = "bert-mlm"  # of HashFormers' compression ratios


@cache
def paper_claims() -> tuple[Claim, ...]:
    """All claims of all papers, in the file's order."""
    text = (PUBLISHED / "claims.csv").read_text(encoding="utf-8")
    rows = list(csv.DictReader(text.splitlines()))
    return tuple(read_rows(rows, [f"claims.csv: {row['id']}" for row in rows], models=()))


def claims_of(paper: str) -> list[Claim]:
    """The claims of one paper, by its name."""
    return [claim for claim in paper_claims() if claim.paper == paper]


@cache
def published_models() -> frozenset[str]:
    """The models of all papers, as their printed numbers name them."""
    return frozenset(model for name in papers() for _, model, _ in load_paper(name).numbers)


@cache
def operations() -> dict[tuple[str, int], dict[str, int]]:
    """Operations of one forward pass by (model, words of the input), as `hashbench costs` counts them."""
    text = (PUBLISHED / "operations.csv").read_text(encoding="utf-8")
    rows = csv.DictReader(text.splitlines())
    return {(row["model"], int(row["length"])): {name: int(row[name]) for name in COSTS} for row in rows}


def published_value(paper: Paper, slug: str, column: ColumnName) -> float:
    """The number that a paper prints, unscaled (38.6M is 38,600,000). Raises Missing for one that is not stored."""
    printed = printed_number(paper, slug, column.name)
    if printed is None and column.name in ALIASES:
        printed = printed_number(paper, slug, ALIASES[column.name])
    if printed is None:
        raise Missing(f"{slug}: {column}")
    high = printed.value_high if column.end == "high" else None
    return (printed.value if high is None else high) * (UNITS[printed.unit][1] if printed.unit in UNITS else 1.0)


def exact_value(paper: Paper, slug: str, column: str) -> float | None:
    """A model's size or share from the exact parameter counts of its paper, which the suite's models reproduce.

    Shares in percent. None for another column, and where the reference data lack an integer.
    """
    form = EXACT_FORMS.get(column.removesuffix(EXACT))
    try:
        return form(paper, slug) if form else None
    except Missing:
        return None


def _integer(paper: Paper, slug: str, column: str) -> float:
    number = printed_number(paper, slug, column)
    if number is None:
        raise Missing(f"{slug}: {column}")
    return number.value


def _total(paper: Paper, slug: str) -> float:
    return _integer(paper, slug, f"total_params{EXACT}")


def _embedding(paper: Paper, slug: str) -> float:
    return _integer(paper, slug, f"emb_params{EXACT}")


def _share(paper: Paper, slug: str) -> float:
    """The embedding's share of all parameters, in percent."""
    return PERCENT * _embedding(paper, slug) / _total(paper, slug)


def _saved(parameters: Callable[[Paper, str], float], paper: Paper, slug: str, *, of: str = BASELINE) -> float:
    """The share of parameters that a model saves against the model `of`, in percent."""
    return PERCENT * (1 - parameters(paper, slug) / parameters(paper, of))


def _saved_of_pair(paper: Paper, slug: str) -> float:
    """The share of parameters that a model saves against the plain model of its size, in percent. Raises Missing."""
    plain = next((layout.pairs[slug] for layout in paper.tables.values() if slug in layout.pairs), None)
    if plain is None:
        raise Missing(f"{slug}: plain model of its size")
    return _saved(_total, paper, slug, of=plain)


EXACT_FORMS: dict[str, Callable[[Paper, str], float]] = {
    "total_params": _total,
    "emb_params": _embedding,
    "poep": _share,
    "embedding_share": _share,
    "pcr_all": partial(_saved, _total),
    "pcr_emb": partial(_saved, _embedding),
    "params_reduction": _saved_of_pair,
    "size": lambda paper, slug: FLOAT_BYTES * _total(paper, slug),
    # ProFormer prints four bytes for each bit of a projection; the map behind the bits is left out.
    "embedding_memory": lambda paper, slug: FLOAT_BYTES * _integer(paper, slug, "projection_bits"),
}


def quoted_systems(paper: Paper) -> set[str]:
    """Names of the systems whose scores a paper quotes from other papers and that are not trained here."""
    sections = [section for layout in paper.tables.values() for section in layout.sections]
    return {name for section in sections for name in section.quoted}


def other_test_set(measured: Measured, paper: Paper, task: str) -> str:
    """The reason that the experiment's test set of a task is not the one of the paper's scores; '' where it is."""
    origin = task_origins(measured, paper)[task]
    if origin.built_in:
        return f"{task} is built-in data"
    official = paper.reported_rows[task] if task in paper.reported_rows else None
    if origin.n_reported != official:
        return f"{task} has {origin.n_reported or 0:,} test rows, the published set {official or 0:,}"
    printed = _printed_rows(paper, task)
    if printed is not None and official is not None and abs(printed - official) > _rounding(printed) / 2:
        return f"the paper's test set of {task} has {printed:,} rows, the published one {official:,}"
    return ""


def _printed_rows(paper: Paper, task: str) -> int | None:
    """The number of test rows that the paper prints for a task, or None."""
    for layout in paper.tables.values():
        for section in layout.sections:
            for name, of_task in section.tasks.items():
                number = printed_number(paper, name, "test") if of_task == task else None
                if number is not None:
                    return round(number.value)
    return None


def _rounding(number: int) -> int:
    """The unit of the last digit that is not a trailing zero.

    >>> _rounding(15_000), _rounding(893)
    (1000, 1)
    """
    unit = 1
    while number and number % (10 * unit) == 0:
        unit *= 10
    return unit


PRR = "prr_"
# column -> (stored time, whether over the baseline's, measured in turn in the same run)
TIMES: dict[str, tuple[str, bool]] = {
    "pt_ms": ("pretrain_ms", False), "pt_speedup": ("pretrain_ms", True),
    "infer_ms": ("infer_ms", False), "infer_speedup": ("infer_ms", True),
    "latency_ms": ("latency_cold_ms", False),
}  # fmt: skip
LATENCY_RATIO = "latency_ratio"  # the time over the time of the plain model of the size
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
    """The stored scores behind a paper's column of scores or averages, or the first score that is absent."""
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
        # A task on which only the trivial baselines are finished is not begun yet.
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
