"""Results of a run as it hands them to the store: metrics, predictions, artifacts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from sqlalchemy.engine import RowMapping

from hashbench.common.measured import MetricRow

if TYPE_CHECKING:  # what reads no arrays starts without it
    import numpy as np

Checkpoint = Literal["best", "last"]

# begins the fingerprint of examples that were put into the order of their targets
BY_TARGET = "by target: "


@dataclass(frozen=True)
class Predictions:
    """Outputs (n, ...) and targets (n,) of one split, in the order of the row ids that the fingerprint names.

    `condition`: under which other way of evaluating, "" where none: a beam width, noise in the texts ('swap=0.05').
    """

    split: str
    checkpoint: Checkpoint
    outputs: np.ndarray
    targets: np.ndarray
    index_fingerprint: str
    condition: str = ""

    def __post_init__(self) -> None:
        if len(self.outputs) != len(self.targets):
            raise ValueError(f"{self.split}: {len(self.outputs)} outputs but {len(self.targets)} targets")

    @classmethod
    def of_row(cls, row: RowMapping) -> Predictions:
        """The predictions in a row of table predictions."""
        from hashbench.store.packing import unpack

        outputs, targets = unpack(row["outputs"]), unpack(row["targets"])
        return cls(row["split"], row["checkpoint"], outputs, targets, row["index_fingerprint"], row["condition"])

    def in_order_of_targets(self) -> Predictions:
        """A copy with the rows in the order of their targets (stable), and a fingerprint that is marked so.

        Rows of two models on the same examples stay rows of the same example. Returns itself where it is in this order.
        """
        if self.index_fingerprint.startswith(BY_TARGET):
            return self
        order, fingerprint = self.targets.argsort(kind="stable"), BY_TARGET + self.index_fingerprint
        return replace(self, outputs=self.outputs[order], targets=self.targets[order], index_fingerprint=fingerprint)


@dataclass(frozen=True)
class Artifact:
    """A file that a run left: its path below the artifact root, its size and its sha256."""

    kind: str
    url: str
    bytes: int
    sha256: str


def leads_outside(url: str) -> bool:
    """True for the URL of an artifact that is not a path below the artifact root.

    >>> [leads_outside(url) for url in ("ab/weights.safetensors", "../x", "a/../../x", "/etc/x", "C:\\\\x", "s3://x/y")]
    [False, True, True, True, True, True]
    """
    parts = url.replace("\\", "/").split("/")
    return url.startswith(("/", "\\", "~")) or ".." in parts or ":" in parts[0]


@dataclass(frozen=True)
class Result:
    """Everything that a finished run leaves in the database. `notes`: what a table must say about it, by topic."""

    metrics: Sequence[MetricRow] = ()
    predictions: Sequence[Predictions] = ()
    artifacts: Sequence[Artifact] = ()
    log: str = ""
    seconds: float | None = None
    seconds_before: float = 0.0  # of earlier attempts whose checkpoint this one went on from
    notes: Mapping[str, str] = field(default_factory=dict)
