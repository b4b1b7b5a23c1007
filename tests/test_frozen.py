"""What holds stored results against a change sees each kind of difference."""

from __future__ import annotations

import gzip
import json

from tests.frozen import ROOT, compared, fact

BEFORE = {"cells": {"a": {"value": 50.25, "n": 3}, "b": {"value": None, "n": 1}}, "planned": {"x": True}}


def test_equal_facts_have_no_line() -> None:
    now = {"cells": {"a": {"value": 50.25 * (1 + 1e-12), "n": 3}, "b": {"value": None, "n": 1}}, "planned": {"x": True}}
    assert list(compared(BEFORE, now)) == []


def test_a_change_a_loss_and_an_addition_have_a_line_each() -> None:
    now = {"cells": {"a": {"value": 50.26, "n": 3}, "b": {"value": 0.0, "n": 1}, "c": 5}, "planned": {}}
    assert sorted(compared(BEFORE, now)) == [
        "cells: a: value 50.25 -> 50.26", "cells: b: value None -> 0.0", "cells: new: c: 5", "planned: gone: x: True",
    ]  # fmt: skip


def test_a_fact_is_named_by_what_identifies_it() -> None:
    row = {"model": "bpe", "column": "sst2", "value": 1.5, "title": "not kept"}
    assert fact(row, ("model", "column"), ("value",), prefix="tiny") == ("tiny | bpe | sst2", {"value": 1.5})


def test_the_reference_has_every_group() -> None:
    facts = json.loads(gzip.decompress((ROOT / "tests" / "frozen.json.gz").read_bytes()))
    assert {group for group, of_group in facts.items() if of_group} == {
        "cells", "claims", "robustness", "differences", "planned", "data",
    }  # fmt: skip
