"""The table of rows: lookup, special tokens, tied output."""

from __future__ import annotations

import torch

from hashbench.models.embeddings.base import Batch, Embedding
from hashbench.models.embeddings.lookup import LookupTable


def test_a_type_has_its_row_and_special_tokens_the_first_five() -> None:
    table = LookupTable(4, num_rows=9)
    positions = torch.tensor([[0, 6, 5, 3, 2], [0, 5, 4, 2, 1]])
    vectors = table(Batch(torch.tensor([[8], [5]]), positions, positions != 1))
    rows = [[0, 5, 8, 3, 2], [0, 8, 4, 2, 1]]  # position 5 is the type in row 8, position 6 the one in row 5
    assert vectors.tolist() == [[table.weight[row].tolist() for row in line] for line in rows]


def test_padding_row_is_zero_unless_asked() -> None:
    assert LookupTable(4, num_rows=9).weight[1].abs().sum() == 0
    assert LookupTable(4, num_rows=9, zero_pad_rows=False).weight[1].abs().min() > 0


def test_output_matrix_is_the_table_itself() -> None:
    table = LookupTable(4, num_rows=9)
    assert table.output_matrix() is table.weight


def test_two_types_in_one_bucket_both_train_it() -> None:
    table = LookupTable(2, num_rows=9)
    positions = torch.tensor([[5, 6]])
    table(Batch(torch.tensor([[7], [7]]), positions, positions > 0)).sum().backward()
    assert table.weight.grad is not None
    assert table.weight.grad.tolist() == [[0.0, 0.0]] * 7 + [[2.0, 2.0], [0.0, 0.0]]


def test_embedding_parameters_are_the_whole_table() -> None:
    assert LookupTable(4, num_rows=9).embedding_parameters() == 36


def test_fresh_values_are_cut_at_two_standard_deviations() -> None:
    torch.manual_seed(0)
    weight = LookupTable(64, num_rows=2000, zero_pad_rows=False).weight
    assert weight.abs().max().item() <= 0.04
    assert abs(weight.std().item() - 0.0176) < 2e-4  # 0.02 * 0.8796, the deviation of a normal cut at two sigma


def test_one_look_up_gives_what_the_two_give():
    """The table's own forward against the general one: the same vectors and the same gradient."""
    torch.manual_seed(0)
    first, second = LookupTable(8, num_rows=40), LookupTable(8, num_rows=40)
    second.load_state_dict(first.state_dict())
    batch = Batch(
        codes=torch.tensor([[7], [31], [5]]),
        positions=torch.tensor([[0, 5, 6, 5, 2], [0, 7, 2, 1, 1]]),
        mask=torch.ones(2, 5, dtype=torch.bool),
    )
    weights = torch.randn(2, 5, 8)
    (first(batch) * weights).sum().backward()
    (Embedding.forward(second, batch) * weights).sum().backward()
    assert torch.equal(first(batch), second(batch))
    assert torch.equal(first.weight.grad, second.weight.grad)


def test_a_narrowed_table_gives_the_same_vectors_and_comes_back_whole():
    torch.manual_seed(0)
    table = LookupTable(8, num_rows=40)
    before = table.weight.detach().clone()
    codes = torch.tensor([[31], [7], [31], [12]])
    positions = torch.tensor([[0, 5, 6, 8, 7, 2]])
    batch = Batch(codes=codes, positions=positions, mask=positions != 1)
    expected = table(batch)
    table.narrow(codes)
    assert table.weight.shape == (5 + 3, 8)
    assert torch.equal(table(batch), expected)
    assert torch.equal(Embedding.forward(table, batch), expected)
    table.widen()
    assert torch.equal(table.weight, before)
    table.widen()  # already whole
    assert torch.equal(table(batch), expected)


def test_narrowing_again_keeps_what_was_learned():
    table = LookupTable(2, num_rows=9)
    before = table.weight.detach().clone()
    table.narrow(torch.tensor([[8]]))
    with torch.no_grad():
        table.weight += 1.0
    table.narrow(torch.tensor([[7]]))
    table.widen()
    learned = torch.ones(9, 1)
    learned[[5, 6, 7]] = 0.0
    assert torch.equal(table.weight, before + learned)


def test_training_a_narrowed_table_is_training_the_table():
    """Adam without decay, gradients clipped: after some steps every row is the same, to rounding of the norm."""
    torch.manual_seed(0)
    plain, narrowed = LookupTable(8, num_rows=40), LookupTable(8, num_rows=40)
    narrowed.load_state_dict(plain.state_dict())
    before = plain.weight.detach().clone()
    narrowed.narrow(torch.tensor([[9], [20], [30]]))
    for table in (plain, narrowed):
        optimizer = torch.optim.AdamW(table.parameters(), lr=1e-2, weight_decay=0.0)
        for step in range(6):
            codes = torch.tensor([[20], [(9, 30)[step % 2]]])
            positions = torch.tensor([[0, 5, 6, 6, 2]])
            table(Batch(codes=codes, positions=positions, mask=positions != 1)).pow(2).sum().mul(50).backward()
            torch.nn.utils.clip_grad_norm_(table.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
    narrowed.widen()
    torch.testing.assert_close(narrowed.weight, plain.weight, rtol=0, atol=1e-6)
    changed = (narrowed.weight != before).any(1).nonzero()[:, 0].tolist()
    assert changed == [0, 2, 9, 20, 30]
