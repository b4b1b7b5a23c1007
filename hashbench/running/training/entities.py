"""Training from scratch to predict hidden items, evaluated at intervals on held-out pages; the best is tested."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from hashbench.common.progress import progress
from hashbench.data.tasks.item_batches import ItemData
from hashbench.models.embeddings.base import NO_LABEL, Batch
from hashbench.models.objectives.entities import EntityHead
from hashbench.models.objectives.item_search import ItemSearch
from hashbench.running.experiment.recipes import FinetuneRecipe
from hashbench.running.training.devices import pick_device
from hashbench.running.training.machine import Machine, Watch
from hashbench.running.training.model import Model
from hashbench.running.training.module import Curves
from hashbench.running.training.recipe import training_length
from hashbench.running.training.task_training import EvaluatedModule, Evaluation, TaskTraining, fit_on_task
from hashbench.scores.base import evaluate

# Items of a ranking where not all are ranked: the largest k of the paper's tables.
TOP = 20

Trained = TaskTraining[EntityHead]


class EntityModule(EvaluatedModule):
    """LightningModule that trains a model and its head to predict hidden items, under the experiment's recipe."""

    head: EntityHead

    def __init__(
        self,
        model: Model,
        head: EntityHead,
        recipe: FinetuneRecipe,
        data: ItemData,
        search: ItemSearch,
        *,
        seed: int,
        watch: Watch | None = None,
    ) -> None:
        total_steps, _ = training_length(recipe, data.steps_per_epoch)
        super().__init__(recipe, seed=seed, total_steps=total_steps, curves=Curves(total_steps, watch))
        self.model, self.head = model, head
        self._data, self.search = data, search
        self._collected: list[tuple[np.ndarray, np.ndarray]] = []

    def loss_terms(self, batch: Batch) -> tuple[Tensor, ...]:
        """The terms of the loss, of shape (), of a batch with labels (B, L, m)."""
        return losses_of(self.model, self.head, batch)

    def label_counts(self, batch: Batch) -> tuple[int, ...]:
        """Numbers of hidden items' tokens in a batch with labels (B, L, m) and, if segments are ordered, of rows."""
        assert batch.labels is not None  # the loaders of items always label
        hidden = int((batch.labels != NO_LABEL).sum())
        return (hidden,) if batch.follows is None or self.head.next_sentence is None else (hidden, len(batch))

    def on_validation_epoch_start(self) -> None:
        self._collected = []

    def validation_step(self, batch: Batch, batch_idx: int) -> None:
        assert batch.row_ids is not None
        rows = batch.row_ids.cpu().numpy()
        logs, tokens = case_distributions(self.model, self.head, batch)
        targets = self._data.cases["validation"].targets[rows]
        self._collected.append((rows, case_outputs(self.search, logs, tokens, targets)))

    def on_validation_epoch_end(self) -> None:
        if self.trainer.sanity_checking:  # before the first step a plain Trainer tries some batches
            return
        outputs = in_order(self._collected, self._data, "validation")
        scores = evaluate(self._data.task.metrics, self._data.cases["validation"].targets, outputs)
        for score in scores.values():
            self.curves.add(replace(score, split="validation", step=self.global_step))
        metric = self.recipe.select_metric or self._data.task.select_metric
        self.take_in(Evaluation(self.global_step, scores[metric].value, {"validation": outputs}), keep_weights=True)


def train_entities(module: EntityModule, data: ItemData, machine: Machine) -> Trained:
    """Trains a module in place on hidden items and leaves its model and head at their best weights."""
    model, head = module.model, module.head
    trained = fit_on_task(module, data, machine, model=model, head=head, task=data.task)
    trained.restore_best()
    model.eval()
    head.eval()
    return trained


def losses_of(model: Model, head: EntityHead, batch: Batch) -> tuple[Tensor, ...]:
    """The terms of a batch's loss: of its hidden items, and of the order of its segments where the head has one.

    The batch has labels (B, L, m), and `follows` (B,) where segments have an order; each term has shape ().
    """
    matrix = output_matrix(model)
    if batch.follows is None or head.next_sentence is None:
        states, labels = predicted_states(model, batch)
        return (head.loss(states, labels, matrix),)
    columns, valid, labels = _predicted_columns(batch)  # (B, M m), (B, M m), (K, m)
    start = columns.new_zeros(len(batch), 1)
    every = torch.cat([torch.ones_like(start, dtype=torch.bool), valid], 1)  # (B, 1 + M m)
    states = model.at(batch, torch.cat([start, columns], 1), every.flatten().nonzero()[:, 0])  # (B + K m, d)
    first = torch.zeros_like(every).index_fill_(1, start.new_zeros(1), True)[every]  # (B + K m,)
    items = states[~first].unflatten(0, (-1, labels.shape[1]))  # (K, m, d)
    return head.loss(items, labels, matrix), head.next_sentence.loss(states[first], batch.follows)


