"""Fine-tuning: a pre-trained model and a fresh head on one task, evaluated at intervals, best and last kept."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from lightning.pytorch import LightningModule
from torch import Tensor

from hashbench import scores
from hashbench.data.modules import FinetuningData
from hashbench.embeddings.base import Batch, ModelSpec
from hashbench.experiment.schema import Finetune
from hashbench.objectives.classification import ClassificationHead
from hashbench.training.checkpoints import Resumable
from hashbench.training.curves import Curves, Point
from hashbench.training.model import Model
from hashbench.training.pretraining import Machine
from hashbench.training.recipe import adamw, make_trainer, optimizer_setup, pick_device, reseed, schedule_of

Outputs = dict[str, np.ndarray]  # split -> outputs of the head in the order of the rows (n, n_outputs) float32


@dataclass
class Evaluation:
    """The outputs of one evaluation and the score by which it is chosen."""

    step: int
    selection: float | None
    outputs: Outputs
    weights: dict[str, Tensor] | None = None


@dataclass(frozen=True)
class Finetuned:
    """What a fine-tuning leaves behind."""

    model: Model
    head: ClassificationHead
    points: list[Point]
    best: Evaluation
    last: Evaluation
    steps: int


@dataclass
class Progress:
    """Where a fine-tuning stands between two evaluations; part of the checkpoint."""

    best: Evaluation | None = None
    last: Evaluation | None = None
    without_gain: int = 0

    def add(self, evaluation: Evaluation) -> bool:
        """Takes an evaluation in and says whether it is the best so far: ties go to the later one (released code)."""
        self.last = evaluation
        ahead = self.best is None or _at_least(evaluation.selection, self.best.selection)
        gained = self.best is None or _above(evaluation.selection, self.best.selection)
        self.without_gain = 0 if gained else self.without_gain + 1
        if ahead:
            self.best = evaluation
        return ahead


def _at_least(new: float | None, old: float | None) -> bool:
    return old is None or (new is not None and new >= old)


def _above(new: float | None, old: float | None) -> bool:
    return new is not None and (old is None or new > old)


class FinetuningModule(LightningModule):
    """One model with a fresh head under the recipe of the experiment."""

    def __init__(
        self,
        model: Model,
        head: ClassificationHead,
        recipe: Finetune,
        data: FinetuningData,
        *,
        learning_rate: float,
        seed: int,
        total_steps: int,
        curves: Curves,
        keep_best_weights: bool,
    ) -> None:
        super().__init__()
        self.model, self.head, self.curves = model, head, curves
        self.progress = Progress()
        self._recipe, self._data = recipe, data
        self._learning_rate, self._seed, self._total_steps = learning_rate, seed, total_steps
        self._keep_best_weights = keep_best_weights
        self._collected: dict[int, list[tuple[np.ndarray, np.ndarray]]] = {}

    def forward(self, batch: Batch) -> Tensor:
        """A batch -> outputs of the head (B, n_outputs)."""
        outputs: Tensor = self.head(self.model(batch), batch.mask)  # (B, n_outputs)
        return outputs

    def on_train_batch_start(self, batch: Batch, batch_idx: int) -> None:
        reseed(self._seed, self.global_step, self.global_rank)

    def training_step(self, batch: Batch, batch_idx: int) -> Tensor:
        assert batch.labels is not None  # the loader always labels
        loss = self.head.loss(self(batch), batch.labels)
        self.curves.add_loss(loss, self.global_step + 1)  # not behind the step: a checkpoint would come before it
        return loss

    def on_validation_epoch_start(self) -> None:
        self._collected = {index: [] for index in range(len(self._data.select_splits))}

    def validation_step(self, batch: Batch, batch_idx: int, dataloader_idx: int = 0) -> None:
        assert batch.row_ids is not None
        outputs = self(batch).float().cpu().numpy()  # (B, n_outputs)
        self._collected[dataloader_idx].append((batch.row_ids.cpu().numpy(), outputs))

    def on_validation_epoch_end(self) -> None:
        splits = self._data.select_splits
        outputs = {split: self._gather(self._collected[index], split) for index, split in enumerate(splits)}
        selection = score_splits(self._data, outputs, self.curves, self.global_step, self._recipe.select_metric)
        evaluation = Evaluation(self.global_step, selection, outputs)
        if self.progress.add(evaluation) and self._keep_best_weights:
            evaluation.weights = {
                name: tensor.detach().to("cpu", copy=True)
                for name, tensor in self.state_dict().items()
                if name.startswith(("model.", "head."))
            }
        if self._recipe.patience is not None and self.progress.without_gain >= self._recipe.patience:
            self.trainer.should_stop = True

    def _gather(self, collected: list[tuple[np.ndarray, np.ndarray]], split: str) -> np.ndarray:
        """Outputs of all devices in the order of the rows (n, n_outputs); a row that came twice counts once."""
        if self.trainer.world_size > 1:
            shares: list[Any] = [None] * self.trainer.world_size
            torch.distributed.all_gather_object(shares, collected)
            collected = [part for share in shares for part in share]
        rows = np.concatenate([row_ids for row_ids, _ in collected])
        values = np.concatenate([outputs for _, outputs in collected])
        ordered = np.empty((len(self._data.targets(split)), values.shape[1]), np.float32)  # (n, n_outputs)
        ordered[rows] = values
        return ordered

    def configure_optimizers(self) -> Any:
        recipe = self._recipe
        optimizer = adamw(
            self,
            learning_rate=self._learning_rate,
            betas=recipe.betas,
            eps=recipe.eps,
            weight_decay=recipe.weight_decay,
        )
        warmup = int(recipe.warmup_fraction * self._total_steps)
        schedule = schedule_of(recipe.schedule, total=self._total_steps, warmup=warmup, cycles=recipe.restart_cycles)
        return optimizer_setup(optimizer, schedule)

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        checkpoint["points"] = self.curves.plain()
        checkpoint["progress"] = {
            "without_gain": self.progress.without_gain,
            "best": _plain(self.progress.best),
            "last": _plain(self.progress.last),
        }

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        self.curves.restore(checkpoint["points"])
        kept = checkpoint["progress"]
        self.progress = Progress(_evaluation(kept["best"]), _evaluation(kept["last"]), kept["without_gain"])


def _plain(evaluation: Evaluation | None) -> dict[str, Any] | None:
    """An evaluation as tensors and plain values, which is all that a checkpoint may hold."""
    if evaluation is None:
        return None
    outputs = {split: torch.from_numpy(values) for split, values in evaluation.outputs.items()}
    return {**vars(evaluation), "outputs": outputs}


def _evaluation(plain: dict[str, Any] | None) -> Evaluation | None:
    if plain is None:
        return None
    return Evaluation(**{**plain, "outputs": {split: values.numpy() for split, values in plain["outputs"].items()}})


def score_splits(
    data: FinetuningData, outputs: Mapping[str, np.ndarray], curves: Curves, step: int, select_metric: str | None
) -> float | None:
    """Adds every metric of the task on every split to the curves; gives back the score that selects.

    The selecting score is taken over all selection splits laid together (MNLI: matched and mismatched). None where
    it is undefined, as Pearson's is for constant outputs.
    """
    task = data.data.task
    for split, values in outputs.items():
        for name, score in scores.evaluate(task.metrics, data.targets(split), values).items():
            curves.add(split, name, step, score.value, score.reason)
    metric = select_metric or task.select_metric
    together = scores.evaluate(
        (metric,),
        np.concatenate([data.targets(split) for split in outputs]),
        np.concatenate([outputs[split] for split in outputs]),
    )
    return together[metric].value


@dataclass(frozen=True)
class Job:
    """One fine-tuning, as asked for."""

    spec: ModelSpec
    recipe: Finetune
    seed: int
    keep_best_weights: bool = False


def finetune(model: Model, data: FinetuningData, job: Job, *, learning_rate: float, machine: Machine) -> Finetuned:
    """Fine-tunes `model` in place and gives back the best and the last evaluation.

    Continues from the checkpoint in the machine's folder, if there is one. Raises `Interrupted` when asked to stop.
    """
    recipe = job.recipe
    torch.manual_seed(job.seed)
    config = model.config
    head = ClassificationHead(config.dim, data.data.n_outputs, config.dropout, job.spec.pooling)
    total_steps = data.steps_per_epoch * recipe.epochs
    curves = Curves(total_steps, machine.watch)
    module = FinetuningModule(
        model,
        head,
        recipe,
        data,
        learning_rate=learning_rate,
        seed=job.seed,
        total_steps=total_steps,
        curves=curves,
        keep_best_weights=job.keep_best_weights or bool(data.test_splits),
    )
    interval = evaluation_interval(data, recipe)
    resumable = Resumable(
        machine.folder / "resume.ckpt",
        minutes=machine.checkpoint_minutes,
        should_stop=machine.should_stop,
        evaluation_interval=interval,
    )
    trainer = make_trainer(
        device=machine.device,
        devices=machine.devices,
        precision=recipe.precision,
        clip=recipe.clip,
        max_steps=total_steps,
        max_epochs=recipe.epochs,
        callbacks=[resumable],
        folder=machine.folder,
        check_interval=interval,
    )
    trainer.fit(module, datamodule=data, ckpt_path=resumable.resume_from, weights_only=True)
    if module.progress.last is None or module.progress.last.step != trainer.global_step:
        trainer.validate(module, datamodule=data, verbose=False)  # the end of training always counts
    resumable.discard()
    progress = module.progress
    assert progress.best is not None and progress.last is not None  # validated above at the latest
    return Finetuned(model, head, curves.points, progress.best, progress.last, trainer.global_step)


def evaluation_interval(data: FinetuningData, recipe: Finetune) -> int:
    """Optimizer steps between two evaluations: the paper's rule for the task, or as many an epoch as asked for."""
    every = data.data.task.evaluation_every(data.steps_per_epoch, recipe.evaluations_per_epoch)
    return min(every, data.steps_per_epoch * recipe.epochs)


