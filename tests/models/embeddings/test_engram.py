"""Engram at the input: rows by plain integers, the gate, the compression of a vocabulary, counts."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch

from hashbench.common.errors import InputError
from hashbench.models.embeddings.base import PAD, Batch
from hashbench.models.embeddings.engram import Engram, canonical_numbers, multipliers
from hashbench.models.embeddings.lookup import LookupTable
from hashbench.models.embeddings.registry import build_embedding, find_model


def engram(rows: int = 1_000, dim: int = 8, **arguments: Any) -> Engram:
    return Engram(dim, LookupTable(dim, rows), **{"ratio": 1.0, "heads": 2, "width": 4, **arguments})


def test_rows() -> None:
    """V = 1000, two heads, tables of 1000, seed 0; 2 before the start."""
    embedding = engram()
    assert embedding.factors == [1032908777371477, 6779975073340089, 4869134453997447]
    assert embedding.sizes == (1009, 1013, 1019, 1021)
    embedding.missing = 2  # the number of padding there
    rows = embedding.rows(torch.tensor([[5, 7, 11, 7]]))[0] - torch.tensor([0, 1009, 2022, 3041])
    assert rows.tolist() == [[610, 927, 94, 602], [827, 125, 251, 583], [805, 596, 275, 216], [425, 872, 471, 897]]


def test_rows_of_hashed_words_are_exact() -> None:
    embedding = build_embedding(find_model("engram-input-md-proj"), 16)
    assert isinstance(embedding, Engram)
    m = multipliers(2**31, 3, 0)
    assert all(factor % 2 and factor * (2**31 - 1) < 2**63 for factor in m)
    a, b, c = ids = [2**31 - 2, 12345, 2**30]
    pair, triple = b * m[0] ^ a * m[1], c * m[0] ^ b * m[1] ^ a * m[2]
    rows, sizes = embedding.rows(torch.tensor([ids]))[0].tolist(), embedding.sizes
    assert rows[1][:4] == [pair % sizes[i] + sum(sizes[:i]) for i in range(4)]
    assert rows[2][4:] == [triple % sizes[i] + sum(sizes[:i]) for i in range(4, 8)]


def batch_of(ids: list[int]) -> Batch:
    positions = torch.tensor([[5 + i for i in range(len(ids))]])
    return Batch(torch.tensor(ids)[:, None], positions, positions != PAD)


def test_a_vector_is_what_is_below_and_the_gated_memory() -> None:
    torch.manual_seed(0)
    embedding, ids = engram(50, 6), [10, 13, 11, 10, 14, 12]
    assert embedding.gate is not None
    norms = [embedding.gate.key_norm, embedding.gate.state_norm, embedding.gate.value_norm]
    for norm in norms:
        torch.nn.init.normal_(norm.weight)
    rows = embedding.rows(torch.tensor([ids]))[0]

    def rms(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        return x / (x.pow(2).mean() + 1e-5).sqrt() * weight

    taken = []
    for row, number in zip(rows, ids, strict=True):
        memory = torch.cat([embedding.table.weight[i] for i in row])
        key = embedding.gate.key.weight @ memory + embedding.gate.key.bias
        value = embedding.value.weight @ memory + embedding.value.bias
        score = rms(key, norms[0].weight) @ rms(embedding.base.weight[number], norms[1].weight) / math.sqrt(6)
        score = float(score.detach())
        root = math.copysign(math.sqrt(max(abs(score), 1e-6)), score)
        taken.append(value / (1 + math.exp(-root)))
    kernel = embedding.gate.convolution.weight[:, 0]  # (d, 4), the last place is the token itself
    for t, vector in enumerate(embedding(batch_of(ids))[0]):
        past = [(t - 3 * (3 - j), j) for j in range(4)]
        mixed = sum(kernel[:, j] * rms(taken[s], norms[2].weight) for s, j in past if s >= 0)
        expected = embedding.base.weight[ids[t]] + taken[t] + torch.nn.functional.silu(mixed)
        torch.testing.assert_close(vector, expected, atol=1e-6, rtol=1e-4)


def test_without_a_gate_it_is_the_mapped_sum() -> None:
    torch.manual_seed(0)
    embedding = engram(50, 6, gate=False)
    rows = embedding.rows(torch.tensor([[10, 13]]))[0, 1]
    memory = torch.cat([embedding.table.weight[i] for i in rows])
    expected = embedding.base.weight[13] + embedding.value.weight @ memory + embedding.value.bias
    torch.testing.assert_close(embedding(batch_of([10, 13]))[0, 1], expected)


STRINGS = ["<s>", "<pad>", "</s>", "<unk>", "<mask>", "the", "ĠThe", "thÃ©", "Ġ", "ĠĠ", "Ã", "Ċ", "!", "ﬁ", "fi"]


def test_pieces_that_differ_in_case_accent_or_white_space_have_one_number() -> None:
    # "Ã" alone is no whole character; "ĠĠ", "Ġ" and a line feed are one space each.
    assert canonical_numbers(STRINGS) == [0, 1, 2, 3, 4, 5, 5, 5, 6, 6, 7, 6, 8, 9, 9]


def test_the_vocabularys_forms_are_hashed_alike_and_kept_with_the_weights() -> None:
    torch.manual_seed(0)
    embedding, other = engram(len(STRINGS)), engram(len(STRINGS))
    embedding.initialise(STRINGS)
    first, second = (embedding.rows(torch.tensor([[8, row]])) for row in (5, 6))
    assert torch.equal(first, second)
    assert not torch.equal(*(other.rows(torch.tensor([[8, row]])) for row in (5, 6)))
    other.load_state_dict(embedding.state_dict())
    assert torch.equal(other.rows(torch.tensor([[8, 6]])), first)


@pytest.mark.parametrize(
    ("dim", "base", "heads", "width", "rows", "whole"),
    [(128, 5_000, 4, 64, 40_216 * 16, 677_376), (768, 50_000, 8, 512, 51_281_152, 52_860_928)],
)
def test_published_counts(dim: int, base: int, heads: int, width: int, rows: int, whole: int) -> None:
    with torch.device("meta"):
        embedding = engram(64, dim, num_buckets=base, heads=heads, width=width)
    assert embedding.table.weight.numel() == rows
    assert sum(each.numel() for each in embedding.parameters()) - 64 * dim == whole


def test_costs_of_a_token() -> None:
    embedding = engram(1_000, 128, heads=4, width=64)
    layers = 2 * (128 * 128 + 128) + 3 * 128 + 4 * 128
    assert embedding.active_parameters(torch.tensor([[7]])) == 128 + 8 * 16 + layers
    assert embedding.multiply_adds() == 2 * 128 * 128


@pytest.mark.parametrize("arguments", [{"orders": 1}, {"heads": 3}, {"heads": 0}, {"num_buckets": 0}])
def test_arguments_out_of_range(arguments: dict[str, int]) -> None:
    with pytest.raises(InputError, match="^embedding: "):
        engram(**arguments)
