"""MultiHashFormer's embedding against the authors' numbers and plain Python, and its folded form."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from hashbench.common.errors import InputError
from hashbench.models.embeddings.multihashformer import MultiHashFormer
from tests.oracles import multihashformer as oracle

IDS = [2, 4, 1]  # of the authors' numeric case
SCORES = [-0.2531260629, 0.008508607606, -0.3367438608]
VECTOR = [0.6943888966, 0.3900209205, -0.2977960424, -1.369889855]


def sines(first: int, *shape: int) -> list:
    values = np.array([math.sin(first + i) for i in range(math.prod(shape))])
    return values.reshape(shape).tolist()


def test_the_oracle_has_the_numbers_of_the_authors_class() -> None:
    rows = sines(1, 15, 4)
    chosen = [rows[5 * k + number] for k, number in enumerate(IDS)]
    scores, weights = oracle.gated(chosen, (sines(61, 3, 4), sines(73, 3)), (sines(76, 1, 3), sines(79, 1)))
    assert scores == pytest.approx(SCORES, abs=1e-9)
    vector = oracle.linear(sines(80, 4, 4), oracle.mean_of(chosen, weights), sines(96, 4))
    assert vector == pytest.approx(VECTOR, abs=1e-9)


@pytest.mark.parametrize("gate", [True, False])
@pytest.mark.parametrize("projection", [True, False])
def test_it_equals_plain_python(gate: bool, projection: bool) -> None:
    torch.manual_seed(0)
    model = MultiHashFormer(6, num_buckets=5, hashes=3, gate=gate, projection=projection).double()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter)
    codes = torch.randint(1, 5, (20, 3), dtype=torch.int32)
    found = model.embed_types(codes)
    table = model.table.weight.tolist()
    for code, vector in zip(codes.tolist(), found.tolist(), strict=True):
        rows = [table[5 * k + number] for k, number in enumerate(code)]
        weights = [1.0] * 3
        if model.scorer is not None:
            layers = [(layer.weight.tolist(), layer.bias.tolist()) for layer in (model.scorer[0], model.scorer[2])]
            weights = oracle.gated(rows, layers[0], layers[1])[1]
        expected = oracle.mean_of(rows, weights)
        if model.projection is not None:
            expected = oracle.linear(model.projection.weight.tolist(), expected, model.projection.bias.tolist())
        assert vector == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("gate", [True, False])
@pytest.mark.parametrize("projection", [True, False])
def test_the_folded_form_of_a_graph_is_equal(gate: bool, projection: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    model = MultiHashFormer(16, num_buckets=11, gate=gate, projection=projection)
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    codes = torch.randint(1, 11, (50, 4), dtype=torch.int32)
    expected = model.embed_types(codes)
    monkeypatch.setattr(torch.compiler, "is_exporting", lambda: True)
    assert torch.allclose(model.embed_types(codes), expected, atol=1e-6)


@pytest.mark.parametrize(
    ("hashes", "buckets", "gate", "projection", "parameters"),
    [
        (4, 399, True, True, 229_761),
        (3, 532, True, True, 229_761),
        (8, 199, True, True, 229_249),
        (4, 431, True, False, 229_633),
        (4, 448, False, False, 230_016),
    ],
)
def test_published_and_planned_counts(hashes: int, buckets: int, gate: bool, projection: bool, parameters: int) -> None:
    assert MultiHashFormer(128, buckets, hashes, gate, projection).embedding_parameters() == parameters


def test_the_input_side_of_the_100m_model_counts_as_published() -> None:
    with torch.device("meta"):
        model = MultiHashFormer(768, 10_624, 3)
    specials = 5 * 768  # theirs are rows of the tables
    assert model.embedding_parameters() - specials == 24_477_696 + 639_873


def test_words_begin_as_the_suites_tables_or_as_the_papers() -> None:
    torch.manual_seed(0)
    codes = torch.randint(1, 399, (2_000, 4))
    spreads = {
        init: float(MultiHashFormer(128, 399, init=init).embed_types(codes).detach().std())
        for init in ("suite", "paper")
    }
    assert spreads["suite"] == pytest.approx(0.0088, rel=0.1)  # 0.88 x 0.02 / sqrt(4): the normal is cut at two sigma
    assert spreads["paper"] < spreads["suite"] / 3
    with pytest.raises(InputError, match="init 'papers'; choose suite or paper"):
        MultiHashFormer(8, init="papers")  # type: ignore[arg-type]
