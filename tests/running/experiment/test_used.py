"""Encoders of transformers in an experiment file: logits and batches beside the library's own, counts, faults."""

from __future__ import annotations

import re
import shutil
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from hashbench.common.errors import InputError
from hashbench.data.sources.sources import open_sources
from hashbench.data.tasks.catalogue import find_task, load_task
from hashbench.data.tasks.text_batches import FinetuningData
from hashbench.models.coders.base import FIRST_ROW
from hashbench.models.embeddings.base import Batch
from hashbench.models.objectives.heads import ClassificationHead
from hashbench.models.text import library as text_library
from hashbench.running.efficiency.parameters import count
from hashbench.running.efficiency.sizes import parameter_rows
from hashbench.running.experiment.models import resolve_models
from hashbench.running.experiment.resolved import needs_corpus
from hashbench.running.runs.finetuning import starting_model
from hashbench.running.runs.materials import Materials
from hashbench.running.sweep.plan import plan
from tests.published_library import KINDS, saved_encoder

ALL = [*KINDS, "roberta"]
LENGTH = 20  # of an input: pairs with three special tokens have an odd number of tokens left, those with four an even


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Weights by model_type."""
    return {kind: saved_encoder(kind, tmp_path_factory.mktemp("published") / kind) for kind in ALL}


def entry(folder: Path | str, more: str = "") -> str:
    return f'models: [{{name: mine, use: "transformers:{folder}"{more}}}]\nbaseline: mine'


def started(experiment: Any, folder: Path, cache: Path) -> tuple[Any, Any, Any]:
    """The model of an experiment as its fine-tuning starts, with its spec and the texts that it reads."""
    resolved = resolve_models(experiment(entry(folder)))["mine"]
    assert not needs_corpus(resolved.spec)
    place: Any = SimpleNamespace(model=lambda run: resolved, materials=Materials(["builtin"], cache))
    run: Any = SimpleNamespace(spec={"pretrain": None}, seed=1, encoder="tiny")
    model = starting_model(run, place)
    return model.eval(), resolved.spec, place.materials.texts(resolved)


def data_of(task: str, spec: Any, texts: Any, folder: Path) -> FinetuningData:
    """Sixteen rows of a task as a model reads them."""
    whole = load_task(find_task(task), open_sources("builtin"))
    split = whole.splits["validation"].take(torch.arange(16).numpy())
    few = replace(whole, splits=dict.fromkeys(whole.splits, split), fingerprint=f"{whole.fingerprint}-16")
    return FinetuningData(
        few, texts.tokenizer, texts.coder, template=spec.text.template, batch_size=4, max_length=LENGTH, seed=0,
        folder=folder,
    )  # fmt: skip


def ids_of(batch: Batch, specials: list[int]) -> torch.Tensor:
    """The library's ids (B, L) of a batch: those of its special tokens, then of its types."""
    return torch.cat([torch.tensor(specials), batch.codes[:, 0] - FIRST_ROW])[batch.positions]


@pytest.mark.parametrize("task", ["cola", "mrpc"])  # single texts and pairs
@pytest.mark.parametrize("kind", ALL)
def test_batches_and_logits_are_the_librarys(
    kind: str, task: str, folders: dict[str, Path], experiment: Any, tmp_path: Path
) -> None:
    """From the folder and the texts on: tokens, layout, truncation, padding, table, encoder, the head on the first."""
    import transformers

    tokenizer = transformers.AutoTokenizer.from_pretrained(folders[kind])
    theirs = transformers.AutoModel.from_pretrained(folders[kind]).eval()
    model, spec, texts = started(experiment, folders[kind], tmp_path)
    head = ClassificationHead(32, 2).eval()
    data = data_of(task, spec, texts, tmp_path)
    rows = list(zip(*data.data.splits["validation"].texts, strict=True))
    cut = 0
    for batch in data.evaluation_loader("validation"):
        assert batch.row_ids is not None
        columns = [list(column) for column in zip(*(rows[i] for i in batch.row_ids.tolist()), strict=True)]
        whole = tokenizer(*columns)["input_ids"]
        cut += sum(len(ids) > LENGTH for ids in whole)
        made = tokenizer(*columns, truncation=True, max_length=LENGTH, padding=True, return_tensors="pt")
        assert torch.equal(ids_of(batch, spec.embedding.args["specials"]), made["input_ids"])
        assert torch.equal(batch.mask, made["attention_mask"].bool())
        if batch.segments is not None:
            assert torch.equal(batch.segments, made["token_type_ids"])
        given = {name: value for name, value in made.items() if name in ("input_ids", "attention_mask")}
        if spec.text.template.segments:
            given["token_type_ids"] = made["token_type_ids"]
        with torch.inference_mode():
            ours, expected = head(*model.for_head(batch, "first")), head(theirs(**given).last_hidden_state)
        assert (ours - expected).abs().max().item() < 1e-5
    assert task == "cola" or cut > 8, f"{cut} of 16 rows were cut"
    assert spec.text.template.segments == (kind in ("bert", "electra", "albert"))


