"""Paired differences as rows, with notes on the data behind them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from hashbench.common.showing import percent_text, rounded
from hashbench.results.read.comparison import Comparison, PairedDifference
from hashbench.results.read.measured import AVERAGE, PERCENT
from hashbench.results.read.origins import UNDEFINED_DRAWS, counted_classes, data_warnings, task_origins
from hashbench.results.read.texts import NOT_COUNTED, is_uncounted, share_lost, unequal_note
from hashbench.results.tables.experiment import own_table
from hashbench.results.tables.numbers import MISSING, signs, signs_said
from hashbench.results.tables.request import paper_of
from hashbench.scores.estimates import Estimate
from hashbench.scores.registry import metric_of

COLUMNS = [
    "model", "task", "metric", "split", "a", "b", "a-b", "low", "high", "decided", "seeds", "examples",
    "only_a_right", "only_b_right",
]  # fmt: skip
NAMES = ("model", "task", "metric")  # columns that say what a row is of
UNDECIDED, ONE_SEED = "undecided", "one seed"


def comparison_rows(
    comparison: Comparison, *, for_people: bool, one_seed: bool = False
) -> tuple[list[str], list[Mapping[str, str | float | int | None]]]:
    """Column names, and a row for each task and the average, in percent and points.

    For people rounded, with dashes for what is missing, and without columns that hold nothing. `one_seed`: one seed
    decides, on its examples alone.
    """
    rows = [_row(line, for_people, one_seed) for line in comparison.lines]
    return [column for column in COLUMNS if not for_people or any(row[column] != "" for row in rows)], rows


def n_names(columns: Sequence[str]) -> int:
    """The number of columns that identify a row: those of model, task and metric.

    >>> n_names(["task", "metric", "split", "a"])
    2
    """
    return sum(column in NAMES for column in columns)


def _row(line: PairedDifference, for_people: bool, one_seed: bool) -> Mapping[str, str | float | int | None]:
    """A paired difference as a row in percent; `for_people`: rounded, with dashes for missing numbers."""

    def number(value: float | None) -> str | float | None:
        if value is None or math.isnan(value):
            return MISSING if for_people else None
        return rounded(PERCENT * value, 1) if for_people else PERCENT * value

    estimate = line.difference
    return {
        "model": line.model, "task": line.task, "metric": line.metric, "split": line.split,
        "a": number(line.first), "b": number(line.second), "a-b": number(estimate.value),
        "low": number(estimate.low), "high": number(estimate.high), "decided": decided(estimate, one_seed=one_seed),
        "seeds": estimate.n_seeds, "examples": estimate.n_examples,
        "only_a_right": number(line.only_first), "only_b_right": number(line.only_second),
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


def sides(comparison: Comparison) -> list[str]:
    """Lines above a comparison: what each side is, then warnings about their data."""
    both = {"A": comparison.first, "B": comparison.second}
    lines = [f"{at}: {side.name if side.model else 'all models'}, experiment {side.place}" for at, side in both.items()]
    experiments = {id(side.evidence): side.evidence.measured for side in both.values()}
    warnings = [
        line
        for measured in experiments.values()
        for line in data_warnings(task_origins(measured, paper_of(measured)), (), published=False)
    ]
    return [*lines, *(f"!! {line}" for line in dict.fromkeys(warnings))]


def remarks(comparison: Comparison) -> list[str]:
    """Notes below a comparison: meaning of its numbers, seeds, signs of its scores, and pairs that are missing."""
    seeds = {line.seeds for line in comparison.lines}
    spread = {line.difference.spread for line in comparison.lines}
    names = [", ".join("none" if seed is None else str(seed) for seed in sorted(some, key=str)) for some in seeds]
    notes = [
        "Percent and points. low, high: 95 % interval of A - B over " + " or ".join(sorted(spread)) + ", of these two "
        "alone: Welch's over seeds, and over 10,000 draws of the examples, the same for both.",
        f"Encoder {comparison.encoder or 'not known'}; seeds that both have: number {'; or '.join(sorted(names))}.",
    ]
    sides = (comparison.first, comparison.second)
    notes += _imported(comparison)
    notes += dict.fromkeys(note for side in sides if (note := side.evidence.measured.note_on_units()))
    notes += _one_pretraining(comparison)
    n_models = sorted({line.n_models for line in comparison.lines if line.n_models})
    if n_models:
        notes.append(
            f"A was chosen as the best of {' or '.join(map(str, n_models))} models by these scores: the intervals hold "
            "for every one of them minus B at once (Bonferroni)."
        )
    if "examples" in spread:
        notes.append(
            "One seed: examples only. This speaks of these trained models, not of their methods; sweep more seeds to "
            "compare methods (--one-seed decides on the examples alone)."
        )
    if any(line.only_first is not None for line in comparison.lines):
        notes.append(
            "only_a_right, only_b_right: share of the examples, mean over seeds; none for regression and averages."
        )
    if any(line.task == AVERAGE for line in comparison.lines):
        over = "".join(f" ({line.of_units} pre-trainings or seeds)" for line in comparison.lines if line.of_units)
        notes.append(f"average: over these tasks{over}, within each draw; further parts of a task do not count.")
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
    notes += [f"{UNDEFINED_DRAWS}: {', '.join(undefined)}."] if undefined else []
    notes += [*_flags_of_both(comparison), *_unequal_texts(comparison)]
    return [*notes, *(f"not compared: {why}" for why in comparison.skipped)]


def _one_pretraining(comparison: Comparison) -> list[str]:
    """A note on sides whose seeds are all fine-tunings of one pre-training."""
    models = [
        f"{at} ({model})"
        for at, side in {"A": comparison.first, "B": comparison.second}.items()
        for model in dict.fromkeys(side.model or line.model for line in comparison.lines)
        if side.evidence.measured.pretrainings_of.get(model) == 1
    ]
    return [f"One pre-training each: {', '.join(models)}; of this pre-training, not of others."] if models else []


def _imported(comparison: Comparison) -> list[str]:
    """Notes on sides that are predictions of another program."""
    return [
        f"{at}: imported predictions ({dict(run.origin.notes).get('imported', '')}); one answer an example, paired "
        "with every seed of the other side."
        for at, side in {"A": comparison.first, "B": comparison.second}.items()
        for entry in side.evidence.measured.imported
        if entry.model == side.model
        for run in entry.runs
        if run.task in {line.task for line in comparison.lines}
    ]


def _unequal_texts(comparison: Comparison) -> list[str]:
    """Notes on tasks of which the two sides did not read the same share of the texts, and on texts not counted."""
    both = {"A": comparison.first, "B": comparison.second}
    notes: dict[str, None] = {}
    unknown: dict[str, dict[str, None]] = {}
    for line in comparison.lines:
        lost = {}
        for at, side in both.items():
            label = (side.model or line.model, line.task)
            runs = [run for run in side.evidence.measured.runs if (run.model, run.task) == label]
            lost[at] = share_lost(runs, line.split)
            if is_uncounted(runs, line.metric, line.split):
                unknown.setdefault(at, {})[_where(line)] = None
        notes[unequal_note(("A", lost["A"]), ("B", lost["B"]), _where(line))] = None
    where = "; ".join(f"{at} on {', '.join(tasks)}" for at, tasks in unknown.items())
    lines = [f"{note}." for note in notes if note]
    return [*lines, *([f"how much of the texts was read is {NOT_COUNTED}: {where}."] if where else [])]


def _where(line: PairedDifference) -> str:
    return f"{line.task} by {line.model}" if line.model else line.task


def _flags_of_both(comparison: Comparison) -> list[str]:
    """Notes on scores of each side that its experiment's table flags: their difference has little meaning."""
    flags = []
    compared = {(line.model, line.task) for line in comparison.lines}
    for at, side in {"A": comparison.first, "B": comparison.second}.items():
        measured = side.evidence.measured
        table = own_table(measured, paper_of(measured))
        columns = {column.name: column.task or column.name for column in table.columns}
        marked: dict[str, list[str]] = {}
        for row in table.rows:
            if row.is_baseline or side.model not in (None, row.model):
                continue
            for name, cell in row.cells.items():
                if name == AVERAGE:  # its task has the sign too
                    cell = replace(cell, lost=0.0)
                if signs(cell) and ("" if side.model else row.model, columns[name]) in compared:
                    where = columns[name] if side.model else f"{row.model} on {columns[name]}"
                    for what in signs_said(cell).split("; "):
                        marked.setdefault(what[2:], []).append(where)  # without the character, which no number has here
        flags += [f"{at}: {what}: {', '.join(dict.fromkeys(names))}." for what, names in marked.items()]
    return flags
