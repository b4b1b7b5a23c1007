"""BERT and RoBERTa from a folder of weights, by way of an experiment file, against transformers on the same texts."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer

from hashbench.common.errors import InputError
from hashbench.data.sources.sources import open_sources
from hashbench.data.tasks.catalogue import find_task, load_task
from hashbench.data.tasks.text_batches import FinetuningData
from hashbench.models.embeddings.base import MASK, Published
from hashbench.models.embeddings.lookup import LookupTable
from hashbench.models.embeddings.registry import groups
from hashbench.models.objectives.heads import ClassificationHead
from hashbench.models.text.wordpieces import word_piece_tokenizer
from hashbench.running.experiment.load import load_experiment
from hashbench.running.experiment.models import resolve_models
from hashbench.running.experiment.resolved import needs_corpus
from hashbench.running.runs.finetuning import starting_model
from hashbench.running.runs.materials import Materials
from hashbench.running.sweep.plan import plan
from tests.published_bert import BERT_SPECIALS, SMALL_HERE, saved_bert, saved_roberta

pytestmark = pytest.mark.e2e  # the library that is compared with takes a second to import

SAVED = {"bert-base-uncased": saved_bert, "roberta-base": saved_roberta}
FILE = """\
name: published
data: builtin
encoder: tiny
models: [{name: mine, like: LIKE, weights: WEIGHTS, encoder: SHAPE}]
baseline: mine
tasks: [cola, mrpc]
seeds: [0]
finetune: {max_length: 48}
"""


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Weights by the name of the model that reads them."""
    return {name: save(tmp_path_factory.mktemp(name)) for name, save in SAVED.items()}


def started(like: str, weights: Path, folder: Path, shape: str = SMALL_HERE) -> tuple[Any, Any, Any]:
    """The model of an experiment file as its fine-tuning starts, with the spec and the texts that it reads."""
    written = FILE.replace("LIKE", like).replace("WEIGHTS", str(weights)).replace("SHAPE", shape)
    (folder / "a.yaml").write_text(written)
    loaded = load_experiment(str(folder / "a.yaml"), ())
    plan(loaded)
    resolved = resolve_models(loaded)["mine"]
    assert not needs_corpus(resolved.spec)
    place: Any = SimpleNamespace(model=lambda run: resolved, materials=Materials(["builtin"], folder / "cache"))
    run: Any = SimpleNamespace(spec={"pretrain": None}, seed=1, encoder="tiny")
    model = starting_model(run, place)
    return model.eval(), resolved.spec, place.materials.texts(resolved)


def bert_ids(folder: Path, texts: tuple[str, ...]) -> tuple[list[int], list[int]]:
    """Ids and segments as Devlin et al. (2019) lay them out: [CLS] A [SEP] B [SEP]."""
    rows = {piece: row for row, piece in enumerate((folder / "vocab.txt").read_text("utf-8").splitlines())}
    cut = word_piece_tokenizer(list(rows), lowercase=True)
    ids, segments = [rows["[CLS]"]], [0]
    for part, text in enumerate(texts):
        added = [*cut.encode(text, add_special_tokens=False).ids, rows["[SEP]"]]
        ids, segments = ids + added, segments + [part] * len(added)
    return ids, segments


def roberta_ids(folder: Path, texts: tuple[str, ...]) -> tuple[list[int], list[int]]:
    """Ids as Liu et al. (2019) lay them out: <s> A </s> </s> B </s>, one segment."""
    cut = Tokenizer.from_file(str(folder / "tokenizer.json"))
    ids = [0]
    for part, text in enumerate(texts):
        ids += [2] * part + cut.encode(text, add_special_tokens=False).ids + [2]
    return ids, [0] * len(ids)


LAID_OUT: dict[str, Callable[[Path, tuple[str, ...]], tuple[list[int], list[int]]]] = {
    "bert-base-uncased": bert_ids,
    "roberta-base": roberta_ids,
}


