"""running/experiment/models.py: names, groups, variations and own embeddings."""

from __future__ import annotations

from pathlib import Path

import pytest

from hashbench.common.errors import InputError
from hashbench.models.embeddings.registry import find_model, groups
from hashbench.running.experiment.completing import FINETUNE_LEARNING_RATE
from hashbench.running.experiment.identity import run_id
from hashbench.running.experiment.models import model_of, resolve_baseline, resolve_models
from hashbench.running.experiment.resolved import model_block

OWN = """
import torch
from torch import nn
from hashbench.models.embeddings.base import Embedding

class Mine(Embedding):
    def __init__(self, dim, bits=128):
        super().__init__()
        self.map = nn.Linear(bits, dim)
        self.special = nn.Parameter(torch.zeros(5, dim))
    def embed_types(self, codes):
        bits = codes[..., None].bitwise_right_shift(torch.arange(7, -1, -1)) & 1
        return self.map(bits.flatten(1).float())
    def special_rows(self):
        return self.special
    def embedding_parameters(self):
        return self.map.weight.numel()
"""


def test_names_and_groups_come_in_the_order_of_the_file(experiment) -> None:
    resolved = resolve_models(experiment("models: [bert-sr, hashformers, bert-mlm]"))
    assert list(resolved) == ["bert-sr", *groups()["hashformers"], "bert-mlm"]
    assert len(groups()["hashformers"]) == 10


def test_a_group_may_repeat_a_model(experiment) -> None:
    resolved = resolve_models(experiment("models: [hashformer-lsh-proj, hashformers]"))
    assert list(resolved)[0] == "hashformer-lsh-proj" and len(resolved) == 10


def test_a_variation_keeps_what_it_does_not_change(experiment) -> None:
    loaded = experiment("models: [{name: proj-256, like: hashformer-lsh-proj, coder: {bits: 256}}]")
    spec, origin = resolve_models(loaded)["proj-256"].spec, find_model("hashformer-lsh-proj")
    assert (spec.code.coder, spec.code.args) == ("lsh-bits", {**origin.code.args, "bits": 256})
    assert (spec.embedding.family, spec.training.objective, spec.text.tokenizer) == (
        origin.embedding.family, origin.training.objective, origin.text.tokenizer
    )  # fmt: skip
    assert spec.origin.paper == ""  # it reproduces no row


def test_another_kind_of_coder_starts_anew(experiment) -> None:
    loaded = experiment("models: [{name: md, like: hashformer-lsh-emb-1k, coder: md5-rows}]")
    assert resolve_models(loaded)["md"].spec.code.args == {}


def test_a_variation_pools_as_it_says(experiment) -> None:
    lines = "models: [{name: mean-k2, like: hash-emb-k2, pooling: mean}, {name: as-it-is, like: hash-emb-k2}]"
    resolved = resolve_models(experiment(lines))
    assert resolved["mean-k2"].spec.head.pooling == "mean" and resolved["as-it-is"].spec.head.pooling == "first"
    assert [model_block(resolved[name], "tiny").get("pooling") for name in resolved] == ["mean", "first"]


def test_recipes_own_entry_wins_over_the_block_and_the_block_over_the_default(experiment) -> None:
    resolved = resolve_models(
        experiment(
            "models: [bert-mlm, {name: m, like: bert-mlm, pretrain: {steps: 3}, "
            "finetune: {learning_rate: [1.0e-4, 0.001]}}]"
        )
    )
    assert [m.pretrain.steps for m in resolved.values()] == [10, 3]
    assert [m.finetune.learning_rate for m in resolved.values()] == [5e-4, (1e-4, 1e-3)]
    assert resolved["m"].pretrain.batch_size == 4


def test_a_null_learning_rate_of_a_task_is_that_of_the_encoders_size(experiment) -> None:
    lines = "models: [hashformer-md-pool]\nfinetune: {learning_rate: 1e-2, per_task: {cola: {learning_rate: null}}}"
    model = resolve_models(experiment(lines))["hashformer-md-pool"]
    assert model.finetune.learning_rate == 1e-2
    assert model.recipe("cola").learning_rate == FINETUNE_LEARNING_RATE["tiny"]


def test_objective_none_means_no_pretraining(experiment) -> None:
    resolved = resolve_models(experiment("models: [{name: raw, like: hashformer-md-proj, objective: none}]"))
    assert resolved["raw"].spec.training.objective is None