@pytest.mark.parametrize("kind", ["bert", "albert"])
def test_the_head_starts_from_the_pooler_of_the_librarys_classifier(
    kind: str, folders: dict[str, Path], experiment: Any, tmp_path: Path
) -> None:
    import transformers

    theirs = transformers.AutoModelForSequenceClassification.from_pretrained(folders[kind]).eval()
    model, spec, texts = started(experiment, folders[kind], tmp_path)
    head = ClassificationHead(32, 2, dense_dropout=spec.head.dense_dropout).eval()
    assert head.dense is not None and not spec.head.dense_dropout
    head.dense.load_state_dict(model.published_dense)
    head.out.load_state_dict(theirs.classifier.state_dict())
    for batch in data_of("mrpc", spec, texts, tmp_path).evaluation_loader("validation"):
        given = {"input_ids": ids_of(batch, spec.embedding.args["specials"]), "attention_mask": batch.mask.long()}
        with torch.inference_mode():
            expected = theirs(**given, token_type_ids=batch.segments).logits
            assert (head(*model.for_head(batch, "first")) - expected).abs().max().item() < 1e-5


@pytest.mark.parametrize("kind", ["distilbert", "electra", "roberta"])
def test_without_such_a_pooler_the_head_is_fresh(
    kind: str, folders: dict[str, Path], experiment: Any, tmp_path: Path
) -> None:
    model, spec, _ = started(experiment, folders[kind], tmp_path)
    assert model.published_dense is None and spec.head.dense_dropout


@pytest.mark.parametrize("kind", ALL)
def test_parameters_are_the_librarys(kind: str, folders: dict[str, Path], experiment: Any) -> None:
    import transformers

    theirs = transformers.AutoModel.from_pretrained(folders[kind])
    spec = resolve_models(experiment(entry(folders[kind])))["mine"].spec
    pooler = getattr(theirs, "pooler", None)
    of_pooler = sum(p.numel() for p in pooler.parameters()) if pooler is not None else 0
    head = 32 * 32 + 32 + 32 * 2 + 2
    counts = count(spec, "tiny", n_classes=2)
    assert counts.embedding == theirs.get_input_embeddings().weight.numel()
    assert counts.total == sum(p.numel() for p in theirs.parameters()) - of_pooler + head


def test_params_takes_what_use_takes(folders: dict[str, Path]) -> None:
    name = f"transformers:{folders['distilbert']}"
    (row,) = parameter_rows([name], "base")
    assert (row["model"], row["emb_params"]) == (name, 211 * 32)


def test_the_content_is_the_identity_and_a_path_is_not(
    folders: dict[str, Path], experiment: Any, tmp_path: Path
) -> None:
    shutil.copytree(folders["distilbert"], tmp_path / "copy")
    other = plan(experiment(entry("./copy")))  # relative to the file
    one = plan(experiment(entry(folders["distilbert"])))
    scratch = plan(experiment(entry(folders["distilbert"], ", weights: random")))
    ids = [{run.id for run in planned.runs if run.kind == "finetune"} for planned in (one, other, scratch)]
    assert ids[0] == ids[1] and not ids[0] & ids[2]
    (spec, *_) = [run.spec for run in one.runs if run.kind == "finetune"]
    assert len(spec["model"]["weights"]["sha256"]) == 64 and str(folders["distilbert"]) not in str(spec)
    assert spec["settings"] == {"weights": "distilbert"} and spec["finetune"]["learning_rate"] == 5e-4
    assert not [run for run in (*one.runs, *scratch.runs) if run.kind == "pretrain"]
    for name, key in (("tokenizer_config.json", "do_lower_case"), ("tokenizer.json", "lowercase")):  # which must agree
        file = tmp_path / "copy" / name
        before = file.read_text("utf-8")
        file.write_text(re.sub(rf'"{key}": ?true', f'"{key}": false', before), encoding="utf-8")
        assert file.read_text("utf-8") != before
    assert not ids[0] & {run.id for run in plan(experiment(entry("./copy"))).runs}


