"""EELBERT's embeddings: the code is the vector, frozen tables, tables that begin as a hash; and exact counts."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from hashbench.models.coders.ngram_pooling import NgramPooling
from hashbench.models.embeddings.base import MASK_ID, PAD, Batch, stored
from hashbench.models.embeddings.eelbert import BERT, HashInitTable, NgramHash, RandomHash
from hashbench.models.embeddings.registry import build_embedding, find_model, groups, models, with_dim
from hashbench.models.encoders.base import encoder_config, make_encoder
from hashbench.running.efficiency.parameters import Counts, count
from hashbench.running.training.model import build_model, make_head, save_weights

# EELBERT, tables 1 to 4 in the frame of masked language models: all of a tied BERT, or that without V d.
EXACT = {
    "bert-base": Counts(109_514_298, 23_440_896),
    "eelbert-base": Counts(86_073_402, 0),
    "bert-mini": Counts(11_201_594, 7_813_632),
    "eelbert-mini": Counts(3_387_962, 0),
    "bert-tiny": Counts(4_416_698, 3_906_816),
    "eelbert-tiny": Counts(509_882, 0),
    "uno-eelbert": Counts(312_506, 0),  # 1.2 MB (abstract): 1.19 MiB
    "bert-base-random-hash": Counts(86_073_402, 0),
    "bert-mini-random-hash": Counts(3_387_962, 0),
    "bert-base-hash-init": Counts(109_514_298, 23_440_896),
    "bert-mini-hash-init": Counts(11_201_594, 7_813_632),
}
# Encoder, token table, pooler and a 2-class head, which is what is in use after fine-tuning.
DEPLOYED = {
    "bert-base": 109_483_778,
    "eelbert-base": 86_042_882,
    "bert-mini": 11_171_074,
    "eelbert-mini": 3_357_442,
    "bert-tiny": 4_386_178,
    "eelbert-tiny": 479_362,
    "uno-eelbert": 281_986,
}
ENCODER = {  # without pooler, without table
    "bert-base": 108_891_648 - 23_440_896,
    "eelbert-mini": 3_291_136,
    "eelbert-tiny": 462_592,
    "uno-eelbert": 265_216,
}


@pytest.mark.parametrize("name", EXACT)
@pytest.mark.parametrize("size", ["tiny", "base"])
def test_counts_of_the_paper(name: str, size: str) -> None:
    """Whatever the experiment's encoder: these models have a size of their own."""
    assert count(find_model(name), size) == EXACT[name]


@pytest.mark.parametrize("name", DEPLOYED)
def test_counts_as_deployed(name: str) -> None:
    assert count(find_model(name), deployed=True).total == DEPLOYED[name]


@pytest.mark.parametrize("name", ENCODER)
def test_encoders(name: str) -> None:
    with torch.device("meta"):
        encoder = make_encoder("bert", "base", **find_model(name).encoder.args)
    assert stored(encoder) == ENCODER[name]


def test_ratios_of_the_paper() -> None:
    """Sections 1, 5.1 and 5.2: 350 times, nearly 15 times, about 9 and 3 times smaller; 88 % and 21 % fewer."""
    total = {name: counts.total for name, counts in EXACT.items()}
    assert round(total["bert-base"] / total["uno-eelbert"]) == 350
    assert 14 < total["bert-tiny"] / total["uno-eelbert"] < 15
    assert round(total["bert-tiny"] / total["eelbert-tiny"]) == 9
    assert round(total["bert-mini"] / total["eelbert-mini"]) == 3
    assert round(100 * (1 - total["eelbert-tiny"] / total["bert-tiny"])) == 88
    assert round(100 * (1 - total["eelbert-base"] / total["bert-base"])) == 21


def test_the_family_is_the_seven_models_of_the_paper() -> None:
    assert groups()["eelbert"] == list(DEPLOYED)
    assert set(EXACT) <= set(models())


def test_the_frame_is_berts() -> None:
    config = encoder_config("bert", "base", **find_model("uno-eelbert").encoder.args)
    assert (config.max_positions, config.type_rows, config.eps, config.first_position) == (512, 2, 1e-12, 0)
    assert (config.layers, config.heads, config.dim, config.feed_forward) == (2, 2, 128, 128)
    assert -1 - BERT.specials.index("[MASK]") == MASK_ID and BERT.specials[PAD] == "[PAD]"


def test_the_code_is_the_vector() -> None:
    coder = NgramPooling(dim=12)
    codes = torch.from_numpy(coder.encode(["cat", "dog"]))
    batch = Batch(codes, torch.tensor([[0, 5, 6, 3, 2, 1]]), torch.ones(1, 6, dtype=torch.bool))
    vectors = NgramHash(12)(batch)[0]
    hashed = torch.from_numpy(coder.encode(["[CLS]", "cat", "dog", "[UNK]", "[SEP]"]))
    assert torch.equal(vectors[:5], hashed)
    assert vectors[5].abs().max() == 0  # [PAD]
    assert torch.equal(NgramHash(12).special_rows()[4:], torch.from_numpy(coder.encode(["[MASK]"])))


