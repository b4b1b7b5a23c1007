"""The group of a column's models that are not separable from the best, ranks with intervals, and what averages rest on.

`hashbench.scores.best` has the statistics.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import groupby

import numpy as np

from hashbench.common.showing import percent_text
from hashbench.results.papers.paper import Column
from hashbench.results.read.evidence import Evidence
from hashbench.results.read.measured import PERCENT
from hashbench.results.read.ratings import IN_GROUP, TWO_UNITS, Compared, Rating, compared
from hashbench.results.read.runs import grouped
from hashbench.results.tables.table import SCORED, Cell, ComparedPairs, Row, Table
from hashbench.scores.best import variance_shares

NOT_COMPARED = "not compared: "
RANK = "rank"  # the unit of a cell
NAMED_TASKS = 8  # tasks whose shares of an average are printed; of more the first five and the others together
FIRST_TASKS = 5


Comparing = Callable[[Column, Sequence[Row]], Compared]


def with_groups(table: Table, evidence: Evidence) -> Table:
    """The table with the group of the best marked in its columns of scores, and notes on it and on its averages."""

    def of_scores(column: Column, rows: Sequence[Row]) -> Compared:
        cells = [row.cells[column.name] for row in rows]
        return compared([cell.parts for cell in cells], [cell.group for cell in cells], evidence)

    columns = [column for column in table.columns if column.measure in SCORED and column.better == "high"]
    details = [line for column in columns for line in _shares(table, column, evidence)]
    details += [note] if (note := evidence.measured.note_on_units()) and columns else []
    table = grouped_table(replace(table, details=(*table.details, *details)), columns, of_scores)
    rows = [
        replace(row, cells={name: replace(cell, parts=()) if cell.parts else cell for name, cell in row.cells.items()})
        for row in table.rows
    ]
    return replace(table, rows=tuple(rows))


def grouped_table(
    table: Table,
    columns: Sequence[Column],
    compare: Comparing,
    competes: Callable[[Cell], bool] = lambda c: bool(c.parts),
) -> Table:
    """The table with the group of the best marked in these columns, and notes on it. `compare`: a column's models."""
    rows = [dict(row.cells) for row in table.rows]
    remarks: dict[str, list[str]] = {}  # titles of columns
    pairs: list[ComparedPairs] = []
    left_out: dict[tuple[str, str], list[str]] = {}  # models that are not compared, and why: titles of columns
    for column in columns:
        for section, places in _competing(table, column, competes):
            models = [table.rows[place] for place in places]
            column_ratings = compare(column, models)
            pairs += _pairs(column, section, models, column_ratings)
            for place, rating in zip(places, column_ratings.ratings, strict=True):
                rows[place][column.name] = with_rating(rows[place][column.name], rating)
                if rating.why:
                    left_out.setdefault((rating.why, table.rows[place].title.strip()), []).append(_title(column, table))
            if remark := remark_on(column_ratings):
                remarks.setdefault(remark, []).append(f"{_title(column, table)}{f' at {section}' if section else ''}")
    notes = [note] if (note := noise_note(table, pairs)) else []
    notes += [f"{remark}: {', '.join(titles)}." for remark, titles in remarks.items()]
    by_reason = grouped(((why, tuple(dict.fromkeys(titles))), model) for (why, model), titles in left_out.items())
    notes += [
        f"Not compared, {why}: {', '.join(dict.fromkeys(models))} ({', '.join(titles)})."
        for (why, titles), models in by_reason.items()
    ]
    return replace(
        table,
        rows=tuple(replace(row, cells=cells) for row, cells in zip(table.rows, rows, strict=True)),
        notes=(*table.notes, *notes),
        pairs=(*table.pairs, *pairs),
    )


def _pairs(column: Column, section: str, rows: Sequence[Row], models: Compared) -> list[ComparedPairs]:
    """The compared models of a column in percent; none where nothing is compared. `rows`: of all its models."""
    if models.why:
        return []
    means = tuple(PERCENT * value for value in models.values)
    alone = tuple(PERCENT * number.uncertain.half_width() for number in models.numbers)
    names = tuple((rows[place].title, rows[place].settings) for place in models.places)
    differences, halves = (tuple(map(tuple, (PERCENT * of).tolist())) for of in models.differences())
    return [ComparedPairs(column.name, section, names, means, differences, halves, alone)]


def noise_note(table: Table, pairs: Sequence[ComparedPairs]) -> str:
    """A line on the differences of each column that are noise; '' where nothing is compared."""
    titles = {column.name: _title(column, table) for column in table.columns}
    parts = [
        f"{titles[of.column]}{f' at {of.section}' if of.section else ''} {percent_text(of.noise() / PERCENT)}"
        for of in pairs
    ]
    if not parts:
        return ""
    return f"Differences below these are noise (half the width of a median pair's interval): {', '.join(parts)}."