def saved_others(folder: Path) -> None:
    """Folders of models that are no encoders of text, or not whole."""
    import transformers

    small = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    saved_encoder("distilbert", folder / "whole")
    configs = {
        "gpt2": {"n_embd": 16, "n_layer": 1, "n_head": 2, "vocab_size": 9, "bos_token_id": 0, "eos_token_id": 0},
        "t5": {"d_model": 16, "num_layers": 1, "num_heads": 2, "d_kv": 8, "d_ff": 16, "vocab_size": 9},
        "canine": small,
        "vit": {**small, "image_size": 32},
        "bert": {**small, "is_decoder": True, "vocab_size": 9},
    }
    for kind, values in configs.items():
        transformers.AutoConfig.for_model(kind, **values).save_pretrained(folder / kind)
        save_file({"a": torch.ones(1)}, folder / kind / "model.safetensors")
    for name, without in (("no-tokens", ("tokenizer.json", "vocab.txt")), ("no-weights", ("model.safetensors",))):
        shutil.copytree(folder / "whole", folder / name)
        for file in without:
            (folder / name / file).unlink()
    shutil.copytree(folder / "whole", folder / "unknown")
    config = folder / "unknown" / "config.json"
    config.write_text(config.read_text().replace('"model_type": "distilbert"', '"model_type": "distilbrt"'))


@pytest.fixture(scope="module")
def others(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("others")
    saved_others(folder)
    return folder


FAULTS = {
    "gpt2": "gpt2 is a decoder, whose tokens see none behind them; take an encoder of text",
    "t5": "t5 is an encoder with a decoder; take an encoder of text",
    "bert": "bert is a decoder, whose tokens see none behind",
    "vit": "vit is no encoder of text; take",
    "canine": "canine takes no vectors of tokens with a mask, or has no table of them; take",
    "no-tokens": "no-tokens: no tokenizer.json or vocab.txt in it; put the tokenizer's files beside the weights",
    "no-weights": "no model.safetensors or pytorch_model.bin in it; name a folder with",
    "unknown": "knows no such model (model_type distilbrt: ",
    "nothing": "/nothing: no such folder, nor can it be a name on the hub",
}


@pytest.mark.parametrize(("name", "message"), FAULTS.items())
def test_faults_are_one_line_with_file_and_line(name: str, message: str, experiment: Any, others: Path) -> None:
    with pytest.raises(InputError) as error:
        plan(experiment(entry(others / name)))
    assert message in str(error.value) and "\n" not in str(error.value)
    assert str(error.value).startswith("a.yaml:8: ")


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (", tokenizer: words", "a.yaml:8: 'mine' is used as it is; leave tokenizer out"),
        (", encoder: {layers: 1}", "a.yaml:8: 'mine' is used as it is; leave encoder out"),
        (", weights: elsewhere", "a.yaml:8: 'mine' is used as it is; leave weights out"),
        (", finetune: {max_length: 513}", "513 tokens, but the encoder of 'mine' has 512 positions; take at most 512"),
    ],
)
def test_what_is_settled_cannot_be_changed(more: str, message: str, experiment: Any, others: Path) -> None:
    with pytest.raises(InputError) as error:
        plan(experiment(entry(others / "whole", more)))
    assert str(error.value).endswith(message) or message in str(error.value)


def test_without_the_library_the_model_says_what_to_install(
    experiment: Any, others: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text_library.library.cache_clear()
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(InputError) as error:
        plan(experiment(entry(others / "whole")))
    assert str(error.value) == "a.yaml:8: transformers is not installed; run: pip install 'hashbench[transformers]'"


def test_a_missing_tensor_is_named(experiment: Any, others: Path, tmp_path: Path) -> None:
    shutil.copytree(others / "whole", tmp_path / "less")
    tensors = load_file(tmp_path / "less" / "model.safetensors")
    del tensors["distilbert.transformer.layer.1.ffn.lin1.weight"]
    save_file(tensors, tmp_path / "less" / "model.safetensors")
    with pytest.raises(InputError, match=r"no tensor 'transformer\.layer\.1\.ffn\.lin1\.weight' among \d+; these are"):
        started(experiment, tmp_path / "less", tmp_path)
