"""running/experiment/checks.py: what cannot be built or trained is found before the first run."""

from __future__ import annotations

import re
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from hashbench.common.errors import InputError
from hashbench.data.tasks.catalogue import find_task
from hashbench.data.tasks.kinds.tagging import KIND as TAGGING
from hashbench.models.embeddings.registry import find_model
from hashbench.running.experiment import checks, model_parts
from hashbench.running.experiment.checks import (
    check_averages,
    check_devices,
    check_lengths,
    check_model,
    check_pairing,
    word_shapes,
)
from hashbench.running.experiment.models import resolve_models

PROJ = "like: hashformer-md-proj"
FAULTS = {
    "coder: {md_keyy: x}": "model 'm': coder md5-bits: unknown argument 'md_keyy'; did you mean 'md_key'?",
    "coder: md6-bits": "unknown name 'md6-bits'; did you mean 'md5-bits'",
    "coder: md5-rows": "Projection does not take the codes of coder md5-rows, 1 number of int64 a type; choose coder "
    "lsh-bits or md5-bits, or other arguments",
    "tokenizer: wordss": "model 'm': tokenizer: unknown kind 'wordss'; did you mean 'words' or 'wordpieces'?",
    "tokenizer: {lowercas: false}": "tokenizer words: unknown argument 'lowercas'; did you mean 'lowercase'?",
    "objective: mlm": "objective mlm needs an embedding with an output matrix, which Projection has not; "
    "write objective: mlm_signatures",
    "objective: {shufle_prob: 0.1}": "unknown argument 'shufle_prob' of shuffle_random; did you mean 'shuffle_prob'?",
    "objective: {shuffle_prob: 2}": "objective: shuffle_prob must be a number from 0 to 1, not 2; correct the value",
    "objective: {released: 1}": "objective: released must be true or false, not 1; correct the value",
    "encoder: {layerz: 1}": "unknown value 'layerz'; did you mean 'layers'",
    "encoder: {layerz: two}": "unknown value 'layerz'; did you mean 'layers'",
    "encoder: {kindd: average}": "encoder: unknown value 'kindd'; did you mean 'kind'?",
    "coder: {kindd: md5-bits}": "unknown argument 'kindd'; did you mean 'kind'?",
    "tokenizer: {knd: bpe}": "tokenizer words: unknown argument 'knd'; did you mean 'kind'?",
    "encoder: {layers: two}": "encoder: layers must be a number, not 'two'; correct the value",
    "encoder: {heads: 3}": "encoder: dim 128 is no multiple of heads 3",
    "encoder: averag": "unknown name 'averag'; did you mean 'average'?",
    "encoder: {kind: average, heads: 1}": "encoder: unknown value 'heads'; values: dim, dropout",
    "encoder: average, objective: mlm": "encoder average is never pre-trained; leave objective out",
    "encoder: average, objective: {kind: shuffle_random}": "encoder average is never pre-trained; leave objective out",
    "encoder: {kind: average}, pooling: max": "encoder average makes one vector a text; leave pooling out",
    "encoder: average, objective: none, finetune: {precision: bf16-residual}": "precision bf16-residual keeps in bf16 "
    "what layers add to, and encoder average has nothing of the kind; write bf16",
    "encoder: qrnn, finetune: {per_task: {sst2: {precision: bf16-residual}}}": "encoder qrnn has nothing of the kind",
    "encoder: qrnn, pretrain: {precision: bf16-residual}": "encoder qrnn has nothing of the kind",
    "encoder: {kind: qrnn, state: 20}": "objective shuffle_random needs states as wide as the vectors that enter, dim "
    "128, and those of encoder qrnn have 40, two directions of state 20; write encoder: {kind: qrnn, state: 64}, or "
    "objective: none",
    "encoder: {kind: qrnn, dim: 33}": "encoder: dim 33 has no half for the two directions; give state, or an even dim",
    "encoder: {kind: qrnn, kernel: 0}": "encoder: kernel 0 is no whole number from 1 on; correct it",
    "embedding: {proj_epz: 1}": "embedding has no argument 'proj_epz'; did you mean 'proj_eps'",
}


