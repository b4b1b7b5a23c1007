"""A paper's table filled with what an experiment measured, the published number beside each cell."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from statistics import fmean
from typing import Any

from hashbench.results.papers.paper import (
    Column,
    Layout,
    Paper,
    PublishedNumber,
    Section,
    Variant,
    load_paper,
    papers,
)
from hashbench.results.read.measured import AVERAGE, PERCENT, Measured
from hashbench.results.read.runs import Entry, SeedScore
from hashbench.results.read.samples import Evidence, ScorePart
from hashbench.results.tables.cells import (
    FORMS,
    average_cell,
    fact_cell,
    flagged,
    measured_columns,
    row_kind,
    score_cell,
)
from hashbench.results.tables.request import ReportSource, TableFile
from hashbench.results.tables.table import SCORED, SIZES, Cell, Row, Table, mark_best, mark_under, missing_lines

TRIVIAL = "Trivial baselines"
OTHERS = "Also in this experiment"
ANY_TASK = "*"
PRINTED_COUNTS = {"published_total": "total_params", "published_emb": "emb_params"}  # column of a list -> of a paper
ALONE = Variant(title="", metric="", key="")  # where each model has one row


def paper_table(source: ReportSource, number: str) -> Table:
    """A table of a paper with measured numbers. Rows without a run are left out unless published numbers are shown."""
    measured, paper, published = source.measured, source.paper, source.request.published
    views = _views(measured, paper, number, source.evidence)
    layout, columns = views[0].layout, tuple(views[0].columns.values())
    rows = mark_under(mark_best(_rows(views), columns), _baseline_rows(views), columns)
    rows, footnotes, remarks = _footnoted(rows, number, paper, published)
    if not published:
        rows = [row for row in rows if row.encoder or row.measured()]
    return Table(
        paper=paper.name,
        number=number,
        title=f"{paper.name} table {number}: {layout.title}",
        experiment=measured.experiment.name,
        columns=columns,
        rows=tuple(rows),
        footnotes=tuple(footnotes),
        notes=(*remarks, *layout.notes),
        missing=tuple(missing_lines(rows, columns)),
        published=published,
        readings=tuple(dict.fromkeys(reading for view in views for reading in view.score_readings())),
        statistic=paper.statistic,
    )


def _views(measured: Measured, paper: Paper, number: str, evidence: Evidence | None) -> list[RowView]:
    """The views of a table, each with a row a model: one a variant and, for columns that fit any task, one a task."""
    layout = paper.tables[number]
    readings, ratios = measured.readings(paper.name), measured.ratios(paper.name)
    columns = [_with_reading(column, readings) for column in layout.columns]
    columns += measured_columns(measured, FORMS) if layout.forms else []
    views = []
    for variant in layout.variants or (ALONE,):
        own = [
            replace(column, metric=column.metric + variant.metric) if column.measure == "score" else column
            for column in columns
        ]
        of_any = [measured.tasks_with(column.metric, column.split) for column in own if column.task == ANY_TASK]
        tasks = list(dict.fromkeys(task for of_column in of_any for task in of_column))
        for task in tasks or [""]:
            placed = {column.name: replace(column, task=task) if column.task == ANY_TASK else column for column in own}
            settings = task if len(tasks) > 1 else ""
            views.append(RowView(measured, paper, number, placed, layout, ratios, evidence, variant, settings))
    return views


def _with_reading(column: Column, readings: Mapping[str, tuple[str, str]]) -> Column:
    """The column; one of scores gets the metric and split that the paper reports, and the metric as its subtitle."""
    if column.measure != "score":
        return column
    if not column.metric and column.task is not None and column.task in readings:
        metric, split = readings[column.task]
        column = replace(column, metric=metric, split=split)
    return replace(column, subtitle=column.subtitle or column.metric.removeprefix(column.title))


def _rows(views: Sequence[RowView]) -> list[Row]:
    """All rows in the paper's order, then those of models that the paper does not have, then trivial baselines."""
    rows: list[Row] = []
    placed: set[str] = set()
    first = views[0]
    for section in first.layout.sections:
        for model in section.models:
            rows.extend(_model_rows(model, section, views))
        placed.update(section.models)
        for family, members in section.families.items():
            rows.append(_family_row(family, members, section, first))
            for member in members:
                member_rows = _model_rows(member, section, views)
                rows.extend(replace(row, title=f"  {row.title}") for row in member_rows if row.encoder)
            placed.update(members)
        for name in section.quoted:
            rows.append(Row(name, name, first.printed_row(name, section), "quoted", section=section.title))
        for name, task in section.tasks.items():
            rows.append(_data_row(name, task, section, first))
    for entry in first.measured.entries:
        if first.layout.others and not entry.is_baseline and entry.model not in placed and _belongs_in(entry, views):
            rows.extend(row for view in views for row in _entry_row(entry, Section(title=OTHERS), view))
    return rows + (_baseline_rows(views) if first.layout.floors or first.layout.forms else [])


