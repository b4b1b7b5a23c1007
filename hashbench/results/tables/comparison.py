"""The differences of two models as a table: a row for each task, and notes on the data behind them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from hashbench.common.showing import decimal_text, percent_text
from hashbench.results.papers.paper import Column
from hashbench.results.read.comparison import PART, Comparison, PairedDifference, Side
from hashbench.results.read.doubts import NOT_COUNTED, is_uncounted, share_lost, unequal_note
from hashbench.results.read.measured import AVERAGE, PERCENT
from hashbench.results.read.origins import UNDEFINED_DRAWS, counted_classes, data_warnings, task_origins
from hashbench.results.tables.experiment import own_table
from hashbench.results.tables.recipes import distinct, placed
from hashbench.results.tables.request import paper_of
from hashbench.results.tables.table import Cell, Row, Table
from hashbench.scores.base import metric_of
from hashbench.scores.draws import Estimate

UNDECIDED, ONE_SEED = "undecided", "one seed"
COLUMNS = (
    Column("metric", "", "text", "metric"),
    Column("a", "percent", "text", "a"),
    Column("b", "percent", "text", "b"),
    Column("a-b", "points", "text", "a-b"),
    Column("interval", "", "text", "95 %"),
    Column("decided", "", "text", "decided"),
    Column("seeds", "count", "text", "seeds"),
    Column("examples", "count", "text", "examples"),
    Column("right", "percent", "text", "only a / b"),
)
MEANING = (
    "Percent and points. 95 %: interval of A - B, of these two alone: Welch's over seeds, and over 10,000 draws of the "
    "examples, the same for both; of one seed over its examples alone. Only a / b: examples that one side alone has "
    "right."
)


def comparison_table(comparison: Comparison, *, one_seed: bool = False) -> Table:
    """The paired differences of two sides. `one_seed`: one seed decides, on its examples alone."""
    sides = {"A": comparison.first, "B": comparison.second}
    flags = {at: _flagged(side) for at, side in sides.items()}
    rows = []
    for line in comparison.lines:
        models = {at: side.model or line.model for at, side in sides.items()}
        scores = {
            at.lower(): _score(value, flags[at].get((models[at], line.task, line.is_average), Cell()), line)
            for (at, value) in zip(sides, (line.first, line.second), strict=True)
        }
        title = f"{line.task} {line.split.removeprefix(PART)}" if line.split.startswith(PART) else line.task
        title = title.removeprefix(f"{AVERAGE}_") if line.is_average else title
        rows.append(Row(line.model or models["A"], title, scores | _cells(line, one_seed), section=line.model))
    return Table(
        paper="",
        number="comparison",
        title=" - ".join(f"{at}: {side.name}" for at, side in sides.items()),
        experiment=comparison.first.evidence.measured.experiment.name,
        columns=tuple(column for column in COLUMNS if any(_is_filled(row.cells[column.name]) for row in rows)),
        rows=tuple(rows),
        warnings=tuple(_warnings(comparison, sides, one_seed=one_seed)),
        provenance=tuple((label, text) for label, text in _facts(comparison, sides).items() if text),
        notes=tuple(_notes(comparison)),
        published=False,
        records=tuple(_record(line, one_seed) for line in comparison.lines),
        head="task",
    )


def _is_filled(cell: Cell) -> bool:
    return cell.value is not None or bool(cell.text)


def _flagged(side: Side) -> dict[tuple[str, str, bool], Cell]:
    """The cells of the own table, whose signs a comparison repeats, by (model, task or average, is average)."""
    measured = side.evidence.measured
    table = own_table(measured, paper_of(measured))
    return {
        (row.model, column.task or column.name, column.measure == "average"): row.cells[column.name]
        for row in table.rows
        for column in table.columns
        if column.measure in ("average", "score")
    }


def _score(value: float, flagged: Cell, line: PairedDifference) -> Cell:
    lost = 0.0 if line.is_average else flagged.lost  # its task has the sign too
    return Cell(
        PERCENT * value, under=flagged.under, constant=flagged.constant, hollow_f1=flagged.hollow_f1, lost=lost
    )  # fmt: skip


def _cells(line: PairedDifference, one_seed: bool) -> dict[str, Cell]:
    estimate = line.difference
    ends = [decimal_text(PERCENT * end, 1) for end in (estimate.low, estimate.high) if not math.isnan(end)]
    return {
        "metric": Cell(text=line.metric),
        "a-b": Cell(PERCENT * estimate.value),
        "interval": Cell(text="..".join(ends)),
        "decided": Cell(text=decided(estimate, one_seed=one_seed)),
        "seeds": Cell(estimate.n_seeds),
        "examples": Cell(estimate.n_examples),
        "right": Cell(
            text=" / ".join(percent_text(of) for of in (line.only_first, line.only_second) if of is not None)
        ),
    }


def _record(line: PairedDifference, one_seed: bool) -> dict[str, Any]:
    estimate = line.difference
    shares = {
        "a": line.first, "b": line.second, "a-b": estimate.value, "low": estimate.low, "high": estimate.high,
        "only_a_right": line.only_first, "only_b_right": line.only_second,
    }  # fmt: skip
    numbers = {name: None if of is None or math.isnan(of) else PERCENT * of for name, of in shares.items()}
    return {
        "model": line.model, "task": line.task, "metric": line.metric, "split": line.split, **numbers,
        "decided": decided(estimate, one_seed=one_seed), "seeds": estimate.n_seeds, "examples": estimate.n_examples,
    }  # fmt: skip


def decided(estimate: Estimate, *, one_seed: bool = False) -> str:
    """The better side by the interval of the difference: "a", "b", or "undecided".

    "one seed" where a model has one alone, so that the interval is of these trained models; `one_seed`: it decides.

    >>> decided(Estimate(0.02, 0.01, 0.03)), decided(Estimate(0.0, -0.01, 0.01))
    ('a', 'undecided')
    """
    if estimate.spread == "examples" and estimate.n_seeds == 1 and not one_seed:
        return ONE_SEED
    if estimate.low > 0:
        return "a"
    return "b" if estimate.high < 0 else UNDECIDED


def _warnings(comparison: Comparison, sides: dict[str, Side], *, one_seed: bool) -> list[str]:
    """Warnings about the data of both sides, one seed, and texts that both did not read to the same share."""
    experiments = {id(side.evidence): side.evidence.measured for side in sides.values()}
    lines = [
        line
        for measured in experiments.values()
        for line in data_warnings(task_origins(measured, paper_of(measured)), (), published=False)
    ]
    if any(decided(line.difference, one_seed=one_seed) == ONE_SEED for line in comparison.lines):
        lines.append(
            "ONE SEED: this speaks of these trained models, not of their methods; sweep more seeds to compare methods "
            "(--one-seed decides on the examples alone)."
        )
    for line in comparison.lines:
        lost = {at: share_lost(_runs(side, line), line.split) for at, side in sides.items()}
        lines.append(unequal_note(("A", lost["A"]), ("B", lost["B"]), _where(line)))
    return [line for line in dict.fromkeys(lines) if line]


def _runs(side: Side, line: PairedDifference) -> Sequence[Any]:
    label = (side.model or line.model, line.task)
    return [run for run in side.evidence.measured.runs if (run.model, run.task) == label]


def _facts(comparison: Comparison, sides: dict[str, Side]) -> dict[str, str]:
    """Both sides with their encoder and seeds, and the pairs that could not be compared."""
    facts = {at: f"{side.name if side.model else 'all models'}, experiment {side.place}" for at, side in sides.items()}
    facts["encoder"] = comparison.encoder
    seeds = distinct(seed for line in comparison.lines for seed in line.seeds)
    facts["seeds"] = f"{seeds}, which both have"
    facts["units"] = distinct(note for side in sides.values() if (note := side.evidence.measured.note_on_units()))
    single = [
        f"{at} ({model})"
        for at, side in sides.items()
        for model in dict.fromkeys(side.model or line.model for line in comparison.lines)
        if side.evidence.measured.pretrainings_of.get(model) == 1
    ]
    facts["one pre-training"] = f"{', '.join(single)}: of this pre-training, not of others" if single else ""
    facts["imported predictions"] = distinct(
        f"{at} ({dict(run.origin.notes).get('imported', '')})"
        for at, side in sides.items()
        for entry in side.evidence.measured.imported
        if entry.model == side.model
        for run in entry.runs
    )
    facts["average"] = distinct(line.of_units for line in comparison.lines if line.of_units)
    read = {
        (at, _where(line)): NOT_COUNTED * is_uncounted(_runs(side, line), line.metric, line.split)
        for at, side in sides.items()
        for line in comparison.lines
    }
    facts["texts read"] = placed([(text, place) for place, text in read.items() if text], read)
    facts["not compared"] = "; ".join(comparison.skipped)
    return facts


def _notes(comparison: Comparison) -> list[str]:
    notes = [MEANING]
    metrics = [metric_of(line.metric) for line in comparison.lines]
    if any(metric.unit == "page" for metric in metrics if metric):
        notes.append("Cases of links: pages are drawn, with all of their cases.")
    measured = comparison.first.evidence.measured
    notes += counted_classes(measured, [(line.task, line.metric, line.split) for line in comparison.lines])
    undefined = [
        f"{_where(line)} ({line.metric}) {percent_text(line.difference.undefined)} %"
        for line in comparison.lines
        if line.difference.undefined
    ]
    return notes + ([f"{UNDEFINED_DRAWS}: {', '.join(undefined)}."] if undefined else [])


def _where(line: PairedDifference) -> str:
    return f"{line.task} by {line.model}" if line.model else line.task
