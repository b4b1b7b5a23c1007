"""The kind of task of texts with a number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from hashbench.data.sources.files import Cells
from hashbench.data.sources.values import read_values
from hashbench.data.tasks.base import Task
from hashbench.data.tasks.text import TextKind
from hashbench.data.tasks.text_baselines import BASELINES
from hashbench.data.tasks.text_data import Split

RIDGE_ALPHA = 1.0  # scikit-learn's own
RIDGE_ALPHAS = (300.0, 100.0, 30.0, 10.0, 3.0)  # of the regressions that are chosen among


class Regression(TextKind):
    """The kind of texts with a number. Labels are finite (n,) float32; a head has one output."""

    name = "regression"
    outputs = "values"
    common_metrics = ("spearman", "pearson")
    own_classes = 1
    baselines = BASELINES

    def read_labels(
        self, task: Task, cells: dict[str, Cells], where: Mapping[str, str], names: Sequence[str]
    ) -> tuple[dict[str, np.ndarray], Task]:
        """Values (n,) float32 of each split, and the task with notes on them."""
        read = read_values(cells, where)
        return read.labels, replace(task, label_notes=read.notes)

    def label_notes(self, splits: Mapping[str, Split], names: Sequence[str]) -> list[str]:
        """No notes: a split of one value is one on which correlations have none (`undefined_notes`)."""
        return []

    def constant(self, labels: np.ndarray) -> np.generic:
        """The mean of labels (n,)."""
        return labels.mean(dtype=np.float64)

    def linear_model(self, labels: np.ndarray, tolerance: float) -> Any:
        """An untrained ridge regression, whatever the labels (n,)."""
        from sklearn.linear_model import Ridge

        return Ridge(RIDGE_ALPHA)

    def linear_models(self, labels: np.ndarray) -> list[Any]:
        """Untrained ridge regressions, whatever the labels (n,)."""
        from sklearn.linear_model import Ridge

        return [Ridge(alpha) for alpha in RIDGE_ALPHAS]


KIND = Regression()
