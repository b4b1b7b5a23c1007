"""`hashbench report robustness`: tables of score retention under noise, of the data sets and of the coders."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from hashbench.common.errors import InputError
from hashbench.common.registry import registered
from hashbench.results.papers.paper import Column
from hashbench.results.read.doubts import NOT_JUMPED
from hashbench.results.read.evidence import NO_PREDICTIONS
from hashbench.results.read.measured import AVERAGE, PERCENT
from hashbench.results.read.ratings import FEW_SEEDS, FEW_UNITS, LEAST_SEEDS, Compared, rated
from hashbench.results.read.robustness import (
    FEW_ROWS,
    RobustnessCurve,
    RobustnessResults,
    few_rows,
    measure_robustness,
)
from hashbench.results.tables.ranking import grouped_table
from hashbench.results.tables.request import ReportSource, TableFile
from hashbench.results.tables.table import TRIVIAL, Cell, Row, RowKind, Table
from hashbench.scores.draws import Estimate
from hashbench.scores.quantity import Uncertain, difference, unmatched

TIDY = (
    "experiment", "task", "metric", "perturbation", "rate", "model", "measure", "value", "low", "high", "n_seeds",
    "n_examples", "versus", "unit",
)  # fmt: skip
RETENTION = "retention, %"


def robustness_tables(source: ReportSource) -> list[Table]:
    """The summary, in full also the tables of tasks. CSV and JSON have the rows of all, and facts of texts and coders.

    Raises InputError where nothing was measured.
    """
    results, full = measure_robustness(source.store, source.request.experiment), source.request.full
    baseline = results.experiment.baseline
    versus = baseline if baseline in results.models() else None
    noise = replace(results, curves=tuple(curve for curve in results.curves if not curve.is_of_pairs))
    # Without tables of tasks nothing shows the differences, so that no note explains them.
    tables = [_summary_table(noise, versus if full else None)] if noise.curves else []
    tables += [_pairs_table(results, versus if full else None)] if results.of_pairs() else []
    if not tables:
        raise InputError(
            f"{source.store.name}: no score of {results.experiment.name!r} is there under every rate of a noise; "
            "sweep it to its end"
        )
    first = replace(tables[0], records=tuple(records(results, versus)))
    if full:
        return [first, *tables[1:], *(_task_table(noise, task, versus) for task in noise.tasks())]
    more = "Each task, rate and score: --full. Facts of the noisy texts and of the coders: CSV and JSON."
    return [replace(first, notes=(*first.notes, more)), *tables[1:]]


def _summary_table(results: RobustnessResults, versus: str | None) -> Table:
    """The table of each model's score retention under each noise, for the average over tasks or by task."""
    tasks = [AVERAGE] if AVERAGE in results.tasks() else results.tasks()
    columns = [Column(kind, "percent", "score", kind, subtitle=RETENTION, better="high") for kind in results.kinds()]
    rows = []
    for task in tasks:
        for model in results.models():
            curves = {column.name: results.curve(model, task, column.name) for column in columns}
            cells = {
                name: Cell(reason="not measured") if curve is None else estimate_cell(curve.retention(), "percent")
                for name, curve in curves.items()
            }
            kind = _kind_of(results, model)
            if kind == TRIVIAL and not any(curves.values()):
                continue  # of another kind of task
            rows.append(Row(model, model, cells, kind=kind, section="" if task == AVERAGE else task))
    highest = max(rate for curve in results.curves for rate in curve.rates)
    over = f"over the rates 0 to {_rate(highest)}"
    what = f"average of {len(results.averaged)} tasks" if tasks == [AVERAGE] else ", ".join(tasks)
    title = f"Robustness in {results.experiment.name}: score retention under noise, {over}; {what}"
    named = "; ".join(f"{kind}: {_words_of(kind)}" for kind in results.kinds())
    notes = [f"{named}." if named else "", *_notes(results, results.tasks()[0], versus)]
    notes = [note for note in notes if note]
    table = replace(_table(results, "summary", title, columns=columns, rows=rows, notes=notes), compares_sections=True)

    def compare(column: Column, models: Sequence[Row]) -> Compared:
        curves = (results.curve(row.model, row.section or AVERAGE, column.name) for row in models)
        return _compared([curve for curve in curves if curve is not None], results)

    return grouped_table(table, columns, compare, lambda cell: True)


