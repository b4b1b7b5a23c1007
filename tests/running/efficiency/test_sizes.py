"""running/efficiency/sizes.py: models at a budget, and costs of a token; tests of the commands have the rest."""

from __future__ import annotations

from pathlib import Path

import pytest

from hashbench.common.errors import InputError
from hashbench.running.efficiency.sizes import budget_rows


def test_rows_of_free_and_of_fixed_sizes() -> None:
    rows, missed = budget_rows(["hash-emb-k2", "hashformer-md-proj"], "tiny", [230_000, 6_400_000, 1_000])
    assert [(row["model"], row["budget"], row["free_size"]) for row in rows] == [
        ("hash-emb-k2", "0.23M", "num_buckets 1,011"),
        ("hash-emb-k2", "6.4M", "num_buckets 49,214"),
        ("hashformer-md-proj", "", ""),
    ]
    assert [row["emb_params"] for row in rows] == [230_048, 6_400_032, 17_152]
    assert [row["active_params"] for row in rows] == [258, 258, 128 * 129]
    assert [row["bytes_per_token"] for row in rows] == [1_032, 1_032, 4 * 128 * 129]
    assert [row["multiply_adds"] for row in rows] == [0, 0, 128 * 128]
    (line,) = missed
    assert line.startswith("model hash-emb-k2: no embedding within 2 % of 1,000 parameters")


OWN = """
import torch
from hashbench.extend import Embedding

class Product(Embedding):
    free_size = "hidden"
    def __init__(self, dim, hidden=16):
        super().__init__()
        self.bits, self.out = (torch.nn.Parameter(torch.randn(shape)) for shape in ((128, hidden), (hidden, dim)))
    def embed_types(self, codes):
        bits = (codes[..., None] >> torch.arange(7, -1, -1, device=codes.device)) & 1
        return bits.flatten(1).float() @ self.bits @ self.out
    def special_rows(self):
        return self.out[:5]

class Told(Product):
    def active_parameters(self, codes):
        return 7
    def multiply_adds(self):
        return 8

class Looking(Product):
    def embed_types(self, codes):
        return super().embed_types(codes) * codes.sum().item()
"""


def test_costs_of_a_users_embedding_are_counted_or_not_known(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(OWN)
    names = [f"{tmp_path}/own.py:{name}" for name in ("Product", "Told", "Looking")]
    rows, _ = budget_rows(names, "tiny", [51_200])  # 200 hidden units
    costs = [(row["active_params"], row["bytes_per_token"], row["multiply_adds"]) for row in rows]
    assert costs == [(None, None, 2 * 128 * 200), (7, 28, 8), (None, None, None)]


@pytest.mark.e2e
def test_every_text_model_has_its_costs() -> None:
    rows, _ = budget_rows([], "tiny", [800_000])
    names = {row["model"] for row in rows}
    assert {"bert-mlm", "hashformer-lsh-pool", "eelbert-tiny", "canine-c"} <= names
    assert all(row["total_params"] > row["emb_params"] >= 0 for row in rows)  # type: ignore[operator]


def test_an_unknown_model() -> None:
    with pytest.raises(InputError, match="unknown model"):
        budget_rows(["nothing"], "tiny", [800_000])