def _baseline_rows(views: Sequence[RowView]) -> list[Row]:
    """The rows of the trivial baselines, also if it does not print them; none in a table without scores and forms."""
    scored = any(column.measure in SCORED for view in views for column in view.columns.values())
    if not scored and not views[0].layout.forms:
        return []
    entries = [entry for entry in views[0].measured.entries if entry.is_baseline]
    return [row for entry in entries for view in views for row in _entry_row(entry, Section(title=TRIVIAL), view)]


def _belongs_in(entry: Entry, views: Sequence[RowView]) -> bool:
    """True for a model to add below the paper's own: it has runs of a scored task of the table, if there are any."""
    tasks = {column.task for view in views for column in view.columns.values() if column.measure == "score"}
    return not tasks or any(run.task in tasks for run in entry.runs)


def _model_rows(model: str, section: Section, views: Sequence[RowView]) -> list[Row]:
    """The rows of a paper's model: one for each entry and view, or without entries an empty one for each variant."""
    first = views[0]
    entries = [entry for entry in first.measured.entries if entry.model == model and not entry.is_baseline]
    if entries:
        return [row for view in views for entry in entries for row in _entry_row(entry, section, view)]
    if section.further:
        return []
    rows = []
    for variant in dict.fromkeys(view.variant for view in views):
        cells = first.printed_row(model + variant.key, section)
        silent = {name for name, column in first.columns.items() if column.measure in ("printed", "setting")}
        why = "not in this experiment"
        empty = {name: cell if name in silent else replace(cell, reason=why) for name, cell in cells.items()}
        rows.append(Row(model, _title(model, variant), empty, section=section.title, key=model + variant.key))
    return rows


def _entry_row(entry: Entry, section: Section, view: RowView) -> list[Row]:
    """The row of an entry in one view, in a list; none for a trivial baseline without a value."""
    key = entry.model + view.variant.key
    listed = section.printed and not section.further and section.title not in (OTHERS, TRIVIAL)
    cells: dict[str, Cell] = {}
    for column in view.columns.values():
        beside = view.printed(key, column, listed=listed)
        cell = flagged(view.measured, entry, view.cell(entry, column), view.readings(column))
        cells[column.name] = replace(cell, published=beside.published, unavailable=beside.unavailable)
    row = Row(
        entry.title,
        _title(entry.title, view.variant),
        cells,
        row_kind(entry),
        entry.encoder,
        section.title,
        ", ".join(filter(None, (entry.settings, view.settings))),
        key,
    )
    return [row] if row.measured() or not entry.is_baseline else []


def _title(model: str, variant: Variant) -> str:
    return f"{model}, {variant.title}" if variant.title else model