@pytest.mark.parametrize(("change", "message"), FAULTS.items())
def test_a_model_that_cannot_work(experiment, change: str, message: str) -> None:
    loaded = experiment(f"models:\n  - {{name: m, {PROJ}, {change}}}")
    with pytest.raises(InputError) as error:
        check_model(loaded, resolve_models(loaded)["m"])
    assert message in str(error.value)
    assert str(error.value).startswith("a.yaml:9: model 'm': ") and "\n" not in str(error.value)


def test_averaged_vectors_stand_beside_an_encoder_and_tag_no_words(experiment) -> None:
    loaded = experiment("models:\n  - {name: m, like: bert-mlm, encoder: average, objective: none}\n  - bert-mlm")
    averaged, whole = resolve_models(loaded).values()
    check_model(loaded, averaged)
    assert averaged.spec.training.objective is None and averaged.spec.encoder.kind == "average"
    assert whole.spec == find_model("bert-mlm") and averaged.spec.embedding == whole.spec.embedding
    check_pairing(loaded, averaged, [find_task("sst2"), find_task("stsb"), find_task("blimp")])
    tagged = replace(find_task("sst2"), name="ner", kind=TAGGING)
    check_pairing(loaded, whole, [tagged])
    with pytest.raises(InputError) as error:
        check_pairing(loaded, averaged, [tagged])
    assert str(error.value) == (
        "a.yaml:9: model 'm': encoder average makes one vector a text, and task 'ner' is a task of tags of words, "
        "whose head reads one a token; put them in experiments of their own"
    )


def test_noise_in_training_texts_is_for_tasks_whose_words_have_no_tags(experiment) -> None:
    loaded = experiment("models: [hashformer-md-proj]\nfinetune:\n  noise: {kind: distortion, rate: 0.25}")
    (model,) = resolve_models(loaded).values()
    check_pairing(loaded, model, [find_task("sst2"), find_task("stsb"), find_task("blimp")])
    with pytest.raises(InputError) as error:
        check_pairing(loaded, model, [replace(find_task("sst2"), name="ner", kind=TAGGING)])
    assert str(error.value) == (
        "a.yaml:10: finetune.noise: task 'ner' is a task of tags of words, whose training texts take no noise; "
        "leave it out there (per_task)"
    )
    spared = experiment(
        "models: [hashformer-md-proj]\nfinetune:\n  noise: {kind: distortion, rate: 0.25}\n"
        "  per_task: {ner: {noise: null}}"
    )
    (model,) = resolve_models(spared).values()
    check_pairing(spared, model, [replace(find_task("sst2"), name="ner", kind=TAGGING)])
    with pytest.raises(InputError, match="noise.rate: must be at most 1.0, not 1.5"):
        experiment("models: [hashformer-md-proj]\nfinetune: {noise: {kind: distortion, rate: 1.5}}")
    with pytest.raises(InputError, match="unseen"):  # it needs the words of a pre-training
        experiment("models: [hashformer-md-proj]\nfinetune: {noise: {kind: unseen, rate: 0.1}}")


def test_an_average_is_over_tasks_that_are_fine_tuned_here(experiment) -> None:
    tasks = [find_task(name) for name in ("cola", "sst2", "blimp")]
    check_averages(experiment("models: [bert-mlm]\naverages: {both: [cola, sst2]}"), tasks)
    for members, said in {
        "[cola, sst]": "no task 'sst' in this experiment; did you mean 'sst2'?",
        "[cola, cola]": "task 'cola' is listed twice; leave one out",
        "[cola, blimp]": "task 'blimp' is a task of minimal pairs, which is in no average",
    }.items():
        with pytest.raises(InputError, match=re.escape(f"averages.both: {said}")):
            check_averages(experiment(f"models: [bert-mlm]\naverages: {{both: {members}}}"), tasks)


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