def test_an_own_embedding(experiment, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(OWN)
    loaded = experiment("models: [{name: mine, use: mine.py:Mine, objective: shuffle_random}]")
    spec = resolve_models(loaded)["mine"].spec
    parts = (spec.name, spec.embedding.family.__name__, spec.code.coder, spec.text.tokenizer)
    assert parts == ("mine", "Mine", "md5-bits", "words")


def test_an_initial_spread_is_in_the_identity_only_where_it_is_written(experiment) -> None:
    def ids(lines: str) -> dict[str, str]:
        models = resolve_models(experiment(lines)).items()
        return {label: run_id({"model": model_block(model, "tiny")}) for label, model in models}

    plain = ids("models: [bert-mlm, hashformer-md-proj]")
    matched = ids("initial_spread: matched\nmodels: [{name: bert-mlm, initial_spread: 0.05}, hashformer-md-proj]")
    some = ids("models: [bert-mlm, {name: hashformer-md-proj, initial_spread: matched}]")
    assert some["bert-mlm"] == plain["bert-mlm"] != matched["bert-mlm"]
    assert some["hashformer-md-proj"] == matched["hashformer-md-proj"] != plain["hashformer-md-proj"]
    # the ids of models stored before the key was known
    loaded = resolve_models(experiment("models: [bert-mlm]"))["bert-mlm"]
    block = model_block(loaded, "tiny")
    assert (
        run_id({"model": {key: value for key, value in block.items() if key != "initial_spread"}}) == plain["bert-mlm"]
    )


def test_published_weights_keep_their_spread(experiment) -> None:
    loaded = experiment("initial_spread: matched\nmodels: [canine-c, canine-c-scratch]")
    resolved = resolve_models(loaded)
    assert resolved["canine-c"].spec.initial_spread is None
    assert resolved["canine-c-scratch"].spec.initial_spread == "matched"
    with pytest.raises(InputError, match=r"'canine-c' begins with published weights, which keep their spread"):
        resolve_models(experiment("models: [{name: canine-c, initial_spread: 0.02}]"))


@pytest.mark.parametrize("value", ["0", "-0.1", ".inf", "true", "equal"])
def test_an_initial_spread_is_a_positive_number_or_matched(experiment, value: str) -> None:
    with pytest.raises(InputError, match="initial_spread"):
        experiment(f"initial_spread: {value}\nmodels: [bert-mlm]")


def test_the_baseline_need_not_be_among_the_models(experiment) -> None:
    loaded = experiment("models: [hashformer-md-proj]")
    assert resolve_baseline(loaded, resolve_models(loaded)).label == "bert-mlm"
    assert model_of(loaded, "bert-mlm").spec == find_model("bert-mlm")


def test_a_baseline_that_an_override_left_out_has_its_budget(experiment) -> None:
    lines = """
models: [{name: k2, like: hash-emb-k2-sum, objective: none}, {name: k1, like: hash-emb-k1-sum, objective: none}]
baseline: k2-0.3M
budget: {embedding_parameters: [200_000, 300_000]}
"""
    whole, cut = experiment(lines), experiment(lines, "models=[k1]")
    models = resolve_models(cut)
    assert "k2-0.3M" not in models
    assert resolve_baseline(cut, models).spec == resolve_models(whole)["k2-0.3M"].spec


FAULTS = {
    "models: [hashformer-md-prj]": "a.yaml:8: unknown model 'hashformer-md-prj'; did you mean 'hashformer-md-proj'",
    "models: [{name: m, like: bert-mlm}, {name: n, like: m}]": "a.yaml:8: like: 'm' is an entry of this file",
    "models: [{name: m, like: bert-mlmm}]": "a.yaml:8: unknown model 'bert-mlmm'; did you mean 'bert-mlm'",
    "models: [bag-of-words]": "a.yaml:8: 'bag-of-words' is a trivial baseline, not a model; leave it out",
    "models: [bert-mlm]\nbaseline: majority": "a.yaml:9: 'majority' is a trivial baseline, not a model",
    "models: [bert-mlm]\nbaseline: brt-mlm": "a.yaml:9: unknown model 'brt-mlm'; did you mean 'bert-mlm'",
    "models: [{name: bert-mlm, encoder: {layers: 1}}]": "a.yaml:8: 'bert-mlm' with another encoder is another model; "
    "write name: my-bert-mlm, like: bert-mlm",
    "models: [{name: bert-sr, like: bert-mlm}]": "a.yaml:8: 'bert-sr' is a model of the suite; "
    "give the variation another name",
    "models: [bert-mlm, bert-mlm]": "a.yaml:8: 'bert-mlm' stands twice in models; keep one of them",
    "models: [{name: m, like: bert-mlm, pretrain: {stepz: 3}}]": "a.yaml:8: unknown key "
    "'pretrain.stepz' of entry 1 of models; did you mean 'steps'? (list: hashbench schema)",
    "models:\n  - name: m\n    like: bert-mlm\n    finetune:\n      epochs: 0": "a.yaml:12: "
    "finetune.epochs of entry 1 of models: must be greater than 0 or a list, not 0; correct the value",
    "models: [{name: m, like: bert-mlm, tokenizer: {bpe: none.json}}]": "a.yaml:8: bpe: no such file 'none.json'; "
    "it is relative to the experiment file, or a hub name",
    "models: [{name: m, like: bert-mlm, objective: shufle_random}]": "a.yaml:8: unknown objective 'shufle_random'; "
    "did you mean 'shuffle_random'? objectives: mlm, mlm_signatures, shuffle_random, entities, none",
    "models: [{name: k2, like: hash-emb-k2-sum}]\nbaseline: k2\nbudget: {embedding_parameters: [200_000, 300_000]}": (
        "a.yaml:9: 'k2' stands at several budgets; name one: k2-0.2M, k2-0.3M"
    ),
    "models: [{name: m, like: low-rank}]": "a.yaml:8: 'low-rank' is a group; name one of its models: low-rank-bpe",
    "models: [{name: m, use: none.py:Mine}]": "no such file; name a Python file, from the folder of",
}


@pytest.mark.parametrize(("lines", "message"), FAULTS.items())
def test_faults_name_file_and_line(experiment, lines: str, message: str) -> None:
    with pytest.raises(InputError) as error:
        loaded = experiment(lines)
        resolve_baseline(loaded, resolve_models(loaded))
    assert message in str(error.value)
    assert str(error.value).startswith("a.yaml:") and "\n" not in str(error.value)
