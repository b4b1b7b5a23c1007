"""`check`: what a sweep would do, and embeddings of the user's own."""

from __future__ import annotations

import re
from pathlib import Path

from tests.cli.commands import Run, fails


def test_check_tells_what_a_sweep_would_do(run: Run) -> None:
    outcome = run("check", "small.yaml")
    assert outcome.code == 0
    assert "small.yaml: valid, encoder tiny, 5 runs: 1 pretrain, 3 floor, 1 finetune" in outcome.out
    assert re.search(r"hashformer-md-proj +words +md5-bits +shuffle_random +2 +0.001", outcome.out)


def test_check_tells_how_values_were_chosen(run: Run) -> None:
    assert "how values were chosen: not declared" in run("check", "small.yaml").out
    Path("told.yaml").write_text(
        Path("small.yaml").read_text() + "tuned: {pretrain.steps: {tried: [1, 2], on: validation, by: its loss}}\n"
    )
    told = run("check", "told.yaml")
    assert told.code == 0
    assert "how values were chosen: pretrain.steps tried 1, 2 on validation (its loss)\n" in told.out
    Path("false.yaml").write_text(Path("told.yaml").read_text().replace("tried: [1, 2]", "tried: [1]"))
    fails(run("check", "false.yaml"), "'hashformer-md-proj' has 2, which is not among the tried 1; add it")


def test_check_finds_a_label_that_is_none(run: Run) -> None:
    Path("own").mkdir()
    for split in ("train", "validation"):
        Path(f"own/{split}.csv").write_text("text,label\ngood,1\nbad,\n")
    fails(run("check", "small.yaml", "tasks=[{name: own, path: own, text: text}]"), "label")


OWN = """
import torch
from hashbench.models.embeddings.base import Embedding

class Mine(Embedding):
    def __init__(self, dim, bits=128):
        super().__init__()
        self.map = torch.nn.Linear(bits, dim, bias=False)
        self.special = torch.nn.Parameter(torch.randn(5, dim))
        if {unused}:
            self.forgotten = torch.nn.Parameter(torch.zeros(1))
    def embed_types(self, codes):
        places = torch.arange(7, -1, -1)
        return self.map(((codes[..., None] >> places) & 1).flatten(1).float())
    def special_rows(self):
        return self.special
    def embedding_parameters(self):
        return self.map.weight.numel()
"""


def test_an_unknown_coder_is_wrong_input_and_no_failed_promise(run: Run) -> None:
    Path("good.py").write_text(OWN.format(unused=False))
    outcome = run("check", "--embedding", "good.py:Mine", "--coder", "md5-bit")
    fails(outcome, "--coder: coder: unknown name 'md5-bit'; did you mean 'md5-bits'?")
    assert outcome.out == ""


def test_check_of_an_own_embedding(run: Run) -> None:
    Path("good.py").write_text(OWN.format(unused=False))
    Path("bad.py").write_text(OWN.format(unused=True))
    good, bad = run("check", "--embedding", "good.py:Mine"), run("check", "--embedding", "bad.py:Mine")
    first, *others = good.out.splitlines()
    assert first.startswith("coder md5-bits, the one of an embedding that names none")
    assert good.code == 0 and others and all(line.startswith("ok ") for line in others)
    assert bad.code == 1
    assert "FAIL  gradients reach every trained parameter: no gradient reaches forgotten" in bad.out
