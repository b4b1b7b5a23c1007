"""A model that starts from published weights: whole, or refused in one line."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from hashbench.common.errors import InputError
from hashbench.data.sources.sources import open_sources
from hashbench.data.sources.weights import locate_weights
from hashbench.data.tasks.catalogue import find_task, load_task
from hashbench.data.tasks.text_batches import FinetuningData
from hashbench.models.embeddings.registry import find_model
from hashbench.models.objectives.heads import ClassificationHead
from hashbench.models.text.base import make_tokenizer
from hashbench.running.experiment.recipes import FinetuneRecipe
from hashbench.running.training.finetuning import Job, finetune
from hashbench.running.training.machine import Machine
from hashbench.running.training.model import build_model, load_published
from tests.published_canine import SMALL, saved

SPEC = find_model("canine-c").with_args(
    encoder={"layers": 2, "heads": 4, "dim": 32, "feed_forward": 64, "block": 16, "max_positions": 512},
    embedding={"num_buckets": 512},
)


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return saved(tmp_path_factory.mktemp("weights"), **SMALL)


def data_of_mrpc(folder: Path, rows: int = 24) -> FinetuningData:
    """Pairs of the built-in mrpc as canine-c reads them."""
    from hashbench.models.coders.base import make_coder

    data = load_task(find_task("mrpc"), open_sources("builtin"))
    few = {name: split.take(range(rows)) for name, split in data.splits.items()}  # type: ignore[arg-type]
    return FinetuningData(
        replace(data, splits=few, fingerprint=f"{data.fingerprint}-{rows}"),
        make_tokenizer("characters"),
        make_coder("codepoints"),
        template=SPEC.text.template,
        batch_size=8,
        max_length=512,
        seed=0,
        folder=folder,
    )


def test_logits_on_a_tasks_batches_equal_transformers(weights: Path, tmp_path: Path) -> None:
    """From the saved folder and the texts on: tokenizer, batches, pairs, embedding, encoder, pooler, classifier."""
    from transformers import CanineForSequenceClassification

    theirs = CanineForSequenceClassification.from_pretrained(weights).eval()
    model = build_model(SPEC, "tiny", seed=1).eval()
    load_published(model, locate_weights(str(weights)).read())
    head = ClassificationHead(32, 2, dense_dropout=SPEC.head.dense_dropout).eval()
    assert head.dense is not None and model.published_dense is not None
    head.dense.load_state_dict(model.published_dense)
    head.out.load_state_dict(theirs.classifier.state_dict())
    data = data_of_mrpc(tmp_path)
    for batch in data.evaluation_loader("validation"):
        with torch.inference_mode():
            ours = head(*model.for_head(batch, head.pooling))
            table = torch.cat([model.embedding.special_points, batch.codes])[:, 0]
            given = {"attention_mask": batch.mask.long(), "token_type_ids": batch.segments}
            expected = theirs(table[batch.positions], **given).logits
        assert batch.positions.shape[1] % 4 == 0 and batch.segments.max() == 1
        assert (ours - expected).abs().max().item() < 1e-5


def test_a_finetuning_starts_from_the_published_pooler(weights: Path, tmp_path: Path) -> None:
    """With next to no learning the dense layer is still the published one, and the head's last layer is not."""
    model = build_model(SPEC, "tiny", seed=0)
    load_published(model, locate_weights(str(weights)).read())
    recipe = FinetuneRecipe(epochs=1, batch_size=8, learning_rate=1e-12, evaluations_per_epoch=1)
    job = Job(SPEC, recipe, 0)
    done = finetune(model, data_of_mrpc(tmp_path), job, machine=Machine(tmp_path, device="cpu"))
    assert done.head.dense is not None and model.published_dense is not None
    torch.testing.assert_close(done.head.dense.weight.detach(), model.published_dense["weight"], atol=1e-6, rtol=0)
    assert done.head.dense_dropout is False and done.steps == 3


def test_weights_of_another_shape_are_refused(weights: Path) -> None:
    found = locate_weights(str(weights)).read()
    bare = replace(found, config={})  # without a config only the tensors tell
    model = build_model(SPEC.with_args(encoder={"feed_forward": 48}), "tiny", seed=0)
    with pytest.raises(InputError) as error:
        load_published(model, bare)
    assert str(error.value) == (
        f"weights {weights}: CanineEncoder local.up.weight has shape (64, 32) there, (48, 32) here; take the encoder "
        "size and the embedding's arguments of the weights, or other weights"
    )
    with pytest.raises(InputError, match="intermediate_size is 64, but feed_forward of this encoder is 48"):
        load_published(model, found)


def test_a_model_that_knows_no_published_weights(weights: Path) -> None:
    model = build_model(find_model("hashformer-md-proj").small(), "tiny", seed=0)
    with pytest.raises(InputError, match="Projection reads no published weights; write weights: random"):
        load_published(model, locate_weights(str(weights)).read())


def test_published_tensors_of_half_precision_become_ours(weights: Path) -> None:
    found = locate_weights(str(weights)).read()
    half = replace(found, tensors={name: tensor.half() for name, tensor in found.tensors.items()})
    model = build_model(SPEC, "tiny", seed=0)
    load_published(model, half)
    assert {p.dtype for p in model.parameters()} == {torch.float32}