def _data_row(name: str, task: str, section: Section, view: RowView) -> Row:
    """The row of a data set: the paper's sizes of splits, and those that the sweep counted."""
    counts = view.measured.record.get("tasks", {}).get(task, {}).get("rows", {})
    cells = {}
    for column in view.columns.values():
        value = float(counts[column.name]) if column.measure == "rows" and column.name in counts else None
        cells[column.name] = Cell(value, unit="count", published=view.printed(name, column).published)
    return Row(name, task, cells, "task", section=section.title)


def _family_row(family: str, members: Sequence[str], section: Section, view: RowView) -> Row:
    """The row of a family, which is one row in the paper: the mean of its models' values, for a range of each end."""
    entries = [entry for entry in view.measured.entries if entry.model in members and not entry.is_baseline]
    of_one_size = len({entry.encoder for entry in entries}) == 1
    cells: dict[str, Cell] = {}
    for column in view.columns.values():
        members_cells = [view.cell(entry, column) for entry in entries] if of_one_size else []
        cells[column.name] = replace(_mean_cell(members_cells), published=view.printed(family, column).published)
    return Row(family, family, cells, "family", entries[0].encoder if of_one_size else "", section.title)


def _mean_cell(cells: Sequence[Cell]) -> Cell:
    """The cell with the mean of the cells that have a value; of several without an interval, which nothing measured."""
    having = [cell for cell in cells if cell.value is not None]
    if not having:
        return Cell(reason="not measured" if cells else "not in this experiment")
    if len(having) == 1:
        return having[0]
    # In the unit of the first: one may be printed in K, another in M
    scales = [SIZES.get(cell.unit, 1.0) / SIZES.get(having[0].unit, 1.0) for cell in having]
    pairs = list(zip(having, scales, strict=True))
    highs = [cell.value_high * scale for cell, scale in pairs if cell.value_high is not None]
    high = sum(highs) / len(highs) if len(highs) == len(having) else None
    mean = sum((cell.value or 0.0) * scale for cell, scale in pairs) / len(having)
    return replace(having[0], value=mean, value_high=high, interval=None, std=None, parts=())


def _footnoted(
    rows: Sequence[Row], number: str, paper: Paper, published: bool
) -> tuple[list[Row], list[str], list[str]]:
    """(rows with footnote numbers on their cells, texts of the footnotes, remarks of the paper without a cell here).

    All three are about published numbers only.
    """
    marked = [dict(row.cells) for row in rows]
    texts: list[str] = []
    remarks: list[str] = []
    for note in paper.footnotes if published else ():
        if number not in note.tables:
            continue
        places = [
            (cells, column)
            for model, column in note.cells
            for row, cells in zip(rows, marked, strict=True)
            if model in (row.model, row.key) and column in cells and cells[column].published is not None
        ]
        (texts if places else remarks).append(note.text)
        for cells, column in places:
            cells[column] = replace(cells[column], marks=(*cells[column].marks, len(texts)))
    return [replace(row, cells=cells) for row, cells in zip(rows, marked, strict=True)], texts, remarks


def printed_number(paper: Paper, key: str, column: str) -> PublishedNumber | None:
    """The first number with that row key and column in any of the paper's tables."""
    return next((number for (_, *place), number in paper.numbers.items() if place == [key, column]), None)