def predicted_states(model: Model, batch: Batch) -> tuple[Tensor, Tensor]:
    """States (K, m, d) at the items to predict, and their labels (K, m): rows of the output matrix."""
    columns, valid, labels = _predicted_columns(batch)
    states = model.at(batch, columns, valid.flatten().nonzero()[:, 0])  # (K m, d): the last layer makes no others
    return states.unflatten(0, (-1, labels.shape[1])), labels


def _predicted_columns(batch: Batch) -> tuple[Tensor, Tensor, Tensor]:
    """Columns (B, M m) of the tokens to predict, a mask (B, M m) that is False for filler, and their labels (K, m)."""
    assert batch.labels is not None  # (B, L, m): the loaders of items always label
    m = batch.labels.shape[2]
    hidden = batch.labels[..., 0] != NO_LABEL  # (B, L)
    most = int(hidden.sum(1).max())
    # (B, M) columns of the items to predict, then others
    items = (~hidden).int().argsort(dim=1, stable=True)[:, :most]
    valid = hidden.gather(1, items)  # (B, M)
    columns = (items[..., None] * m + torch.arange(m, device=items.device)).flatten(1)  # (B, M m)
    labels = batch.labels.gather(1, items[..., None].expand(-1, -1, m))[valid]  # (K, m)
    return columns, valid.repeat_interleave(m, dim=1), labels


def output_matrix(model: Model) -> Tensor:
    """The embedding's matrix (V, d) against which the objective scores states."""
    matrix = model.embedding.output_matrix()
    assert matrix is not None  # the plan has checked
    return matrix


def case_distributions(model: Model, head: EntityHead, batch: Batch) -> tuple[Tensor, Tensor]:
    """Log-probabilities (K, m, NB) of each map's buckets at the hidden item of each case, and its true ones (K, m).

    A row may hide several items; its cases follow each other in the order of columns.
    """
    with torch.no_grad():
        states, labels = predicted_states(model, batch)
        logs = head.log_probabilities(states, output_matrix(model))
    starts = torch.arange(head.maps, device=labels.device) * head.n_buckets
    return logs, labels - starts


def case_outputs(search: ItemSearch, logs: Tensor, buckets: Tensor, targets: np.ndarray) -> np.ndarray:
    """Outputs (K, 3 + m) int32 to store for cases: 0 where the page will be, rank, certified, right bucket of each map.

    `logs` (K, m, NB), true buckets (K, m), targets (K,).
    Ranks are among all items where all can be scored, else among the first 20 and 0 beyond. Certified speaks of a beam
    as wide as the ranking in either case.
    """
    wanted = torch.as_tensor(targets, device=logs.device)
    beam = search.approximate(logs, TOP, TOP)
    ranks = search.ranks(logs, wanted) if search.scores_all else ranks_in(search.exact(logs, TOP).items, wanted)
    right = logs.argmax(-1) == buckets  # (K, m)
    columns = [torch.zeros_like(ranks), ranks, beam.certified.long(), *right.long().unbind(1)]
    return torch.stack(columns, 1).int().cpu().numpy()


def ranks_in(items: Tensor, targets: Tensor) -> Tensor:
    """Rank (Q,) of each target in its ranking of items (Q, k), 1 for the first, 0 where it is not among them."""
    hit = items == targets[:, None]
    return torch.where(hit.any(1), hit.int().argmax(1) + 1, 0)


def in_order(collected: Sequence[tuple[np.ndarray, np.ndarray]], data: ItemData, split: str) -> np.ndarray:
    """Outputs of all cases of a split in the order of the cases, with their pages: (n, 3 + m) int32.

    `collected`: indexes of cases (K,) and their outputs (K, 3 + m), batch by batch.
    """
    cases = data.cases[split]
    ordered = np.zeros((len(cases), collected[0][1].shape[1]), np.int32)
    for rows, outputs in collected:
        ordered[rows] = outputs
    ordered[:, 0] = cases.page_rows
    return ordered


def test_entities(
    trained: Trained, data: ItemData, search: ItemSearch, beams: Sequence[int], machine: Machine
) -> tuple[np.ndarray, dict[int, np.ndarray]]:
    """Outputs of the test cases (n, 3 + m) int32, and their ranks (n,) by beam search of each width (0: not found)."""
    device = torch.device(pick_device(machine.device))
    model, head = trained.model.to(device).eval(), trained.head.to(device).eval()
    cases = data.cases["test"]
    collected, under = [], {beam: np.zeros(len(cases), np.int32) for beam in beams}
    for batch in data.case_loader("test"):
        progress("evaluation on test")
        assert batch.row_ids is not None
        rows = batch.row_ids.numpy()
        logs, buckets = case_distributions(model, head, batch.to(device))
        targets = cases.targets[rows]
        collected.append((rows, case_outputs(search, logs, buckets, targets)))
        for beam, ranks in under.items():
            ranking = search.approximate(logs, TOP, beam)
            ranks[rows] = ranks_in(ranking.items, torch.as_tensor(targets, device=device)).cpu().numpy()
    return in_order(collected, data, "test"), under