@pytest.mark.e2e
@pytest.mark.parametrize("task", ["cola", "mrpc"])  # single texts and pairs
@pytest.mark.parametrize("like", SAVED)
def test_logits_equal_transformers(like: str, task: str, folders: dict[str, Path], tmp_path: Path) -> None:
    """From the saved folder and the texts on: vocabulary, layout, padding, embedding, encoder, head."""
    from transformers import AutoModelForSequenceClassification

    theirs = AutoModelForSequenceClassification.from_pretrained(folders[like]).eval()
    model, spec, texts = started(like, folders[like], tmp_path)
    head = ClassificationHead(32, 2, dense_dropout=spec.head.dense_dropout).eval()
    assert head.dense is not None
    if like == "bert-base-uncased":  # its pooler comes with the weights, RoBERTa's head is fresh
        head.dense.load_state_dict(model.published_dense)
        head.out.load_state_dict(theirs.classifier.state_dict())
    else:
        assert model.published_dense is None
        head.dense.load_state_dict(theirs.classifier.dense.state_dict())
        head.out.load_state_dict(theirs.classifier.out_proj.state_dict())
    whole = load_task(find_task(task), open_sources("builtin"))
    short = [i for i, row in enumerate(zip(*whole.splits["validation"].texts, strict=True)) if fits(like, folders, row)]
    split = whole.splits["validation"].take(short[:16])  # type: ignore[arg-type]
    few = replace(whole, splits={name: split for name in whole.splits}, fingerprint=f"{whole.fingerprint}-16")
    data = FinetuningData(
        few, texts.tokenizer, texts.coder, template=spec.text.template, batch_size=8, max_length=512, seed=0,
        folder=tmp_path,
    )  # fmt: skip
    seen = 0
    for batch in data.evaluation_loader("validation"):
        with torch.inference_mode():
            ours = head(*model.for_head(batch, head.pooling))
        for row, logits in zip(batch.row_ids.tolist(), ours, strict=True):
            ids, segments = LAID_OUT[like](folders[like], tuple(column[row] for column in split.texts))
            with torch.inference_mode():
                given = {"input_ids": torch.tensor([ids]), "token_type_ids": torch.tensor([segments])}
                expected = theirs(**given).logits[0]
            assert (logits - expected).abs().max().item() < 1e-5
            seen += 1
    assert seen == len(split) == 16


def fits(like: str, folders: dict[str, Path], texts: tuple[str, ...]) -> bool:
    """Whether nothing of a row is cut off."""
    return len(LAID_OUT[like](folders[like], texts)[0]) <= 512


def test_special_tokens_have_their_published_rows(folders: dict[str, Path], tmp_path: Path) -> None:
    folder = folders["bert-base-uncased"]
    table = load_file(folder / "model.safetensors")["bert.embeddings.word_embeddings.weight"]
    model, *_ = started("bert-base-uncased", folder, tmp_path)
    assert torch.equal(model.embedding.special_rows()[MASK], table[BERT_SPECIALS.index("[MASK]")])


def test_names_of_berts_first_years_are_read(folders: dict[str, Path], tmp_path: Path) -> None:
    """The published files call the two tensors of a LayerNorm gamma and beta."""
    old = tmp_path / "old"
    old.mkdir()
    for file in ("config.json", "vocab.txt"):
        (old / file).write_bytes((folders["bert-base-uncased"] / file).read_bytes())
    tensors = load_file(folders["bert-base-uncased"] / "model.safetensors")
    former = (("LayerNorm.weight", "LayerNorm.gamma"), ("LayerNorm.bias", "LayerNorm.beta"))
    for now, then in former:
        tensors = {name.replace(now, then): tensor for name, tensor in tensors.items()}
    save_file(tensors, old / "model.safetensors")
    one, *_ = started("bert-base-uncased", old, tmp_path)
    other, *_ = started("bert-base-uncased", folders["bert-base-uncased"], tmp_path)
    assert all(torch.equal(a, b) for a, b in zip(one.parameters(), other.parameters(), strict=True))


