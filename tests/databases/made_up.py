"""A database with made-up results, written through the store as a sweep writes it.

Scores are the published ones of Table 1 (floors: invented), moved by the seed; sizes are the exact published counts.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from hashbench.common.measured import MetricRow
from hashbench.results.papers.paper import load_paper
from hashbench.store.engine import Store
from hashbench.store.environment import Environment
from hashbench.store.planning import Run, add_experiment
from hashbench.store.queue import claim, fail
from hashbench.store.result import Predictions, Result, finish
from tests.databases.empty import new_store

PAPER = load_paper("hashformers")
READINGS = {
    "mnli": ("accuracy", "validation_matched"),
    "qnli": ("accuracy", "validation"),
    "qqp": ("f1", "validation"),
    "rte": ("accuracy", "validation"),
    "sst2": ("accuracy", "validation"),
    "mrpc": ("accuracy", "validation"),
    "cola": ("matthews", "validation"),
    "stsb": ("spearman", "validation"),
    "subj": ("accuracy", "test"),
}
OTHER = ("accuracy", "test")  # of a task that is not among these
OWN_SCORES = {"bert-mlm": 0.93, "hashformer-lsh-proj": 0.915}
FLOORS = {"majority": 0.48, "bag-of-words": 0.71}
SHIFT = 0.004  # a score's step from one seed to the next: three seeds have mean m and deviation 0.4 points
MACHINE = Environment(
    host="secret-host",
    git_commit="0123456789abcdef",
    packages={"torch": "2.13.0", "numpy": "2.4.6"},
    hardware_name="2 x CPU",
)


@dataclass
class World:
    """What is made up, to be changed by a test before `build`."""

    models: Sequence[str] = ("bert-mlm", "hashformer-md-emb-50k", "hashformer-lsh-proj")
    tasks: Sequence[str] = PAPER.tasks
    seeds: Sequence[int] = (0, 1, 2)
    encoder: str = "base"
    steps: int = 500_000
    name: str = "made-up"
    corpora: Sequence[str] = ("wikipedia", "bookcorpus")
    efficiency: bool = True
    floors: bool = True
    learning_rate: float | list[float] = 3e-5
    notes: dict[str, dict[str, str]] = field(default_factory=dict)  # by task or task/seed, of fine-tunings; efficiency
    undefined: set[tuple[str, str]] = field(default_factory=set)  # (model, task) whose score is undefined
    failed: set[tuple[str, str, int]] = field(default_factory=set)  # (model, task, seed)
    data: dict[tuple[str, str, int], str] = field(default_factory=dict)  # another fingerprint for (model, task, seed)
    examples: dict[str, int] = field(default_factory=dict)  # stored predictions a task
    config: dict[str, Any] = field(default_factory=dict)
    traits: dict[str, dict[str, str]] = field(default_factory=dict)  # by task
    learned: list[dict[str, str]] = field(default_factory=list)  # tasks on whose texts vocabularies are learned

    def score(self, model: str, task: str) -> float:
        """The score of the middle seed, natural range."""
        if task == "subj":
            return OWN_SCORES[model] if model in OWN_SCORES else 0.9
        key = ("1" if ("1", model, task) in PAPER.numbers else "6", model, task)
        return PAPER.numbers[key].value / 100 if key in PAPER.numbers else 0.7

    def block(self, model: str) -> dict[str, Any]:
        """The model as it stands in a run's spec."""
        return model_block(model, self.encoder)


def model_block(model: str, encoder: str) -> dict[str, Any]:
    """The model as it stands in a run's spec."""
    words = not (model.startswith("bert") or model.endswith("-bpe"))
    return {
        "embedding": "Table", "embedding_args": {}, "coder": {"kind": "md5-rows"},
        "tokenizer": {"kind": "words"} if words else {"kind": "bpe", "bpe": {"train": 50265}},
        "encoder": {"kind": "bert", "size": encoder}, "pooling": "first", "version": 1, "code": None, "label": model,
        "objective": {"kind": "mlm" if model == "bert-mlm" else "shuffle_random"}, "template": {},
    }  # fmt: skip


def specs(world: World) -> list[Run]:
    """All runs in the order of a plan."""
    rows: list[Run] = []
    corpus = {
        "corpora": [{"name": name, "fingerprint": "c0"} for name in world.corpora],
        "max_documents": None,
        "first_chunk_only": True,
        **({"tasks": world.learned} if world.learned else {}),
    }
    pretrained: dict[str, str] = {}
    for model in world.models:
        rate, logits = (1e-4, "all") if model == "bert-mlm" else (5e-5, "labels")
        asked = {**PAPER.recipe.pretrain, "steps": world.steps, "learning_rate": rate, "clip": 1.0, "logits": logits}
        spec = {
            "kind": "pretrain", "model": world.block(model), "corpus": corpus, "pretrain": asked,
            "seed": 0, "threads": 1,
        }  # fmt: skip
        rows.append(_row(spec, model, world, seed=0))
        pretrained[model] = rows[-1].id
    for task in world.tasks:
        for floor in FLOORS if world.floors else ():
            spec = {"kind": "floor", "floor": floor, "version": 1, "task": {"name": task}, "data": f"data-{task}"}
            rows.append(_row(spec, floor, world, task=task))
    for seed in world.seeds:
        for task in world.tasks:
            for model in world.models:
                asked = {
                    **PAPER.recipe.finetune,
                    "learning_rate": world.learning_rate,
                    "clip": 1.0,
                    "pad_to_max": False,
                }
                data = world.data[model, task, seed] if (model, task, seed) in world.data else f"data-{task}"
                spec = {
                    "kind": "finetune", "model": world.block(model), "corpus": corpus, "seed": seed,
                    "pretrain": pretrained[model], "task": {"name": task}, "data": data, "finetune": asked,
                    "threads": 1,
                }  # fmt: skip
                rows.append(_row(spec, model, world, task=task, seed=seed, needs=(pretrained[model],)))
    for model in world.models if world.efficiency else ():
        spec = {
            "kind": "efficiency", "model": world.block(model), "threads": 1,
            "device": {"name": "one CPU", "cores": 2},
            "efficiency": {"pairs": 5, "pretrain_batch_size": 8, "pretrain_length": 512, "infer_batch_size": 32},
            "settings": {"baseline": "bert-mlm"},
        }  # fmt: skip
        rows.append(_row(spec, model, world))
    return rows