@dataclass(frozen=True)
class RowView:
    """A view of a paper's table: the metrics that its columns read for one variant or task, and its cells."""

    measured: Measured
    paper: Paper
    number: str  # of the table
    columns: Mapping[str, Column]  # by name, each score with the metric and split that are read
    layout: Layout
    ratios: Mapping[tuple[str, str, str], tuple[float | None, int]]  # PRR and number of tasks
    evidence: Evidence | None
    variant: Variant
    settings: str  # what sets the rows of this view apart

    def read(self, entry: Entry, name: str) -> list[SeedScore]:
        """The scores that a column reads, one a finished run."""
        column = self.columns[name]
        return self.measured.read(entry, column.task or "", column.metric, column.split)

    def cell(self, entry: Entry, column: Column) -> Cell:
        """The measured cell of an entry in a column."""
        return MEASURES[column.measure](self, entry, column)

    def readings(self, column: Column) -> list[tuple[str, str, str]]:
        """(task, metric, split) of the scores that a cell of a column is computed from."""
        if column.measure in ("prr", "prr_average"):
            by_task = self.measured.readings(self.paper.name)
            tasks = [column.task] if column.task else list(by_task)
            return [(task, *by_task[task]) for task in tasks if task in by_task]
        if column.measure == "score":
            read = [column]
        else:
            names = [name for part in column.tasks for name in ((part,) if isinstance(part, str) else part)]
            read = [self.columns[name] for name in names if name in self.columns] if column.measure == "average" else []
        return [(score.task, score.metric, score.split) for score in read if score.task]

    def score_readings(self) -> list[tuple[str, str, str]]:
        """(task, metric, split) of all columns of scores."""
        scores = [column for column in self.columns.values() if column.measure == "score"]
        return [reading for column in scores for reading in self.readings(column)]

    def printed(self, key: str, column: Column, *, listed: bool = True) -> Cell:
        """A cell with the published number alone. `listed`: the paper's table has the row."""
        for table in (self.number, *self.layout.also):
            if (table, key, column.name) in self.paper.numbers:
                return Cell(published=self.paper.numbers[table, key, column.name])
        return Cell(unavailable=listed and column.unavailable)

    def printed_row(self, key: str, section: Section) -> dict[str, Cell]:
        """The cells of a row with published numbers alone, by column."""
        return {name: self.printed(key, column, listed=section.printed) for name, column in self.columns.items()}

    def partner(self, entry: Entry, column: Column) -> tuple[Entry | None, str]:
        """The model that a column compares an entry with, or None and why ('' where no comparison is meant)."""
        name = self.layout.pairs.get(entry.model, "") if column.against == "pair" else column.against
        if not name or name == entry.model or entry.is_baseline:
            return None, ""
        other = self.measured.find_entry(name)
        return other, "" if other else f"no {name} to compare with"


def _score(view: RowView, entry: Entry, column: Column) -> Cell:
    if not column.task:  # a table over all tasks that have the metric, and the experiment has none
        return Cell(reason=f"no task with {column.metric}")
    return score_cell(entry, column.task, lambda of, _: view.read(of, column.name), view.evidence, view.paper.statistic)


def _difference(view: RowView, entry: Entry, column: Column, *, sign: float) -> Cell:
    """The cell of a difference: the model's value in another column minus its partner's, times `sign`, in points."""
    other, reason = view.partner(entry, column)
    if other is None:
        return Cell(reason=reason)
    name = view.layout.of.get(entry.model, column.of)
    cell, compared = (view.cell(of, view.columns[name]) for of in (entry, other))
    if cell.value is None or compared.value is None:
        return Cell(reason=f"no {name} of both models")
    if not entry.shares_data(other):
        return Cell(reason="measured on other data than the model it is compared with")
    return Cell(value=sign * (cell.value - compared.value), unit="points", group=column.against)


def _fact_ratio(view: RowView, entry: Entry, column: Column, *, formula: Callable[[float, float], float]) -> Cell:
    other, reason = view.partner(entry, column)
    if other is None:
        return Cell(reason=reason)
    fact, compared = (view.measured.fact(of, column.fact) for of in (entry, other))
    if fact is None or compared is None or not fact.value or not compared.value:
        return Cell(reason=f"no {column.fact} of both models")
    return Cell(value=formula(fact.value, compared.value), unit=column.unit, group=column.against)


def _setting(view: RowView, entry: Entry, column: Column, *, power: int = 1) -> Cell:
    """The cell of a setting: the number at the column's path in the spec of the model's runs, to the given power."""
    runs = entry.runs or tuple(run for run in view.measured.runs if run.model == entry.model)
    value = value_at(runs[0].spec, column.path) if runs and not entry.is_baseline else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return Cell()  # a size's own value, or a model without it
    return Cell(value=float(value) ** power, unit=column.unit)


