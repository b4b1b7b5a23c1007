"""Encoders of transformers over vectors of the suite."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from hashbench.common.errors import InputError
from hashbench.models.embeddings.base import Published
from hashbench.models.encoders.base import encoder_config, make_encoder
from hashbench.models.encoders.library import LibraryConfig, LibraryEncoder, library_config, pooler_path, shape_of

pytestmark = pytest.mark.e2e  # the library that is compared with takes a second to import

SMALL = {"layers": 2, "heads": 2, "dim": 16, "feed_forward": 32}
THEIRS = {"num_hidden_layers": 2, "num_attention_heads": 2, "hidden_size": 16, "intermediate_size": 32}


def test_its_bert_is_that_of_the_suite() -> None:
    """With equal weights: post-LayerNorm layers, exact GELU, positions from 0, two segments."""
    from hashbench.models.encoders.bert import BertEncoder

    torch.manual_seed(0)
    theirs = make_encoder("transformers", "tiny", **SMALL).eval()
    shape = {"max_positions": 512, "type_rows": 2, "first_position": 0, "eps": 1e-12}
    ours = make_encoder("bert", "tiny", **SMALL, **shape).eval()
    assert isinstance(theirs, LibraryEncoder) and isinstance(ours, BertEncoder)
    tensors = {name.removeprefix("library."): tensor for name, tensor in theirs.state_dict().items()}
    config = {"model_type": "bert", "type_vocab_size": 2, "max_position_embeddings": 512, **THEIRS}
    ours.load_state_dict(ours.from_published(Published(tensors, config, "weights")))
    vectors, segments = torch.randn(2, 7, 16), torch.tensor([[0, 0, 0, 1, 1, 1, 1]]).expand(2, 7)
    mask = torch.arange(7) < torch.tensor([[7], [5]])
    with torch.inference_mode():
        difference = (theirs(vectors, mask, segments) - ours(vectors, mask, segments))[mask]
    assert difference.abs().max().item() < 1e-5


def test_values_of_the_suite_are_set_in_the_librarys_config() -> None:
    library = {"model_type": "distilbert", "n_layers": 6, "dim": 32, "n_heads": 4, "hidden_dim": 64, "dropout": 0.2}
    config = encoder_config("transformers", "tiny", **{**SMALL, "layers": 3, "library": library})
    theirs = config.of_library
    assert (theirs.n_layers, theirs.dim, theirs.n_heads, theirs.hidden_dim, theirs.dropout) == (3, 16, 2, 32, 0.1)
    assert shape_of(library_config(library)) == {
        "layers": 6, "heads": 4, "dim": 32, "feed_forward": 64, "dropout": 0.2,
    }  # fmt: skip


def test_padding_changes_nothing() -> None:
    encoder = make_encoder("transformers", "tiny", **SMALL).eval()
    vectors = torch.randn(1, 5, 16)
    longer = torch.cat([vectors, torch.randn(1, 3, 16)], 1)
    with torch.inference_mode():
        short, long = encoder(vectors, None), encoder(longer, torch.arange(8)[None] < 5)
    assert torch.allclose(short, long[:, :5], atol=1e-6)


def test_one_that_reads_more_of_its_ids_is_refused() -> None:
    """ESM scales its vectors by the number of mask tokens, which it sees in ids alone."""
    import transformers

    library: dict[str, Any] = {
        "model_type": "esm", "vocab_size": 33, "pad_token_id": 1, "mask_token_id": 32, "token_dropout": True,
        "hidden_dropout_prob": 0.1, "position_embedding_type": "rotary", "emb_layer_norm_before": False,
    }  # fmt: skip
    encoder = make_encoder("transformers", "tiny", **SMALL, library=library)
    assert isinstance(encoder, LibraryEncoder)
    tensors = transformers.AutoModel.from_config(encoder.config.of_library).state_dict()
    config = {**library, **THEIRS}
    with pytest.raises(InputError, match="weights w: esm makes more of token ids than of their vectors; take another"):
        encoder.from_published(Published(tensors, config, "weights w"))


def test_weights_of_another_shape_are_refused() -> None:
    encoder = make_encoder("transformers", "tiny", **SMALL)
    with pytest.raises(InputError, match="weights w: layers is 4 there, 2 here"):
        encoder.check_published({"model_type": "bert", **THEIRS, "num_hidden_layers": 4}, "weights w")


def test_poolers_are_those_that_a_classifier_of_the_library_reads() -> None:
    paths = {kind: pooler_path(library_config({"model_type": kind, **THEIRS})) for kind in ("bert", "roberta", "mpnet")}
    assert paths == {"bert": "pooler.dense", "roberta": None, "mpnet": None}


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"library": "bert"}, "encoder: library must be the keys of a config.json, not 'bert'; leave it out"),
        ({"library": {"model_type": "brt"}}, r"transformers .* knows no such model \(model_type brt: "),
        ({"layers": 0}, "encoder: layers 0 is no whole number from 1 on"),
        ({"dropout": 1.0}, "encoder: dropout 1.0 is no number from 0 to below 1"),
    ],
)
def test_faults(values: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        make_encoder("transformers", "tiny", **{**SMALL, **values})


def test_what_a_config_names_to_run_or_to_fetch_is_not_taken() -> None:
    named = {"auto_map": {"AutoModel": "evil.Evil"}, "attn_implementation": "someone/kernel"}
    config = library_config({"model_type": "bert", **named})
    assert config._attn_implementation is None and not hasattr(config, "auto_map")


def test_a_model_that_reads_no_text_is_refused_before_it_is_built() -> None:
    values = {"model_type": "vit"}
    with pytest.raises(InputError, match="vit is no encoder of text"):
        LibraryEncoder(LibraryConfig(1, 2, 8, 16, library=values))