@pytest.mark.parametrize(
    ("like", "values", "fault"),
    [
        (
            "ternary-dense",
            "hashing: x",
            "hashing follows from the arguments of coder ternary-projection and is {'featu",
        ),
        ("hashformer-md-emb-1k", "num_rows: 77", "num_rows follows from the arguments of coder md5-rows and is "),
        (
            "hashformer-lsh-proj",
            "coder: {bits: 256}, bits: 64",
            "bits follows from the arguments of coder lsh-bits and",
        ),
    ],
)
def test_an_argument_that_the_coders_would_replace(experiment, like: str, values: str, fault: str) -> None:
    *coder, written = values.split("}, ")
    entry = "".join(f"{part}}}, " for part in coder) + f"embedding: {{{written}}}"
    loaded = experiment(f"models:\n  - {{name: m, like: {like}, {entry}}}")
    with pytest.raises(InputError) as error:
        resolve_models(loaded)
    assert str(error.value).startswith(f"a.yaml:9: model 'm': embedding: {fault}")
    assert str(error.value).endswith("; leave it out, or change them (coder:)")


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
    entry = "models:\n- {{name: bert-mlm, {}: {{steps: 20, warmup_steps: {}}}}}"
    assert resolve_models(experiment(entry.format(block, 20)))
    with pytest.raises(InputError, match=rf"{block}.*: warmup_steps: 21 steps of warm-up in a training of 20; take"):
        resolve_models(experiment(entry.format(block, 21)))


@pytest.mark.parametrize(
    ("parent", "method", "entry", "message"),
    [
        ("embeddings.hashformer:Projection", "embed_types(self, codes):\n        raise KeyError('oops')",
         "use: own.py:Raises, objective: none", "Raises does not take the codes of coder md5-bits, 16 numbers of"),
        ("coders.md5:Md5Bits", "encode_utf8(self, *_):\n        raise KeyError('oops')",
         "like: hashformer-md-proj, coder: own.py:Raises", "cannot encode: "),
    ],
)  # fmt: skip
def test_whatever_an_own_class_raises_is_one_line(experiment, tmp_path, parent, method, entry, message) -> None:
    module, name = parent.split(":")
    source = f"from hashbench.models.{module} import {name}\n\nclass Raises({name}):\n    def {method}\n"
    (tmp_path / "own.py").write_text(source)
    loaded = experiment(f"models: [{{name: m, {entry}}}]")
    with pytest.raises(InputError) as error:
        check_model(loaded, resolve_models(loaded)["m"])
    assert message in str(error.value) and "KeyError: 'oops'" in str(error.value) and "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("def embed_types(self, codes):\n        return super().embed_types(codes)[:, :3]",
         "Own: embed_types gave (2, 3), not (2, 128); return one row of width dim for each code"),
        ("def embed_types(self, codes):\n        return super().embed_types(codes)[:1]",
         "Own: embed_types gave (1, 128), not (2, 128); return one row"),
        ("def forward(self, batch):\n        return None", "Own: forward gave NoneType, not (2, 7, 128)"),
        ("def special_rows(self):\n        return [0.0]", "Own: special_rows gave list, not (5, 128)"),
        ("def embed_types(self, codes):\n        return None", "Own: embed_types gave NoneType, not (2, 128)"),
        ("def special_rows(self):\n        return super().special_rows()[:4]",
         "Own: special_rows gave (4, 128), not (5, 128); return a row of width dim for each special token"),
        ("def forward(self, batch):\n        return super().forward(batch)[:, :-1]",
         "Own: forward gave (2, 6, 128), not (2, 7, 128); return tokens_per_item vectors a position"),
    ],
)  # fmt: skip
def test_an_own_embedding_of_another_shape_is_one_line(experiment, tmp_path, change: str, message: str) -> None:
    parent = "from hashbench.models.embeddings.hashformer import Projection\n\n"
    (tmp_path / "own.py").write_text(f"{parent}class Own(Projection):\n    {change}\n")
    loaded = experiment('models: [{name: m, use: "own.py:Own", objective: none}]')
    with pytest.raises(
        InputError, match=rf"^a\.yaml:\d+: model 'm': {re.escape(message)}.*\(own\.py:4; hashbench check"
    ):
        check_model(loaded, resolve_models(loaded)["m"])


