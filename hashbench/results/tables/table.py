"""A table as data, measured and published, before any layout. Renderers read nothing else."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from statistics import fmean
from typing import TYPE_CHECKING, Any, Final, Literal

from hashbench.common.showing import decimal_text, rounded
from hashbench.results.papers.paper import Column, PublishedNumber

if TYPE_CHECKING:  # exported folders print numbers without a database
    from hashbench.results.read.evidence import ScorePart

RowKind = Literal["model", "floor", "imported", "family", "quoted", "task", "claim", "setting"]
TRIVIAL: Final = "floor"  # the kind of a trivial baseline's row
Tone = Literal["good", "bad", "open", "none", ""]  # what a word says of the thing
Scale = tuple[tuple[str, float], ...]  # units of a count with their size, largest first
DECIMAL: Scale = (("M", 1e6), ("K", 1e3))
BINARY: Scale = (("Gi", 2.0**30), ("Mi", 2.0**20), ("Ki", 2.0**10))
BYTES: Scale = (("MB", 1e6), ("KB", 1e3), ("B", 1.0))
# Measures that predictions decide
SCORES = frozenset(("score", "average", "prr", "prr_average", "drop", "gain"))
SCORED = ("score", "average", "prr", "prr_average")  # measures that baselines have too
SIZES = dict((*DECIMAL, *BINARY, *BYTES))


@dataclass(frozen=True)
class Cell:
    """A cell: mean, spread and number of runs of one measurement, and the published number, in the column's unit."""

    value: float | None = None
    value_high: float | None = None  # upper end of a range over tasks
    std: float | None = None  # over seeds, n - 1 in the denominator; None with one run
    n: int | None = None  # finished runs that the mean is taken over
    planned: int | None = None  # runs of the plan
    published: PublishedNumber | None = None
    interval: tuple[float, float] | None = None  # 95 %, over examples; of a speed-up over measured pairs
    n_examples: int | None = None
    unread: bool = False  # whether it has no interval since stored outputs cannot be read
    undefined: float = 0.0  # percent of the draws without a value, which the interval leaves out
    unavailable: bool = False  # published, but not available in numbers
    unit: str = ""  # K or M where a count is scaled
    reason: str = ""  # why the value is missing
    group: str = ""  # cells of different groups (encoder, data, precision) are not compared
    marks: tuple[int, ...] = ()  # footnotes
    best: bool = False  # of scores: not separable from the best of the column
    # "best" or "below" for a compared score; "not compared: WHY"; '' without a group
    rating: str = ""
    rank: int = 0  # in the column, 1 is the best; 0 where it is not compared
    ranks: tuple[int, int] = (0, 0)  # the interval of the rank, of all models of the column at once
    parts: tuple[ScorePart, ...] = field(default=(), compare=False, repr=False)  # until the column is compared
    bytes: int | None = None  # of a trivial baseline as it was learned on the cell's task
    under: str = ""  # the trivial baseline that it is not above; of several the best
    constant: bool = False  # whether the predictions of a seed are all one
    hollow_f1: bool = False  # whether it averages an F1 of a model whose accuracy is below the majority class
    lost: float = 0.0  # the share of characters that its model did not read, where that is over 2 %
    lost_on: str = ""  # the task of that share, in an average over several
    of_units: str = ""  # of an average: '2 of 4' pre-trainings or seeds, where the others lack a task
    text: str = ""  # of a table of words: printed in place of a number
    tone: Tone = ""


@dataclass(frozen=True)
class Row:
    """One row: a model under one set of settings, a trivial baseline, or a family of models."""

    model: str
    title: str
    cells: dict[str, Cell]  # by column name
    kind: RowKind = "model"
    encoder: str = ""
    section: str = ""
    settings: str = ""  # what sets this row apart from another row of the same model
    key: str = ""  # its name in the reference data, where that is not the model's
    # In a table of words: sentences that a terminal prints below the row
    details: tuple[str, ...] = ()

    @property
    def is_baseline(self) -> bool:
        """True for a trivial baseline, which is no model."""
        return self.kind == TRIVIAL

    def measured(self) -> bool:
        """True if any of its cells has a measured value."""
        return any(cell.value is not None for cell in self.cells.values())