def _pairs_table(results: RobustnessResults, versus: str | None) -> Table:
    """The table of scores on the user's texts and on their other forms, with a section for each task and kind."""
    columns = [
        Column("at_0", "percent", "score", "as it is", subtitle="score"),
        Column("at_1", "percent", "score", "perturbed", subtitle="score"),
        Column("kept_1", "percent", "score", "retention", subtitle="%", better="high"),
    ]
    if versus is not None:
        columns.append(Column("versus", "points", "score", "retention, minus", subtitle=versus))
    by_row: dict[tuple[str, str], RobustnessCurve] = {}
    notes = []
    for curve in sorted(results.of_pairs(), key=lambda curve: results.tasks().index(curve.task)):
        n, equal = (_pair_fact(results, curve, name) for name in ("pair_rows", "pair_rows_equal"))
        where = f"{curve.task}, {curve.metric}: {curve.kind} ({n:,} row{'' if n == 1 else 's'})"
        by_row[where, curve.model] = curve
        notes += [f"{curve.task}: {few_rows(curve.kind, n)}."] if n < FEW_ROWS else []
        notes += [f"{curve.task}: {curve.kind}: {equal:,} of {n:,} texts equal their other form."] if equal else []
    rows = [
        Row(
            curve.model, curve.model, {column.name: _cell(results, curve, column) for column in columns},
            kind=_kind_of(results, curve.model), section=section,
        )
        for section in dict.fromkeys(section for section, _ in by_row)
        for (at, _), curve in by_row.items()
        if at == section
    ]  # fmt: skip
    shown = "Pairs of texts in two forms, by kind of noise. Retention: score on the perturbed form / score on the text"
    notes = [f"{shown}, of the same rows.", *dict.fromkeys(notes), *_unseen_noise(results.of_pairs())]
    title = f"Robustness in {results.experiment.name}: scores on pairs of texts as they are and perturbed"
    table = replace(_table(results, "pairs", title, columns=columns, rows=rows, notes=notes), compares_sections=True)

    def compare(column: Column, models: Sequence[Row]) -> Compared:
        return _compared([by_row[row.section, row.model] for row in models], results)

    return grouped_table(table, columns[2:3], compare, lambda cell: True)


def _pair_fact(results: RobustnessResults, curve: RobustnessCurve, name: str) -> int:
    """A stored number about the pairs of a curve."""
    return int(results.facts.get((curve.task, curve.model, name, f"{curve.kind}=1"), curve.n_examples))


def _kind_of(results: RobustnessResults, model: str) -> RowKind:
    """The kind of a row: of a model, or of a trivial baseline."""
    return TRIVIAL if any(curve.is_baseline for curve in results.curves if curve.model == model) else "model"


def _compared(curves: Sequence[RobustnessCurve], results: RobustnessResults) -> Compared:
    """The models of these curves compared by their mean retention."""
    places, whys = [], []
    for place, curve in enumerate(curves):
        lacks = (
            FEW_SEEDS if len(curve.seeds) < LEAST_SEEDS else FEW_UNITS if len(set(curve.units)) < LEAST_SEEDS else ""
        )
        lacks = lacks or ("" if curve.retained[1] is not None else NO_PREDICTIONS)
        whys.append(NOT_JUMPED if curve.model in results.left_behind else lacks)
        places += [] if whys[-1] else [place]

    def pairing(first: int, second: int) -> Uncertain:
        left, right = (curves[places[at]] for at in (first, second))
        both = left.matched(right)
        if not both:
            return unmatched(*(curve.retained_of(curve.seeds) for curve in (left, right)))
        return difference(left.retained_of(both), right.retained_of(both))

    return rated(whys, places, [curves[place].retained_of(curves[place].seeds) for place in places], pairing)