def _row(
    spec: dict[str, Any],
    model: str,
    world: World,
    *,
    task: str | None = None,
    seed: int | None = None,
    needs: tuple[str, ...] = (),
) -> Run:
    metric, split = READINGS.get(task, OTHER) if task else (None, None)
    if task in world.traits:
        spec = {**spec, "settings": {"traits": world.traits[task]}}
    return Run(
        id=hashlib.sha256(json.dumps(spec, sort_keys=True).encode()).hexdigest(), kind=spec["kind"], model=model,
        encoder=world.encoder, spec=spec, task=task, seed=seed, needs=needs,
        data_fingerprint=spec["data"] if "data" in spec else None, metric=metric, split=split,
    )  # fmt: skip


def build(path: Path, world: World) -> Store:
    """The database of a finished sweep of that world."""
    store = new_store(path)
    rows = specs(world)
    config = {"name": world.name, "data": "hub", "encoder": world.encoder, **world.config}
    experiment = add_experiment(store, world.name, config, rows, baseline="bert-mlm", command="hashbench sweep")
    while held := claim(store, experiment, worker="w", lease_s=60, max_attempts=1, environment=MACHINE):
        if (held.model, held.task, held.seed) in world.failed:
            fail(store, held, "out of memory")
        else:
            finish(store, held, _result(held, world))
    return store


def _result(held: Any, world: World) -> Result:
    if held.kind == "pretrain":
        curve = [MetricRow("loss", 3 / (1 + step / 100), split="train", step=step) for step in (0, 250, 500, 750, 1000)]
        return Result([*curve], seconds=600.0)
    if held.kind == "efficiency":
        return Result(_efficiency(held.model), seconds=30.0, notes=world.notes.get("efficiency", {}))
    metric, split = READINGS.get(str(held.task), OTHER)
    notes = world.notes.get(f"{held.task}/{held.seed}", world.notes.get(str(held.task), {}))
    if held.kind == "floor":
        metrics = [MetricRow(metric, FLOORS[held.model], split=split)]
        metrics += [MetricRow("best_step", 0), MetricRow("last_step", 0)]
        return Result(metrics, predictions=_predictions(held, world, 0.6, split), seconds=1.0, notes=notes)
    value = world.score(held.model, held.task) + SHIFT * (held.seed - 1)
    undefined = (held.model, held.task) in world.undefined
    metrics = [
        MetricRow(metric, None, split, 200, reason="constant predictions")
        if undefined
        else MetricRow(metric, value, split, 200),
        MetricRow(metric, value - 0.05, split=split, step=100),
        MetricRow(metric, value - 0.01, split=split, step=300),
        *(MetricRow("loss", 2.0 / (1 + step / 50), split="train", step=step) for step in (10, 100, 200, 300)),
        MetricRow("best_step", 200), MetricRow("last_step", 300),
    ]  # fmt: skip
    if isinstance(world.learning_rate, list):
        metrics.append(MetricRow("learning_rate", world.learning_rate[-1]))
    return Result(metrics, predictions=_predictions(held, world, value, split), seconds=60.0, notes=notes)


def _predictions(held: Any, world: World, value: float, split: str) -> list[Predictions]:
    """Two-class predictions of which about `value` are right, for the tasks that a test asked for."""
    if held.task not in world.examples:
        return []
    n = world.examples[held.task]
    targets = np.arange(n) % 2
    wrong = np.random.default_rng(held.seed or 0).random(n) > value
    outputs = np.where(wrong, 1 - targets, targets)
    return [Predictions(split, "best", outputs, targets, index_fingerprint=f"rows-{n}")]


def _efficiency(model: str) -> list[MetricRow]:
    """Exact counts of the paper's frame; times of the paper's size."""
    exact = [
        PAPER.numbers[key].value
        for key in (("2", model, "total_params_exact"), ("2", model, "emb_params_exact"))
        if key in PAPER.numbers
    ]
    total, embedding = exact or [1e6, 1e5]
    fast = model != "bert-mlm"
    times = [
        MetricRow("pretrain_ms", 11.6 if fast else 24.9), MetricRow("baseline_pretrain_ms", 24.9),
        MetricRow("infer_ms", 2.0 if fast else 4.6, split="sst2"), MetricRow("baseline_infer_ms", 4.6, split="sst2"),
        MetricRow("infer_ms", 4.6, split="rte"), MetricRow("baseline_infer_ms", 4.6, split="rte"),
    ]  # fmt: skip
    return [MetricRow("total_params", total), MetricRow("emb_params", embedding), *times]
