"""A family is one file: put into a folder, its model is listed, counted, trained and reported without more ado."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from pathlib import Path

import pytest

from hashbench.cli.app import main

pytestmark = pytest.mark.usefixtures("warm_workers")

FAMILY = '''
"""Made up: one vector for each first byte of a token's MD5."""

import torch
from torch import nn

from hashbench.extend import SPECIALS, CodeSpec, Embedding, EmbeddingSpec, ModelSpec, OriginSpec


class FirstByte(Embedding):
    """e = T[5 + first byte]."""

    def __init__(self, dim):
        super().__init__()
        self.weight = nn.Parameter(0.02 * torch.randn(len(SPECIALS) + 256, dim))

    def embed_types(self, codes):
        return self.weight[len(SPECIALS) + codes[:, 0].long()]

    def special_rows(self):
        return self.weight[: len(SPECIALS)]

    def embedding_parameters(self):
        return self.weight.numel()


MODELS = [
    ModelSpec(
        "first-byte",
        EmbeddingSpec(FirstByte),
        code=CodeSpec("md5-bits"),
        origin=OriginSpec(frame="all of it"),
        groups=("made-up",),
        summary="one byte of a hash",
    )
]
'''
EXPERIMENT = """
name: made-up
data: builtin
encoder: tiny
models: [made-up]
baseline: first-byte
tasks: [cola]
seeds: [0]
floors: [majority]
pretrain: {corpora: [builtin], steps: 3, batch_size: 4, sequence_length: 16, max_documents: 60}
finetune: {steps: 4, batch_size: 16, max_length: 16, evaluations_per_epoch: 1}
threads: 1
"""
PARTS = {
    "tokenizer": """
from hashbench.extend import DictInterner, Tokenizer

class Halves(Tokenizer):
    kind = "halves"

    def recipe(self):
        return {"kind": self.kind}

    def tokenize(self, text):
        middle = len(text) // 2
        return [half for half in (text[:middle], text[middle:]) if half]

    def interner(self):
        return DictInterner(self.tokenize)
""",
    "coder": """
import numpy as np

from hashbench.extend import Coder

class Lengths(Coder):
    name, width, dtype, bits = "lengths", 16, np.uint8, 128

    def encode_utf8(self, blob, offsets):
        return np.repeat(np.diff(offsets)[:, None] % 256, self.width, axis=1).astype(self.dtype)

    def recipe(self):
        return {"name": self.name}
""",
    "encoder": """
from dataclasses import dataclass

from torch import nn

from hashbench.extend import Architecture, Encoder

@dataclass(frozen=True)
class Shape:
    layers: int = 1
    heads: int = 1
    dim: int = 8
    feed_forward: int = 8
    eps: float = 1e-12
    dropout: float = 0.0

class Scale(Encoder):
    max_length = None

    def __init__(self, config):
        super().__init__()
        self.config, self.scale = config, nn.Linear(config.dim, config.dim)

    def forward(self, vectors, mask, segments=None):
        return self.scale(vectors)

ARCHITECTURES = {"scale": Architecture(Scale, {"tiny": Shape()})}
""",
}
OF_PARTS = EXPERIMENT.replace(
    "[made-up]", "[{name: parts, like: hashformer-md-proj, tokenizer: halves, coder: lengths, encoder: {kind: scale}}]"
).replace("first-byte", "parts")
BASE = 86_043_650  # all but the token part of a two-class model at base (appendix B of HashFormers)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """A function from arguments to stdout, in a folder with the family's file beside the experiment's."""
    (tmp_path / "families").mkdir()
    (tmp_path / "families" / "first_byte.py").write_text(FAMILY)
    (tmp_path / "made_up.yaml").write_text(EXPERIMENT)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HASHBENCH_PLUGINS", str(tmp_path / "families"))
    monkeypatch.setenv("HASHBENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("HASHBENCH_DB", raising=False)

    def command(*arguments: str) -> str:
        with pytest.raises(SystemExit) as left:
            main(list(arguments))
        out, err = capsys.readouterr()
        assert not left.value.code, err
        return out

    return command


def _rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_a_file_in_a_folder_is_a_family(run: Callable[..., str]) -> None:
    listed = {row["model"]: row for row in _rows(run("models", "--format", "csv"))}["first-byte"]
    assert (listed["groups"], listed["tokens"], listed["code"]) == ("made-up", "words", "md5-bits")
    assert listed["needs"] == "corpus (shuffle + random)"
    assert listed["paper"] == "" and "first-byte" in run("models")

    (counted,) = _rows(run("params", "made-up", "--format", "csv"))
    rows = 256 + 5
    assert (int(counted["total_params"]), int(counted["emb_params"])) == (BASE + rows * 768, rows * 768)
    assert (counted["frame"], counted["published_total"]) == ("all of it", "")

    run("sweep", "made_up.yaml")
    found = {(row["model"], row["column"]): row for row in _rows(run("report", "--format", "csv"))}
    assert -100 <= float(found["first-byte", "cola"]["value"]) <= 100
    assert (found["first-byte", "cola"]["experiment"], found["first-byte", "cola"]["n"]) == ("made-up", "1")
    assert float(found["first-byte", "emb_params"]["value"]) == pytest.approx(rows * 128 / 1000)  # tiny, in thousands
    beside = [row for row in _rows(run("report", "--table", "1", "--format", "csv")) if row["model"] == "first-byte"]
    assert "cola" in {row["column"] for row in beside}


def test_tokenizer_coder_and_encoder_are_one_file_each(
    run: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "parts").mkdir()
    for part, source in PARTS.items():
        (tmp_path / "parts" / f"{part}.py").write_text(source)
    monkeypatch.setenv("HASHBENCH_PLUGINS", str(tmp_path / "parts"))
    (tmp_path / "parts.yaml").write_text(OF_PARTS)
    run("sweep", "parts.yaml")
    rows = {(row["model"], row["column"]): row for row in _rows(run("report", "made-up", "--format", "csv"))}
    assert -100 <= float(rows["parts", "cola"]["value"]) <= 100
    assert float(rows["parts", "emb_params"]["value"]) == pytest.approx((128 * 8 + 8) / 1000)
