"""`hashbench report --robustness`: tables of what is kept under noise, of the data sets and of the coders."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from hashbench.papers.column import Column
from hashbench.results.measured import AVERAGE, PERCENT
from hashbench.results.robustness import Curve, Robustness, find_model, measure_robustness
from hashbench.statistics.estimates import Estimate
from hashbench.tables.request import ReportSource, TableFile
from hashbench.tables.table import Cell, Row, Table

TIDY = (
    "experiment", "task", "metric", "perturbation", "rate", "model", "measure", "value", "low", "high", "n_seeds",
    "n_examples", "versus", "unit",
)  # fmt: skip
KINDS = {
    "swap": "adjacent characters swapped",
    "delete": "a character left out",
    "insert": "a letter put in",
    "keyboard": "a letter of a neighbouring key",
    "case": "another case",
    "misspelling": "common misspellings",
    "unseen": "forms unseen in pre-training",
}
CODER_FACTS = (
    ("coder_types", "count", "types", "of the data set"),
    ("types_per_bucket", "share", "types per", "bucket"),
    ("shared_tokens", "percent", "tokens that share", "their code, %"),
    ("misspelling_agreement", "percent", "code of a word and", "its misspelling, %"),
    ("chance_agreement", "percent", "the same of", "two words, %"),
    ("misspelling_tokens_kept", "percent", "tokens kept by", "a misspelling, %"),
)
Line = dict[str, str | float | int | None]


def robustness_tables(source: ReportSource) -> list[Table]:
    """A table of scores a task and of the average, one of the data sets, one of the coders; their rows: `tidy`.

    Raises InputError where nothing was measured, or for an unknown model to compare with.
    """
    found = measure_robustness(source.store, source.request.experiment)
    versus = find_model(found, source.request.versus) if source.request.versus else _baseline(found)
    first, *further = [_task_table(found, task, versus) for task in found.tasks()]
    rest = (*further, _data_table(found), _coder_table(found))
    return [replace(first, records=tuple(tidy(found, versus))), *(replace(table, records=()) for table in rest)]


def _baseline(found: Robustness) -> str | None:
    """The experiment's baseline where it was measured; None: nothing is compared."""
    return found.experiment.baseline if found.experiment.baseline in found.models() else None


def _task_table(found: Robustness, task: str, versus: str | None) -> Table:
    """Models by rate, a section for each perturbation."""
    curves = [curve for curve in found.curves if curve.task == task]
    rates = list(dict.fromkeys(rate for curve in curves for rate in curve.rates))
    metric = f", {curves[0].metric}" if curves[0].metric else ""
    columns = [Column(f"at_{rate:g}", "percent", "score", _rate(rate), subtitle="score") for rate in rates]
    columns += [Column(f"kept_{rate:g}", "percent", "score", f"{_rate(rate)} kept", subtitle="%") for rate in rates[1:]]
    columns += [
        Column("area", "percent", "score", "area", subtitle="score"),
        Column("kept_area", "percent", "score", "area", subtitle="kept, %"),
    ]
    if versus is not None:
        columns.append(Column("versus", "points", "score", "kept, minus", subtitle=versus))
    rows = [
        Row(curve.model, curve.model, _cells(found, curve, columns, versus), section=KINDS.get(kind, kind))
        for kind in found.kinds()
        for curve in curves
        if curve.kind == kind
    ]
    return Table(
        paper="", number=f"robustness {task}", title=f"Robustness in {found.experiment.name}: {task}{metric}",
        experiment=found.experiment.name, columns=tuple(columns), rows=tuple(rows), published=False,
        notes=tuple(_notes(found, task, versus)),
    )  # fmt: skip


def _notes(found: Robustness, task: str, versus: str | None) -> list[str]:
    """How the columns are made, under the first table; of the average what it is taken over."""
    if task == AVERAGE:
        return ["Unweighted mean over the tasks; intervals draw the tasks' examples independently of each other."]
    if task != found.tasks()[0]:
        return []
    seeds = max(len(curve.seeds) for curve in found.curves)
    lines = [
        "A rate is the share of a text's words that are changed, before any tokenizer and the same for every model.",
        "Kept: score at the rate / score at rate 0. Area: mean over the rates from 0 to the highest (trapezoids).",
        *found.notes,
    ]
    if seeds > 1:
        lines.append("Intervals are over seeds and examples together.")
    if versus is not None:
        lines.append(f"The last column: kept area minus that of {versus}, in points; the same draws on both sides.")
    return lines


def _cells(found: Robustness, curve: Curve, columns: Sequence[Column], versus: str | None) -> dict[str, Cell]:
    cells = {}
    for column in columns:
        measure, _, rate = column.name.partition("_")
        if column.name in ("area", "kept_area"):
            estimate = curve.area() if column.name == "area" else curve.kept_area()
        elif column.name == "versus":
            other = found.curve(str(versus), curve.task, curve.kind)
            if other is None or other is curve:
                cells[column.name] = Cell(unit="points")
                continue
            estimate = curve.less(other)
        elif float(rate) not in curve.rates:
            cells[column.name] = Cell(reason="not measured")
            continue
        else:
            at = curve.rates.index(float(rate))
            estimate = curve.score(at) if measure == "at" else curve.kept(at)
        cells[column.name] = _cell(estimate, column.unit)
    return cells


