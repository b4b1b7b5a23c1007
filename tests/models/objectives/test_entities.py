"""models/objectives/entities.py: which items are hidden, and the losses of their tokens."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from hashbench.common.errors import InputError
from hashbench.models.embeddings.base import MASK_ID, NO_LABEL
from hashbench.models.objectives import entities
from hashbench.models.objectives.entities import (
    KIND,
    EntityHead,
    EntityObjective,
    corrupt,
    draw_log_uniform,
    entity_objective,
    expected_count,
)
from tests.oracles.superbloom import corrupted, predicted, sampled_loss

N_ITEMS = 500


def rows_of(lengths: list[int]) -> np.ndarray:
    ids = np.full((len(lengths), max(lengths)), -2, np.int32)
    for row, length in enumerate(lengths):
        ids[row, :length] = np.arange(length) + 10 * row
    return ids


def hidden(ids: np.ndarray, *, seed: int = 0, epoch: int = 0, rows: np.ndarray | None = None) -> tuple:
    rows = np.arange(len(ids)) if rows is None else rows
    return corrupt(ids, rows, seed=seed, epoch=epoch, n_items=N_ITEMS, objective=EntityObjective())


def test_the_number_of_hidden_items_of_each_length() -> None:
    lengths = list(range(2, 41))
    _, labels = hidden(rows_of(lengths))
    assert ((labels != NO_LABEL).sum(1)).tolist() == [predicted(n) for n in lengths]
    assert predicted(32) == 5 and predicted(2) == 1  # 15 % of 32 items are 4.8


def test_each_place_becomes_what_its_numbers_say() -> None:
    ids = rows_of([32, 20, 7])
    found, labels = hidden(ids, seed=3, epoch=2, rows=np.array([5, 9, 2]))
    for row, row_id in enumerate((5, 9, 2)):
        chosen = set(np.flatnonzero(labels[row] != NO_LABEL).tolist())
        for column, what in enumerate(corrupted(ids[row].tolist(), row_id, 3, 2, KIND, chosen)):
            if what == "mask":
                assert found[row, column] == MASK_ID
            elif what in ("keep", "stay"):
                assert found[row, column] == ids[row, column]
            else:
                assert 0 <= found[row, column] < N_ITEMS


def test_shares_of_masked_random_and_kept_items() -> None:
    """80 %, 10 % and 10 % of 10,000: within four standard deviations."""
    ids = np.tile(np.arange(32, dtype=np.int32), (2000, 1)) + 100
    found, labels = hidden(ids)
    chosen = labels != NO_LABEL
    masked, kept = (found[chosen] == MASK_ID).mean(), (found[chosen] == labels[chosen]).mean()
    assert abs(masked - 0.8) < 0.016 and abs(kept - 0.1) < 0.013
    assert np.array_equal(found[~chosen], ids[~chosen])


def test_a_row_depends_on_seed_epoch_and_row_alone() -> None:
    ids = np.tile(np.arange(32, dtype=np.int32), (4, 1))
    rows = np.array([3, 1, 4, 7])
    found, labels = hidden(ids, rows=rows)
    alone = hidden(ids[2:3], rows=rows[2:3])
    assert np.array_equal(alone[0][0], found[2]) and np.array_equal(alone[1][0], labels[2])
    assert not np.array_equal(hidden(ids, rows=rows, epoch=1)[1], labels)
    assert not np.array_equal(hidden(ids, rows=rows, seed=1)[1], labels)


def head(n_rows: int, maps: int = 2, **choices: object) -> EntityHead:
    torch.manual_seed(0)
    made = EntityHead(8, n_rows, maps, EntityObjective(**choices), row_counts=np.arange(n_rows)[::-1].copy())  # type: ignore[arg-type]
    torch.nn.init.normal_(made.bias)
    return made


def parts(n_rows: int, k: int = 6, maps: int = 2) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    torch.manual_seed(1)
    n_buckets = n_rows // maps - 3
    labels = torch.stack([torch.randint(j * n_buckets, (j + 1) * n_buckets, (k,)) for j in range(maps)], 1)
    return torch.randn(k, maps, 8), labels, torch.randn(n_rows, 8)


def test_the_loss_over_all_rows_is_the_mean_cross_entropy() -> None:
    made, (states, labels, matrix) = head(26), parts(26)
    scores = made.transform(states).flatten(0, 1) @ matrix.T + made.bias
    expected = torch.nn.functional.cross_entropy(scores, labels.flatten())
    torch.testing.assert_close(made.loss(states, labels, matrix), expected)


def test_the_loss_over_the_own_range_sees_no_other_rows() -> None:
    made, (states, labels, matrix) = head(26, softmax="own"), parts(26)
    hidden_states, expected = made.transform(states), []
    for j in range(2):
        span = slice(10 * j, 10 * j + 10)
        scores = hidden_states[:, j] @ matrix[span].T + made.bias[span]
        expected.append(torch.nn.functional.cross_entropy(scores, labels[:, j] - 10 * j))
    torch.testing.assert_close(made.loss(states, labels, matrix), torch.stack(expected).mean())


def test_distributions_are_over_the_buckets_of_each_map() -> None:
    made, (states, _, matrix) = head(26), parts(26)
    logs = made.log_probabilities(states, matrix)
    assert logs.shape == (6, 2, 10)
    torch.testing.assert_close(logs.exp().sum(-1), torch.ones(6, 2))
    scores = made.transform(states)[:, 1] @ matrix[10:20].T + made.bias[10:20]
    torch.testing.assert_close(logs[:, 1], scores.log_softmax(-1))


@pytest.mark.parametrize("correction", [True, False])
def test_the_sampled_loss_equals_its_definition(correction: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    made, (states, labels, matrix) = head(26, negatives=9, correction=correction), parts(26)
    ranks, tries = torch.tensor([0, 1, 2, 3, 5, 8, 13, 20, 25]), 14
    monkeypatch.setattr(entities, "draw_log_uniform", lambda *_, **__: (ranks, tries))
    monkeypatch.setattr(entities, "ROWS_AT_ONCE", 5)
    scores = (made.transform(states).flatten(0, 1) @ matrix.T + made.bias).tolist()
    # rows were counted in decreasing order, so that a row is its own rank
    drawn = [1 - (1 - math.log((r + 2) / (r + 1)) / math.log(27)) ** tries for r in range(26)]
    losses = [
        sampled_loss(row, label, ranks.tolist(), drawn if correction else None)
        for row, label in zip(scores, labels.flatten().tolist(), strict=True)
    ]
    assert float(made.loss(states, labels, matrix)) == pytest.approx(sum(losses) / len(losses), rel=1e-5)


def test_all_rows_as_negatives_are_the_full_softmax() -> None:
    states, labels, matrix = parts(26)
    loss = head(26, negatives=26).loss(states, labels, matrix)
    torch.testing.assert_close(loss, head(26).loss(states, labels, matrix))


def test_the_sampled_loss_has_gradients() -> None:
    made, (states, labels, matrix) = head(26, negatives=5), parts(26)
    matrix.requires_grad_()
    made.loss(states, labels, matrix).backward()
    assert matrix.grad is not None and bool(matrix.grad.any()) and made.bias.grad is not None


def test_draws_are_distinct_and_log_uniform() -> None:
    """P(rank) = log((rank + 2) / (rank + 1)) / log(V + 1): mean inclusion over 2,000 draws of 5 among 50."""
    torch.manual_seed(0)
    included, expected = torch.zeros(50), torch.zeros(50)
    for _ in range(2000):
        ranks, tries = draw_log_uniform(50, 5)
        assert len(set(ranks.tolist())) == 5 and tries >= 5
        included[ranks] += 1
        expected += expected_count(torch.arange(50), 50, tries)
    # 8 % of the draws: the count is an approximation, which forgets that the last draw was always a new one
    assert float((included - expected).abs().max()) < 160
    assert float(included[0]) > 5 * float(included[40])


def test_the_same_generator_draws_the_same() -> None:
    torch.manual_seed(3)
    first = draw_log_uniform(1000, 64)
    torch.manual_seed(3)
    second = draw_log_uniform(1000, 64)
    assert torch.equal(first[0], second[0]) and first[1] == second[1]


def test_nothing_to_predict_costs_nothing() -> None:
    matrix = torch.randn(26, 8)
    for choices in ({}, {"softmax": "own"}, {"negatives": 5}):
        loss = head(26, **choices).loss(torch.zeros(0, 2, 8), torch.zeros(0, 2, dtype=torch.long), matrix)
        assert float(loss) == 0.0


def test_without_transform_the_states_are_scored_as_they_are() -> None:
    made, (states, _, _) = head(26, transform=False), parts(26)
    assert torch.equal(made.transform(states), states) and [name for name, _ in made.named_parameters()] == ["bias"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"negative": 5}, "unknown argument 'negative'; did you mean 'negatives'"),
        ({"negatives": -1}, "negatives -1; give a whole number"),
        ({"negatives": 5, "softmax": "own"}, "negatives are drawn from the whole table; write softmax: all"),
        ({"softmax": "half"}, "softmax is all or own"),
        ({"correction": 1}, "correction must be true or false, not 1"),
        ({"predict_share": 2}, "predict_share must be a number from 0 to 1, not 2"),
        ({"mask_share": 0.95}, "more than 1 together"),
    ],
)
def test_impossible_choices(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        entity_objective(arguments)


@pytest.mark.parametrize("name", ["predict_share", "mask_share", "random_share"])
def test_a_share_may_be_0_or_1_and_nothing_outside(name: str) -> None:
    others = {"mask_share": 0.0, "random_share": 0.0}
    for share in (0, 1.0):
        assert getattr(entity_objective({**others, name: share}), name) == share
    for share in (-0.01, 1.01, True):
        with pytest.raises(InputError, match=f"{name} must be a number from 0 to 1"):
            entity_objective({**others, name: share})