def with_rating(cell: Cell, rating: Rating) -> Cell:
    """The cell with its rating, marked if it is in the group of the best."""
    state = rating.state or (NOT_COMPARED + rating.why if rating.why else "")
    return replace(cell, best=state == IN_GROUP, rating=state, rank=rating.rank, ranks=rating.ranks)


def with_ranks(table: Table) -> Table:
    """A table of `with_groups` with ranks and their intervals in the place of scores, without other columns."""
    columns = [
        replace(column, unit=RANK, measure="rank", better="", subtitle=column.subtitle or RANK)
        for column in table.columns
        if column.measure in SCORED and column.better == "high"
    ]
    rows = [
        replace(row, cells={column.name: _rank_cell(row.cells[column.name]) for column in columns})
        for row in table.rows
        if row.kind == "model" and row.measured()
    ]
    note = "Ranks among the models that a column compares, 1 is the best."
    return replace(
        table, title=f"{table.title}: ranks", columns=tuple(columns), rows=tuple(rows), published=False, footnotes=(),
        missing=(), notes=(note, *table.notes), pairs=(),
    )  # fmt: skip


def _rank_cell(cell: Cell) -> Cell:
    if not cell.rank:
        why = cell.rating.removeprefix(NOT_COMPARED) if cell.rating else cell.reason
        return Cell(unit=RANK, reason=why or "no group", rating=cell.rating)
    low, high = cell.ranks
    return Cell(float(cell.rank), unit=RANK, interval=(low, high), best=cell.best, rating=cell.rating)


def _competing(
    table: Table, column: Column, competes: Callable[[Cell], bool] = lambda cell: bool(cell.parts)
) -> Iterable[tuple[str, list[int]]]:
    """(section, indexes of the rows) of the models that a column compares, two or more: all, or one section."""
    places = [
        place
        for place, row in enumerate(table.rows)
        if row.kind == "model" and row.cells[column.name].value is not None and competes(row.cells[column.name])
    ]
    groups = groupby(places, key=lambda place: table.rows[place].section if table.compares_sections else "")
    return [(section, members) for section, some in groups if len(members := list(some)) > 1]


def remark_on(column: Compared) -> str:
    """The remark on a column that has no group of the best, or that separates no two models; else ''."""
    if column.why:
        return f"No group of the best, {column.why}"
    if not column.grouped:
        return TWO_UNITS
    ranks = [rating.ranks for rating in column.ratings if rating.state]
    return "No two models are separable" if all(interval == (1, len(ranks)) for interval in ranks) else ""


def _title(column: Column, table: Table) -> str:
    """The column's title in sentences: with the words below it where another column has the same title."""
    title = column.title or column.name
    shared = sum(other.title == column.title for other in table.columns) > 1
    return f"{title}, {column.subtitle}" if shared and column.subtitle else title


def _shares(table: Table, column: Column, evidence: Evidence) -> list[str]:
    """A line on the share that each task has in the variance of an average between models; none for other columns."""
    if column.measure not in ("average", "prr_average"):
        return []
    lines = []
    for section, places in _competing(table, column):
        cells = [table.rows[place].cells[column.name] for place in places]
        tasks = list(dict.fromkeys(part.task for part in cells[0].parts))
        if len(cells) < 3 or len(tasks) < 2:  # two models have one difference and no variance to speak of
            continue
        values = np.array([[_part_of(cell, task, evidence) for task in tasks] for cell in cells])
        shares = dict(zip(tasks, PERCENT * variance_shares(values), strict=True))
        if np.isfinite(list(shares.values())).all():
            lines.append(f"{f'{section}: ' if section else ''}{_listed(shares)}")
    if not lines:
        return []
    return [f"{_title(column, table)}: shares of the tasks in the variance between models: {'; '.join(lines)}."]


def _part_of(cell: Cell, task: str, evidence: Evidence) -> float:
    """The contribution of a task to an average: the weighted mean over seeds of its scores."""
    parts = [part for part in cell.parts if part.task == task]
    return sum(part.weight * float(np.mean(list(evidence.of_part(part).by_seed().values()))) for part in parts)


def _listed(shares: Mapping[str, float]) -> str:
    """Shares in words, the largest first.

    >>> _listed({"atis": 15.2, "ag_news": 55.4, "sst2": 29.4})
    'ag_news 55 %, sst2 29 %, atis 15 %'
    """
    ordered = sorted(shares.items(), key=lambda item: -item[1])
    shown = ordered if len(ordered) <= NAMED_TASKS else ordered[:FIRST_TASKS]
    words = [f"{task} {share:.0f} %" for task, share in shown]
    if len(shown) < len(ordered):
        rest = sum(share for _, share in ordered[FIRST_TASKS:])
        words.append(f"the other {len(ordered) - FIRST_TASKS} together {rest:.0f} %")
    return ", ".join(words)
