"""running/experiment/checks.py: what cannot be built or trained is found before the first run."""

from __future__ import annotations

import pytest

from hashbench.common.errors import InputError
from hashbench.running.experiment.checks import check_lengths, check_model, check_warmup
from hashbench.running.experiment.models import resolve_models

PROJ = "like: hashformer-md-proj"
FAULTS = {
    "coder: {md_keyy: x}": "model 'm': coder md5-bits: unknown argument 'md_keyy'; did you mean 'md_key'?",
    "coder: md6-bits": "unknown name 'md6-bits'; did you mean 'md5-bits'",
    "coder: md5-rows": "Projection does not work with coder md5-rows, which gives 1 values of int64 a type",
    "tokenizer: wordss": "model 'm': tokenizer: unknown kind 'wordss'; did you mean 'words' or 'wordpieces'?",
    "tokenizer: {lowercas: false}": "tokenizer words: unknown argument 'lowercas'; did you mean 'lowercase'?",
    "objective: mlm": "objective mlm needs an embedding with an output matrix, which Projection has not; "
    "write objective: shuffle_random",
    "objective: {shufle_prob: 0.1}": "unknown argument 'shufle_prob' of shuffle_random; did you mean 'shuffle_prob'?",
    "objective: {shuffle_prob: 2}": "objective: shuffle_prob must be a number from 0 to 1, not 2; correct the value",
    "objective: {released: 1}": "objective: released must be true or false, not 1; correct the value",
    "encoder: {layerz: 1}": "unknown value 'layerz'; did you mean 'layers'",
    "encoder: {layers: two}": "encoder: layers must be a number, not 'two'; correct the value",
    "encoder: {heads: 3}": "encoder: dim 128 is no multiple of heads 3",
    "embedding: {proj_epz: 1}": "embedding has no argument 'proj_epz'; did you mean 'proj_eps'",
}


@pytest.mark.parametrize(("change", "message"), FAULTS.items())
def test_a_model_that_cannot_work(experiment, change: str, message: str) -> None:
    loaded = experiment(f"models:\n  - {{name: m, {PROJ}, {change}}}")
    with pytest.raises(InputError) as error:
        check_model(loaded, resolve_models(loaded)["m"])
    assert message in str(error.value)
    assert str(error.value).startswith("a.yaml:9: model 'm': ") and "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("like", "values", "message"),
    [
        ("low-rank-bpe", "rank: x", "the embedding cannot be made with num_rows 50265, rank 'x': "),
        ("low-rank-bpe", "rank: 2.5", "the embedding cannot be made with num_rows 50265, rank 2.5: "),
        ("low-rank-bpe", "rank: 0", "rank 0 a table or layer of the embedding is empty; every size must be at least 1"),
        ("dhe", "hidden: -4", "the embedding cannot be made with hidden -4, layers 2: "),
    ],
)
def test_sizes_that_no_embedding_has(experiment, like: str, values: str, message: str) -> None:
    loaded = experiment(f"models:\n  - {{name: m, like: {like}, embedding: {{{values}}}}}")
    with pytest.raises(InputError) as error:
        check_model(loaded, resolve_models(loaded)["m"])
    assert message in str(error.value) and "\n" not in str(error.value)


@pytest.mark.parametrize("change", ["coder: {md_key: x}", "objective: {released: true}", "encoder: {layers: 1}"])
def test_a_model_that_can(experiment, change: str) -> None:
    loaded = experiment(f"models: [{{name: m, {PROJ}, {change}}}]")
    check_model(loaded, resolve_models(loaded)["m"])


def test_mlm_works_where_there_is_a_table(experiment) -> None:
    loaded = experiment("models: [{name: m, like: hashformer-md-emb-1k, objective: mlm}]")
    check_model(loaded, resolve_models(loaded)["m"])


def test_more_bits_reach_the_embedding(experiment) -> None:
    loaded = experiment("models: [{name: m, like: hashformer-lsh-proj, coder: {bits: 256}}]")
    check_model(loaded, resolve_models(loaded)["m"])


def test_sequences_longer_than_the_positions(experiment) -> None:
    """514 positions of which the first two are never used leave 512."""
    loaded = experiment("models: [bert-mlm]\nfinetune:\n  max_length: 513\n")
    with pytest.raises(
        InputError, match=r"^a\.yaml:10: finetune\.max_length: 513 tokens, but .* has 512 positions; take at most 512"
    ):
        check_lengths(loaded, resolve_models(loaded)["bert-mlm"])
    longer = experiment(
        "models: [{name: m, like: bert-mlm, encoder: {max_positions: 515}}]\nfinetune: {max_length: 513}\n"
    )
    check_lengths(longer, resolve_models(longer)["m"])


