"""The data sets of ProFormer's tables 2 to 4 (Sankar, Ravi and Kozareva 2021): intents, dialogue acts and topics.

Selecting happens on the validation set, or on a seeded tenth of train where there is none; the test set is read once.
Labels are as the data name them. Intents that only ATIS' test set has count as errors. The paper has 21 intents and
6 dialogue acts and gives no map of labels; of MRDA the five basic acts are used.
"""

from __future__ import annotations

from hashbench.data.sources.hub import HubPlace
from hashbench.data.tasks.base import Task
from hashbench.data.tasks.kinds.classification import KIND

COLLECTION = "classification"  # the folder in a data folder


def _task(name: str, hub: HubPlace, **rows: int) -> Task:
    """A task over the columns text and label; `rows`: of the published splits."""
    return Task(
        name=name,
        kind=KIND,
        text=("text",),
        metrics=("accuracy", "f1_macro", "matthews"),
        select_splits=("validation",) if "validation" in rows else ("holdout",),
        report_splits=("test",),
        official_rows=rows,
        collection=COLLECTION,
        splits_as_found=True,
        hub=hub,
    )


def _made_of(text: tuple[str, ...], label: str) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """The columns text and label, each with the columns on the hub that it is made of."""
    return ("text", text), ("label", (label,))


ATIS = HubPlace("tuetschek/atis", rows={"train": 4_978, "test": 893}, columns=_made_of(("text",), "intent"))
MRDA = HubPlace(
    "eusip/silicone",
    "mrda",
    rows={"train": 83_943, "validation": 9_815, "test": 15_470},
    columns=_made_of(("Utterance",), "Dialogue_Act"),
)
AG_NEWS = HubPlace(
    "fancyzhx/ag_news",
    revision="eb185aade064a813bc0b7f42de02595523103ca4",
    rows={"train": 120_000, "test": 7_600},
    columns=_made_of(("text",), "label"),
)
YAHOO_ANSWERS = HubPlace(
    "community-datasets/yahoo_answers_topics",
    revision="6652a1e7c94f7260a0bfd0c9092dd48e2d536ea1",
    rows={"train": 1_400_000, "test": 60_000},
    columns=_made_of(("question_title", "question_content", "best_answer"), "topic"),
)

# Rows. ATIS: the split of Goo et al. 2018; a copy without validation has its rows in train. MRDA: the split of
# NathanDuran/MRDA-Corpus; the paper's 78,000 and 15,000 are another split. AG News, Yahoo! Answers: Zhang et al. 2015.
TASKS = [
    _task("atis", ATIS, train=4_478, validation=500, test=893),
    _task("mrda", MRDA, train=75_067, validation=16_433, test=16_702),
    _task("ag_news", AG_NEWS, train=120_000, test=7_600),
    _task("yahoo_answers", YAHOO_ANSWERS, train=1_400_000, test=60_000),
]