@pytest.mark.filterwarnings("error")
def test_an_own_table_without_a_coder_is_one_line_that_says_which_key(experiment, tmp_path) -> None:
    """torch takes bytes for a mask, warns of it, and raises an error that speaks of masks alone."""
    (tmp_path / "own.py").write_text(
        "import torch\nfrom hashbench.extend import Embedding\n\n"
        "class Table(Embedding):\n    def __init__(self, dim: int):\n        super().__init__()\n"
        "        self.table = torch.nn.Parameter(torch.zeros(1000, dim))\n"
        "    def embed_types(self, codes):\n        return self.table[codes].sum(1)\n"
        "    def special_rows(self):\n        return self.table[:5]\n"
        "    def embedding_parameters(self):\n        return self.table.numel()\n"
    )
    loaded = experiment('models: [{name: m, use: "own.py:Table", objective: none}]')
    with pytest.raises(InputError, match=r"choose another coder \(coder: NAME\)"):
        check_model(loaded, resolve_models(loaded)["m"])


@pytest.mark.parametrize(
    ("like", "coder", "said"),
    [
        ("ternary-dense", "md5-bits", "TernaryDense does not take the codes of coder md5-bits, 16 numbers of uint8 a "
         "type; choose coder ternary-projection, or other arguments ("),
        ("hash-emb-k2", "ternary-projection", "HashEmbedding does not take the codes of coder ternary-projection, 128 "
         "numbers of uint8 a type; choose coder hash-rows, or other arguments"),
        ("dhe", "ternary-projection", "DeepHash does not take the codes of coder ternary-projection, 128 numbers of"),
    ],
)  # fmt: skip
def test_codes_that_an_embedding_does_not_take_are_said_in_words(experiment, like: str, coder: str, said: str) -> None:
    loaded = experiment(f"models: [{{name: m, like: {like}, coder: {coder}}}]")
    with pytest.raises(InputError) as error:
        check_model(loaded, resolve_models(loaded)["m"])
    assert str(error.value).startswith(f"a.yaml:8: model 'm': {said}")


@pytest.mark.parametrize(
    ("like", "coder"),
    [
        ("ternary-dense", "projection"),
        ("ternary-dense", "trigrams"),
        ("tfree-1k", "md5-bits"),
        ("byte-ngrams", "ternary-projection"),
        ("multi-hash", "ngram-pooling"),
        ("dhe", "md5-bits"),
    ],
)
def test_codes_of_another_kind_are_refused_though_zeros_would_fit(experiment, like: str, coder: str) -> None:
    loaded = experiment(f"models: [{{name: m, like: {like}, coder: {coder}}}]")
    with pytest.raises(
        InputError, match=rf"does not take the codes of coder {coder}, \d+ numbers? of .*; choose coder"
    ):
        check_model(loaded, resolve_models(loaded)["m"])


TOO_LARGE = {
    "like: pqrnn-tiny, encoder: {dim: 1_000_000_000}": "encoder: dim 1000000000 is beyond 16,777,216; take a",
    "like: bert-mlm, encoder: {layers: 10_000_000}": "encoder: layers 10000000 is beyond 4,096; take a smaller one$",
    "like: pqrnn-tiny, encoder: {dim: 16_000_000}": "its weights take .* GB \\(8,2.* parameters of the embedding, .* "
    "and this machine has 64.0 GB of memory; take smaller values$",
    "like: ternary-dense, encoder: {dim: 16_000_000}": "its weights take .* GB ",
    "like: ternary-dense, embedding: {bottleneck: 100_000_000_000}": "its weights take .* GB ",
    "like: ternary-dense, embedding: {bottleneck: 1_000_000_000_000_000_000}": "its embedding is larger than any",
    "like: pqrnn-tiny, encoder: {kernel: 10_000_000}": "its weights take .* GB ",
    "like: pqrnn-tiny, encoder: {kernel: 16_000_000, dim: 16_000_000, state: 16_000_000}": "encoder: cannot be made wi",
}


