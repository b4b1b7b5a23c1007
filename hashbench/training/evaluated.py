"""What trainings on a task share, whatever they predict: optimizer, the evaluation that counts, checkpoints."""

from __future__ import annotations

from typing import Any

from hashbench.embeddings.base import Batch
from hashbench.experiment.schema import Finetune
from hashbench.training.curves import Curves
from hashbench.training.evaluation import Evaluation, Progress, as_plain, from_plain
from hashbench.training.recipe import (
    ClippedModule,
    adamw,
    optimizer_setup,
    reseed,
    schedule_of,
    warmup_length,
)


class EvaluatedModule(ClippedModule):
    """A `model` and a `head` trained under a recipe and evaluated at intervals; subclasses say what a step and an
    evaluation are."""

    def __init__(
        self, recipe: Finetune, *, learning_rate: float, seed: int, total_steps: int, curves: Curves
    ) -> None:
        super().__init__()
        self.curves, self.progress = curves, Progress()
        self.total_steps = total_steps
        self._recipe, self._learning_rate, self._seed = recipe, learning_rate, seed

    def on_train_batch_start(self, batch: Batch, batch_idx: int) -> None:
        reseed(self._seed, self.global_step, self.global_rank)

    def take_in(self, evaluation: Evaluation, *, keep_weights: bool) -> None:
        """Takes an evaluation in, with its weights where it is the best so far; stops when patience is at its end."""
        if self.progress.add(evaluation) and keep_weights:
            evaluation.weights = {
                name: tensor.detach().to("cpu", copy=True)
                for name, tensor in self.state_dict().items()
                if name.startswith(("model.", "head."))
            }
        if self._recipe.patience is not None and self.progress.without_gain >= self._recipe.patience:
            self.trainer.should_stop = True

    def configure_optimizers(self) -> Any:
        recipe = self._recipe
        optimizer = adamw(
            self,
            learning_rate=self._learning_rate,
            betas=recipe.betas,
            eps=recipe.eps,
            weight_decay=recipe.weight_decay,
        )
        warmup = warmup_length(recipe, self.total_steps)
        schedule = schedule_of(recipe.schedule, total=self.total_steps, warmup=warmup, cycles=recipe.restart_cycles)
        return optimizer_setup(optimizer, schedule)

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        checkpoint["points"] = self.curves.plain()
        checkpoint["progress"] = {
            "without_gain": self.progress.without_gain,
            "best": as_plain(self.progress.best),
            "last": as_plain(self.progress.last),
        }

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        self.curves.restore(checkpoint["points"])
        kept = checkpoint["progress"]
        self.progress = Progress(from_plain(kept["best"]), from_plain(kept["last"]), kept["without_gain"])
