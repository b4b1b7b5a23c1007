"""What runs share in memory."""

from __future__ import annotations

import json

from hashbench.results.read.runs import spec_of

SPEC = {"kind": "finetune", "finetune": {"learning_rate": 0.1}, "seed": 3, "task": "cola"}


def _stored(spec: dict) -> str:
    """The text that the store has of a spec."""
    return json.dumps(spec, separators=(",", ":"))


def test_specs_that_differ_in_their_seed_share_the_rest() -> None:
    first, second = (spec_of(_stored(SPEC | {"seed": seed}), seed) for seed in (3, 14))
    assert (first, second) == (SPEC, SPEC | {"seed": 14})
    assert first["finetune"] is second["finetune"]


def test_another_number_makes_another_spec() -> None:
    for rate in (0.1, 0.2):
        spec = SPEC | {"finetune": {"learning_rate": rate}}
        assert spec_of(_stored(spec), 3) == spec


def test_a_seed_that_is_not_the_runs_own_is_left_where_it_is() -> None:
    for inner in (1, 2, 5):
        for spec in (
            {"model": {"seed": inner}},
            {"model": {"seed": inner, "x": 1}, "seed": 5, "task": "cola"},
            {"seed": 5, "settings": {"seed": inner, "x": 1}},
            {"kind": "floor"},
        ):
            assert spec_of(_stored(spec), spec.get("seed")) == spec
