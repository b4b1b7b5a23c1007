"""Results of a run as it hands them to the store: metrics, predictions, artifacts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from sqlalchemy.engine import RowMapping

from hashbench.common.errors import first_line
from hashbench.common.measured import MetricRow

if TYPE_CHECKING:  # what reads no arrays starts without it
    import numpy as np

Checkpoint = Literal["best", "last"]

# topic of a run's note on outputs that were left out, since nobody could have read them
NOT_STORED = "outputs not stored"
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
        """The predictions in a row of table predictions. Raises ValueError, which names the column, for a damaged one.

        Readers of reports call it through `Store.readable`, which leaves such a one out.
        """
        arrays = {name: unpacked(row, name) for name in ("outputs", "targets")}
        if not (isinstance(row["index_fingerprint"], str) and isinstance(row["condition"], str)):
            raise ValueError("predictions.index_fingerprint or condition: no text")
        return cls(row["split"], row["checkpoint"], **arrays, index_fingerprint=row["index_fingerprint"],
                   condition=row["condition"])  # fmt: skip

    def in_order_of_targets(self) -> Predictions:
        """A copy with the rows in the order of their targets (stable), and a fingerprint that is marked so.

        Rows of two models on the same examples stay rows of the same example. Returns itself where it is in this order.
        """
        if self.index_fingerprint.startswith(BY_TARGET):
            return self
        order, fingerprint = self.targets.argsort(kind="stable"), BY_TARGET + self.index_fingerprint
        return replace(self, outputs=self.outputs[order], targets=self.targets[order], index_fingerprint=fingerprint)


def unpacked(row: RowMapping, name: str) -> np.ndarray:
    """The outputs (n,) or (n, c) or targets (n,) in a row of table predictions. Raises ValueError for anything else."""
    from hashbench.store.packing import unpack

    try:
        array = unpack(row[name])
        if array.ndim > (1 if name == "targets" else 2) or 0 in array.shape[1:] or len(array) != row["n"]:
            raise ValueError(f"an array of shape {array.shape} where {row['n']} rows belong")
    except (ValueError, TypeError) as error:  # TypeError: a text where bytes belong
        raise ValueError(f"predictions.{name}: {first_line(error)}") from error
    return array


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
