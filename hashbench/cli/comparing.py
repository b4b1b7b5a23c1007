"""`hashbench compare`: paired differences as rows, and what they were measured on."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence

from hashbench.cli.options import DEFAULT_DB, Format
from hashbench.cli.output import MISSING, Value, note, print_rows
from hashbench.errors import InputError
from hashbench.results.comparison import AVERAGE, Comparison, Line, compare
from hashbench.results.origins import data_warnings, task_origins
from hashbench.statistics.estimates import Estimate
from hashbench.store.engine import open_store
from hashbench.store.result import Checkpoint
from hashbench.tables.request import paper_of

PERCENT = 100.0  # scores are stored in their natural range
COLUMNS = [
    "model", "task", "metric", "split", "a", "b", "a-b", "low", "high", "decided", "seeds", "examples",
    "only_a_right", "only_b_right",
]  # fmt: skip
UNDECIDED = "undecided"


def print_comparison(
    first: str,
    second: str | None,
    databases: Sequence[str],
    *,
    experiment: str | None,
    checkpoint: Checkpoint,
    style: Format,
) -> None:
    """Prints a row for each task and the average, in percent and points. For programs what else is said goes to stderr.

    Raises InputError where nothing can be compared.
    """
    places = list(databases) or [os.environ.get("HASHBENCH_DB") or DEFAULT_DB]
    if len(places) > 2:
        raise InputError(f"compare: --db is given {len(places)} times; give it once, or twice: A's and B's")
    if second is None and len(places) < 2:
        raise InputError("compare: name two models or experiments, or give --db twice; see hashbench compare --help")
    stores = [open_store(place, create=False, read_only=True) for place in places]
    found = compare(stores, first, second or first, experiment=experiment, checkpoint=checkpoint)
    for_people = style in (Format.text, Format.md)
    rows = [_row(line, for_people) for line in found.lines]
    columns = [column for column in COLUMNS if not for_people or any(row[column] != "" for row in rows)]
    if not for_people:
        print_rows(columns, rows, style)
        for remark in (*_head(found), *_notes(found)):
            note(remark)
        return
    print("\n".join(_head(found)) + "\n")
    print_rows(columns, rows, style)
    print()
    for remark in _notes(found):
        print(remark if style is Format.text else f"- {remark}")


def _row(line: Line, for_people: bool) -> dict[str, Value]:
    """One line in percent; rounded and with dashes for people."""

    def number(value: float | None) -> Value:
        if value is None or math.isnan(value):
            return MISSING if for_people else None
        return round(PERCENT * value, 1) + 0.0 if for_people else PERCENT * value

    estimate = line.difference
    return {
        "model": line.model, "task": line.task, "metric": line.metric, "split": line.split,
        "a": number(line.first), "b": number(line.second), "a-b": number(estimate.value),
        "low": number(estimate.low), "high": number(estimate.high), "decided": decided(estimate),
        "seeds": estimate.n_seeds, "examples": estimate.n_examples,
        "only_a_right": number(line.only_first), "only_b_right": number(line.only_second),
    }  # fmt: skip


def decided(estimate: Estimate) -> str:
    """Which side is better beyond the interval, "a", "b", or neither.

    >>> decided(Estimate(0.02, 0.01, 0.03)), decided(Estimate(0.0, -0.01, 0.01))
    ('a', 'undecided')
    """
    if estimate.low > 0:
        return "a"
    return "b" if estimate.high < 0 else UNDECIDED


def _head(found: Comparison) -> list[str]:
    """What the two sides are."""
    sides = {"A": found.first, "B": found.second}
    lines = [f"{at}: {one.name if one.model else 'all models'}, experiment {one.place}" for at, one in sides.items()]
    experiments = {id(one.evidence): one.evidence.measured for one in sides.values()}
    warnings = [
        line
        for measured in experiments.values()
        for line in data_warnings(task_origins(measured, paper_of(measured)), (), published=False)
    ]
    return [*lines, *(f"!! {line}" for line in dict.fromkeys(warnings))]


def _notes(found: Comparison) -> list[str]:
    """What the numbers mean and stand on, and what is missing."""
    seeds = {line.seeds for line in found.lines}
    spread = {line.difference.spread for line in found.lines}
    names = [", ".join("none" if seed is None else str(seed) for seed in sorted(one, key=str)) for one in seeds]
    notes = [
        "Percent and points. low, high: 95 % interval of A - B over " + " or ".join(sorted(spread)) + "; paired by "
        "seed and by example, each metric computed anew from every one of 10,000 draws.",
        f"Encoder {found.encoder}; matched seeds: {'; or '.join(sorted(names))}.",
    ]
    if "examples" in spread:
        notes.append("One seed: examples only. This speaks of these trained models, not of their methods.")
    if any(line.only_first is not None for line in found.lines):
        notes.append(
            "only_a_right, only_b_right: share of the examples, mean over seeds; none for regression and averages."
        )
    if any(line.task == AVERAGE for line in found.lines):
        notes.append("average: over the tasks, within each seed and each draw; further parts of a task do not count.")
    if any("rec@" in line.metric or line.metric == "mrr" for line in found.lines):
        notes.append("Cases of links: pages are drawn, with all of their cases.")
    return [*notes, *(f"not compared: {why}" for why in found.skipped)]
