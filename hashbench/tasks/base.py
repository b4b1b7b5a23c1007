"""What a task is: its columns, its metrics, the sets to select and to report on."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from hashbench.data.hub import HubPlace
from hashbench.tasks.blocks import Entities, Phrases

Kind = Literal["classification", "regression", "entities", "phrases"]
OF_ITEMS = ("entities", "phrases")  # kinds whose items are hidden and predicted
EVALUATIONS_PER_EPOCH = 5  # the rule that reproduces all eight intervals of the HashFormers paper's table 5


@dataclass(frozen=True)
class Task:
    """A task as data. A text is one column, or two that make a pair; of every metric more is better."""

    name: str
    text: tuple[str, ...]
    label: str = "label"
    kind: Kind = "classification"
    metrics: tuple[str, ...] = ("accuracy",)  # all of them are stored at every evaluation
    select_metric: str = "accuracy"
    paper_metrics: dict[str, str] = field(default_factory=dict)  # paper -> the metric that its tables show
    select_splits: tuple[str, ...] = ("validation",)  # several are selected on together, as one set
    report_splits: tuple[str, ...] = ("validation",)
    evaluation_stride: int = 1  # how many times the common interval lies between two evaluations
    n_classes: int | None = None  # 1: regression; None: an own data set, known once its labels are read
    label_names: tuple[str, ...] = ()
    official_rows: dict[str, int] = field(default_factory=dict)  # split -> rows of the published data set
    folder: Path | None = None  # of an own data set; None: looked for in the sources
    collection: str = "glue"  # the part of a data folder that holds it
    splits_as_found: bool = False  # without a validation split it is selected on a tenth of train; test must be there
    hub: HubPlace | None = None
    builtin: bool = False  # whether the built-in data have it
    protocol: Entities | Phrases | None = None  # how a page-link set, or a corpus of items, is split and tested

    @property
    def is_pair(self) -> bool:
        """Whether a text is a pair of two columns."""
        return len(self.text) == 2

    @property
    def of_items(self) -> bool:
        """Whether items are predicted, of page links or of a corpus."""
        return self.kind in OF_ITEMS

    @property
    def is_own(self) -> bool:
        """Whether this is a data set of the user's own."""
        return self.folder is not None

    @property
    def evaluation_splits(self) -> tuple[str, ...]:
        """The sets to select on, then those that are only reported on."""
        return tuple(dict.fromkeys(self.select_splits + self.report_splits))

    def evaluation_every(self, steps_per_epoch: int, per_epoch: int | None = None) -> int:
        """Steps between two evaluations: the paper's rule, or `per_epoch` evaluations an epoch.

        >>> Task("cola", ("sentence",), evaluation_stride=3).evaluation_every(268)  # the HashFormers paper's table 5
        162
        """
        if per_epoch is not None:
            return -(-steps_per_epoch // per_epoch)
        return -(-steps_per_epoch // EVALUATIONS_PER_EPOCH) * self.evaluation_stride
