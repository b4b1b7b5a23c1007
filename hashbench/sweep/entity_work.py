"""Runs on hidden items, of page-link sets or corpora: training from scratch with the entity objective."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from hashbench.coders.bloom import Bloom, twins
from hashbench.efficiency.parameters import count
from hashbench.experiment.models import ResolvedModel
from hashbench.metrics.rankings import RECALLS, recall_at
from hashbench.objectives.entities import EntityHead, entity_objective
from hashbench.objectives.item_search import ItemSearch
from hashbench.store.result import Artifact, Metric, Result
from hashbench.sweep.plan import Run
from hashbench.sweep.work import Workplace, artifact, metrics_of, notes_of, predictions, scored_metrics
from hashbench.tasks.base import Outputs
from hashbench.tasks.item_batches import ItemData
from hashbench.tasks.items import LinkSet, item_kind
from hashbench.training.entities import Trained, output_matrix, test_entities, train_entities
from hashbench.training.machine import Machine
from hashbench.training.model import Model, build_model, save_weights
from hashbench.training.recipe import pick_device, precision_found

COUNTED = ("total_params", "emb_params")


def do_entities(run: Run, place: Workplace, machine: Machine) -> Result:
    """Trains a model on hidden items, tests the best weights, and stores ranks and right tokens of every case."""
    resolved, links = place.model(run.model), place.materials.links(str(run.task))
    coder = place.materials.bloom(resolved, links)
    seed = int(run.seed or 0)
    model, head = build_parts(resolved, run.encoder, coder, links, seed)
    data = item_data(links, coder, head, resolved, seed, machine)
    search = ItemSearch(coder.maps, coder.alpha, device=pick_device(machine.device))
    trained = train_entities(model, head, data, resolved.finetune, seed=seed, search=search, machine=machine)
    if machine.rank > 0:
        return Result()
    outputs, under = test_entities(trained, data, search, run.spec[links.task.kind.name]["beams"], machine)
    targets = data.cases["test"].targets
    step = trained.best.step
    metrics = [
        *scored_metrics(links.task, Outputs(outputs, targets), "test", step),
        *beam_metrics(under, step),
        *facts_of(trained, coder, targets, data.n_train),
        *sizes(resolved, run.encoder, coder),
        *metrics_of(trained.points),
    ]
    validation = data.cases["validation"].targets
    kept = [
        predictions("test", "best", outputs, targets),
        predictions("validation", "best", trained.best.outputs["validation"], validation),
        predictions("validation", "last", trained.last.outputs["validation"], validation),
    ]
    keeps = place.loaded.experiment.keep_weights != "none"
    precision = precision_found(resolved.finetune.precision, machine.device)
    return Result(
        metrics=metrics,
        predictions=kept,
        artifacts=saved(trained, coder, place.artifacts, run.id) if keeps else [],
        notes={**notes_of(links), "precision_found": precision},
    )


def build_parts(
    resolved: ResolvedModel, size: str, coder: Bloom, links: LinkSet, seed: int
) -> tuple[Model, EntityHead]:
    """A fresh model and head for the items of a page-link set."""
    model = build_model(resolved.spec, size, seed=seed, vocabulary_rows=coder.num_rows)
    config = model.config
    head = EntityHead(
        config.dim,
        output_matrix(model).shape[0],
        coder.n_maps,
        entity_objective(resolved.spec.training.args),
        eps=config.eps,
        special_items=coder.special_items,
        next_sentence=item_kind(links.task).next_sentence(links.task),
        row_counts=coder.token_counts(links.items.counts),
    )
    return model, head


def item_data(
    links: LinkSet, coder: Bloom, head: EntityHead, resolved: ResolvedModel, seed: int, machine: Machine
) -> ItemData:
    """Batches of a page-link set, or of a corpus as items."""
    return item_kind(links.task).batches(
        links,
        coder.codes(),
        objective=head.objective,
        template=resolved.spec.text.template,
        batch_size=resolved.finetune.batch_size,
        seed=seed,
        rank=machine.rank,
        world_size=machine.devices,
    )


def beam_metrics(under: Mapping[int, np.ndarray], step: int) -> list[Metric]:
    """Recall of the approximate search at each beam width."""
    return [
        Metric(f"rec@{k}", float(recall_at(k, ranks).mean()), split="test", step=step, condition=f"beam={beam}")
        for beam, ranks in under.items()
        for k in RECALLS
    ]


def facts_of(trained: Trained, coder: Bloom, targets: np.ndarray, train_pages: int) -> list[Metric]:
    """What a table says beside the scores: steps, and the ceiling that shared buckets put on recall."""
    hidden = twins(coder.maps)  # (N,): never ranked before another item
    return [
        Metric("best_step", trained.best.step),
        Metric("last_step", trained.last.step),
        Metric("steps_done", trained.steps),
        Metric("train_rows", train_pages),
        Metric("rec@1_ceiling", float(1 - hidden[targets].mean())),
        Metric("inseparable_items", float(hidden.mean())),
        Metric("coherence_violations", coder.violations),
    ]


def sizes(resolved: ResolvedModel, size: str, coder: Bloom) -> list[Metric]:
    """Parameters with the vocabulary of the data, in the frame of the model's paper."""
    counts = count(resolved.spec, size, vocabulary_rows=coder.num_rows)
    return [Metric(name, value) for name, value in zip(COUNTED, (counts.total, counts.embedding), strict=True)]


def saved(trained: Trained, coder: Bloom, root: Path, run_id: str) -> list[Artifact]:
    """Weights of model and head, and the coder's items and maps: all that a prediction needs."""
    folder = root / run_id
    names = {"weights": "weights.safetensors", "head": "head.safetensors", "coder": "coder.npz"}
    files = {kind: folder / name for kind, name in names.items()}
    save_weights(trained.model, files["weights"])
    save_weights(trained.head, files["head"])
    half = files["coder"].with_suffix(".part")
    with half.open("wb") as file:
        np.savez_compressed(file, **coder.state())  # type: ignore[arg-type]  # mistakes the arrays for allow_pickle
    half.replace(files["coder"])
    return [artifact(path, kind, root) for kind, path in files.items()]
