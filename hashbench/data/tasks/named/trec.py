"""TREC: 5,452 questions by six kinds of answer, with 500 to test on (Li and Roth 2002).

There is no validation set: it is selected on a seeded tenth of train, and the test set is read once.
"""

from __future__ import annotations

from hashbench.data.sources.hub import HubPlace
from hashbench.data.tasks.base import Task
from hashbench.data.tasks.kinds.classification import KIND

ROWS = {"train": 5_452, "test": 500}

TASKS = [
    Task(
        name="trec",
        kind=KIND,
        text=("text",),
        metrics=("accuracy", "f1_macro", "matthews"),
        select_splits=("holdout",),
        report_splits=("test",),
        official_rows=ROWS,
        collection="classification",
        splits_as_found=True,
        hub=HubPlace("CogComp/trec", rows=ROWS, columns=(("text", ("text",)), ("label", ("coarse_label",)))),
    )
]
