"""Scores under two precisions, on paired seeds: does `bf16-residual` cost any?

    python benchmarks/precision.py --data FOLDER         # FOLDER/glue/sst2, glue/stsb and corpora/wikipedia

A model of size tiny is pre-trained once in each precision and fine-tuned with each seed, on SST-2 and STS-B. Train is a
sample of the training set; a tenth of it is held out and scored, so that no reported set is read. For each task it
prints the difference of the scores (100 times accuracy or correlation) of each seed, their mean, and its 95 % interval
by Student's t. On a processor without bf16 torch emulates it, which takes long.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from scipy import stats

from hashbench.common.allocator import keep_freed_memory
from hashbench.data.corpora.batches import PretrainingData
from hashbench.data.corpora.corpus import Corpus
from hashbench.data.corpora.preparing import prepare
from hashbench.data.sources.sources import Source, open_sources
from hashbench.data.tasks.catalogue import find_task, load_task
from hashbench.data.tasks.text_batches import FinetuningData
from hashbench.data.tasks.text_data import TaskData
from hashbench.models.coders.base import Coder, make_coder
from hashbench.models.coders.cache import type_codes
from hashbench.models.embeddings.registry import find_model
from hashbench.models.objectives.registry import objective_of
from hashbench.models.text.base import make_tokenizer
from hashbench.running.experiment.recipes import FinetuneRecipe, Precision, PretrainRecipe
from hashbench.running.training.finetuning import Job, finetune
from hashbench.running.training.machine import Machine
from hashbench.running.training.model import Model, build_model, make_head
from hashbench.running.training.pretraining import pretrain

PAIR: tuple[Precision, Precision] = ("bf16", "bf16-residual")
BATCH, LENGTH = 64, 128


def pretrained(
    name: str, precision: Precision, corpus: Corpus, coder: Coder, folder: Path, options: argparse.Namespace
) -> Model:
    """A model of size tiny, pre-trained on the corpus in a precision."""
    spec = find_model(name)
    data = PretrainingData(
        corpus,
        type_codes(coder, corpus.types, folder / "codes"),
        objective=objective_of(spec),
        template=spec.text.template,
        batch_size=BATCH,
        sequence_length=LENGTH,
        seed=0,
    )
    recipe = PretrainRecipe(
        steps=options.steps,
        learning_rate=3e-3,
        warmup_steps=options.steps // 16,
        betas=(0.9, 0.98),
        precision=precision,
    )
    model = build_model(spec, "tiny", seed=0, vocabulary_rows=coder.num_rows)
    machine = Machine(folder / f"pretrain-{precision}", device=options.device, checkpoint_minutes=1e9)
    done = pretrain(
        model, make_head(model, objective_of(spec).name), data, recipe, total_steps=options.steps, machine=machine
    )
    print(f"pre-training in {precision}: loss {done.points[-1].value:.4f} after {done.steps} steps", flush=True)
    return done.model


def held_out_task(name: str, sources: Sequence[Source], rows: int) -> TaskData:
    """A task whose train is a seeded sample of its training set, and whose scores are of a tenth of that."""
    data = load_task(find_task(name), sources)
    train = data.splits["train"]
    chosen = np.random.RandomState(0).permutation(len(train))[:rows]
    return replace(
        data, splits={**data.splits, "train": train.take(np.sort(chosen))}, fingerprint=f"{name}-{rows}"
    ).held_out()


def main() -> None:
    """Trains the pairs and prints their differences."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True, help="a folder with glue/ and corpora/")
    parser.add_argument("--model", default="hashformer-lsh-proj")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--steps", type=int, default=500, help="of pre-training")
    parser.add_argument("--documents", type=int, default=2_000, help="of Wikipedia, for pre-training")
    parser.add_argument("--rows", type=int, default=6_000, help="of a task's training set, held-out ones included")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--seeds", type=int, default=5)
    options = parser.parse_args()
    keep_freed_memory()
    torch.set_num_threads(1)
    spec, sources = find_model(options.model), open_sources(options.data)
    began = time.process_time()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        tokenizer = make_tokenizer(spec.text.tokenizer, **spec.text.args)
        coder = make_coder(spec.code.coder, **spec.code.args)
        corpus = prepare(
            ["wikipedia"],
            sources,
            tokenizer,
            folder / "corpora",
            max_documents=options.documents,
            vocabulary_size=8_000,
        )
        if not coder.fit_pieces(corpus.tokenizer.pieces) and coder.needs_fit:
            coder.fit(corpus.types)
        weights = {
            precision: pretrained(options.model, precision, corpus, coder, folder, options).state_dict()
            for precision in PAIR
        }
        for task in ("sst2", "stsb"):
            data = held_out_task(task, sources, options.rows)
            scores = np.zeros((options.seeds, 2))
            for seed in range(options.seeds):
                for side, precision in enumerate(PAIR):
                    batches = FinetuningData(
                        data, corpus.tokenizer, coder, template=spec.text.template, batch_size=32, max_length=LENGTH,
                        seed=seed, folder=folder,
                    )  # fmt: skip
                    model = build_model(spec, "tiny", seed=seed, vocabulary_rows=coder.num_rows)
                    model.load_state_dict(weights[precision])
                    recipe = FinetuneRecipe(
                        epochs=options.epochs, learning_rate=3e-4, evaluations_per_epoch=1, precision=precision
                    )
                    machine = Machine(
                        folder / f"{task}-{seed}-{precision}", device=options.device, checkpoint_minutes=1e9
                    )
                    done = finetune(model, batches, Job(spec, recipe, seed), machine=machine)
                    scores[seed, side] = 100 * (done.last.selection or 0.0)
            report(task, scores)
    print(f"{time.process_time() - began:.0f} CPU seconds")


def report(task: str, scores: np.ndarray) -> None:
    """Prints both means, the differences of pairs (n, 2), and the interval of their mean."""
    differences = scores[:, 1] - scores[:, 0]
    mean, error = differences.mean(), differences.std(ddof=1) / len(differences) ** 0.5
    half = stats.t.ppf(0.975, len(differences) - 1) * error
    each = " ".join(f"{value:+.2f}" for value in differences)
    verdict = "contains 0" if abs(mean) <= half else "does not contain 0"
    print(
        f"{task}: {PAIR[0]} {scores[:, 0].mean():.2f}, {PAIR[1]} {scores[:, 1].mean():.2f}; differences {each}; mean "
        f"{mean:+.2f}; its 95 % interval {mean - half:+.2f} to {mean + half:+.2f} {verdict}",
        flush=True,
    )


if __name__ == "__main__":
    main()
