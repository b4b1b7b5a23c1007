"""What the workers of a sweep are told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from hashbench.experiment.load import Loaded
from hashbench.sweep.plan import Run


@dataclass(frozen=True)
class Assignment:
    """What every worker of a sweep is told."""

    db: str
    experiment_id: int
    loaded: Loaded
    runs: Mapping[str, Run]
    sources: tuple[str, ...]
    cache: Path
    threads: int
    max_attempts: int
    gpus: tuple[str, ...]  # what each worker in turn sees as CUDA_VISIBLE_DEVICES; empty: all there are
    kinds: tuple[str, ...]  # of the runs to take