@pytest.mark.parametrize(("entry", "said"), TOO_LARGE.items())
def test_a_model_larger_than_the_memory_is_refused_unmade(experiment, monkeypatch, entry: str, said: str) -> None:
    monkeypatch.setattr(model_parts, "main_memory", lambda: 64 * 10**9)
    monkeypatch.setattr(checks, "small_embedding", lambda *_: pytest.fail("it is made"))
    loaded = experiment(f"models: [{{name: m, {entry}}}]")
    with pytest.raises(InputError, match=rf"^a\.yaml:8: model 'm': {said}"):
        check_model(loaded, resolve_models(loaded)["m"])


def test_memory_that_lacks_while_a_model_is_tried_is_no_matter_of_its_coder(experiment, monkeypatch) -> None:
    def embed_types(*_: Any) -> None:
        raise RuntimeError("[enforce fail at alloc_cpu.cpp:127] DefaultCPUAllocator: can't allocate memory")

    monkeypatch.setattr(find_model("ternary-dense").embedding.family, "embed_types", embed_types)
    loaded = experiment("models: [{name: m, like: ternary-dense}]")
    with pytest.raises(
        InputError, match=r"model 'm': TernaryDense with dim 128 takes more memory than is free; take s"
    ):
        check_model(loaded, resolve_models(loaded)["m"])


def machine(monkeypatch: pytest.MonkeyPatch, *, gpus: int = 0, mps: bool = False) -> None:
    """torch as it is on a machine with these devices."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: gpus > 0)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: gpus)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: mps)


DEVICES = {
    "no CUDA": ({}, "device: cuda", r"^a\.yaml:9: device: this machine has no cuda device"),
    "no GPU": ({}, "device: gpu", r"^a\.yaml:9: device: this machine has no gpu device"),
    "no second GPU": ({"gpus": 1}, "device: cuda:1", r"^a\.yaml:9: device: .* no cuda:1; the last is cuda:0"),
    "one GPU for two": ({"gpus": 2}, "device: cuda:1\ndevices: 2", r"^a\.yaml:9: device: cuda:1 is one GPU"),
    "no MPS": ({"gpus": 1}, "device: mps", r"^a\.yaml:9: device: this machine has no mps device"),
    "few GPUs": ({"gpus": 2}, "device: cuda\ndevices: 3", r"^a\.yaml:10: devices: 3 GPUs a run, .* has 2; take"),
    "few GPUs found": ({"gpus": 1}, "devices: 2", r"^a\.yaml:9: devices: 2 GPUs a run, .* has 1; take at most 1"),
    "one MPS": ({"mps": True}, "devices: 2", r"^a\.yaml:9: devices: 2 GPUs a run, .* has 1; take at most 1"),
    "small pre-training batch": (
        {}, "device: cpu\ndevices: 5", r"^a\.yaml:7: pretrain\.batch_size: 4 rows of 'bert-mlm' over 5 devices; take at"
    ),
    "nodes without Ray": ({}, "nodes: 2", r"^a\.yaml:9: nodes: more than one needs executor: ray; write it"),
    "small batch on nodes": (
        {}, "executor: ray\nnodes: 3\ndevices: 2", r"^a\.yaml:7: pretrain\.batch_size: 4 rows of 'bert-mlm' over 6 dev"
    ),
    "small fine-tuning batch": (
        {}, "devices: 2\nfinetune:\n  batch_size: 1", r"^a\.yaml:11: finetune\.batch_size: 1 rows of 'bert-mlm' over 2"
    ),
}  # fmt: skip


@pytest.mark.parametrize(("has", "lines", "message"), DEVICES.values(), ids=DEVICES)
def test_devices_that_are_not_there(experiment, monkeypatch, has: dict, lines: str, message: str) -> None:
    machine(monkeypatch, **has)
    loaded = experiment(f"models: [bert-mlm]\n{lines}")
    with pytest.raises(InputError, match=message) as error:
        check_devices(loaded, resolve_models(loaded).values())
    assert "\n" not in str(error.value)


LACKING = ("no CUDA", "no GPU", "no second GPU", "no MPS", "few GPUs", "few GPUs found", "one MPS")


@pytest.mark.parametrize(("has", "lines", "message"), [DEVICES[name] for name in LACKING], ids=LACKING)
def test_what_is_carried_out_elsewhere_gets_a_note(
    experiment, monkeypatch, has: dict, lines: str, message: str
) -> None:
    machine(monkeypatch, **has)
    loaded = experiment(f"models: [bert-mlm]\n{lines}")
    (note,) = check_devices(loaded, resolve_models(loaded).values(), here=False)
    assert re.search(message, note) and "\n" not in note


FITTING = {
    "processes on the CPU": ({"gpus": 1}, "device: cpu\ndevices: 2"),
    "processes where there is no GPU": ({}, "devices: 2"),
    "GPUs of other machines": ({"gpus": 1}, "executor: ray\ndevice: cuda\ndevices: 4"),
    "all GPUs": ({"gpus": 4}, "device: cuda\ndevices: 4"),
    "as many GPUs as were found": ({"gpus": 4}, "devices: 4"),
    "MPS": ({"mps": True}, "device: mps"),
    "MPS as the GPU": ({"mps": True}, "device: gpu"),
    "the GPU": ({"gpus": 1}, "device: gpu"),
    "the second GPU": ({"gpus": 2}, "device: cuda:1"),
}


@pytest.mark.parametrize(("has", "lines"), FITTING.values(), ids=FITTING)
def test_devices_that_are(experiment, monkeypatch, has: dict, lines: str) -> None:
    machine(monkeypatch, **has)
    loaded = experiment(f"models: [bert-mlm]\n{lines}")
    assert check_devices(loaded, resolve_models(loaded).values()) == []


def test_a_batch_of_a_models_own_entry(experiment, monkeypatch) -> None:
    """What is never pre-trained has no pre-training batch; a fine-tuning batch is always there."""
    machine(monkeypatch)
    raw = "models:\n  - {name: raw, like: hashformer-md-proj, objective: none}\n"
    loaded = experiment(f"{raw}devices: 5\n")
    check_devices(loaded, resolve_models(loaded).values())
    loaded = experiment(raw.replace("none}", "none, finetune: {batch_size: 3}}") + "devices: 5\n")
    with pytest.raises(InputError, match=r"^a\.yaml:9: finetune\.batch_size: 3 rows of 'raw' over 5 devices"):
        check_devices(loaded, resolve_models(loaded).values())


def data(*texts: str) -> Any:
    """What is read of a task's data."""
    return SimpleNamespace(task=SimpleNamespace(name="own"), splits={"train": SimpleNamespace(texts=(list(texts),))})


