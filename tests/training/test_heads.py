"""The heads of pre-training."""

import pytest

from hashbench.embeddings.registry import find_model
from hashbench.errors import InputError
from hashbench.training.heads import make_head
from hashbench.training.model import build_model, load_weights, save_weights


def test_mlm_needs_an_output_matrix():
    model = build_model(find_model("hashformer-md-proj").small(), "tiny", seed=0)
    message = "objective mlm: Projection has no output matrix .* use objective shuffle_random"
    with pytest.raises(InputError, match=message):
        make_head(model, "mlm")


def test_the_mlm_head_has_a_score_for_each_row():
    model = build_model(find_model("bert-mlm").small(), "tiny", seed=0, vocabulary_rows=77)
    assert make_head(model, "mlm").bias.shape == (77,)


def test_weights_come_back_as_they_were_and_are_written_whole(tmp_path):
    spec = find_model("hashformer-lsh-pool").small()
    first, second = build_model(spec, "tiny", seed=0), build_model(spec, "tiny", seed=1)
    save_weights(first, tmp_path / "a" / "weights.safetensors")
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["weights.safetensors"]
    load_weights(second, tmp_path / "a" / "weights.safetensors")
    for name, tensor in first.state_dict().items():
        assert (second.state_dict()[name] == tensor).all(), name


def test_weights_of_another_model_are_refused(tmp_path):
    save_weights(build_model(find_model("hashformer-md-add").small(), "tiny", seed=0), tmp_path / "w.safetensors")
    with pytest.raises(RuntimeError, match="size mismatch for embedding.weight"):
        load_weights(build_model(find_model("hashformer-md-proj").small(), "tiny", seed=0), tmp_path / "w.safetensors")
