"""The one driver of all trainings: a module under a recipe on a machine, resumed where an earlier attempt stopped."""

from __future__ import annotations

from lightning.pytorch import LightningDataModule, Trainer
from lightning.pytorch.plugins.environments import LightningEnvironment
from lightning.pytorch.strategies import DDPStrategy

from hashbench.experiment.schema import Finetune, Pretrain
from hashbench.training.checkpoints import Resumable
from hashbench.training.machine import Machine
from hashbench.training.module import RecipeModule
from hashbench.training.recipe import pick_device, precision_found, quieten


def fit(
    module: RecipeModule,
    data: LightningDataModule,
    recipe: Pretrain | Finetune,
    machine: Machine,
    *,
    epochs: int,
    interval: int | None = None,
) -> Trainer:
    """Trains a module in place for its steps, or for so many epochs where these end before; gives back the Trainer.

    `interval`: optimizer steps between two evaluations, None: no evaluation. Continues from the checkpoint in the
    machine's folder, if there is one. Raises `Interrupted` when asked to stop.
    """
    quieten()
    accelerator = pick_device(machine.device)
    resumable = Resumable(
        machine.folder / "resume.ckpt",
        minutes=machine.checkpoint_minutes,
        should_stop=machine.should_stop,
        evaluation_interval=interval,
        earlier=machine.earlier,
    )
    trainer = Trainer(
        accelerator="gpu" if accelerator == "cuda" else accelerator,
        devices=machine.devices,
        strategy="auto" if machine.devices == 1 else DDPStrategy(),
        # Without it a SLURM job's own signals would compete with the leases.
        plugins=[LightningEnvironment()],
        precision="bf16-mixed" if precision_found(recipe.precision, machine.device) == "bf16" else "32-true",
        gradient_clip_val=recipe.clip,
        max_steps=module.total_steps,
        max_epochs=epochs,
        callbacks=[resumable],
        default_root_dir=machine.folder,
        # No bar, no logger, no checkpoints of its own: callbacks do what a run needs.
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        num_sanity_val_steps=0,
        use_distributed_sampler=False,  # the loaders take each rank's share themselves
        val_check_interval=interval,
        check_val_every_n_epoch=None if interval else 1,
        limit_val_batches=None if interval else 0,
    )
    trainer.fit(module, datamodule=data, ckpt_path=resumable.resume_from, weights_only=True)
    return trainer