def model(label: str, tokenizer: str, **args: object) -> Any:
    return SimpleNamespace(label=label, spec=SimpleNamespace(text=SimpleNamespace(tokenizer=tokenizer, args=args)))


HINDI, CHINESE = "हिन्दी में लिखा है", "我们今天去北京，明天回来"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (HINDI, "words fall apart: 93 % of tokens are one character"),
        (CHINESE, "words run together: 100 % of tokens join letters of a script without"),
    ],
)
def test_the_released_pattern_is_noted_and_unicode_is_not(text: str, said: str) -> None:
    models = [model("a", "words"), model("b", "words"), model("c", "unicode"), model("d", "characters")]
    (note,) = word_shapes(data(text), models)
    assert note.startswith(f"a, b: {said}") and note.endswith("where no white space is written")


def test_nothing_is_said_of_english() -> None:
    assert word_shapes(data("Most words of a language are longer than that"), [model("a", "words")]) == []


def test_a_tokenizer_that_leaves_a_text_empty() -> None:
    said = r"^task 'own': row 2 of train, 'ไทย', has no token under tokenizer words \(pattern '\[a-z\]\+'\); take"
    with pytest.raises(InputError, match=said):
        word_shapes(data("abc", "ไทย"), [model("a", "words", pattern="[a-z]+")])
    assert word_shapes(data("abc", "!!", ""), [model("a", "words", pattern="[a-z]+")]) == []
