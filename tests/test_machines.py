"""The made-up processor of `make test-machines`: it tells two computations apart, and keeps equal ones equal."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.machines import ROOT, SETTINGS, computing_tests

PROBE = """
import torch
from tests.machines import round_by_shape
torch.manual_seed(0)
layer, batch = torch.nn.Linear(64, 8), torch.randn(5, 64)
whole = layer(batch)
round_by_shape()
assert not torch.equal(layer(batch), whole) and torch.allclose(layer(batch), whole, atol=1e-6)
assert not torch.equal(layer(batch)[3], layer(batch[3])), "a batch and one row are two computations"
assert torch.equal(layer(batch), layer(batch)), "the same computation gives the same bits"
layer(batch).sum().backward()
assert torch.allclose(layer.weight.grad, batch.sum(0).expand(8, 64), atol=1e-5)
counts = torch.randint(0, 9, (6, 40)).float()
assert torch.equal(counts @ counts.T, (counts.long() @ counts.long().T).float()), "whole numbers stay exact"
three = torch.randn(2, 5, 7)
assert torch.allclose(torch.bmm(three, three.mT), torch.einsum("bij,bkj->bik", three, three), atol=1e-5)
with torch.inference_mode():
    assert not torch.equal(layer(batch), whole)
print("held")
"""


def test_rounding_depends_on_the_shape_alone() -> None:
    command = [sys.executable, "-c", PROBE]
    assert subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout == "held\n"


def test_every_file_that_computes_is_run() -> None:
    files = computing_tests()
    assert "tests/models/objectives/test_tagging.py" in files and "tests/scores/test_draws.py" in files
    assert "tests/test_words.py" not in files and not any(file.startswith("tests/cli") for file in files)
    assert all((ROOT / file).is_file() for file in files)


def test_a_setting_changes_something_and_none_is_there_twice() -> None:
    changes = [tuple(sorted(setting.items())) for setting in SETTINGS.values()]
    assert all(changes) and len(set(changes)) == len(changes)
    assert "machines.py" in (Path(ROOT) / "Makefile").read_text("utf-8")