def best_learning_rate(
    job: Job, held_out: Callable[[], tuple[Model, FinetuningData]], machine: Machine
) -> tuple[float, list[Point]]:
    """The learning rate to use, and the score of each that was tried on the held-out rows.

    A single rate is used as it is. Of a grid the one with the best score on a seeded tenth of train is taken, ties
    going to the smaller; `held_out` makes a fresh model and the data without that tenth.
    """
    rates = job.recipe.learning_rate
    assert rates is not None  # the plan has set it
    if isinstance(rates, float | int):
        return float(rates), []
    tried: list[Point] = []
    quiet = replace(machine, watch=None)
    for number, rate in enumerate(sorted(rates)):
        model, data = held_out()
        part = replace(quiet, folder=machine.folder / f"rate-{number}")
        done = finetune(model, data, job, learning_rate=rate, machine=part)
        tried.append(Point("holdout", f"learning_rate={rate:g}", 0, done.best.selection))
    chosen = max(range(len(tried)), key=lambda i: (tried[i].value is not None, tried[i].value or 0.0, -i))
    return float(sorted(rates)[chosen]), tried


def report_once(done: Finetuned, data: FinetuningData, points: list[Point], machine: Machine) -> Outputs:
    """Outputs on the splits that are only reported, with the weights as they stand; adds their scores."""
    device = torch.device(pick_device(machine.device))
    model, head = done.model.to(device).eval(), done.head.to(device).eval()
    outputs: Outputs = {}
    for split in data.test_splits:
        ordered = np.empty((len(data.targets(split)), data.data.n_outputs), np.float32)  # (n, n_outputs)
        for batch in data.evaluation_loader(split):
            batch = batch.to(device)
            assert batch.row_ids is not None
            with torch.inference_mode():
                ordered[batch.row_ids.cpu().numpy()] = head(model(batch), batch.mask).float().cpu().numpy()
        outputs[split] = ordered
        for name, score in scores.evaluate(data.data.task.metrics, data.targets(split), ordered).items():
            points.append(Point(split, name, done.best.step, score.value, score.reason))
    return outputs


def restore_best(result: Finetuned) -> None:
    """Puts the weights of the best evaluation back into the model and its head."""
    weights = copy.copy(result.best.weights)
    assert weights is not None, "best weights were not kept"
    for prefix, part in (("model.", result.model), ("head.", result.head)):
        part.load_state_dict(
            {name.removeprefix(prefix): tensor for name, tensor in weights.items() if name.startswith(prefix)}
        )