def test_a_fixed_length_that_groups_of_neighbours_do_not_divide(experiment) -> None:
    lines = "models: [proformer-k4]\nfinetune:\n  pad_to_max: true\n  max_length: 30\n"
    loaded = experiment(lines)
    message = (
        r"^a\.yaml:11: finetune\.max_length: the encoder of 'proformer-k4' joins 4 neighbours, which do not divide "
        r"30 tokens; take 32, or pad_to_max: false$"
    )
    with pytest.raises(InputError, match=message):
        check_lengths(loaded, resolve_models(loaded)["proformer-k4"])
    for fits in (lines.replace("30", "32"), lines.replace("true", "false"), lines.replace("-k4", "")):
        loaded = experiment(fits)
        check_lengths(loaded, next(iter(resolve_models(loaded).values())))


PROFORMER_FAULTS = {
    "coder: {bits: 0}": "coder projection: bits 0 is no whole number from 1 to",
    "coder: {bits: -420}": "coder projection: bits -420 is no whole number",
    "embedding: {context: 2}": "context 2 is neither 0 nor 1",
    "coder: {places: 1}": "context 1 needs the sums of three places",
    "encoder: {group: 0}": "encoder: group 0 is no whole number from 1 on",
    "encoder: {max_positions: 510, group: 4}": "max_positions 510 is no multiple of group 4; choose one that is",
    "objective: mlm": "objective mlm needs an embedding with an output matrix, which Proformer has not",
}


@pytest.mark.parametrize(("change", "message"), PROFORMER_FAULTS.items())
def test_a_proformer_that_cannot_work(experiment, change: str, message: str) -> None:
    loaded = experiment(f"models:\n  - {{name: m, like: proformer, {change}}}")
    with pytest.raises(InputError) as error:
        check_model(loaded, resolve_models(loaded)["m"])
    assert message in str(error.value) and str(error.value).startswith("a.yaml:9: model 'm': ")


@pytest.mark.parametrize("change", ["coder: {bits: 64, seed: 3}", "embedding: {context: 0}", "encoder: {group: 3}"])
def test_a_proformer_that_can(experiment, change: str) -> None:
    loaded = experiment(f"models: [{{name: m, like: proformer, {change}}}]")
    check_model(loaded, resolve_models(loaded)["m"])


def test_a_timed_sequence_longer_than_the_positions(experiment) -> None:
    short = "models:\n  - {name: m, like: bert-mlm, encoder: {max_positions: 258}}\n"
    timed = short + "finetune: {max_length: 128}\nefficiency:\n  pretrain_length: 257\n"
    loaded = experiment(timed)
    with pytest.raises(InputError, match=r"^a\.yaml:12: efficiency\.pretrain_length: 257 tokens, .* take at most 256"):
        check_lengths(loaded, resolve_models(loaded)["m"])
    for fits in (timed.replace("257", "256"), short, short.replace("258", "514") + "efficiency: true\n"):
        loaded = experiment(fits)
        check_lengths(loaded, resolve_models(loaded)["m"])
    by_default = experiment(short + "efficiency: true\n")  # 512 tokens
    with pytest.raises(InputError, match=r"^a\.yaml:10: efficiency\.pretrain_length: 512 tokens"):
        check_lengths(by_default, resolve_models(by_default)["m"])


@pytest.mark.parametrize("block", ["pretrain", "finetune"])
def test_a_warm_up_longer_than_its_training_is_one_line(experiment, block: str) -> None:
    for steps in (20, 21):
        loaded = experiment(f"models:\n- {{name: bert-mlm, {block}: {{steps: 20, warmup_steps: {steps}}}}}")
        model = resolve_models(loaded)["bert-mlm"]
        if steps == 20:
            check_warmup(loaded, model)
            continue
        with pytest.raises(InputError, match=rf"{block}.warmup_steps: 21 steps of warm-up .* 20 \('bert-mlm'\); take"):
            check_warmup(loaded, model)


@pytest.mark.parametrize(
    ("parent", "method", "entry", "message"),
    [
        ("embeddings.hashformer:Projection", "embed_types(self, codes):\n        raise KeyError('oops')",
         "use: own.py:Raises, objective: none", "Raises does not work with coder md5-bits, which gives 16 values of"),
        ("coders.md5:Md5Bits", "encode_utf8(self, *_):\n        raise KeyError('oops')",
         "like: hashformer-md-proj, coder: own.py:Raises", "cannot encode: "),
    ],
)  # fmt: skip
def test_whatever_an_own_class_raises_is_one_line(experiment, tmp_path, parent, method, entry, message) -> None:
    module, name = parent.split(":")
    source = f"from hashbench.{module} import {name}\n\nclass Raises({name}):\n    def {method}\n"
    (tmp_path / "own.py").write_text(source)
    loaded = experiment(f"models: [{{name: m, {entry}}}]")
    with pytest.raises(InputError) as error:
        check_model(loaded, resolve_models(loaded)["m"])
    assert message in str(error.value) and "KeyError: 'oops'" in str(error.value) and "\n" not in str(error.value)
