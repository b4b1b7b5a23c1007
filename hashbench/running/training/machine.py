"""Where and how a run is carried out."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from hashbench.common.shared import SharedFolder

if TYPE_CHECKING:  # plans hold a Machine, and a plan is made without Lightning
    from hashbench.running.training.checkpoints import Stop
    from hashbench.running.training.curves import Watch

# How several devices share a run: each has the whole model, or a part of every layer of its encoder.
Strategy = Literal["ddp", "fsdp"]


@dataclass(frozen=True)
class Machine:
    """Where and how a run is carried out; nothing of it changes what the run is."""

    folder: Path  # scratch space of this run
    device: str = "auto"
    devices: int = 1  # of all nodes, a process for each
    nodes: int = 1  # with as many devices each
    strategy: Strategy = "ddp"
    checkpoint_minutes: float = 5.0
    rank: int = 0  # which of the devices this process drives
    # Half the rows at a time: with all of them memory was too small.
    halved: bool = False
    should_stop: Stop | None = None  # asks the run to stop at the next step
    watch: Watch | None = None  # sees every point of a curve
    shared: SharedFolder | None = None  # where machines leave checkpoints for each other
    # Seconds of earlier attempts, one entry a training taken up.
    earlier: list[float] = field(default_factory=list)
    # How the hardware computed the run, where it was not the default; the worker adds it to the run's notes.
    found: dict[str, str] = field(default_factory=dict)

    @property
    def is_sharded(self) -> bool:
        """Whether each device has a part of every layer."""
        return self.devices > 1 and self.strategy == "fsdp"

    @property
    def checkpoints(self) -> Path:
        """Where the training's checkpoints lie. Those of shared out layers have other groups of parameters."""
        return self.folder / "fsdp" if self.is_sharded else self.folder

    @property
    def local_rank(self) -> int:
        """Which of the devices of its node this process drives."""
        return self.rank % (self.devices // self.nodes)