def test_special_tokens_are_hashed_as_types_are() -> None:
    """Other arguments of the coder reach the special rows."""
    spec = find_model("eelbert-tiny").with_args(code={"seed": 7, "scale": 0.5})
    embedding = build_embedding(with_dim(spec, 128), 128)
    expected = NgramPooling(128, seed=7, scale=0.5).encode(["[SEP]"])
    assert np.array_equal(embedding.special_rows()[2:3].numpy(), expected)


def test_nothing_of_a_hash_is_trained_or_saved(tmp_path) -> None:
    model = build_model(find_model("eelbert-tiny"), "tiny", seed=0)
    assert not list(model.embedding.parameters()) and not model.embedding.state_dict()
    save_weights(model, tmp_path / "w.safetensors")
    assert (tmp_path / "w.safetensors").stat().st_size < 4 * 462_592 + 10_000


def test_the_untied_output_is_the_heads_and_is_trained() -> None:
    for name in ("eelbert-tiny", "bert-tiny-random-hash"):
        model = build_model(find_model(name).small(), "tiny", seed=0, vocabulary_rows=50)
        head = make_head(model, "mlm")
        assert model.embedding.output_matrix() is None and head.matrix.shape == (50, 16) and head.bias.shape == (50,)
        head.loss(torch.randn(4, 16), torch.tensor([1, 2, 49, 3]), head.matrix).backward()
        assert head.matrix.grad.abs().sum() > 0
    assert make_head(build_model(find_model("bert-tiny").small(), "tiny", seed=0), "mlm").matrix is None


def test_pretraining_has_one_bias_and_as_many_parameters_as_bert() -> None:
    """4,416,698 each at tiny: a tied BERT, and EELBERT with its untied output matrix."""
    for name in ("bert-tiny", "eelbert-tiny"):
        model = build_model(find_model(name), "tiny", seed=0)
        assert stored(model) + stored(make_head(model, "mlm")) == 4_416_698


def test_codes_of_another_form_are_refused() -> None:
    embedding = NgramHash(12)
    for codes in (torch.zeros(2, 16, dtype=torch.uint8), torch.zeros(2, 13), torch.zeros(2, 12, dtype=torch.int64)):
        with pytest.raises(ValueError, match="a code must be a vector of 12 floats"):
            embedding.embed_types(codes)


def test_a_random_hash_is_made_by_its_seed() -> None:
    first, again, other = RandomHash(8, num_rows=3000), RandomHash(8, num_rows=3000), RandomHash(8, 3000, seed=1)
    assert torch.equal(first.table, again.table) and not torch.equal(first.table, other.table)
    assert torch.equal(first.table[:100], RandomHash(8, num_rows=100).table)
    assert first.table[PAD].abs().sum() == 0
    assert abs(first.table.std().item() - 0.02) < 3e-4  # BERT's initialisation, N(0, 0.02)
    assert not list(first.parameters()) and not first.state_dict()
    assert torch.equal(first.embed_types(torch.tensor([[7]]))[0], first.table[7])


def test_a_table_begins_as_the_hash_of_its_rows() -> None:
    strings = [*BERT.specials, "cat", "##s"]
    table = HashInitTable(12, num_rows=7)
    table.initialise(strings)
    expected = NgramPooling(12).encode(strings)
    expected[PAD] = 0.0
    assert np.array_equal(table.weight.detach().numpy(), expected)
    assert table.weight.requires_grad and table.output_matrix() is table.weight


def test_a_rescaled_table_has_the_standard_deviation_asked_for() -> None:
    strings = [*BERT.specials, *(f"word{i}" for i in range(300))]
    plain, rescaled = HashInitTable(48, num_rows=305), HashInitTable(48, num_rows=305, std=0.02)
    for table in (plain, rescaled):
        table.initialise(strings)
    others = torch.arange(305) != PAD
    assert rescaled.weight[others].std(correction=0).item() == pytest.approx(0.02, rel=1e-5)
    ratio = plain.weight[others] / rescaled.weight[others]
    assert ratio.std() < 1e-4 * ratio.mean() and ratio.mean() > 5  # one factor for the whole matrix


def test_a_vocabulary_of_another_length_is_an_error() -> None:
    with pytest.raises(ValueError, match="a vocabulary of 2 for a table of 7 rows"):
        HashInitTable(12, num_rows=7).initialise(["a", "b"])


def test_the_vocabulary_reaches_a_fresh_model() -> None:
    spec, strings = find_model("bert-tiny-hash-init").small(), [*BERT.specials, "cat"]
    model = build_model(spec, "tiny", seed=0, vocabulary_rows=6, row_strings=strings)
    weight = model.embedding.get_parameter("weight")
    assert np.array_equal(weight[5:].detach().numpy(), NgramPooling(16).encode(["cat"]))


def test_a_coder_follows_the_width_of_the_encoder() -> None:
    spec = find_model("eelbert-mini")
    assert with_dim(spec, 256).code.args == {"dim": 256}
    assert with_dim(find_model("bert-mini"), 256) == find_model("bert-mini")