def _cell(estimate: Estimate, unit: str) -> Cell:
    if math.isnan(estimate.value):
        return Cell(unit=unit, reason="the score at rate 0 is not above 0")
    interval = None if math.isnan(estimate.low) else (PERCENT * estimate.low, PERCENT * estimate.high)
    return Cell(PERCENT * estimate.value, interval=interval, n_examples=estimate.n_examples, unit=unit)


def _data_table(found: Robustness) -> Table:
    """Each task's texts as they are and under the highest rate of each perturbation."""
    columns = (
        Column("words", "count", "fact", "words"),
        Column("words_changed", "percent", "fact", "words", subtitle="changed, %"),
        Column("unseen_types", "percent", "fact", "types unseen in", subtitle="pre-training, %"),
        Column("unseen_tokens", "percent", "fact", "tokens unseen in", subtitle="pre-training, %"),
    )
    rows = []
    for task in [task for task in found.tasks() if task != AVERAGE]:
        model = next(curve.model for curve in found.curves if curve.task == task)
        highest = {curve.kind: curve.rates[-1] for curve in found.curves if curve.task == task}
        labels = {"as they are": "", **{f"{kind} {_rate(rate)}": f"{kind}={rate:g}" for kind, rate in highest.items()}}
        for title, label in labels.items():
            cells = {column.name: _fact(found, task, model, column, label) for column in columns}
            rows.append(Row(title, title, cells, kind="task", section=task))
    return Table(
        paper="", number="robustness data", title="Texts: words of the reporting sets, and words unseen before",
        experiment=found.experiment.name, columns=columns, rows=tuple(rows), published=False,
        notes=("Types and tokens of the word tokenizer (lower-cased words and punctuation), the same for all models.",),
    )  # fmt: skip


def _coder_table(found: Robustness) -> Table:
    """What each model's coder makes of the types of each task's reporting sets."""
    columns = tuple(Column(name, unit, "fact", title, subtitle=under) for name, unit, title, under in CODER_FACTS)
    rows = [
        Row(model, model, {c.name: _fact(found, task, model, c, "") for c in columns}, section=task)
        for task in found.tasks()
        if task != AVERAGE
        for model in found.models()
    ]
    return Table(
        paper="", number="robustness coders", title="Coders: types that share a code, and misspelled words",
        experiment=found.experiment.name, columns=columns, rows=tuple(rows), published=False,
        notes=(
            "Code of a word and its misspelling: share of equal bits, or of equal buckets; of sums and floats the "
            "cosine; over the data set's words on the list of misspellings of which both are one token.",
        ),
    )  # fmt: skip


def _fact(found: Robustness, task: str, model: str, column: Column, label: str) -> Cell:
    value = found.fact(task, model, column.name, label)
    if value is None:
        return Cell(unit=column.unit)
    return Cell((PERCENT if column.unit == "percent" else 1.0) * value, unit=column.unit)


def _rate(rate: float) -> str:
    """
    >>> _rate(0.05), _rate(0.125)
    ('5 %', '12.5 %')
    """
    return f"{PERCENT * rate:g} %"


def tidy(found: Robustness, versus: str | None) -> list[Line]:
    """One row an estimate, scores in percent, shares kept in percent and differences in points, then the facts."""
    rows: list[Line] = []
    for curve in found.curves:
        estimates: list[tuple[str, float | None, str, Estimate]] = []
        for at, rate in enumerate(curve.rates):
            estimates += [("score", rate, "", curve.score(at)), ("kept", rate, "", curve.kept(at))]
        estimates += [("area", None, "", curve.area()), ("kept_area", None, "", curve.kept_area())]
        other = found.curve(versus, curve.task, curve.kind) if versus else None
        if other is not None and other is not curve:
            last = len(curve.rates) - 1
            difference = (curve.less(other, last), curve.less(other))
            estimates.append(("kept_difference", curve.rates[-1], str(versus), difference[0]))
            estimates.append(("kept_area_difference", None, str(versus), difference[1]))
        rows += [_line(found, curve, *one) for one in estimates]
    for (task, model, name, condition), value in found.facts.items():
        kind, _, at_rate = condition.partition("=")
        fact = (found.experiment.name, task, "", kind, float(at_rate) if at_rate else None, model, name, value)
        rows.append(dict(zip(TIDY, (*fact, None, None, None, None, "", "share or count"), strict=True)))
    return rows


def _line(
    found: Robustness, curve: Curve, measure: str, rate: float | None, versus: str, estimate: Estimate
) -> Line:
    value, low, high = (
        None if math.isnan(number) else PERCENT * number for number in (estimate.value, estimate.low, estimate.high)
    )
    values = (
        found.experiment.name, curve.task, curve.metric, curve.kind, rate, curve.model, measure, value, low, high,
        estimate.n_seeds, estimate.n_examples, versus, "points" if versus else "percent",
    )  # fmt: skip
    return dict(zip(TIDY, values, strict=True))


TABLE = TableFile(
    "robustness",
    "what models keep of their scores under noise in the texts",
    robustness_tables,
    warns_once=True,
)
