"""What the modules of all trainings share: optimizer and schedule, clipping, seeds, curves in the checkpoint."""

from __future__ import annotations

from typing import Any

from lightning.pytorch import LightningModule
from torch.nn.utils import clip_grads_with_norm_, get_total_norm
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LambdaLR

from hashbench.embeddings.base import Batch
from hashbench.experiment.schema import Finetune, Pretrain
from hashbench.training.curves import Curves
from hashbench.training.recipe import Schedule, adamw, reseed


class ClippedModule(LightningModule):
    """A LightningModule that clips the norm itself, over all parameters of its optimizer.

    Lightning refuses to clip beside a fused optimizer under bf16, because such an optimizer may undo a loss scale after
    the clipping; bf16 has no loss scale.
    """

    def configure_gradient_clipping(
        self,
        optimizer: Optimizer,
        gradient_clip_val: float | None = None,
        gradient_clip_algorithm: str | None = None,
    ) -> None:
        """Scales the gradients so that their norm is at most `gradient_clip_val`."""
        if gradient_clip_val is None:
            return
        parameters = [p for group in optimizer.param_groups for p in group["params"] if p.grad is not None]
        norm = get_total_norm([p.grad for p in parameters])
        if norm.device.type == "cpu" and norm <= gradient_clip_val:
            return  # the factor would be 1; on a GPU asking would cost a wait
        clip_grads_with_norm_(parameters, gradient_clip_val, norm)


class RecipeModule(ClippedModule):
    """Modules trained under the recipe of an experiment; a subclass holds them and says what a step is."""

    def __init__(
        self,
        recipe: Pretrain | Finetune,
        *,
        learning_rate: float,
        schedule: Schedule,
        seed: int,
        total_steps: int,
        curves: Curves,
    ) -> None:
        super().__init__()
        self.curves, self.total_steps = curves, total_steps
        self._optimizing, self._learning_rate, self._schedule, self._seed = recipe, learning_rate, schedule, seed

    def on_train_batch_start(self, batch: Batch, batch_idx: int) -> None:
        reseed(self._seed, self.global_step, self.global_rank)

    def configure_optimizers(self) -> Any:
        recipe = self._optimizing
        optimizer = adamw(
            self,
            learning_rate=self._learning_rate,
            betas=recipe.betas,
            eps=recipe.eps,
            weight_decay=recipe.weight_decay,
        )
        scheduler = LambdaLR(optimizer, self._schedule)
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": scheduler, "interval": "step"}}

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        checkpoint["points"] = self.curves.plain()

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        self.curves.restore(checkpoint["points"])
