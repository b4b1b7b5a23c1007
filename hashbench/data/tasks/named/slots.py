"""The slots of ATIS: which words of a question name its cities, times and airlines (Hemphill et al. 1990).

The split is that of Goo et al. 2018. The hub has no copy with lists of words.
"""

from __future__ import annotations

from hashbench.data.tasks.base import Task
from hashbench.data.tasks.kinds.tagging import KIND

TASKS = [
    Task(
        name="atis_slots",
        kind=KIND,
        text=("tokens",),
        label="tags",
        metrics=KIND.common_metrics,
        select_metric="span_f1",
        report_splits=("test",),
        official_rows={"train": 4_478, "validation": 500, "test": 893},
        collection="tagging",
    )
]
