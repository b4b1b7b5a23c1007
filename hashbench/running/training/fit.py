"""The one driver of all trainings: a module under a recipe on a machine, resumed where an earlier attempt stopped."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Mapping
from pathlib import Path

import torch
import torch._dynamo
from lightning.pytorch import Callback, Trainer
from lightning.pytorch.plugins.environments import LightningEnvironment, TorchElasticEnvironment
from lightning.pytorch.strategies import DDPStrategy
from torch import nn

from hashbench.common.errors import InputError, first_line
from hashbench.common.progress import progress
from hashbench.data.sources.loader import LoadedData
from hashbench.running.experiment.recipes import FinetuneRecipe, Pretrain
from hashbench.running.training.accumulation import some_rows
from hashbench.running.training.checkpoints import CheckpointFiles, Resumable, Snapshots
from hashbench.running.training.devices import largest_micro_batch, pick_device, precision_found
from hashbench.running.training.machine import Machine
from hashbench.running.training.model import Model
from hashbench.running.training.module import RecipeModule

# Compiled versions of a layer's code: with and without padding, at all places or some, in training and evaluation, for
# one shape and for any. Beyond torch's own limit of 8 the code runs uncompiled.
VERSIONS = 16


def fit(
    module: RecipeModule,
    data: LoadedData,
    recipe: Pretrain | FinetuneRecipe,
    machine: Machine,
    *,
    epochs: int,
    interval: int | None = None,
    stop_at: int | None = None,
    snapshots: Mapping[int, Mapping[Path, nn.Module]] | None = None,
) -> Trainer:
    """Trains a module in place until its steps or, if that is earlier, the epochs are done; returns the Trainer.

    `interval`: optimizer steps between two evaluations, None: no evaluation. `stop_at`: the step to end at, under the
    schedule of the whole training. `snapshots`: the files of modules to write after some of the steps. Continues from
    the checkpoint in the machine's folder, if there is one. Raises `Interrupted` when the machine requests a stop.
    """
    quieten()
    resumable = Resumable(
        CheckpointFiles(machine.folder, machine.shared),
        minutes=machine.checkpoint_minutes,
        should_stop=machine.should_stop,
        evaluation_interval=interval,
        earlier=machine.earlier,
    )
    set_up(module, data, recipe, machine)
    trainer = make_trainer(
        machine,
        recipe,
        [Signs(), Snapshots(snapshots or {}), resumable],  # in this order: the last may end the run
        steps=module.total_steps if stop_at is None else stop_at,
        epochs=epochs,
        interval=interval,
    )
    trainer.fit(module, datamodule=data, ckpt_path=resumable.files.newest(), weights_only=True)
    return trainer


class Signs(Callback):
    """Leaves a sign of progress after each batch of a training and of its evaluations."""

    def on_train_batch_end(self, *_: object) -> None:
        progress("training")

    def on_validation_batch_end(self, *_: object, **__: object) -> None:
        progress("evaluation")


def make_trainer(
    machine: Machine,
    recipe: Pretrain | FinetuneRecipe,
    callbacks: list[Callback],
    *,
    steps: int,
    epochs: int,
    interval: int | None,
) -> Trainer:
    """Lightning's Trainer for a recipe on a machine, with these callbacks alone; other arguments as in `fit`."""
    kind, _, index = pick_device(machine.device).partition(":")
    return Trainer(
        accelerator="gpu" if kind == "cuda" else kind,
        devices=[int(index)] if index else machine.devices // machine.nodes,
        num_nodes=machine.nodes,
        strategy="auto" if machine.devices == 1 else DDPStrategy(),
        # Named, since a SLURM job's own signals would compete with the leases. Several processes are there already.
        plugins=[LightningEnvironment() if machine.devices == 1 else TorchElasticEnvironment()],
        precision="32-true" if precision_found(recipe.precision, machine.device) == "32" else "bf16-mixed",
        max_steps=steps,
        max_epochs=epochs,
        callbacks=callbacks,
        default_root_dir=machine.folder,
        # Neither bar nor logger nor Lightning's checkpoints: callbacks do what a run needs.
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


def set_up(module: RecipeModule, data: LoadedData, recipe: Pretrain | FinetuneRecipe, machine: Machine) -> None:
    """Sets up precision, compilation and micro-batches of a module.

    `machine.notes` gets all that is not default but the precision, which runs note.
    Raises InputError where not even one row fits into memory.
    """
    precision = precision_found(recipe.precision, machine.device)
    module.model.encoder.bf16_residual = precision == "bf16-residual"
    if machine.devices > 1:
        on_nodes = f" on {machine.nodes} nodes" if machine.nodes > 1 else ""
        machine.notes["devices"] = f"{machine.devices}{on_nodes}"
    kind = pick_device(machine.device)
    device = torch.device(kind, machine.local_rank) if kind == "cuda" else torch.device(kind)
    if recipe.compile:
        check_compiler(device)
        compile_parts(module.model, module.head, fixed_shapes=not data.bucketed)
        machine.notes["compile"] = "yes"
    rows = -(-data.batch_size // machine.devices)  # of a batch, on each device
    size = recipe.micro_batch_size
    if size == "auto":
        batch = some_rows(data.longest_batch(), slice(rows))
        size = largest_micro_batch(module, batch, device, precision=precision, devices=machine.devices)
    if machine.halved:
        before = min(size or rows, rows)
        size = max(1, before // 2)
        machine.notes["out_of_memory"] = f"with {before} rows at a time"
    if size is not None and size < rows:
        module.micro_batch_size = size
        machine.notes["micro_batch_size"] = str(size)


def compile_parts(model: Model, head: nn.Module, *, fixed_shapes: bool) -> None:
    """Compiles embedding, encoder layers and head with torch.compile; layers of one kind share the code.

    The number of distinct types is another in every batch, so the embedding is compiled for any. `fixed_shapes`: all
    batches have the same rows and tokens, so layers are compiled for these, until another shape comes.
    """
    torch._dynamo.config.recompile_limit = max(VERSIONS, torch._dynamo.config.recompile_limit)
    model.embedding.compile(dynamic=True)
    for part in (*model.encoder.parts_to_compile(), head):
        part.compile(dynamic=None if fixed_shapes else True)


def check_compiler(device: torch.device) -> None:
    """Raises InputError where torch.compile does not work for a device, for example without a C++ compiler."""

    @torch.compile
    def doubled(values: torch.Tensor) -> torch.Tensor:
        """(n,) -> (n,)."""
        return values + values

    try:
        doubled(torch.ones(4, device=device))
    except Exception as error:  # of torch's own many kinds, which all mean the same here
        raise InputError(
            f"compile: torch.compile does not work on {device.type} here: {first_line(error)}; "
            "install a C++ compiler (and Triton for a GPU), or write compile: false"
        ) from error


def quieten() -> None:
    """Silences Lightning's banners and tips, which no option turns off."""
    for name in ("lightning.pytorch", "lightning.fabric", "pytorch_lightning"):
        logging.getLogger(name).setLevel(logging.ERROR)
    warnings.filterwarnings("ignore", module=r"lightning\..*")
