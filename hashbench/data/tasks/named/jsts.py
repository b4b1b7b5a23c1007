"""JSTS: how alike two Japanese sentences are, from 0 to 5 (Kurihara, Kawahara and Shibata 2022, JGLUE).

As in GLUE, it is selected and reported on the development set, since the labels of the test set are not public.
"""

from __future__ import annotations

from hashbench.data.sources.hub import HubPlace
from hashbench.data.tasks.base import Task
from hashbench.data.tasks.kinds.regression import KIND

TASKS = [
    Task(
        name="jsts",
        kind=KIND,
        text=("sentence1", "sentence2"),
        metrics=("spearman", "pearson"),
        select_metric="spearman",
        n_classes=1,
        official_rows={"train": 12_451, "validation": 1_457},
        collection="multilingual",
        traits={"language": "Japanese", "script": "Japanese"},
        hub=HubPlace("shunk031/JGLUE", "JSTS"),
    )
]
