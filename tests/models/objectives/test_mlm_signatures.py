"""The head of signatures against plain Python, and its probabilities."""

from __future__ import annotations

import itertools
import math
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from hashbench.models.embeddings.base import Batch, TrainingSpec
from hashbench.models.embeddings.hash_embedding import HashEmbedding
from hashbench.models.embeddings.multihashformer import MultiHashFormer
from hashbench.models.objectives.mlm_signatures import OBJECTIVE, SignatureHead, make_head
from tests.models.embeddings.test_multihashformer import sines
from tests.oracles import multihashformer as oracle

LOGITS = [
    [-1.846192859, 1.021682331, 0.5105605819, -1.689131666, 1.697619695],
    [-0.08324041691, -0.08479231064, 0.1940883228, -0.1689368775, 0.02676070185],
    [-1.261531971, -0.2516213751, 1.590473385, -1.827584189, 0.7987041088],
]


def test_the_oracle_has_the_numbers_of_the_authors_class() -> None:
    rows = sines(1, 3, 5, 4)
    steps = [(sines(100, 3, 8), sines(124, 3), sines(127, 4, 3), sines(139, 4))]
    steps += [(sines(143, 3, 8), sines(167, 3), sines(170, 4, 3), sines(182, 4))]
    found = oracle.cascade(sines(186, 4), rows, steps, oracle.silu)
    for logits, expected in zip(found, LOGITS, strict=True):
        assert logits == pytest.approx(expected, abs=1e-8)
    scores = [math.log(oracle.softmax(logits)[number]) for logits, number in zip(found, [2, 4, 1], strict=True)]
    assert sum(scores) == pytest.approx(-5.757901511, abs=1e-8)


def drawn(cascade: Any, hashes: int = 3, buckets: int = 4) -> SignatureHead:
    torch.manual_seed(0)
    head = SignatureHead(6, hashes=hashes, num_buckets=buckets, cascade=cascade).double()
    for parameter in head.parameters():
        nn.init.normal_(parameter, std=0.5)
    return head


@pytest.mark.parametrize("cascade", ["soft", "none"])
def test_it_equals_plain_python(cascade: str) -> None:
    head = drawn(cascade)
    states = torch.randn(5, 6, dtype=torch.float64)
    assert head.rows is not None
    found = head(states, head.rows)
    steps = [tuple(part.tolist() for layer in (step[0], step[2]) for part in (layer.weight, layer.bias))
             for step in head.steps]  # fmt: skip
    assert len(steps) == (2 if cascade == "soft" else 0)
    for state, logs in zip(head.transform(states).tolist(), found.tolist(), strict=True):
        logits = oracle.cascade(state, head.rows.tolist(), steps, oracle.gelu, head.bias.tolist())
        for each, expected in zip(logs, logits, strict=True):
            assert each == pytest.approx([math.log(p) for p in oracle.softmax(expected)], abs=1e-12)


def test_the_probabilities_of_all_signatures_sum_to_1() -> None:
    head = drawn("soft")
    assert head.rows is not None
    logs = head(torch.randn(1, 6, dtype=torch.float64), head.rows)[0]
    every = [sum(logs[k, i].item() for k, i in enumerate(ids)) for ids in itertools.product(range(4), repeat=3)]
    assert math.fsum(map(math.exp, every)) == pytest.approx(1, abs=1e-12)


class Fixed(nn.Module):
    """A model that gives each position its own state."""

    def __init__(self, embedding: nn.Module, states: Tensor) -> None:
        super().__init__()
        self.embedding, self.states = embedding, states

    def at(self, batch: Batch, columns: Tensor, kept: Tensor) -> Tensor:
        return self.states.gather(1, columns[..., None].expand(-1, -1, self.states.shape[2])).flatten(0, 1)[kept]


def test_the_loss_is_the_mean_over_labels_and_hashes_and_scores_are_sums() -> None:
    head, states = drawn("soft"), torch.randn(2, 5, 6, dtype=torch.float64)
    labels = torch.full((2, 5), -100)
    labels[0, 1], labels[0, 3], labels[1, 4] = 1, 0, 1
    codes = torch.tensor([[1, 2, 3], [3, 0, 1]], dtype=torch.int32)
    batch = Batch(codes, torch.zeros(2, 5).long(), torch.ones(2, 5).bool(), labels=labels, label_codes=codes)
    model: Any = Fixed(nn.Identity(), states)
    assert head.rows is not None
    logs = head(torch.stack([states[0, 1], states[0, 3], states[1, 4]]), head.rows)
    expected = [sum(float(logs[i, k, codes[label, k]]) for k in range(3)) for i, label in enumerate([1, 0, 1])]
    assert head.log_probabilities(model, head.prepared(batch)).tolist() == pytest.approx(expected, abs=1e-12)
    assert float(head.batch_loss(model, batch, "labels")) == pytest.approx(-sum(expected) / 9, abs=1e-12)
    unlabelled = Batch(codes, batch.positions, batch.mask, labels=torch.full((2, 5), -100), label_codes=codes)
    assert float(head.batch_loss(model, unlabelled, "labels")) == 0


def test_rows_are_tied_where_the_embedding_has_them_in_the_targets_shape() -> None:
    class Config:
        dim, eps = 8, 1e-5

    tied, other, untied = MultiHashFormer(8, 399, 4), MultiHashFormer(8, 532, 3), HashEmbedding(8)
    assert make_head(tied, Config).rows is None
    for embedding in (other, untied):
        head = make_head(embedding, Config, cascade="none")
        assert head.rows is not None and head.rows.shape == (4, 399, 8) and not len(head.steps)
    at_128 = SignatureHead(128, tied=True)
    beside = sum(parameter.numel() for step in at_128.steps for parameter in step.parameters())
    assert beside == 74_304 and at_128.bias.numel() == 4 * 399


@pytest.mark.parametrize("value", ["hard", 1, True])
def test_wrong_cascades_are_refused(value: object) -> None:
    from hashbench.common.errors import InputError

    with pytest.raises(InputError, match="cascade must be soft or none"):
        OBJECTIVE.check_arguments({"cascade": value})
    OBJECTIVE.check_arguments({**TrainingSpec().args, "cascade": "none", "predict_prob": 0.2})
    with pytest.raises(InputError, match="unknown argument 'cascades'"):
        OBJECTIVE.check_arguments({"cascades": "none"})


def test_the_likeliest_candidate_has_the_highest_sum_of_scores() -> None:
    head, states = drawn("soft"), torch.randn(3, 2, 6, dtype=torch.float64)
    codes = torch.tensor(list(itertools.product(range(4), repeat=3)))[torch.randperm(64)[:20]]
    labels = torch.zeros(3, 2).long()
    batch = Batch(codes, labels, torch.ones(3, 2).bool(), labels=labels, label_codes=codes)
    model: Any = Fixed(nn.Identity(), states)
    assert head.rows is not None
    logs = head(states.flatten(0, 1), head.rows)
    scores = [[sum(float(each[k, code[k]]) for k in range(3)) for code in codes] for each in logs]
    likeliest, losses = head.among(model, head.prepared(batch), codes)
    assert likeliest.tolist() == [max(range(20), key=lambda c: of_label[c]) for of_label in scores]
    expected = [math.log(math.fsum(map(math.exp, each))) - each[0] for each in scores]  # every label is the first one
    assert losses.tolist() == pytest.approx(expected, abs=1e-12)
