"""No other row of a table changes a difference, its interval, or the verdict on a claim: bit for bit."""

from __future__ import annotations

import tempfile
from dataclasses import astuple, replace
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from hashbench.results.claims.report import claim_sections
from hashbench.results.read.comparison import compare
from hashbench.results.tables.report import tables
from hashbench.results.tables.request import ReportRequest
from hashbench.store.result import Result
from tests.results.claims.world import Answers, build, claims_file

TASKS = ("sst2", "rte")
PAIRS = (("a", "b"), ("a", "c"), ("b", "c"), ("a", "bag-of-words"))
Units = list[tuple[float, int | None]]  # the share of right answers of each seed, and the pre-training that it needs


def _runs(model: str, units: Units, tasks: tuple[str, ...] = TASKS) -> list[Answers]:
    return [
        Answers(model, right, seed, task, start=start) for task in tasks for seed, (right, start) in enumerate(units)
    ]


COMPARED = [
    *_runs("a", [(0.8, 0), (0.82, 1), (0.79, 0), (0.83, 1)]),  # four seeds of two pre-trainings
    *_runs("b", [(0.7, None), (0.74, None), (0.71, None)]),
    *_runs("c", [(0.6, None), (0.9, None), (0.75, None), (0.7, None)]),  # unstable
    *(Answers("bag-of-words", 0.72, None, task) for task in TASKS),
]
CLAIMS = [
    {"id": "c-1", "kind": "greater", "left": "a", "right": "b", "column": "sst2"},
    {"id": "c-2", "kind": "greater", "left": "a", "right": "mean(b,c)", "column": "mean(sst2,rte)"},
    {"id": "c-3", "kind": "interaction", "left": "a", "right": "c", "column": "sst2 - rte"},
    {"id": "c-4", "kind": "equal_within", "left": "b", "right": "c", "column": "rte", "bound": "2"},
    {"id": "c-5", "kind": "greater", "left": "a", "right": "bag-of-words", "column": "rte"},
]
neighbours = st.lists(
    st.tuples(
        st.lists(st.floats(0.3, 0.95), min_size=1, max_size=5),
        st.booleans(),
        st.sampled_from([TASKS, TASKS[:1], TASKS[1:]]),
    ),
    max_size=6,
)


class Merged(Answers):
    """A run as an export has it: its examples are in the order of their targets."""

    def result(self) -> Result:
        result = super().result()
        return replace(result, predictions=[of.in_order_of_targets() for of in result.predictions])


def _facts(others: list[Answers], compared: list[Answers] = COMPARED) -> dict[str, object]:
    """Everything that is said of a, b and c alone, by what it is."""
    facts: dict[str, object] = {}
    with tempfile.TemporaryDirectory() as folder:
        store = build(Path(folder) / "r.db", [*others, *compared], tasks=list(TASKS))
        for first, second in PAIRS:
            for line in compare([store], first, second).lines:
                facts[f"compare {first} {second} {line.task}"] = astuple(line)
        (own,) = tables(store, ReportRequest())
        for of_column in own.pairs:
            names = [model for model, _ in of_column.rows]
            for first, second in PAIRS[:3]:
                x, y = names.index(first), names.index(second)
                means = of_column.means[x], of_column.means[y]
                pair = of_column.differences[x][y], of_column.half_widths[x][y]
                facts[f"table {of_column.column} {first} {second}"] = (*means, *pair)
        rows = [row | {"unit": "percent"} for row in CLAIMS]
        (section,) = claim_sections(store, ReportRequest(claims_file=claims_file(Path(folder), rows)))
        facts |= {of.claim.id: (of.outcome, of.chance, [astuple(part) for part in of.parts]) for of in section.decided}
        store.close()
    return facts


ALONE: dict[str, object] = {}


@settings(max_examples=8, deadline=None)
@given(neighbours)
def test_no_other_row_changes_what_is_said_of_two_models(
    drawn: list[tuple[list[float], bool, tuple[str, ...]]],
) -> None:
    if not ALONE:
        ALONE.update(_facts([]))
    others = [
        run
        for number, (shares, pretrained, tasks) in enumerate(drawn)
        for run in _runs(
            f"m{number}", [(right, seed % 2 if pretrained else None) for seed, right in enumerate(shares)], tasks
        )
    ]
    assert _facts(others) == ALONE
    assert len(ALONE) == len(PAIRS) * 3 + 3 * 3 + len(CLAIMS)


@settings(max_examples=8, deadline=None)
@given(st.sets(st.integers(0, len(COMPARED) - 1), min_size=1))
def test_runs_that_were_merged_from_an_export_say_what_they_said_before(merged: set[int]) -> None:
    if not ALONE:
        ALONE.update(_facts([]))
    mixed = [Merged(**vars(run)) if place in merged else run for place, run in enumerate(COMPARED)]
    assert _facts([], mixed) == ALONE
