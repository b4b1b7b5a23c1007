"""Fine-tuning speed on SST-2, examples a second, against transformers' Trainer with dynamic padding.

    python benchmarks/finetuning.py --data FOLDER            # FOLDER/glue/sst2/train.parquet
    python benchmarks/finetuning.py --data FOLDER --size base --examples 64 --rounds 1

Both sides train a BERT of the same shape, dropout, batch size and vocabulary of 50,265 rows on the same rows, already
turned into the same token ids, from the first batch to the last optimizer step, evaluation and checkpoints off. The
peer is `Trainer` with `DataCollatorWithPadding` and its defaults. Ours is the suite's own fine-tuning: Lightning,
batches by length, fused AdamW, the loss curve kept. `hashformer-md-proj` stands beside as a model without a table.
Contestants take turns; medians of rounds are printed, ratios are medians of the ratios within a round.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from hashbench.common.process import keep_freed_memory
from hashbench.data.sources.sources import open_sources
from hashbench.data.tasks.catalogue import find_task, load_task
from hashbench.data.tasks.text_batches import FinetuningData
from hashbench.data.tasks.text_data import TaskData
from hashbench.models.coders.base import make_coder
from hashbench.models.embeddings.registry import find_model
from hashbench.models.encoders.bert import SIZES
from hashbench.models.text.base import make_tokenizer
from hashbench.models.text.subwords import SubwordTokenizer
from hashbench.running.experiment.recipes import FinetuneRecipe
from hashbench.running.training.finetuning import Job, finetune
from hashbench.running.training.machine import Machine
from hashbench.running.training.model import build_model

VOCABULARY = 50_265
MAX_LENGTH = 128
BATCH = 32
Contestant = Callable[[], float]  # seconds of one training over the rows


def main() -> None:
    """Prints examples a second and the ratios to the peer."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default="builtin", help="folder with glue/sst2, or builtin")
    parser.add_argument("--size", default="tiny", choices=SIZES)
    parser.add_argument("--examples", type=int, default=6_400)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--cpu-time", action="store_true", help="seconds of CPU, not of the clock: on a busy machine")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    clock = time.process_time if options.cpu_time else time.perf_counter
    keep_freed_memory()  # for both sides: it helps the peer as well
    task = few_rows(load_task(find_task("sst2"), open_sources(options.data)), options.examples)
    n_rows = len(task.splits["train"])
    with tempfile.TemporaryDirectory() as folder:
        contestants: dict[str, Contestant] = {
            "transformers Trainer": peer(task, options.size, Path(folder), options.device, clock),
            "bert-mlm": ours("bert-mlm", task, options.size, Path(folder), options.device, clock),
            "hashformer-md-proj": ours("hashformer-md-proj", task, options.size, Path(folder), options.device, clock),
        }
        rounds = [{name: run() for name, run in contestants.items()} for _ in range(options.rounds + 1)][1:]
    for name in contestants:
        seconds = statistics.median(each[name] for each in rounds)
        ratios = [each["transformers Trainer"] / each[name] for each in rounds]
        spread = f"({min(ratios):.2f} to {max(ratios):.2f})"
        print(f"{name:24s} {n_rows / seconds:8.0f} examples/s   {statistics.median(ratios):.2f} x the peer {spread}")


def few_rows(task: TaskData, n: int) -> TaskData:
    """The task with `n` seeded training rows and one row to evaluate, so that nothing but training is timed."""
    train = task.splits["train"]
    rows = np.random.RandomState(0).permutation(len(train))[:n]
    splits = {name: split.take(np.arange(1)) for name, split in task.splits.items()} | {"train": train.take(rows)}
    return replace(task, splits=splits, fingerprint=f"{task.fingerprint}-{n}")


def trained_bpe(task: TaskData) -> SubwordTokenizer:
    """A BPE of the task's texts; both sides read the same ids."""
    tokenizer = SubwordTokenizer()
    tokenizer.train(task.splits["train"].texts[0], VOCABULARY)
    return tokenizer


def ours(name: str, task: TaskData, size: str, folder: Path, device: str, clock: Callable[[], float]) -> Contestant:
    """The suite's fine-tuning of a model, from fresh weights."""
    spec = find_model(name)
    tokenizer = trained_bpe(task) if spec.text.tokenizer == "bpe" else make_tokenizer(spec.text.tokenizer)
    coder = make_coder(spec.code.coder, **spec.code.args)
    coder.fit_pieces(tokenizer.pieces)
    recipe = FinetuneRecipe(
        epochs=1, batch_size=BATCH, learning_rate=1e-4, evaluations_per_epoch=1, max_length=MAX_LENGTH
    )
    rows = None if coder.num_rows is None else VOCABULARY

    def run() -> float:
        data = FinetuningData(
            task,
            tokenizer,
            coder,
            template=spec.text.template,
            batch_size=BATCH,
            max_length=MAX_LENGTH,
            seed=0,
            folder=folder,
        )
        model = build_model(spec, size, seed=0, vocabulary_rows=rows)
        machine = Machine(folder / "run", device=device, checkpoint_minutes=1e9)
        began = clock()
        finetune(model, data, Job(spec, recipe, 0), machine=machine)
        return clock() - began

    return run


def peer_rows(task: TaskData, tokenizer: SubwordTokenizer) -> list[dict[str, Any]]:
    """The training rows as `Trainer` reads them: pieces between <s> and </s>, behind the five special rows."""
    start, end = 0, 2
    train = task.splits["train"]
    encoded = [piece_ids[: MAX_LENGTH - 2] for piece_ids in tokenizer.piece_ids(train.texts[0])]
    return [
        {"input_ids": [start, *(int(i) + 5 for i in ids), end], "labels": label}
        for ids, label in zip(encoded, train.labels.tolist(), strict=True)
    ]


def peer(task: TaskData, size: str, folder: Path, device: str, clock: Callable[[], float]) -> Contestant:
    """`BertForSequenceClassification` under `Trainer`, texts tokenized before the clock starts."""
    from datasets import Dataset
    from transformers import (
        BertConfig,
        BertForSequenceClassification,
        DataCollatorWithPadding,
        PreTrainedTokenizerFast,
        Trainer,
        TrainingArguments,
    )

    tokenizer = trained_bpe(task)
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer.library_tokenizer(), pad_token="<pad>")
    dataset = Dataset.from_list(peer_rows(task, tokenizer))
    shape = SIZES[size]
    config = BertConfig(
        vocab_size=VOCABULARY + 1,
        hidden_size=shape.dim,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads,
        intermediate_size=shape.feed_forward,
    )
    arguments = TrainingArguments(
        output_dir=str(folder / "peer"),
        per_device_train_batch_size=BATCH,
        num_train_epochs=1,
        learning_rate=1e-4,
        save_strategy="no",
        report_to=[],
        disable_tqdm=True,
        use_cpu=device == "cpu",
    )

    def run() -> float:
        trainer = Trainer(
            BertForSequenceClassification(config),
            arguments,
            train_dataset=dataset,
            data_collator=DataCollatorWithPadding(fast),
            processing_class=fast,
        )
        began = clock()
        trainer.train()
        return clock() - began

    return run


if __name__ == "__main__":
    main()
