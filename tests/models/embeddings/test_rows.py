"""Tables that hashes choose rows of, against sums one row at a time."""

from __future__ import annotations

from typing import Literal

import pytest
import torch
from torch import Tensor

from hashbench.models.embeddings.rows import NO_ROW, HashedRows

CODES = torch.tensor([[0, 3, 3], [6, NO_ROW, NO_ROW], [NO_ROW, NO_ROW, NO_ROW], [5, 1, NO_ROW]])
Combine = Literal["sum", "mean"]


def slowly(table: HashedRows, codes: Tensor, weights: Tensor | None) -> Tensor:
    vectors = torch.zeros(len(codes), table.width)
    for n, code in enumerate(codes.tolist()):
        present = [m for m, each in enumerate(code) if each != NO_ROW]
        for m in present:
            row = table.weight[code[m] % table.num_rows]
            sign = table.patterns[code[m] // table.num_rows] if len(table.patterns) else 1.0
            factor = 1.0 if weights is None else weights[n, m]
            share = 1.0 if table.combine == "sum" else 1.0 / len(present)
            vectors[n] += row * sign * factor * share
    return vectors


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("combine", ["sum", "mean"])
@pytest.mark.parametrize("signs", [0, 3])
def test_a_vector_is_the_sum_of_its_rows(signs: int, combine: Combine, weighted: bool) -> None:
    torch.manual_seed(0)
    table = HashedRows(7, 5, signs=signs, combine=combine)
    weights = torch.randn(CODES.shape, requires_grad=True) if weighted else None
    codes = torch.where((CODES != NO_ROW) & (torch.arange(3) == 1) & (signs > 0), CODES + 2 * 7, CODES)
    found, expected = table(codes, weights), slowly(table, codes, weights)
    torch.testing.assert_close(found, expected)
    wanted = [table.weight, *([] if weights is None else [weights])]
    target = torch.randn(4, 5)
    for one, other in zip(
        torch.autograd.grad((found * target).sum(), wanted), torch.autograd.grad((expected * target).sum(), wanted),
        strict=True,
    ):  # fmt: skip
        torch.testing.assert_close(one, other)


def test_signs_are_the_same_in_every_process_and_both_occur() -> None:
    one, other = HashedRows(4, 64, signs=2), HashedRows(9, 64, signs=2)
    assert torch.equal(one.patterns, other.patterns) and set(one.patterns.unique().tolist()) == {-1.0, 1.0}
    assert "patterns" not in one.state_dict()


@pytest.mark.parametrize("signs", [0, 2])
def test_a_narrowed_table_gives_what_the_whole_one_gives(signs: int) -> None:
    table = HashedRows(7, 5, signs=signs)
    expected, weight = table(CODES), table.weight.detach().clone()
    table.keep(table.reached(CODES))
    assert len(table.weight) == 5  # rows 0, 1, 3, 5, 6
    torch.testing.assert_close(table(CODES), expected)
    with torch.no_grad():
        table.weight += 1
    table.widen()
    changed = (table.weight - weight)[:, 0].round().tolist()
    assert changed == [1, 1, 0, 1, 0, 1, 1]
