"""The data sets of ProFormer's tables 2 to 4 (Sankar, Ravi and Kozareva 2021): intents, dialogue acts and topics.

Selecting happens on the validation set, or on a seeded tenth of train where there is none; the test set is read once.
Labels are those that the data name. Intents that only ATIS' test set has count as errors. The paper has 21 intents and
6 dialogue acts and gives no map of labels; of MRDA the five basic acts are used.
"""

from __future__ import annotations

from hashbench.data.tasks import Task


def _task(name: str, **rows: int) -> Task:
    """A task over the columns text and label; `rows`: of the published splits."""
    return Task(
        name=name,
        text=("text",),
        metrics=("accuracy", "f1_macro", "matthews"),
        paper_metrics={"proformer": "accuracy"},
        select_splits=("validation",) if "validation" in rows else ("holdout",),
        report_splits=("test",),
        official_rows=rows,
        collection="classification",
    )


# Rows. ATIS: the split of Goo et al. 2018; a copy without validation has its rows in train. MRDA: the split of
# NathanDuran/MRDA-Corpus; the paper's 78,000 and 15,000 are of another one. AG News, Yahoo! Answers: Zhang et al. 2015.
TEXT_TASKS = [
    _task("atis", train=4_478, validation=500, test=893),
    _task("mrda", train=75_067, validation=16_433, test=16_702),
    _task("ag_news", train=120_000, test=7_600),
    _task("yahoo_answers", train=1_400_000, test=60_000),
]