def _task_table(results: RobustnessResults, task: str, versus: str | None) -> Table:
    """The table of a task's scores and retention by model and rate, with a section for each perturbation."""
    curves = [curve for curve in results.curves if curve.task == task]
    rates = list(dict.fromkeys(rate for curve in curves for rate in curve.rates))
    columns = [Column(f"at_{rate:g}", "percent", "score", _rate(rate), subtitle="score") for rate in rates]
    columns += [Column(f"kept_{rate:g}", "percent", "score", _rate(rate), subtitle=RETENTION) for rate in rates[1:]]
    columns.append(Column("area", "percent", "score", "area", subtitle="score"))
    columns.append(Column("kept_area", "percent", "score", "area", subtitle=RETENTION))
    if versus is not None:
        columns.append(Column("versus", "points", "score", "retention, minus", subtitle=versus))
    rows = [
        Row(
            curve.model,
            curve.model,
            {column.name: _cell(results, curve, column) for column in columns},
            kind=_kind_of(results, curve.model),
            section=_words_of(kind),
        )
        for kind in dict.fromkeys(curve.kind for curve in results.curves)
        for curve in curves
        if curve.kind == kind
    ]
    metric = f", {curves[0].metric}" if curves[0].metric else ""
    title = f"Robustness in {results.experiment.name}: {task}{metric}"
    notes = _notes(results, task, versus) if task == AVERAGE else []
    return _table(results, task, title, columns=columns, rows=rows, notes=notes)


def _table(
    results: RobustnessResults, what: str, title: str, *, columns: Sequence[Column], rows: Sequence[Row],
    notes: Sequence[str],
) -> Table:  # fmt: skip
    return Table(
        paper="", number=f"robustness {what}", title=title, experiment=results.experiment.name,
        columns=tuple(columns), rows=tuple(rows), notes=tuple(notes), published=False, records=(),
        draws_seeds=max((len(curve.seeds) for curve in results.curves), default=0) > 1,
    )  # fmt: skip


def _notes(results: RobustnessResults, task: str, versus: str | None) -> list[str]:
    """Notes on how the columns are computed, or for the table of the average on its mean."""
    if task == AVERAGE and len(results.tasks()) > 1:
        return ["Unweighted mean over the tasks; intervals draw the tasks' examples independently of each other."]
    lines = [
        "A rate is the share of a text's words that are changed, before any tokenizer and the same for every model.",
        "Retention: score at the rate / score at rate 0. The summary and area: mean over the rates from 0 to the "
        "highest (trapezoids).",
        *results.notes,
    ]
    if versus is not None:
        n = sum(
            curve.model != versus and results.curve(versus, curve.task, curve.kind) is not None
            for curve in results.curves
        )
        lines.append(
            f"The last column of a task's table: area of the retention minus that of {versus}, in points; the same "
            f"draws on both sides. All tables together have {n} such differences at 95 %, not corrected for their "
            "number: about one in twenty may be off by chance."
        )
    return lines + _unseen_noise(results.curves)


def _unseen_noise(curves: Sequence[RobustnessCurve]) -> list[str]:
    """Notes on models whose scores are equal at every rate of a noise, on every task."""
    lines = []
    for kind in dict.fromkeys(curve.kind for curve in curves):
        by_model: dict[str, set[bool]] = {}
        for curve in curves:
            if curve.kind == kind:
                scores = {curve.score(at).value for at in range(len(curve.rates))}
                by_model.setdefault(curve.model, set()).add(len(scores) == 1)
        blind = [model for model, same in by_model.items() if same == {True}]
        if blind:
            lines.append(
                f"{_words_of(kind).capitalize()}: the scores of {', '.join(blind)} are the same at every rate. A "
                "model that lower-cases its input sees no change of case, and one that predicts a constant sees no "
                "change at all: what they retain follows by construction and is no finding."
            )
    return lines


