"""Checkpoints from which an interrupted run resumes, exactly, in the middle of an epoch."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from lightning.pytorch import Callback, LightningModule, Trainer

from hashbench.training.model import Model, save_weights


class Stop(Protocol):
    """Asks a run to stop: an event of threads or of processes."""

    def is_set(self) -> bool:
        """Whether to stop at the next step."""
        ...


class Interrupted(Exception):
    """The run was asked to stop; its checkpoint is written and the same run can be taken up again."""


class Snapshots(Callback):
    """Writes the weights of a training's model at some of its steps, each file whole or not at all."""

    def __init__(self, model: Model, paths: Mapping[int, Path]) -> None:
        """`paths`: where, by the number of finished steps."""
        self._model, self._paths = model, paths

    def on_train_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        if trainer.global_step in self._paths and trainer.is_global_zero:
            path = self._paths[trainer.global_step]
            path.parent.mkdir(parents=True, exist_ok=True)
            save_weights(self._model, path)


class Resumable(Callback):
    """Writes one checkpoint file every few minutes, whole or not at all, and ends the run when asked to stop.

    One file a run, replaced in one move: a kill at any moment leaves the previous or the new one. The time between
    two checkpoints has no effect on the result, because a resumed run equals an uninterrupted one.
    """

    def __init__(
        self,
        path: Path,
        *,
        minutes: float,
        should_stop: Stop | None = None,
        evaluation_interval: int | None = None,
        earlier: list[float] | None = None,
    ) -> None:
        """`earlier` gets the seconds of training that a checkpoint of an earlier attempt stands for."""
        self.path = path
        self._earlier = [] if earlier is None else earlier
        self._before = 0.0  # seconds of earlier attempts
        self._began = time.monotonic()
        self._evaluation_interval = evaluation_interval
        self._interval_s = 60.0 * minutes
        self._should_stop = should_stop
        self._saved_at = time.monotonic()

    @property
    def resume_from(self) -> Path | None:
        """The checkpoint of an earlier attempt, if there is one."""
        return self.path if self.path.is_file() else None

    def state_dict(self) -> dict[str, float]:
        """The seconds of training so far, kept in the checkpoint: a run's time is that of all attempts it came from."""
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
        stop = self._stop_wished
        due = stop or time.monotonic() - self._saved_at >= self._interval_s
        if self._agreed(trainer, due):
            self._save(trainer)
            if self._agreed(trainer, stop):
                raise Interrupted

    def on_validation_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        if self._evaluation_interval == 1 and self._agreed(trainer, self._stop_wished):
            # A run evaluated at every step has no moment to save, but it can stop.
            raise Interrupted

    @property
    def _stop_wished(self) -> bool:
        return self._should_stop is not None and self._should_stop.is_set()

    @staticmethod
    def _agreed(trainer: Trainer, wish: bool) -> bool:
        """True on all devices as soon as one wishes it: they must save and stop at the same step."""
        return wish if trainer.world_size == 1 else trainer.strategy.reduce_boolean_decision(wish, all=False)

    def _save(self, trainer: Trainer) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        # Of this process, since another sweep with a database of its own may be at the same run.
        half = self.path.with_name(f"{self.path.name}.{trainer.strategy.broadcast(os.getpid())}.part")
        trainer.save_checkpoint(half)
        if trainer.is_global_zero:
            half.replace(self.path)
        self._saved_at = time.monotonic()
