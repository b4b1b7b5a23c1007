"""running/training/model.py: heads of pre-training, and weights that come back as they were."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors import SafetensorError

from hashbench.common.errors import InputError
from hashbench.models.embeddings.base import Batch
from hashbench.models.embeddings.registry import find_model
from hashbench.models.objectives.heads import ClassificationHead
from hashbench.running.training.model import build_model, load_weights, make_head, save_tensors, save_weights


def test_mlm_needs_an_output_matrix():
    model = build_model(find_model("hashformer-md-proj").small(), "tiny", seed=0)
    message = "objective mlm: Projection has no output matrix .* use objective mlm_signatures"
    with pytest.raises(InputError, match=message):
        make_head(model, "mlm")


def test_the_mlm_head_has_a_score_for_each_row():
    model = build_model(find_model("bert-mlm").small(), "tiny", seed=0, vocabulary_rows=77)
    assert make_head(model, "mlm").bias.shape == (77,)


def test_weights_come_back_as_they_were_and_are_written_whole(tmp_path):
    spec = find_model("hashformer-lsh-pool").small()
    first, second = build_model(spec, "tiny", seed=0), build_model(spec, "tiny", seed=1)
    save_weights(first, tmp_path / "a" / "weights.safetensors")
    names = ["weights.safetensors", "weights.safetensors.files.json"]
    assert sorted(path.name for path in (tmp_path / "a").iterdir()) == names
    load_weights(second, tmp_path / "a" / "weights.safetensors")
    for name, tensor in first.state_dict().items():
        assert (second.state_dict()[name] == tensor).all(), name


def test_weights_of_another_model_are_refused(tmp_path):
    save_weights(build_model(find_model("hashformer-md-add").small(), "tiny", seed=0), tmp_path / "w.safetensors")
    with pytest.raises(RuntimeError, match="size mismatch for embedding.weight"):
        load_weights(build_model(find_model("hashformer-md-proj").small(), "tiny", seed=0), tmp_path / "w.safetensors")


def a_batch() -> Batch:
    positions = torch.tensor([[0, 5, 6, 7, 2], [0, 8, 2, 1, 1]])
    return Batch(codes=torch.tensor([[5], [9], [30], [12]]), positions=positions, mask=positions != 1)


def test_the_mlm_loss_is_the_same_from_all_states_and_from_labelled_ones():
    torch.manual_seed(0)
    model = build_model(find_model("bert-mlm").small(), "tiny", seed=0, vocabulary_rows=40).eval()
    head = make_head(model, "mlm").eval()
    batch = replace(a_batch(), labels=torch.tensor([[-100, 9, -100, 31, -100], [-100, 6, -100, -100, -100]]))
    gradients = []
    for logits in ("labels", "all"):
        model.zero_grad()
        head.batch_loss(model, batch, logits).backward()
        gradients.append({name: parameter.grad for name, parameter in model.named_parameters()})
    for name, gradient in gradients[0].items():
        torch.testing.assert_close(gradient, gradients[1][name], atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize("pooling", ["first", "max", "mean", "attention"])
def test_a_head_gets_the_states_that_its_pooling_reads(pooling):
    model = build_model(find_model("bert-mlm").small(), "tiny", seed=0, vocabulary_rows=40).eval()
    head = ClassificationHead(model.config.dim, 3, pooling=pooling).eval()
    batch = a_batch()
    states, mask = model.for_head(batch, pooling)
    assert states.shape[1] == (1 if pooling == "first" else 5)
    torch.testing.assert_close(head(states, mask), head(model(batch), batch.mask), atol=1e-6, rtol=1e-5)


def test_weights_that_cannot_be_written_name_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise SafetensorError("Error while serializing: I/O error: File too large (os error 27)")

    monkeypatch.setattr("hashbench.running.training.model.save_file", fail)
    path = tmp_path / "weights.safetensors"
    with pytest.raises(
        OSError, match=rf"^{path}: the weights cannot be written: .*too large.*; make room there, or set"
    ):
        save_tensors({"a": torch.zeros(2)}, path)
    assert list(tmp_path.iterdir()) == []
