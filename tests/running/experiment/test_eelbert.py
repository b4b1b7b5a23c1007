"""EELBERT's models in an experiment: sizes, vocabularies and coders that follow the encoder; wrong input."""

from __future__ import annotations

from pathlib import Path

import pytest

from hashbench.common.errors import InputError
from hashbench.running.experiment.checks import check_model
from hashbench.running.experiment.models import resolve_models
from hashbench.running.sweep.plan import plan

FAULTS = {
    "coder: {dim: 64}": "coder ngram-pooling: dim 64, but the encoder of 'm' has 128; leave dim out, it follows",
    "coder: {sed: 3}": "coder ngram-pooling: unknown argument 'sed'; did you mean 'seed'?",
    "coder: {partition: [1, 2, 3]}": "partition [1, 2, 3]; give 3 whole numbers above 0 whose sum is 128",
    "coder: md5-bits": "NgramHash does not take the codes of coder md5-bits, 16 numbers of uint8 a type; "
    "choose coder ngram-pooling, or other arguments",
    "encoder: {dim: 4, heads: 1}": "coder ngram-pooling: dim 4 is too small for orders 3; take at least 6",
    "tokenizer: {vocab: ./no.txt}": "vocab: no such file './no.txt'; it is relative to the experiment file",
    "tokenizer: {vocabulary: x}": "tokenizer wordpieces: unknown argument 'vocabulary'; did you mean 'vocab'?",
    "pretrain: {vocabulary: ./no.txt}": "vocab: no such file './no.txt'; it is relative to the experiment file",
}


@pytest.mark.parametrize(("change", "message"), FAULTS.items())
def test_a_model_that_cannot_work(experiment, change: str, message: str) -> None:
    loaded = experiment(f"models:\n  - {{name: m, like: eelbert-tiny, {change}}}")
    with pytest.raises(InputError) as error:
        check_model(loaded, resolve_models(loaded)["m"])
    assert message in str(error.value)
    assert str(error.value).startswith("a.yaml:9: ") and "\n" not in str(error.value)


def test_models_keep_their_sizes_and_rates_in_any_experiment(experiment) -> None:
    resolved = resolve_models(experiment("models: [eelbert]", "encoder=base"))
    widths = {name: model.spec.encoder.args["dim"] for name, model in resolved.items()}
    assert widths == {
        "bert-base": 768, "eelbert-base": 768, "bert-mini": 256, "eelbert-mini": 256,
        "bert-tiny": 128, "eelbert-tiny": 128, "uno-eelbert": 128,
    }  # fmt: skip
    assert resolved["uno-eelbert"].spec.code.args == {"dim": 128}
    assert resolved["uno-eelbert"].pretrain.learning_rate == 1e-3  # the suite's at tiny
    assert resolved["bert-base"].finetune.learning_rate == 3e-5
    assert all(model.pretrain.vocabulary_size == 500 for model in resolved.values())  # as the file says


def test_the_published_vocabulary_size_is_the_models(experiment) -> None:
    loaded = experiment("models: [eelbert-tiny, bert-mlm]", "pretrain={corpora: [builtin], steps: 10}")
    sizes = {name: model.pretrain.vocabulary_size for name, model in resolve_models(loaded).items()}
    assert sizes == {"eelbert-tiny": 30_522, "bert-mlm": 50_265}


def test_a_vocabulary_for_all_models_of_word_pieces(experiment) -> None:
    Path("vocab.txt").write_text("[UNK]\ncat\n##s\n")
    loaded = experiment("models: [bert-tiny, bert-mlm, {name: m, like: bert-tiny, tokenizer: words}]\n",
                        "pretrain.vocabulary=vocab.txt")  # fmt: skip
    arguments = {name: model.spec.text.args for name, model in resolve_models(loaded).items()}
    assert arguments == {"bert-tiny": {"vocab": str(Path("vocab.txt").resolve())}, "bert-mlm": {}, "m": {}}


def test_a_vocabulary_of_another_form_is_wrong_input(experiment) -> None:
    Path("tokenizer.json").write_text('{"model": {"type": "BPE", "vocab": {"[UNK]": 0}}}')
    loaded = experiment("models: [bert-tiny]", "pretrain.vocabulary=tokenizer.json")
    with pytest.raises(InputError, match="holds a BPE model; give word pieces"):
        check_model(loaded, resolve_models(loaded)["bert-tiny"])


def test_the_way_to_a_vocabulary_is_not_in_the_identity_but_its_content_is(experiment) -> None:
    def ids(*overrides: str) -> set[str]:
        planned = plan(experiment("models: [eelbert-tiny]", *overrides))
        return {run.id for run in planned.runs if run.kind == "pretrain"}

    for name in ("one.txt", "two.txt"):
        Path(name).write_text("[UNK]\ncat\n##s\n")
    Path("three.txt").write_text("[UNK]\ncat\n")
    names = ("one.txt", "two.txt", "three.txt", "null")
    one, two, three, trained = (ids(f"pretrain.vocabulary={name}") for name in names)
    assert one == two and len({*one, *three, *trained}) == 3
    assert trained == ids()


def test_a_hash_that_changes_changes_the_id(experiment) -> None:
    """Seed and scale are in the identity; what is pinned anyway is not asked for twice."""
    found = []
    for change in ("", ", coder: {seed: 1}", ", coder: {scale: 0.1}", ", coder: {dim: 128}"):
        planned = plan(experiment(f"models: [{{name: m, like: eelbert-tiny{change}}}]"))
        found.append(next(run.id for run in planned.runs if run.kind == "pretrain"))
    assert len({*found[:3]}) == 3 and found[3] == found[0]
