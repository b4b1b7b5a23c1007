"""Published weights and other encoders in an experiment file: identity, places of faults."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from hashbench.common.errors import InputError
from hashbench.data.sources.weights import RANDOM
from hashbench.models.embeddings.registry import find_model
from hashbench.running.experiment.models import resolve_models
from hashbench.running.sweep.plan import Plan, plan
from tests.published_canine import TINY, saved

pytestmark = pytest.mark.e2e  # the library that is compared with takes a second to import


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Weights of the shape of canine-c at encoder tiny, as transformers saves them."""
    return saved(tmp_path_factory.mktemp("published") / "canine-tiny", **TINY)


def finetunings(planned: Plan) -> list[str]:
    return [run.id for run in planned.runs if run.kind == "finetune"]


def test_the_content_is_the_identity_and_a_path_is_not(experiment, weights: Path, tmp_path: Path) -> None:
    shutil.copytree(weights, tmp_path / "copy")
    one = plan(experiment(f"models: [{{name: canine-c, weights: {weights}}}]"))
    other = plan(experiment("models: [{name: canine-c, weights: copy}]"))  # relative to the file
    assert finetunings(one) == finetunings(other)
    scratch = plan(experiment("models: [canine-c-scratch]"))
    assert not set(finetunings(one)) & set(finetunings(scratch))
    assert [run.kind for run in one.runs if run.kind not in ("floor", "finetune")] == []


def test_what_a_table_needs_to_know_is_in_the_spec(experiment, weights: Path) -> None:
    own = f"{{name: canine-c, weights: {weights}}}"
    entries = f"models: [{own}, canine-c-scratch, {{name: p, like: hashformer-md-proj}}]"
    specs = {run.model: run.spec for run in plan(experiment(entries)).runs if run.kind == "finetune"}
    assert len(specs["canine-c"]["model"]["weights"]["sha256"]) == 64
    assert specs["canine-c"]["settings"] == {"weights": "canine-tiny"}
    assert specs["canine-c-scratch"]["model"]["weights"] == RANDOM and "settings" not in specs["canine-c-scratch"]
    assert specs["p"]["model"]["weights"] is None and "settings" not in specs["p"]
    assert str(weights.parent) not in json.dumps(specs)


def test_the_hash_embedding_goes_before_another_encoder(experiment) -> None:
    bert = "encoder: {kind: bert, type_rows: 2}, finetune: {max_length: 512}"
    loaded = experiment(f"models: [{{name: hashes, like: canine-c-scratch, {bert}}}]")
    spec = resolve_models(loaded)["hashes"].spec
    assert (spec.encoder.kind, spec.encoder.args, spec.origin.counted) == ("bert", {"type_rows": 2}, None)
    assert spec.embedding.family is find_model("canine-c").embedding.family
    assert len(finetunings(plan(loaded))) == 4


def test_it_can_be_pre_trained_there(experiment) -> None:
    bert = "encoder: {kind: bert, type_rows: 2}, finetune: {max_length: 512}, objective: shuffle_random"
    planned = plan(experiment(f"models: [{{name: hashes, like: canine-c-scratch, {bert}}}]"))
    assert [run.model for run in planned.runs if run.kind == "pretrain"] == ["hashes"]


FAULTS = {
    "{name: canine-c, weights: ./none}": "a.yaml:9: model 'canine-c': weights ./none: no such folder, nor can it be a",
    "{name: canine-c, weights: empty}": "/empty: no config.json in it; name a folder with config.json and",
    "{name: canine-c, weights: cut}": "/cut: model.safetensors holds no weights (",
    "{name: canine-c, weights: random}": "a.yaml:9: 'canine-c' with another weights is another model; write name: "
    "my-canine-c, like: canine-c",
    "{name: c, like: canine-c, weights: WEIGHTS, encoder: {layers: 3}}": "num_hidden_layers is 2, but layers of this "
    "encoder is 3; take the encoder size of the weights, or other weights",
    "{name: c, like: canine-c, weights: WEIGHTS, embedding: {num_buckets: 99}}": "num_hash_buckets is 16384, but 99 he",
    "{name: c, like: bert-mlm, weights: WEIGHTS}": "or objective mlm: a model starts from one of them",
    "{name: c, like: bert-mlm, objective: none, weights: WEIGHTS}": "a.yaml:9: model 'c': bpe WEIGHTS: neither "
    "tokenizer.json nor vocab.json with merges.txt is in it",
    "{name: c, like: bert-base-uncased, weights: ./none}": "a.yaml:9: model 'c': weights ./none: no such folder, nor",
    "{name: c, like: roberta-base, weights: empty}": "/empty: no config.json in it; name a folder with config.json",
    "{name: c, like: bert-base-uncased, weights: WEIGHTS}": "vocab WEIGHTS: neither vocab.txt nor tokenizer.json is in",
    "{name: c, like: canine-c-scratch, tokenizer: words}": "a.yaml:9: model 'c': coder codepoints can tell apart the "
    "types of tokenizer characters alone, not of words; write tokenizer: characters, or another coder",
    "{name: c, like: canine-c-scratch, objective: shuffle_random}": "a.yaml:9: model 'c': objective shuffle_random "
    "needs a state for each token, and encoder canine has fewer; write objective: none",
    "{name: c, like: canine-c-scratch, encoder: {kind: bert}}": "a.yaml:9: model 'c': encoder: type_rows 1, but pairs "
    "of this model have two segments; write encoder: {kind: bert, type_rows: 2}",
    "{name: c, like: canine-c-scratch, encoder: {kind: brt}}": "encoder: unknown name 'brt'; did you mean 'bert'",
    "{name: c, like: canine-c-scratch, encoder: {downsamplin: 2}}": "unknown value 'downsamplin'; did you mean 'downsa",
    "{name: c, like: canine-c-scratch, embedding: {num_hashes: 3}}": "num_hashes 3 and dim 128; take 1 to 16 hashes",
}


@pytest.mark.parametrize(("entry", "message"), FAULTS.items())
def test_faults_name_file_and_line(experiment, weights: Path, entry: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    if "cut" in entry:
        file = shutil.copytree(weights, tmp_path / "cut") / "model.safetensors"
        file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(InputError) as error:
        plan(experiment(f"models:\n  - {entry.replace('WEIGHTS', str(weights))}"))
    assert message.replace("WEIGHTS", str(weights)) in str(error.value)
    assert str(error.value).startswith("a.yaml:9: ") and "\n" not in str(error.value)


def test_without_a_network_the_model_says_what_to_do(experiment, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.HfApi.model_info", refused)
    with pytest.raises(InputError) as error:
        plan(experiment("models:\n  - canine-c"))
    assert str(error.value) == (
        "a.yaml:9: model 'canine-c': weights google/canine-c: no folder of this name, and the hub at "
        "https://huggingface.co cannot be reached (no network); name a folder with config.json and model.safetensors "
        "or pytorch_model.bin (weights: FOLDER), or take a model that starts from random weights (canine-c-scratch)"
    )


def refused(*_: object, **__: object) -> None:
    raise ConnectionError("no network")