def copied(source: Path, target: Path, *, without: str = "", tensor: str = "") -> Path:
    """A folder of weights less a file, or less a tensor."""
    target.mkdir()
    for file in os.listdir(source):
        if file != without:
            (target / file).write_bytes((source / file).read_bytes())
    if tensor:
        tensors = load_file(source / "model.safetensors")
        del tensors[tensor]
        save_file(tensors, target / "model.safetensors")
    return target


LAYER = "encoder.layer.1.output.dense.weight"
FAULTS = [
    ("bert-base-uncased", {"without": "config.json"}, SMALL_HERE, "no config.json in it; name a folder with"),
    ("bert-base-uncased", {"without": "model.safetensors"}, SMALL_HERE, "no model.safetensors or pytorch_model.bin in"),
    ("bert-base-uncased", {"without": "vocab.txt"}, SMALL_HERE, "neither vocab.txt nor tokenizer.json is in it"),
    ("roberta-base", {"without": "tokenizer.json"}, SMALL_HERE, "neither tokenizer.json nor vocab.json with merges.t"),
    ("bert-base-uncased", {"tensor": f"bert.{LAYER}"}, SMALL_HERE, f"no tensor '{LAYER}' among 4"),
    ("roberta-base", {}, "{layers: 3, heads: 4, dim: 32, feed_forward: 64}", "num_hidden_layers is 2, but layers of t"),
    ("bert-base-uncased", {}, "{layers: 2, heads: 4, dim: 32, feed_forward: 48}", "intermediate_size is 64, but feed"),
    ("bert-base-uncased", {}, SMALL_HERE.replace("}", ", first_position: 2}"), "bert counts positions from 0, this en"),
]


@pytest.mark.parametrize(("like", "change", "shape", "message"), FAULTS)
def test_faults_are_one_line(
    like: str, change: dict[str, str], shape: str, message: str, folders: dict[str, Path], tmp_path: Path
) -> None:
    folder = copied(folders[like], tmp_path / "weights", **change)
    with pytest.raises(InputError) as error:
        started(like, folder, tmp_path, shape)
    assert message in str(error.value) and "\n" not in str(error.value)


def test_roberta_is_no_bert(folders: dict[str, Path], tmp_path: Path) -> None:
    folder = copied(folders["roberta-base"], tmp_path / "weights")
    (folder / "vocab.txt").write_bytes((folders["bert-base-uncased"] / "vocab.txt").read_bytes())
    shape = SMALL_HERE.replace("}", ", type_rows: 1, eps: 1.0e-5, max_positions: 514}")
    with pytest.raises(InputError, match="holds a BPE model; give word pieces"):
        started("bert-base-uncased", folder, tmp_path, shape)


def test_cased_weights_want_cased_texts(folders: dict[str, Path], tmp_path: Path) -> None:
    folder = copied(folders["bert-base-uncased"], tmp_path / "cased")
    pieces = (folder / "vocab.txt").read_text("utf-8").splitlines()
    (folder / "vocab.txt").write_text("\n".join(["##The" if piece == "##e" else piece for piece in pieces]), "utf-8")
    with pytest.raises(InputError) as error:
        started("bert-base-uncased", folder, tmp_path)
    assert "their vocabulary is cased ('##The') and texts are lower-cased; write tokenizer: {lowercase: f" in str(
        error.value
    )
    lower = SMALL_HERE + ", tokenizer: {lowercase: false}"
    _, spec, _ = started("bert-base-uncased", folder, tmp_path, lower)
    assert spec.text.args["lowercase"] is False


def test_a_vocabulary_of_other_weights_is_refused() -> None:
    table = LookupTable(4, num_rows=3)
    model = Published({"embeddings.word_embeddings.weight": torch.ones(3, 4)}, {}, "weights w", ("[PAD]", "a", "b"))
    table.initialise(["[PAD]", "a", "cat"])
    with pytest.raises(InputError, match=r"weights w: its table of 3 rows has none for 'cat'; give the vocabulary"):
        table.from_published(model)


def test_both_are_in_the_group() -> None:
    assert groups()["published"] == ["bert-base-uncased", "roberta-base"]