@dataclass(frozen=True)
class ComparedPairs:
    """The models that a column compares: two differ where their difference is larger than its half-width.

    `rows` titles and settings of the table's rows (n,), `means` (n,), and `differences` (n, n), first - second, with
    `half_widths` (n, n) of their 95 % intervals, each for itself; NaN for two without a seed in common. A difference is
    computed on common seeds, so it need not equal the difference of the means. `alone` (n,): half-widths of the means.
    In percent.
    """

    column: str
    section: str  # of the table, where models are compared within one; else ""
    rows: tuple[tuple[str, str], ...]
    means: tuple[float, ...]
    differences: tuple[tuple[float, ...], ...]
    half_widths: tuple[tuple[float, ...], ...]
    alone: tuple[float, ...]

    def noise(self) -> float:
        """Half the width of the median interval of two models; 0 where no two have an interval."""
        halves = [half for place, row in enumerate(self.half_widths) for half in row[:place] if not math.isnan(half)]
        return statistics.median(halves or [0.0])


@dataclass(frozen=True)
class Table:
    """A table with everything that is printed with it."""

    paper: str  # "" for the experiment's own
    number: str  # "own" for the experiment's own
    title: str
    experiment: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    warnings: tuple[str, ...] = ()  # printed above and below
    provenance: tuple[tuple[str, str], ...] = ()  # (label, text): data, recipes, code and machines behind the numbers
    footnotes: tuple[str, ...] = ()  # numbered from 1
    notes: tuple[str, ...] = ()  # how the columns are made, and what is not comparable
    details: tuple[str, ...] = ()  # further notes, which --provenance prints: floors, what averages rest on
    missing: tuple[str, ...] = ()  # cells that are missing, and why
    published: bool = True
    readings: tuple[tuple[str, str, str], ...] = ()  # (task, metric, split) of the scores
    statistic: str = "mean"  # over seeds
    draws_seeds: bool = False  # intervals of cells are over seeds too, and not over examples alone
    pretrainings: tuple[int, ...] = ()  # numbers of pre-trainings of a model whose fine-tunings start from several
    pairs: tuple[ComparedPairs, ...] = field(default=(), compare=False, repr=False)
    compares_sections: bool = False  # models are compared within a section, not with all of the table
    # Its rows for programs, where they are not its cells
    records: tuple[Mapping[str, Any], ...] | None = None
    # Printed in its place as JSON, where that holds more than rows
    document: Mapping[str, Any] | None = None
    lead: tuple[str, ...] = ()  # lines above the rows of a text table, such as counts of claims
    head: str = ""  # the heading of the names of its rows; "" for one that follows from their kind

    def __post_init__(self) -> None:
        """Raises ValueError for two columns of one name: the cells of a row are found by it."""
        names = [column.name for column in self.columns]
        doubles = sorted({name for name in names if names.count(name) > 1})
        if doubles:
            raise ValueError(f"table {self.title!r}: two columns are named {', '.join(doubles)}")

    @cached_property
    def seeds(self) -> tuple[int, int] | None:
        """(finished, planned) seeds of more than half of the values, which only the legend prints, else None."""
        cells = [cell for row in self.rows for cell in row.cells.values() if cell.value is not None]
        counts = Counter((cell.n, cell.planned or cell.n) for cell in cells if cell.n is not None)
        for seeds, n_cells in counts.most_common(1):
            return seeds if 2 * n_cells > counts.total() else None
        return None


def scaled(count: float, scale: Scale = DECIMAL) -> tuple[float, str]:
    """A count in the unit in which it is printed, and that unit.

    >>> scaled(38_603_520)
    (38.60352, 'M')
    >>> scaled(797_184)
    (797.184, 'K')
    >>> scaled(248 * 2**20, BINARY), scaled(1_680, BYTES)
    ((248.0, 'Mi'), (1.68, 'KB'))
    """
    unit, size = next(((unit, size) for unit, size in scale if count >= size), scale[-1])
    return count / size, unit


def comparable(cell: Cell) -> float | None:
    """A number for ranking the cells of a column: the printed value, unscaled, or the middle of a range."""
    if cell.value is None:
        return None
    middle = cell.value if cell.value_high is None else (cell.value + cell.value_high) / 2
    return rounded(middle, 3 if cell.unit == "ms/sample" else 1) * SIZES.get(cell.unit, 1.0)


def _is_faster(cell: Cell, others: Sequence[Cell]) -> bool:
    """True where a speed-up's interval lies above the intervals of all other cells in the column."""
    ends = [other.interval[1] if other.interval else None for other in others]
    return cell.interval is not None and all(end is not None and end < cell.interval[0] for end in ends)


