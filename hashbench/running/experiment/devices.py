"""Whether this machine has the devices that an experiment asks for, and whether its batches fill them."""

from __future__ import annotations

from collections.abc import Iterable

import torch

from hashbench.common.errors import InputError
from hashbench.models.objectives.registry import pretrains
from hashbench.running.experiment.load import Loaded
from hashbench.running.experiment.models import ResolvedModel


def check_devices(loaded: Loaded, models: Iterable[ResolvedModel]) -> None:
    """Raises InputError for devices that this machine has not, and for batches with fewer rows than devices.

    Several devices without a GPU are processes on the CPU. What other machines have is not known here.
    """
    experiment = loaded.experiment
    devices = experiment.all_devices
    if experiment.executor == "local":
        _check_devices_here(loaded)
    for model in models:
        if experiment.strategy == "fsdp":
            _check_sharded(loaded, model)
        trained = [("pretrain", model.pretrain.batch_size)] if pretrains(model.spec) else []
        tuned = [("finetune", recipe.batch_size) for recipe in (model.finetune, *model.per_task.values())]
        for block, size in [*trained, *tuned]:
            if size < devices:
                where = loaded.where(*loaded.place_of(model.place, block, "batch_size"))
                raise InputError(
                    f"{where}: {block}.batch_size: {size} rows of '{model.label}' over {devices} devices; take at "
                    f"least {devices}, or fewer devices"
                )


def _check_sharded(loaded: Loaded, model: ResolvedModel) -> None:
    """Raises InputError for what a model cannot have whose layers are shared out over devices."""
    for block, recipe in (("pretrain", model.pretrain), ("finetune", model.finetune)):
        for key, refused in (("compile", recipe.compile), ("micro_batch_size", recipe.micro_batch_size == "auto")):
            if refused:
                where = loaded.where(*loaded.place_of(model.place, block, key))
                raise InputError(f"{where}: {block}.{key}: not with strategy: fsdp; leave it out or take ddp")


def _check_devices_here(loaded: Loaded) -> None:
    device, devices = loaded.experiment.device, loaded.experiment.devices
    if loaded.experiment.nodes > 1:
        raise InputError(f"{loaded.where('nodes')}: nodes: more than one needs executor: ray; write it, or nodes: 1")
    cuda, mps = torch.cuda.is_available(), torch.backends.mps.is_available()
    for name, there in (("cuda", cuda), ("mps", mps)):
        if device == name and not there:
            raise InputError(
                f"{loaded.where('device')}: device: this machine has no {name} device that torch can use; "
                "write device: auto, or install a torch that can"
            )
    n_gpus = torch.cuda.device_count() if cuda and device != "mps" else 1 if mps else None
    if device != "cpu" and n_gpus is not None and devices > n_gpus:
        raise InputError(
            f"{loaded.where('devices')}: devices: {devices} GPUs a run, but this machine has {n_gpus}; "
            f"take at most {n_gpus}"
        )
