"""Checkpoints from which an interrupted run resumes, exactly, in the middle of an epoch."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lightning.pytorch import Callback, LightningModule, Trainer
from torch import nn

from hashbench.common.checksums import Damaged, is_listed, remove, seal, set_aside
from hashbench.common.progress import progress
from hashbench.common.shared import SharedFolder, make_once
from hashbench.running.training.machine import Interrupted, Stop
from hashbench.running.training.model import save_tensors

# Checkpoints of a training: the newest, and the one before, should the newest be damaged.
KEPT_CHECKPOINTS = 2


class Snapshots(Callback):
    """Writes the weights of a training's model and head at some of its steps, each file whole or not at all."""

    def __init__(self, parts: Mapping[int, Mapping[Path, nn.Module]]) -> None:
        """`parts`: after each of these numbers of finished steps the modules to write, by their files."""
        self._parts = parts

    def on_train_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        if trainer.global_step not in self._parts:
            return
        for path, module in self._parts[trainer.global_step].items():
            if trainer.is_global_zero:
                path.parent.mkdir(parents=True, exist_ok=True)
                save_tensors(module.state_dict(), path)


class _NotShared(Exception):
    """Raised and caught in this module: a checkpoint in the shared folder is gone or not whole."""


@dataclass(frozen=True)
class CheckpointFiles:
    """The newest checkpoints of a training, named by their steps."""

    folder: Path
    shared: SharedFolder | None = None  # where machines go on from each other's checkpoints

    def newest(self) -> Path | None:
        """The newest checkpoint with right checksums, of this machine or of another; None where there is none.

        Damaged ones are set aside with a line.
        """
        here = self._newest_here()
        for name in reversed(self.shared.names(self.folder) if self.shared is not None else []):
            if here is not None and name <= here.name:
                break
            with contextlib.suppress(_NotShared):
                return make_once(self.folder / name, self._refuse, shared=self.shared)
        return here

    @staticmethod
    def _refuse(part: Path) -> None:
        """Raises _NotShared where `make_once` would make a missing file: a checkpoint can only be fetched."""
        raise _NotShared

    def _newest_here(self) -> Path | None:
        for path in reversed(self._numbered()):
            try:
                if is_listed(path):
                    return path
                damage = f"{path}: has no checksums"
            except FileNotFoundError:  # another device has set it aside
                continue
            except Damaged as error:
                damage = str(error)
            set_aside(path, damage, "the training goes on from the checkpoint before, or from its start")
        return None

    def add(self, half: Path, step: int) -> None:
        """Names the just written file `half` after its step and shares it; of the older ones only the last stays."""
        path = self.folder / f"resume-{step:09}.ckpt"
        seal(path, half)
        half.replace(path)
        if self.shared is not None:
            self.shared.put(path)
        earlier = [other for other in self._numbered() if other != path]
        for other in earlier[: 1 - KEPT_CHECKPOINTS]:
            remove(other)
            if self.shared is not None:
                self.shared.remove(other)

    def _numbered(self) -> list[Path]:
        """Checkpoints with a step in their name, in the order of steps."""
        return sorted(self.folder.glob("resume-*.ckpt"))


class Resumable(Callback):
    """Writes a checkpoint every few minutes, whole or not at all, and ends the run on request.

    A kill at any moment leaves the previous or the new one. The time between two checkpoints has no effect on the
    result, because a resumed run equals an uninterrupted one.
    """

    def __init__(
        self,
        files: CheckpointFiles,
        *,
        minutes: float,
        should_stop: Stop | None = None,
        evaluation_interval: int | None = None,
        earlier: list[float] | None = None,
    ) -> None:
        """`earlier`: a list to which a resumed training appends the seconds that it took before its checkpoint."""
        self.files = files
        self._earlier = [] if earlier is None else earlier
        self._before = 0.0  # seconds of earlier attempts
        self._began = time.monotonic()
        self._evaluation_interval = evaluation_interval
        self._interval_s = 60.0 * minutes
        self._should_stop = should_stop
        self._saved_at = time.monotonic()

    def state_dict(self) -> dict[str, float]:
        """The seconds of training so far, over all attempts at the run, as the checkpoint stores them."""
        return {"seconds": self._before + time.monotonic() - self._began}

    def load_state_dict(self, state_dict: dict[str, float]) -> None:
        self._before = state_dict["seconds"]
        self._earlier.append(self._before)

    def on_train_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        if self._evaluation_interval is not None and trainer.global_step % self._evaluation_interval == 0:
            # The evaluation of this step is still to come, and a resume from here would leave it out.
            return
        stop = self._stop_requested
        due = stop or time.monotonic() - self._saved_at >= self._interval_s
        if self._agreed(trainer, due):
            self._save(trainer)
            if self._agreed(trainer, stop):
                raise Interrupted

    def on_validation_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        if self._evaluation_interval == 1 and self._agreed(trainer, self._stop_requested):
            # A run evaluated at every step has no moment to save, but it can stop.
            raise Interrupted

    @property
    def _stop_requested(self) -> bool:
        return self._should_stop is not None and self._should_stop.is_set()

    @staticmethod
    def _agreed(trainer: Trainer, due: bool) -> bool:
        """True on every device if `due` is true on any: all must save and stop at the same step."""
        return due if trainer.world_size == 1 else trainer.strategy.reduce_boolean_decision(due, all=False)

    def _save(self, trainer: Trainer) -> None:
        self.files.folder.mkdir(parents=True, exist_ok=True)
        # Named by this process, since a sweep with another database may carry out the same run.
        half = self.files.folder / f"resume.{trainer.strategy.broadcast(os.getpid())}.part"
        progress("writing a checkpoint")
        trainer.save_checkpoint(half)
        progress("writing a checkpoint")
        if trainer.is_global_zero:
            self.files.add(half, trainer.global_step)
        self._saved_at = time.monotonic()
