"""Word vectors begin with the spread that is set, whatever the embedding is, and nothing else changes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Literal

import pytest
import torch
from torch import Tensor, nn

from hashbench.common.errors import InputError
from hashbench.models.coders.base import make_coder
from hashbench.models.embeddings.base import SPECIALS, Batch, Embedding, EmbeddingSpec, ModelSpec, stored
from hashbench.models.embeddings.registry import find_model
from hashbench.models.objectives.base import reads_items
from hashbench.models.text.base import make_tokenizer
from hashbench.models.text.types import TypeTable
from hashbench.running.runs.materials import Texts
from hashbench.running.training.model import Model, build_model, load_weights, save_weights
from hashbench.running.training.spread import (
    batch_of_codes,
    batch_of_words,
    begin,
    frequent_words,
    position_spread,
    proportional_weights,
    target_of,
    word_spread,
)
from tests.models.embeddings.test_contract import DISTINCT

FEW = frequent_words()[:200]
SIZE = "tiny"


def built(spec: ModelSpec, spread: float | Literal["matched"] | None) -> tuple[Model, Batch]:
    """A model of a spec with an `initial_spread`, not begun yet, and words for it."""
    arguments = {key: value for key, value in spec.code.args.items() if key != "coherent"}  # which needs page links
    coder = make_coder(spec.code.coder, **arguments)
    if coder.needs_fit:
        coder.fit(TypeTable.from_counts(dict.fromkeys(FEW, 1)))
    tokenizer = make_tokenizer(spec.text.tokenizer, **spec.text.args)
    strings = coder.strings()
    model = build_model(
        replace(spec, initial_spread=spread), SIZE, seed=0, vocabulary_rows=coder.num_rows,
        row_strings=None if strings is None else [*spec.text.template.specials, *strings],
    )  # fmt: skip
    if reads_items(spec):
        return model, batch_of_codes(coder.encode(FEW))
    tokenize = (lambda word: [word]) if tokenizer.needs_training else tokenizer.tokenize
    return model, batch_of_words(tokenize, coder, spec.text.template, FEW)


@pytest.mark.parametrize("name", list(DISTINCT))
def test_every_embedding_begins_as_far_apart_as_position_vectors(name: str) -> None:
    model, words = built(DISTINCT[name], "matched")
    plain, _ = built(DISTINCT[name], None)
    begin(model, words, "matched")
    target = position_spread(model.embedding, model.encoder) or 0.02
    assert word_spread(model, words) == pytest.approx(target, rel=0.01)
    before = plain.state_dict()
    after = {key: tensor for key, tensor in model.state_dict().items() if key != "scales"}
    assert set(after) == set(before) and stored(model) == stored(plain)
    changed = {key for key, tensor in after.items() if not torch.equal(tensor, before[key])}
    assert all(key.startswith("embedding.") for key in changed)  # the encoder is as it was, to the bit


@pytest.mark.parametrize("name", ["floret-buckets", "hashformer-md-proj", "multi-hash"])
def test_a_number_is_the_spread_itself(name: str) -> None:
    model, words = built(find_model(name).small(), 0.05)
    begin(model, words, 0.05)
    assert target_of(model, 0.05) == 0.05
    assert word_spread(model, words) == pytest.approx(0.05, rel=0.01)


@pytest.mark.parametrize(
    ("name", "chosen"),
    [
        ("bert-mlm", {"weight"}),
        ("low-rank-bpe", {"weight"}),  # not the map, whose values are larger
        ("character-cnn", {"last.weight"}),
        ("multi-hash", {"norm.weight"}),
        ("qr-hash-add", {"quotients.weight", "remainders.weight"}),
        ("over-encoding-bpe", {"base.weight", "ngrams.0.weight", "ngrams.1.weight"}),
        ("hashformer-md-proj", set()),
        ("eelbert-tiny", set()),
    ],
)
def test_the_weights_that_are_scaled(name: str, chosen: set[str]) -> None:
    model, words = built(find_model(name).small(), "matched")
    before = {key: tensor.clone() for key, tensor in model.state_dict().items()}
    names = {id(weight): key for key, weight in model.embedding.named_parameters()}
    assert {names[id(weight)] for weight in proportional_weights(model.embedding, words)} == chosen
    assert all(torch.equal(tensor, before[key]) for key, tensor in model.state_dict().items())  # nothing stays doubled


def test_special_tokens_with_rows_of_their_own_have_no_factor_and_hashed_ones_have_that_of_words() -> None:
    for name, hashed in (("hashformer-md-proj", False), ("eelbert-tiny", True)):
        model, words = built(find_model(name).small(), "matched")
        begin(model, words, "matched")
        assert model.scales is not None
        special, ordinary = model.scales.tolist()
        assert ordinary < 0.3 and special == (ordinary if hashed else 1.0)
        rows = words.positions[:1]
        expected = model.embedding(words)[:1] * torch.where(rows >= len(SPECIALS), ordinary, special)[..., None]
        torch.testing.assert_close(model.eval().vectors(words)[:1], expected)


def test_weights_that_are_loaded_bring_their_factor(tmp_path: Path) -> None:
    spec = replace(find_model("hashformer-md-proj").small(), initial_spread="matched")
    texts = Texts(make_tokenizer("words"), make_coder(spec.code.coder, **spec.code.args), None)
    model, other = texts.build(spec, SIZE, seed=0), build_model(spec, SIZE, seed=1)
    save_weights(model, tmp_path / "weights.safetensors")
    load_weights(other, tmp_path / "weights.safetensors")
    assert model.scales is not None and other.scales is not None and float(other.scales[1]) < 0.3
    assert torch.equal(model.scales, other.scales)
    assert "scales" not in build_model(find_model("hashformer-md-proj").small(), SIZE, seed=0).state_dict()


class Equal(Embedding):
    """An embedding to which all words are one."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.row = nn.Parameter(torch.zeros(1, dim))

    def embed_types(self, codes: Tensor) -> Tensor:
        return self.row.expand(len(codes), -1)

    def special_rows(self) -> Tensor:
        return self.row.expand(len(SPECIALS), -1)


def test_word_vectors_that_begin_equal_are_refused() -> None:
    spec = replace(find_model("hashformer-md-proj").small(), embedding=EmbeddingSpec(Equal), initial_spread="matched")
    with pytest.raises(InputError, match="model 'hashformer-md-proj': initial_spread: .*; leave it out"):
        Texts(make_tokenizer("words"), make_coder("md5-bits"), None).build(spec, SIZE, seed=0)