def mark_best(rows: list[Row], columns: Sequence[Column]) -> list[Row]:
    """Rows with the best size, share or time of each column marked; models' scores are compared in `ranking`.

    Trivial baselines do not compete, cells of the most frequent group alone are compared, values that print equally are
    both best, and where only one model was measured nothing is. Of times only a speed-up has an interval, and it is
    best where its interval ends before every other model's begins; milliseconds of two runs are not compared.
    """
    marked = [dict(row.cells) for row in rows]
    for column in columns:
        groups: dict[str, dict[int, float]] = {}
        for index, row in enumerate(rows):
            cell = row.cells[column.name]
            rank = comparable(cell)
            if column.better and column.measure not in SCORED and row.kind == "model" and rank is not None:
                groups.setdefault(cell.group, {})[index] = rank
        for ranks in sorted(groups.values(), key=len, reverse=True)[:1]:
            least, most = min(ranks.values()), max(ranks.values())
            for index, rank in ranks.items():
                if least < most and rank == (most if column.better == "high" else least):
                    others = [rows[other].cells[column.name] for other in ranks if other != index]
                    if not column.is_time or _is_faster(rows[index].cells[column.name], others):
                        marked[index][column.name] = replace(marked[index][column.name], best=True)
    return [replace(row, cells=cells) for row, cells in zip(rows, marked, strict=True)]


TOLERANCE = 1e-9  # of sums of shares
EACH_BEST = "each task's best trivial baseline"


def marked(rows: Sequence[Row], columns: Sequence[Column]) -> list[Row]:
    """Rows with marks on the best size of each column and on scores not above the rows' trivial baselines."""
    return mark_under(mark_best(list(rows), columns), [row for row in rows if row.is_baseline], columns)


def mark_under(rows: Sequence[Row], baselines: Sequence[Row], columns: Sequence[Column]) -> list[Row]:
    """Rows in which models' cells are marked if they are not above a trivial baseline on the same data.

    An average is compared with the mean of each task's best one. An average of ratios is marked too where all of its
    cells are.
    """
    by_row = [dict(row.cells) for row in rows]
    for column in columns:
        if column.measure not in SCORED or column.better != "high":
            continue
        for row, cells in zip(rows, by_row, strict=True):
            if row.kind in ("model", "family"):
                cell = cells[column.name]
                floor = floor_of(column, columns, baselines, cells)
                cells[column.name] = replace(cell, under=under_floor(cell, floor))
    for column in columns:
        members = _averaged(column, columns)
        for row, cells in zip(rows, by_row, strict=True):
            if column.measure == "prr_average" and row.kind in ("model", "family") and members:
                if cells[column.name].value is not None and all(
                    cells[of.name].under for group in members for of in group
                ):
                    cells[column.name] = replace(cells[column.name], under=cells[column.name].under or EACH_BEST)
    return [replace(row, cells=cells) for row, cells in zip(rows, by_row, strict=True)]


@dataclass(frozen=True)
class Floor:
    """The value in percent that a score must exceed: of a trivial baseline, of an average the mean of each task's."""

    name: str  # of the baseline, if it is the best on every task; else `EACH_BEST`
    value: float
    bytes: int | None = None  # of the baseline on its task; None of an average, and where they are not known

    @property
    def size(self) -> str:
        """The bytes behind the value in words; "" where they are not known."""
        return "" if self.bytes is None else f" ({self.bytes:,} bytes)"


def floor_of(
    column: Column, columns: Sequence[Column], baselines: Sequence[Row], cells: Mapping[str, Cell] | None = None
) -> Floor | None:
    """The floor of a column: its best trivial baseline; of an average the mean over its tasks of the best ones.

    The one floor that tables, figures, pages and boards compare with. `columns`: of the table, with its tasks.
    `cells`: of the row that is compared, on whose data the baselines must be. None where a task has no baseline.
    """
    groups = _averaged(column, columns) if column.measure == "average" else [[column]]
    best: list[list[Floor]] = []
    for group in groups:
        values = [_best_of(None if cells is None else cells[member.name], member, baselines) for member in group]
        best.append([floor for floor in values if floor is not None])
        if len(best[-1]) < len(group):
            return None
    if not best:
        return None
    if column.measure != "average":
        return best[0][0]
    names = {floor.name for group in best for floor in group}
    value = fmean(fmean(floor.value for floor in group) for group in best)
    return Floor(names.pop() if len(names) == 1 else EACH_BEST, value)


