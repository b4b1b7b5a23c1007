"""The mean of word vectors: against numpy and scikit-learn, with pairs, with texts that have no word."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from hashbench.common.errors import InputError
from hashbench.deployment.loading import load
from hashbench.models.embeddings.base import SPECIALS, Batch, CodeSpec, EncoderSpec, ModelSpec
from hashbench.models.embeddings.registry import find_model
from hashbench.models.encoders.base import find_architecture, make_encoder
from hashbench.models.objectives.heads import ClassificationHead
from hashbench.running.training.model import Model, build_model
from tests.exported import exported_folder

WORDS = ["good", "film", "bad", "plot", "dull", "warm"]
FAMILIES = ["hashformer-md-proj", "hash-emb-k2", "eelbert-tiny", "byte-ngrams", "bigram-md-proj", "canine-c-scratch"]


def averaged(name: str, dim: int = 16) -> ModelSpec:
    """The small model of a name with averaged vectors in place of its encoder."""
    spec = replace(find_model(name).small(), encoder=EncoderSpec("average", {"dim": dim}))
    return find_architecture("average").of_model(spec)


def test_mean_and_linear_layer_are_those_of_scikit_learn() -> None:
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.preprocessing import normalize

    texts = ["good warm film", "bad dull plot", "good good plot", "dull film", "warm", "bad bad bad film"]
    labels = [0, 1, 0, 2, 2, 1]
    torch.manual_seed(0)
    model = Model(TableOfWords(), make_encoder("average", "tiny", dim=5))
    shares = normalize(CountVectorizer(vocabulary=WORDS).transform(texts), norm="l1")
    means = shares @ model.embedding.table.detach().numpy()  # (6, 5)
    linear = LogisticRegression(C=100.0).fit(means, labels)
    head = ClassificationHead(5, 3, dropout=0.0, pooling="mean", dense=False)
    head.out.weight.data = torch.tensor(linear.coef_, dtype=torch.float32)
    head.out.bias.data = torch.tensor(linear.intercept_, dtype=torch.float32)
    outputs = head.outputs(model, batch_of(texts)).detach().numpy()
    np.testing.assert_allclose(outputs, linear.decision_function(means), atol=1e-5)


class TableOfWords(torch.nn.Module):
    """A row for each of WORDS; special tokens have rows that no mean may contain."""

    def __init__(self) -> None:
        super().__init__()
        self.table = torch.nn.Parameter(torch.randn(len(WORDS), 5))

    def forward(self, batch: Batch) -> torch.Tensor:
        """(B, L) -> (B, L, 5)."""
        rows = torch.cat([torch.full((len(SPECIALS), 5), 1e6), self.table])
        return torch.nn.functional.embedding(batch.positions, rows)

    def vectors_mask(self, mask: torch.Tensor) -> torch.Tensor:
        """The mask as it is."""
        return mask


def batch_of(texts: list[str]) -> Batch:
    """Texts as <s> words </s>, padded."""
    rows = [[0, *(len(SPECIALS) + WORDS.index(word) for word in text.split()), 2] for text in texts]
    length = max(map(len, rows))
    positions = torch.tensor([row + [1] * (length - len(row)) for row in rows])
    return Batch(torch.zeros(0, 1), positions, positions != 1)


@given(st.lists(st.lists(st.sampled_from(WORDS), max_size=6), min_size=1, max_size=5))
def test_a_text_is_the_mean_of_its_words_and_without_any_it_is_zero(texts: list[list[str]]) -> None:
    torch.manual_seed(1)
    model = Model(TableOfWords(), make_encoder("average", "tiny", dim=5))
    states = model(batch_of([" ".join(text) for text in texts]))  # (B, 1, 5)
    for text, state in zip(texts, states.detach().numpy()[:, 0], strict=True):
        rows = [model.embedding.table.detach().numpy()[WORDS.index(word)] for word in text]
        np.testing.assert_allclose(state, np.mean(rows, axis=0) if rows else np.zeros(5), atol=1e-6)


def test_special_tokens_of_a_batch_without_padding_are_no_words() -> None:
    model = Model(TableOfWords(), make_encoder("average", "tiny", dim=5))
    batch = replace(batch_of(["good film", "bad plot"]), padded=False)
    torch.testing.assert_close(model(batch)[1, 0], (model.embedding.table[2] + model.embedding.table[3]) / 2)


def test_a_text_has_one_state_which_counts() -> None:
    encoder = make_encoder("average", "tiny", dim=5)
    mask = torch.tensor([[False, True, True], [False, False, False]])
    states, counts = encoder(torch.randn(2, 3, 5), mask), encoder.states_mask(mask)
    assert states.shape[:2] == counts.shape == (2, 1) and bool(counts.all())


def test_a_pair_is_both_means_their_distance_and_their_product() -> None:
    encoder = make_encoder("average", "tiny", dim=2)
    vectors = torch.tensor([[[9.0, 9.0], [1.0, 2.0], [3.0, 4.0], [9.0, 9.0], [5.0, 1.0], [9.0, 9.0]]])
    mask = torch.tensor([[False, True, True, False, True, False]])
    segments = torch.tensor([[0, 0, 0, 0, 1, 1]])
    states = encoder(vectors, mask, segments)
    assert states[0, 0].tolist() == [2, 3, 5, 1, 3, 2, 10, 3] and encoder.text_width(2) == 8
    without = encoder(vectors, mask & (segments == 0), segments)
    assert without[0, 0].tolist() == [2, 3, 0, 0, 2, 3, 0, 0] and encoder.text_width(1) == 2


def test_what_follows_for_the_model() -> None:
    spec = averaged("hashformer-md-proj")
    assert spec.training.objective is None and spec.text.template.segments
    assert (spec.head.pooling, spec.head.dense) == ("mean", False)
    model = build_model(spec, "tiny", seed=0)
    assert sum(parameter.numel() for parameter in model.encoder.parameters()) == 0


@pytest.mark.parametrize("values", [{"layers": 1}, {"dim": 0}, {"dropout": 1.0}, {"heads": 2}])
def test_wrong_values(values: dict[str, float]) -> None:
    with pytest.raises(
        InputError, match=r"^encoder: (unknown value '(layers|heads)'|.* is no (whole )?number from .*; correct it$)"
    ):
        make_encoder("average", "tiny", **values)


@pytest.mark.parametrize("name", FAMILIES)
def test_an_exported_folder_of_any_embedding(name: str, tmp_path: Path) -> None:
    """Texts without a word give the same finite answer, whatever is beside them in their batch."""
    single = load(exported_folder(name, tmp_path / "single", spec=averaged(name)))
    outputs = single.outputs(["a good film", "", "", "a good film"])
    assert np.isfinite(outputs).all()
    np.testing.assert_allclose(outputs[[0, 1]], outputs[[3, 2]], atol=1e-6)
    np.testing.assert_allclose(single.embed(["", ""]), np.zeros((2, 16)))
    np.testing.assert_allclose(outputs[:1], single.outputs(["a good film"]), atol=1e-5)
    pairs = load(exported_folder(name, tmp_path / "pairs", spec=averaged(name), is_pair=True))
    vectors = pairs.embed([("a good film", "a dull plot"), ("", "x"), ("", "")])
    assert vectors.shape == (3, 64) and not vectors[2].any()
    first, second = vectors[0, :16], vectors[0, 16:32]
    np.testing.assert_allclose(vectors[0, 32:], np.concatenate([abs(first - second), first * second]), atol=1e-6)
    swapped = pairs.embed([("a dull plot", "a good film")])[0]
    if name != "bigram-md-proj":  # whose words see their neighbours across the border
        np.testing.assert_allclose(swapped[:32], np.concatenate([second, first]), atol=1e-6)


def test_a_plugin_may_leave_out_what_an_encoder_settles() -> None:
    architecture = find_architecture("bert")
    spec = replace(find_model("hashformer-md-proj"), code=CodeSpec("md5-bits"))
    assert architecture.of_model(spec) is spec and dict(architecture.settled) == {}