def _cell(results: RobustnessResults, curve: RobustnessCurve, column: Column) -> Cell:
    """The cell of a column: score or retention at a rate or over all rates, or the difference to another model."""
    measure, _, rate = column.name.partition("_")
    if measure == "versus":
        other = results.curve(column.subtitle, curve.task, curve.kind)
        if other is None or other is curve:
            return Cell(unit="points")
        estimate = curve.less(other)
    elif column.name in ("area", "kept_area"):
        estimate = curve.score() if measure == "area" else curve.retention()
    elif float(rate) not in curve.rates:
        return Cell(reason="not measured")
    else:
        at = curve.rates.index(float(rate))
        estimate = curve.score(at) if measure == "at" else curve.retention(at)
    return estimate_cell(estimate, column.unit)


def estimate_cell(estimate: Estimate, unit: str) -> Cell:
    """A share or score in percent, or a difference in points, with its interval."""
    if math.isnan(estimate.value):
        return Cell(unit=unit, reason="the score at rate 0 is not above 0")
    interval = None if math.isnan(estimate.low) else (PERCENT * estimate.low, PERCENT * estimate.high)
    undefined = PERCENT * estimate.undefined
    n_examples = estimate.n_examples
    return Cell(PERCENT * estimate.value, interval=interval, n_examples=n_examples, unit=unit, undefined=undefined)


def _rate(rate: float) -> str:
    """A rate in percent as text.

    >>> _rate(0.05), _rate(0.125)
    ('5 %', '12.5 %')
    """
    return f"{PERCENT * rate:g} %"


def records(results: RobustnessResults, versus: str | None) -> list[dict[str, Any]]:
    """Rows for CSV and JSON: each estimate (scores and retention in percent, differences in points), then the facts."""
    rows: list[dict[str, Any]] = []
    for curve in results.curves:
        for at, rate in enumerate(curve.rates):
            rows.append(_record(results, curve, "score", estimate=curve.score(at), rate=rate))
            rows.append(_record(results, curve, "kept", estimate=curve.retention(at), rate=rate))
        if not curve.is_of_pairs:
            rows.append(_record(results, curve, "area", estimate=curve.score()))
            rows.append(_record(results, curve, "kept_area", estimate=curve.retention()))
        other = results.curve(versus, curve.task, curve.kind) if versus else None
        if other is None or other is curve:
            continue
        highest, area = curve.less(other, len(curve.rates) - 1), curve.less(other)
        rate = curve.rates[-1]
        rows.append(_record(results, curve, "kept_difference", estimate=highest, rate=rate, versus=versus))
        if not curve.is_of_pairs:
            rows.append(_record(results, curve, "kept_area_difference", estimate=area, versus=versus))
    for (task, model, name, condition), value in results.facts.items():
        kind, _, at_rate = condition.partition("=")
        fact = (results.experiment.name, task, "", kind, float(at_rate) if at_rate else None, model, name, value)
        rows.append(dict(zip(TIDY, (*fact, None, None, None, None, "", "share or count"), strict=True)))
    return rows


def _record(
    results: RobustnessResults, curve: RobustnessCurve, measure: str, *, estimate: Estimate,
    rate: float | None = None, versus: str | None = None,
) -> dict[str, Any]:  # fmt: skip
    ends = (estimate.value, estimate.low, estimate.high)
    values = (
        results.experiment.name, curve.task, curve.metric, curve.kind, rate, curve.model, measure,
        *(None if math.isnan(end) else PERCENT * end for end in ends), estimate.n_seeds, estimate.n_examples,
        versus or "", "points" if versus else "percent",
    )  # fmt: skip
    return dict(zip(TIDY, values, strict=True))


def _words_of(name: str) -> str:
    """A perturbation's description in tables, or its name if this version does not know it."""
    perturbations = registered("perturbation")
    return str(perturbations[name].words) if name in perturbations else name


TABLE = TableFile(
    "robustness",
    "what models retain of their scores under noise in the texts",
    robustness_tables,
)