def table_floor(table: Table, column: Column) -> Floor | None:
    """The floor of a table's column for most of its models, whose data may differ; None where there is none."""
    baselines = [row for row in table.rows if row.is_baseline]
    models = [row for row in table.rows if row.kind == "model" and row.cells[column.name].value is not None]
    floors = Counter(floor_of(column, table.columns, baselines, row.cells) for row in models)
    return floors.most_common(1)[0][0] if floors else floor_of(column, table.columns, baselines)


def under_floor(cell: Cell, floor: Floor | None) -> str:
    """The name of the floor if a cell's value is not above it, else ''."""
    return floor.name if floor and cell.value is not None and cell.value <= floor.value + TOLERANCE else ""


def floor_note(floor: Floor | None, column: Column) -> list[str]:
    """A detail of a table: the floor of an average, which no row has where no baseline is best on all tasks."""
    if floor is None or floor.name != EACH_BEST:
        return []
    return [f"{column.title or column.name}: the floor is {decimal_text(floor.value, 1)}, the mean of {EACH_BEST}."]


def best_floors_note(columns: Sequence[Column], baselines: Sequence[Row]) -> list[str]:
    """A detail of a table: the best trivial baseline of each task, its score and its bytes; [] without one."""
    tasks = [column for column in columns if column.measure == "score" and column.name == column.task]
    floors = [(column, floor_of(column, columns, baselines)) for column in tasks]
    listed = [
        f"{column.title or column.name} {decimal_text(floor.value, 1)} {floor.name}{floor.size}"
        for column, floor in floors
        if floor is not None
    ]
    return [f"Best trivial baselines: {', '.join(listed)}."] if listed else []


def _averaged(column: Column, columns: Sequence[Column]) -> list[list[Column]]:
    """The columns that an average is over, columns that count together in one list; [] if one is missing."""
    if column.measure == "prr_average":
        return [[other] for other in columns if other.measure == "prr"]
    if column.measure != "average":
        return []
    named = {other.name: other for other in columns if other.measure == "score"}
    groups = [(part,) if isinstance(part, str) else part for part in column.tasks]
    return [[named[name] for name in group] for group in groups] if set(sum(groups, ())) <= set(named) else []


def _best_of(cell: Cell | None, column: Column, baselines: Sequence[Row]) -> Floor | None:
    """The best trivial baseline in a column, on the data of a cell if there is one."""
    floors = [
        Floor(row.title, other.value, other.bytes)
        for row in baselines  # a baseline has a row for each version of the data
        if (other := row.cells[column.name]).value is not None
        and (cell is None or _data(other.group) == _data(cell.group))
    ]
    return max(floors, key=lambda floor: floor.value, default=None)


def _data(group: str) -> set[str]:
    """The data fingerprints in a cell's group, without encoder and precision, which baselines do not have.

    >>> sorted(_data("tiny 32 f0|tiny bf16 f1")), _data("tiny  f0")
    (['f0', 'f1'], {'f0'})
    """
    return {part.rpartition(" ")[2] for part in group.split("|")}


def missing_lines(rows: Sequence[Row], columns: Sequence[Column]) -> list[str]:
    """Lines on what a table lacks: models without runs, then for each reason the missing cells of other models.

    A missing average is left out: it follows from a missing score.
    """
    absent = list(dict.fromkeys(row.model for row in rows if not row.encoder and row.kind in ("model", "family")))
    lines = [f"not in this experiment: {', '.join(absent)}"] if absent else []
    by_reason: dict[str, dict[str, list[str]]] = {}  # reason -> row -> columns
    for row in rows:
        for column in columns:
            cell = row.cells[column.name]
            if row.encoder and cell.value is None and cell.reason and column.measure != "average":
                by_reason.setdefault(cell.reason, {}).setdefault(row.title.strip(), []).append(column.name)
    return lines + [f"{reason}: {_grouped(cells, len(columns))}" for reason, cells in by_reason.items()]


def _grouped(cells: dict[str, list[str]], n_columns: int) -> str:
    """The rows with missing cells, grouped by the columns that they miss, as 'a, b (cola, rte); c'."""
    by_columns: dict[tuple[str, ...], list[str]] = {}
    for row, names in cells.items():
        by_columns.setdefault(tuple(names), []).append(row)
    return "; ".join(
        ", ".join(rows) + ("" if len(missed) == n_columns else f" ({', '.join(missed)})")
        for missed, rows in by_columns.items()
    )
