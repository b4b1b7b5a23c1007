"""Tables of an experiment on hidden items: recall and ranks of every model, by beam width, and by frequency.

Spreads in parentheses are over training seeds; intervals resample the test pages, the same pages for every model.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from hashbench.results.papers.paper import Column
from hashbench.results.read import queries
from hashbench.results.read.evidence import Evidence
from hashbench.results.read.measured import PERCENT, Measured
from hashbench.results.read.runs import Entry
from hashbench.results.tables.experiment import MINUTES, SIZES
from hashbench.results.tables.measures import View, entry_row
from hashbench.results.tables.request import ReportSource, TableFile
from hashbench.results.tables.table import Cell, Row, Table, marked, missing_lines, scaled
from hashbench.scores.draws import percentile_interval, undefined_share
from hashbench.scores.rankings import DECILES

SPLIT = "test"
METRICS = {"rec@1": "rec@1", "rec@10": "rec@10", "rec@20": "rec@20", "mrr": "MRR", "token_rec@1": "token rec@1"}
CERTIFIED, CEILING = "certified", "rec@1_ceiling"
OF_LINKS = (
    "A case is one link of a test page, hidden; its context is drawn from the page's other links. All links of all "
    "test pages are cases, unless cases_per_page says otherwise."
)
OF_TEXT = (
    "A case is one hidden item (a word piece, a word or a pair of words) of a test document; 15 % of a sequence are "
    "hidden together, all of them by [MASK], the same for every model. Pages are documents."
)
BY_BEAM, BY_DECILE = "rec@20", "rec@1"  # the metrics of figures 2 and 3


def link_tables(source: ReportSource) -> list[Table]:
    """The main table, recall by beam width and recall by frequency, for each set of hidden items."""
    measured = source.measured
    evidence = Evidence(source.store, measured) if source.request.examples else None
    metrics = {score.metric for scores in measured.perturbed.values() for score in scores}
    beams = sorted(int(metric.partition(" beam=")[2]) for metric in metrics if metric.startswith(f"{BY_BEAM} beam="))
    tables = []
    for task in measured.tasks():
        tables.append(main_table(measured, task, evidence))
        tables.append(_by_condition(measured, task, BY_BEAM, [f"beam={beam}" for beam in beams], "beam width"))
        deciles = [f"tenth={decile + 1}" for decile in range(DECILES)]
        tables.append(_by_condition(measured, task, BY_DECILE, deciles, "decile of the cases by frequency"))
    return [table for table in tables if any(row.measured() for row in table.rows)] or tables[:1]


def main_table(measured: Measured, task: str, evidence: Evidence | None) -> Table:
    """The table of all models, then trivial baselines, by metric."""
    scores = [
        Column(name, "percent", "score", title, task, "" if name == CERTIFIED else "high", "test", name, SPLIT)
        for name, title in {**METRICS, CERTIFIED: CERTIFIED}.items()
    ]
    columns = [*scores, Column(CEILING, "percent", "fact", "ceiling", subtitle="rec@1"), *SIZES, MINUTES]
    stored = measured.query(queries.FACTS_OF_RUNS, experiment=measured.experiment.id)
    facts = {(row["run_id"], row["name"]): row["value"] for row in stored}
    view = View(measured=measured, columns={})
    rows = []
    for entry in measured.entries:
        if entry.of_task(task):
            cells = {MINUTES.name: view.measure(entry, MINUTES)}
            cells |= {column.name: _with_interval(view.measure(entry, column), evidence) for column in scores}
            cells |= {of.name: _fact_cell(entry, of, facts) for of in columns if of.measure == "fact"}
            rows.append(entry_row(entry, cells))
    table = _table(measured, f"Experiment {measured.experiment.name}: {task}", columns, rows)
    of_text = any(run.task == task and _reads_corpora(run.spec) for run in measured.runs)
    return replace(table, notes=tuple(_notes(OF_TEXT if of_text else OF_LINKS, evidence is not None)))


def _reads_corpora(spec: Mapping[str, Any]) -> bool:
    """True where the items of a run were hidden in texts of corpora, not on pages of links."""
    return any(isinstance(block, dict) and "corpora" in block for block in spec.values())


def _notes(cases: str, intervals: bool) -> list[str]:
    notes = [
        cases,
        "The best evaluation is chosen on cases of validation pages; the test pages are read once.",
        "token rec@1: share of the right buckets, over cases and maps; ceiling: share of the cases whose item does not "
        "share all its buckets with a more frequent one; certified: rankings of 20 that a beam of 20 proves complete.",
    ]
    return [*notes, "Intervals: 95 %, test pages drawn with replacement."] if intervals else notes


def _fact_cell(entry: Entry, column: Column, facts: dict[tuple[str, str], float]) -> Cell:
    """The cell of a fact stored by run: the mean over runs of a share, or a size, which all runs have in common."""
    runs = [run for run in entry.runs if (run.run_id, column.name) in facts]
    values = [facts[run.run_id, column.name] for run in runs if run.state == "done"]
    if not values:
        return Cell(unit=column.unit, reason="none")
    if column.unit == "percent":
        return Cell(PERCENT * statistics.fmean(values), unit="percent")
    value, unit = scaled(values[0])
    return Cell(value, unit=unit)


def _with_interval(cell: Cell, evidence: Evidence | None) -> Cell:
    """The cell of a metric with its interval over pages, where all runs have stored predictions."""
    if evidence is None or cell.value is None:
        return cell
    sample = evidence.of_part(cell.parts[0])
    ends = None if sample.missing() else percentile_interval(PERCENT * sample.by_draw())
    if ends is None:
        return cell
    return replace(cell, interval=ends, n_examples=sample.n, undefined=PERCENT * undefined_share(sample.by_draw()))


def _by_condition(measured: Measured, task: str, metric: str, conditions: Sequence[str], what: str) -> Table:
    """A table of one metric with a column for each condition, means over seeds, without models that have no value."""
    columns = [
        Column(
            condition, "percent", "score", condition.partition("=")[2], task, "high", metric, f"{metric} {condition}",
            SPLIT,
        )
        for condition in conditions
    ]  # fmt: skip
    view = View(measured=measured, columns={})
    rows = [entry_row(entry, {of.name: view.measure(entry, of) for of in columns}) for entry in measured.entries]
    rows = [row for row in rows if row.measured()]
    return _table(measured, f"{metric} on {task} by {what}", columns, rows)


def _table(measured: Measured, title: str, columns: Sequence[Column], rows: Sequence[Row]) -> Table:
    models = [row for row in rows if row.kind == "model"]
    scores = [column for column in columns if column.measure == "score"]
    return Table(
        paper="",
        number="own",
        title=title,
        experiment=measured.experiment.name,
        columns=tuple(columns),
        rows=tuple(marked(rows, columns)),
        missing=tuple(missing_lines(models, scores)),
        published=False,
    )


TABLE = TableFile(
    "links",
    "hidden items: recall and ranks of every model, by beam width and by frequency",
    link_tables,
    shows=lambda measured: measured.hides_items(),
)
