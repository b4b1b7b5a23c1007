"""Texts that no tokenizer was made for: a data set full of them is prepared, trained on and scored."""

import json

import numpy as np
import pytest

from hashbench.data.corpora.preparing import prepare
from hashbench.data.sources.sources import open_sources
from hashbench.data.tasks.blocks import TaskEntry
from hashbench.data.tasks.catalogue import load_task, own_task
from hashbench.data.tasks.text_batches import FinetuningData
from hashbench.models.coders.base import make_coder
from hashbench.models.embeddings.registry import find_model
from hashbench.models.text.base import make_tokenizer
from hashbench.running.experiment.recipes import FinetuneRecipe
from hashbench.running.runs.materials import fit_once
from hashbench.running.training.finetuning import Job, finetune
from hashbench.running.training.machine import Machine
from hashbench.running.training.model import build_model

ODD = [
    "",
    " ",
    "\U0001f600\U0001f469\u200d\U0001f469",
    "x" * 100_000,
    "a\0b",
    "\ud800 alone",
    "\udfff\ud800",
    "\u202e rtl",
    "<s> </s> <mask>",
    "!!!???",
    "\n\t",
]


@pytest.fixture(scope="module")
def odd_task(tmp_path_factory):
    folder = tmp_path_factory.mktemp("odd")
    rows = [{"text": text, "label": i % 2} for i, text in enumerate(ODD * 4)]
    for split in ("train", "validation"):
        # JSON alone of the three formats can spell an unpaired surrogate.
        (folder / f"{split}.jsonl").write_text("\n".join(json.dumps(row) for row in rows))
    task = own_task(TaskEntry(name="odd", path=str(folder), text="text"), folder)
    return load_task(task, open_sources("builtin"))


@pytest.mark.parametrize("name", ["bert-mlm", "hashformer-md-proj", "hashformer-lsh-pool", "hashformer-lsh-emb-1k"])
def test_odd_texts_train_through(odd_task, tmp_path, name):
    spec = find_model(name).small()
    tokenizer = make_tokenizer(spec.text.tokenizer, **spec.text.args)
    corpus = prepare(
        ["builtin"], open_sources("builtin"), tokenizer, tmp_path / "c", max_documents=20, vocabulary_size=400
    )
    coder = make_coder(spec.code.coder, **spec.code.args)
    if not coder.fit_pieces(corpus.tokenizer.pieces):
        fit_once(coder, name, lambda: coder.fit(corpus.types), tmp_path / "coders")
    data = FinetuningData(
        odd_task,
        corpus.tokenizer,
        coder,
        template=spec.text.template,
        batch_size=8,
        max_length=32,
        seed=0,
        folder=tmp_path,
    )
    model = build_model(spec, "tiny", seed=0, vocabulary_rows=coder.num_rows)
    job = Job(spec, FinetuneRecipe(epochs=1, batch_size=8, learning_rate=1e-3), 0)
    done = finetune(model, data, job, machine=Machine(tmp_path / "run", device="cpu"))
    outputs = done.last.outputs["validation"]
    assert outputs.shape == (len(ODD) * 4, 2) and np.isfinite(outputs).all()
