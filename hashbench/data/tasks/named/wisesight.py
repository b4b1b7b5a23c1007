"""Wisesight Sentiment: Thai messages of social media by mood, misspellings kept (Suriyawongkul et al. 2019).

The files of its authors have no splits: a data folder holds a split of its own, the hub another.
"""

from __future__ import annotations

from hashbench.data.sources.hub import HubPlace
from hashbench.data.tasks.base import Task
from hashbench.data.tasks.kinds.classification import KIND

TASKS = [
    Task(
        name="wisesight",
        kind=KIND,
        text=("text",),
        label="category",
        metrics=("accuracy", "f1_macro", "matthews"),
        report_splits=("test",),
        n_classes=4,
        label_names=("pos", "neu", "neg", "q"),  # in the order of their numbers on the hub
        official_rows={"train": 21_389, "validation": 2_674, "test": 2_674},
        collection="multilingual",
        traits={"language": "Thai", "script": "Thai"},
        hub=HubPlace(
            "pythainlp/wisesight_sentiment",
            rows={"train": 21_628, "validation": 2_404, "test": 2_671},
            columns=(("text", ("texts",)),),
        ),
    )
]
