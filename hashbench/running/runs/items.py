"""Training from scratch to predict hidden items of page-link sets or of corpora, scored on test cases."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from hashbench.common.checksums import sealed_write
from hashbench.common.errors import located
from hashbench.common.measured import MetricRow
from hashbench.data.tasks.base import SplitOutputs
from hashbench.data.tasks.items import LinkSet, item_kind, protocol_of
from hashbench.models.coders.bloom import Bloom, twins
from hashbench.models.objectives.entities import EntityHead, corrupt, entity_objective
from hashbench.models.objectives.item_search import ItemSearch
from hashbench.running.efficiency.parameters import count
from hashbench.running.experiment.models import ResolvedModel
from hashbench.running.experiment.recipes import SETTINGS
from hashbench.running.experiment.resolved import ResolvedExperiment
from hashbench.running.runs.artifacts import ArtifactFolder
from hashbench.running.runs.base import TrainingKind, Workplace, notes_on, scored_metrics, stored_predictions
from hashbench.running.training.devices import pick_device, precision_found
from hashbench.running.training.machine import Machine
from hashbench.running.training.model import Model, build_model, save_weights
from hashbench.running.training.spread import WORDS, batch_of_codes, begin
from hashbench.scores.rankings import RECALLS, recall_at
from hashbench.store.planning import Run
from hashbench.store.result import Artifact, Predictions, Result

if TYPE_CHECKING:
    from hashbench.data.tasks.item_batches import ItemData
    from hashbench.running.training.entities import EntityModule, Trained


class ItemTraining(TrainingKind):
    """Kind of run: the training of a model to predict the hidden items of a task, with a seed."""

    name = "entities"
    metrics = "training"
    order = 40
    gives_signs = True

    def planned(self, resolved: ResolvedExperiment) -> Iterable[Run]:
        """All trainings, seed by seed and task by task, so that a table fills evenly for all models."""
        return [
            self.make(
                resolved.experiment.encoder,
                model.label,
                {
                    "model": resolved.model_block(model),
                    "pretrain": None,
                    **task.task.kind.protocol_spec(task.task),
                    "finetune": model.finetune.model_dump(exclude=SETTINGS),
                    "seed": seed,
                    "threads": resolved.experiment.threads,
                },
                task=task,
                seed=seed,
            )
            for task, model, seed in resolved.trainings(lambda task: task.kind.reads_items)
        ]

    def carry_out(self, run: Run, place: Workplace, machine: Machine) -> Result:
        """Trains and saves weights; returns scores on the test cases, and the rank and right buckets of every case."""
        from hashbench.running.training.entities import test_entities, train_entities

        model, links = place.model(run), place.materials.links(str(run.task))
        coder, module, data = self._begun(run, place, machine)
        search = module.search
        trained = train_entities(module, data, machine)
        if machine.rank > 0:
            return Result()
        outputs, under = test_entities(trained, data, search, run.spec[links.task.kind.name]["beams"], machine)
        targets, step = data.cases["test"].targets, trained.best.step
        counts = count(model.spec, run.encoder, vocabulary_rows=coder.num_rows)
        metrics = [
            *scored_metrics(links.task, SplitOutputs(outputs, targets), "test", step),
            *beam_metrics(under, step),
            *facts_of(trained, coder, targets, data.n_rows),
            MetricRow("total_params", counts.total),
            MetricRow("emb_params", counts.embedding),
            *trained.points,
        ]
        keeps = place.resolved.experiment.keep_weights != "none"
        return Result(
            metrics=metrics,
            predictions=predictions_of(trained, data, outputs),
            artifacts=saved(trained, coder, run, place.artifacts) if keeps else [],
            notes={
                **notes_on(links),
                "precision_found": precision_found(model.finetune.precision, machine.device),
            },
        )

    def parts(self, run: Run, place: Workplace, machine: Machine) -> tuple[EntityModule, ItemData]:
        return self._begun(run, place, machine)[1:]

    def _begun(self, run: Run, place: Workplace, machine: Machine) -> tuple[Bloom, EntityModule, ItemData]:
        """The fitted coder of a run, the module that trains its model, and the data."""
        from hashbench.running.training.entities import EntityModule

        model, links, seed = place.model(run), place.materials.links(str(run.task)), int(run.seed or 0)
        coder, kind = place.materials.bloom(model, links), item_kind(links.task)
        built, head = build_parts(
            model,
            run.encoder,
            coder,
            seed=seed,
            next_sentence=kind.next_sentence(protocol_of(links.task)),
            row_counts=coder.token_counts(links.items.counts),
        )
        data = item_data(links, coder, head, model, seed, machine)
        search = ItemSearch(coder.maps, coder.alpha, device=pick_device(machine.device))
        (recipe,) = model.finetune.recipes()  # the plan refuses a grid
        return coder, EntityModule(built, head, recipe, data, search, seed=seed, watch=machine.watch), data


def build_parts(
    model: ResolvedModel,
    size: str,
    coder: Bloom,
    *,
    seed: int,
    next_sentence: bool,
    row_counts: np.ndarray | None = None,
) -> tuple[Model, EntityHead]:
    """A fresh model and head for the items of a fitted coder; `row_counts` (V,) as in `EntityHead`."""
    built = build_model(model.spec, size, seed=seed, vocabulary_rows=coder.num_rows)
    if model.spec.initial_spread is not None:
        with located(f"model '{model.spec.name}'"):
            begin(built, batch_of_codes(coder.codes()[:WORDS]), model.spec.initial_spread)
    head = EntityHead(
        built.config.dim,
        coder.num_rows,
        coder.n_maps,
        entity_objective(model.spec.training.args),
        eps=built.config.eps,
        special_items=coder.special_items,
        next_sentence=next_sentence,
        row_counts=row_counts,
    )
    return built, head


def item_data(
    links: LinkSet, coder: Bloom, head: EntityHead, model: ResolvedModel, seed: int, machine: Machine
) -> ItemData:
    """Batches, for training and evaluation, of a page-link set or of a corpus read as items."""
    from hashbench.data.tasks.item_batches import ItemSettings

    settings = ItemSettings(
        corrupt=partial(corrupt, objective=head.objective),
        template=model.spec.text.template,
        batch_size=model.finetune.largest.batch_size,
        seed=seed,
        rank=machine.rank,
        world_size=machine.devices,
    )
    return item_kind(links.task).batches(links, coder.codes(), settings)


def beam_metrics(under: Mapping[int, np.ndarray], step: int) -> list[MetricRow]:
    """Recall of the beam search at each width, from the ranks (n,) that it gives the true items."""
    return [
        MetricRow(f"rec@{k}", float(recall_at(k, ranks).mean()), split="test", step=step, condition=f"beam={beam}")
        for beam, ranks in under.items()
        for k in RECALLS
    ]


def facts_of(trained: Trained, coder: Bloom, targets: np.ndarray, train_pages: int) -> list[MetricRow]:
    """Measured facts that tables print beside the scores: steps, and the ceiling that shared buckets put on recall.

    `targets` (n,): the true items of the test cases.
    """
    hidden = twins(coder.maps)  # (N,): never ranked before another item
    return [
        *trained.facts(train_pages),
        MetricRow("rec@1_ceiling", float(1 - hidden[targets].mean())),
        MetricRow("inseparable_items", float(hidden.mean())),
        MetricRow("coherence_violations", coder.violations),
    ]


def predictions_of(trained: Trained, data: ItemData, outputs: np.ndarray) -> list[Predictions]:
    """Predictions of test cases, `outputs` (n, ...), and of validation cases at the best and the last evaluation."""
    targets = data.cases["validation"].targets
    return [
        stored_predictions("test", "best", outputs, data.cases["test"].targets),
        stored_predictions("validation", "best", trained.best.outputs["validation"], targets),
        stored_predictions("validation", "last", trained.last.outputs["validation"], targets),
    ]


def saved(trained: Trained, coder: Bloom, run: Run, artifacts: ArtifactFolder) -> list[Artifact]:
    """Writes weights of model and head and the coder's items and maps; returns the store's entries for these files."""
    files = artifacts.files(run.id)
    save_weights(trained.model, files.weights)
    save_weights(trained.head, files.head)
    with sealed_write(files.coder) as part, part.open("wb") as file:
        # mypy mistakes the arrays for allow_pickle.
        np.savez_compressed(file, **coder.state())  # type: ignore[arg-type]
    paths = {"weights": files.weights, "head": files.head, "coder": files.coder}
    return [artifacts.stored(kind, path) for kind, path in paths.items()]


KIND = ItemTraining()