def value_at(spec: Any, path: str) -> Any:
    """A value of nested mappings; None where there is none.

    >>> value_at({"model": {"coder": {"alpha": 5}}}, "model.coder.alpha"), value_at({"model": None}, "model.coder")
    (5, None)
    """
    for key in path.split("."):
        spec = spec.get(key) if isinstance(spec, dict) else None
    return spec


def _ratio(view: RowView, entry: Entry, column: Column) -> Cell:
    """The cell of PRR in percent, from the database view `prr`, for a task or the average of all tasks of the paper."""
    task, measured = column.task or AVERAGE, view.measured
    cell = Cell(unit="percent", group=entry.group([column.task] if column.task else view.paper.tasks))
    if not (measured.has_one_entry(entry.model) and measured.has_one_entry(measured.experiment.baseline)):
        return replace(cell, reason="settings differ between runs of one model, or no baseline")
    if (entry.model, entry.encoder, task) not in view.ratios:
        return replace(cell, reason="no score of the model or of the baseline")
    ratio, n_tasks = view.ratios[entry.model, entry.encoder, task]
    if ratio is None:
        return replace(cell, reason="no ratio: a score is missing or the baseline's is not above 0")
    if task == AVERAGE and n_tasks < len(view.paper.tasks):
        return replace(cell, reason=f"only {n_tasks} of {len(view.paper.tasks)} tasks")
    return replace(cell, value=PERCENT * ratio, parts=_parts_of_ratio(view, entry, column))


def _parts_of_ratio(view: RowView, entry: Entry, column: Column) -> tuple[ScorePart, ...]:
    """The scores that PRR is a weighted sum of, the baseline's taken as known; () where that is not so."""
    baseline, readings = view.measured.find_entry(view.measured.experiment.baseline), view.readings(column)
    scores = [view.measured.read(baseline, *reading) if baseline else [] for reading in readings]
    values = [[score.value for score in of_task if score.value is not None] for of_task in scores]
    total = sum(fmean(of_task) for of_task in values if of_task)
    if not all(values) or total <= 0:
        return ()
    return tuple(ScorePart(1 / total, entry, *reading) for reading in readings)  # an average is the ratio of averages


MEASURES: dict[str, Callable[[RowView, Entry, Column], Cell]] = {
    "score": _score,
    "average": lambda view, entry, column: average_cell(
        entry, column.tasks, view.read, view.evidence, view.paper.statistic
    ),
    "prr": _ratio,
    "prr_average": _ratio,
    "fact": lambda view, entry, column: fact_cell(view.measured, entry, column),
    "drop": partial(_difference, sign=-1.0),
    "gain": partial(_difference, sign=1.0),
    "smaller": partial(_fact_ratio, formula=lambda value, other: other / value),  # how many times larger the other's is
    "larger": partial(_fact_ratio, formula=lambda value, other: value / other),
    "reduction": partial(_fact_ratio, formula=lambda value, other: PERCENT * (1 - value / other)),
    "setting": _setting,
    "square": partial(_setting, power=2),  # groups of K words make K^2 times fewer attention scores
    "printed": lambda view, entry, column: Cell(),  # the paper alone speaks
}


def printed_counts(paper: str, model: str) -> dict[str, int | None]:
    """The parameter counts that a paper prints for a model of base size, unscaled; None where it prints none.

    Mi and Gi are Superbloom's binary M and G.
    """
    counts: dict[str, int | None] = {}
    for name, column in PRINTED_COUNTS.items():
        printed = printed_number(load_paper(paper), model, column) if paper in papers() else None
        counts[name] = None if printed is None else round(printed.value * SIZES[printed.unit])
    return counts


TABLE = TableFile(
    "paper",
    "every table of the paper, filled with what was measured",
    lambda source: [paper_table(source, number) for number in source.paper.tables],
)
