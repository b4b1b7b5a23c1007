"""What runs share in memory."""

from __future__ import annotations

import json

from hashbench.results.read.runs import Specs

SPEC = {"kind": "finetune", "finetune": {"learning_rate": 0.1}, "seed": 3}


def test_specs_that_differ_in_their_seed_share_the_rest() -> None:
    specs = Specs()
    texts = [json.dumps(SPEC | {"seed": seed}, separators=(",", ":")) for seed in (3, 14)]
    first, second = map(specs.parsed, texts)
    assert (first, second) == (SPEC, SPEC | {"seed": 14})
    assert first["finetune"] is second["finetune"]


def test_another_number_makes_another_spec() -> None:
    specs = Specs()
    for rate in (0.1, 0.2):
        spec = SPEC | {"finetune": {"learning_rate": rate}}
        assert specs.parsed(json.dumps(spec, separators=(",", ":"))) == spec


def test_a_seed_that_is_not_the_runs_own_is_left_where_it_is() -> None:
    specs = Specs()
    for inner in (1, 2):
        for spec in ({"model": {"seed": inner}}, {"model": {"seed": inner}, "seed": 5}, {"kind": "floor"}):
            assert specs.parsed(json.dumps(spec, separators=(",", ":"))) == spec
