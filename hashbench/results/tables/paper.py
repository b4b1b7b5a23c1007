"""A paper's table filled with what an experiment measured, the published number beside each cell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

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
from hashbench.results.read.evidence import Evidence
from hashbench.results.read.measured import Measured
from hashbench.results.read.runs import Entry
from hashbench.results.tables.experiment import FORMS
from hashbench.results.tables.measures import StoredReading, View, measured_columns, row_kind
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
    readings = measured.readings(paper.name)
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
            views.append(
                RowView(
                    measured=measured, columns=placed, evidence=evidence, paper=paper, layout=layout, number=number,
                    variant=variant, settings=settings,
                )
            )  # fmt: skip
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
    """All rows in the paper's order, then models that the paper does not have, then trivial baselines."""
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
        cells[column.name] = replace(
            view.cell(entry, column), published=beside.published, unavailable=beside.unavailable
        )
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
    """The row of a data set: the paper's sizes of splits, and the sizes that the sweep counted."""
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


@dataclass(frozen=True, kw_only=True)
class RowView(View):
    """A view of a paper's table: the metrics that its columns read for one variant or task, and the printed numbers."""

    paper: Paper
    layout: Layout
    number: str  # of the table
    variant: Variant
    settings: str  # what sets the rows of this view apart

    def score_readings(self) -> list[StoredReading]:
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
