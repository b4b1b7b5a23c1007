"""A measured number on its way from a metric, a trainer or a clock to its row in the store."""

from __future__ import annotations

import math
from dataclasses import dataclass

# Begins the topic of a run's note on the class that a metric counts: "class of f1"
COUNTED = "class of "
# The split of numbers of a pre-training on rows that it did not train on
HELD_OUT = "held-out rows"
# How well they tell shuffled tokens from intact ones: area under the ROC curve
SEPARATION = "separation"


@dataclass(frozen=True)
class MetricRow:
    """One number, in its natural range (scores 0 to 1 or -1 to 1, times in ms). None is missing and needs a reason."""

    name: str
    value: float | None
    split: str = ""  # of the data; "" for what is of no split
    step: int = 0
    condition: str = ""  # another way of evaluating: "tenth=3", "swap=0.05"; "" for all examples as they are
    reason: str | None = None  # why there is no value

    def stored(self) -> tuple[float | None, str | None]:
        """Value and reason as they are stored: what is not finite becomes missing, with its name as reason.

        >>> MetricRow("pearson", float("nan")).stored()
        (None, 'nan')
        """
        if self.value is None:
            return None, self.reason or "not given"
        value = float(self.value)
        if math.isfinite(value):
            return value, self.reason
        return None, self.reason or str(value)
