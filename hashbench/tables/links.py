"""Tables of an experiment on hidden items: recall and ranks of every model, by beam width, and by frequency.

Spreads in parentheses are over training seeds; intervals resample the test pages, the same pages for every model.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from hashbench.metrics.rankings import DECILES
from hashbench.papers.column import Column
from hashbench.results import queries
from hashbench.results.entries import Entry
from hashbench.results.measured import PERCENT, Measured
from hashbench.results.runs import SeedScore
from hashbench.results.samples import Evidence
from hashbench.statistics.estimates import percentile_interval
from hashbench.tables.cells import score_cell
from hashbench.tables.experiment import MINUTES, SIZES
from hashbench.tables.missing import missing_lines
from hashbench.tables.request import ReportSource, TableFile
from hashbench.tables.table import Cell, Row, Table, mark_best, scaled

SPLIT = "test"
METRICS = {"rec@1": "rec@1", "rec@10": "rec@10", "rec@20": "rec@20", "mrr": "MRR", "token_rec@1": "token rec@1"}
SHARES = {"certified": "certified"}
OF_LINKS = (
    "A case is one link of a test page, hidden; its context is drawn from the page's other links. All links of all "
    "test pages are cases, unless cases_per_page says otherwise."
)
OF_TEXT = (
    "A case is one hidden item (a word piece, a word or a pair of words) of a test document; 15 % of a sequence are "
    "hidden together, all of them by [MASK], the same for every model. Pages are documents."
)
Values = dict[tuple[str, str, str], float]  # by (run id, metric, condition)


def link_tables(source: ReportSource) -> list[Table]:
    """For each set of hidden items the main table, recall by beam width and recall by frequency."""
    measured = source.measured
    evidence = Evidence(source.store, measured, as_stored=True) if source.request.examples else None
    rows = measured.query(queries.TEST_SCORES_BY_CONDITION, experiment=measured.experiment.id)
    values = {(row["run_id"], row["name"], row["condition"]): row["value"] for row in rows}
    found = []
    for task in measured.tasks():
        found.append(main_table(measured, task, evidence))
        beams = sorted({int(c.removeprefix("beam=")) for _, _, c in values if c.startswith("beam=")})
        found.append(_by_condition(measured, task, values, "rec@20", [f"beam={b}" for b in beams], "beam width"))
        deciles = [f"tenth={i + 1}" for i in range(DECILES)]
        found.append(_by_condition(measured, task, values, "rec@1", deciles, "tenth of the cases by frequency"))
    return [table for table in found if any(row.measured() for row in table.rows)] or found[:1]


def main_table(measured: Measured, task: str, evidence: Evidence | None) -> Table:
    """Every model by every metric, then the floors."""
    columns = [
        Column(name, "percent", "score", title, task=task, better="high", subtitle="test")
        for name, title in {**METRICS, **SHARES}.items()
    ]
    columns[-1] = replace(columns[-1], better="")
    columns += [Column("rec@1_ceiling", "percent", "fact", "ceiling", subtitle="rec@1"), *SIZES, MINUTES]
    rows = measured.query(queries.FACTS_OF_RUNS, experiment=measured.experiment.id)
    facts = {(row["run_id"], row["name"]): row["value"] for row in rows}
    filled = [
        _row(entry, {column.name: _cell(measured, entry, column, facts, evidence) for column in columns})
        for entry in _entries(measured, task)
    ]
    table = _table(measured, f"Experiment {measured.experiment.name}: {task}", columns, filled)
    of_text = any(run.task == task and _reads_corpora(run.spec) for run in measured.runs)
    return replace(table, notes=tuple(_notes(OF_TEXT if of_text else OF_LINKS, evidence is not None)))


def _reads_corpora(spec: Mapping[str, Any]) -> bool:
    """Whether the items of a run were hidden in texts of corpora, not on pages of links."""
    return any(isinstance(block, dict) and "corpora" in block for block in spec.values())


def _notes(cases: str, intervals: bool) -> list[str]:
    notes = [
        cases,
        "The best evaluation is chosen on cases of validation pages; the test pages are read once.",
        "ceiling: share of the cases whose item does not share all its buckets with a more frequent one; certified: "
        "rankings of 20 that a beam of 20 proves complete.",
    ]
    return [*notes, "Intervals: 95 %, test pages drawn with replacement."] if intervals else notes


def _entries(measured: Measured, task: str) -> list[Entry]:
    return [entry for entry in measured.entries if entry.of_task(task)]


def _cell(
    measured: Measured, entry: Entry, column: Column, facts: dict[tuple[str, str], float], evidence: Evidence | None
) -> Cell:
    runs = [run for run in entry.runs if run.state == "done"]
    if column.name == MINUTES.name:
        seconds = sum(run.origin.seconds for run in runs)
        return Cell(value=seconds / 60 if seconds else None, unit="minutes", reason="no finished run")
    if column.measure == "fact":
        known = [facts[run.run_id, column.name] for run in runs if (run.run_id, column.name) in facts]
        if not known:
            return Cell(unit=column.unit, reason="none")
        if column.unit == "percent":
            return Cell(value=PERCENT * statistics.fmean(known), unit="percent")
        value, unit = scaled(known[0])
        return Cell(value=value, unit=unit)
    assert column.task is not None
    read = partial(_read, measured, column.name)
    cell = score_cell(entry, column.task, read)
    if evidence is None or cell.value is None:
        return cell
    return _with_interval(cell, evidence, entry, column)


def _read(measured: Measured, metric: str, entry: Entry, task: str) -> list[SeedScore]:
    return measured.read(entry, task, metric, SPLIT)


def _with_interval(cell: Cell, evidence: Evidence, entry: Entry, column: Column) -> Cell:
    """The cell with its interval over pages, where all of its runs have stored their cases."""
    sample = evidence.of(entry, column.task or "", column.name, SPLIT)
    ends = None if sample.missing() else percentile_interval(PERCENT * sample.by_draw())
    return cell if ends is None else replace(cell, interval=ends, n_examples=sample.n)


def _by_condition(
    measured: Measured, task: str, values: Values, metric: str, conditions: Sequence[str], what: str
) -> Table:
    """One metric under each of some conditions, means over seeds."""
    columns = [
        Column(condition, "percent", "score", condition.partition("=")[2], task=task, better="high", subtitle=metric)
        for condition in conditions
    ]
    rows = []
    for entry in _entries(measured, task):
        cells = {c.name: _mean(entry, task, [(metric, c.name)], values) for c in columns}
        if any(cell.value is not None for cell in cells.values()):
            rows.append(_row(entry, cells))
    return _table(measured, f"{metric} on {task} by {what}", columns, rows)


def _mean(entry: Entry, task: str, keys: Sequence[tuple[str, str]], values: Values) -> Cell:
    runs = entry.of_task(task)
    known = [PERCENT * values[run.run_id, *key] for run in runs for key in keys if (run.run_id, *key) in values]
    cell = Cell(unit="percent", n=len(known) or None, planned=len(runs), group=entry.group([task]))
    if not known:
        return replace(cell, reason="not stored")
    if entry.kind == "floor":
        cell = replace(cell, n=None, planned=None)
    return replace(cell, value=statistics.fmean(known), std=statistics.stdev(known) if len(known) > 1 else None)


def _row(entry: Entry, cells: dict[str, Cell]) -> Row:
    section = "Floors" if entry.kind == "floor" else "Models"
    return Row(entry.model, entry.model, cells, entry.kind, entry.encoder, section, entry.settings)


def _table(measured: Measured, title: str, columns: Sequence[Column], rows: Sequence[Row]) -> Table:
    models = [row for row in rows if row.kind == "model"]
    scores = [column for column in columns if column.measure == "score"]
    return Table(
        paper="",
        number="own",
        title=title,
        experiment=measured.experiment.name,
        columns=tuple(columns),
        rows=tuple(mark_best(list(rows), columns)),
        missing=tuple(missing_lines(models, scores)),
        published=False,
    )


TABLE = TableFile(
    "links",
    "hidden items: recall and ranks of every model, by beam width and by frequency",
    link_tables,
    shows=lambda measured: measured.hides_items(),
)
