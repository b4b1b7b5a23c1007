"""GLUE's tasks as a table (Wang et al. 2019), read as the HashFormers paper reads it (Xue and Aletras 2022, section 4).

Selecting and reporting happen on the development set, as in the paper; MNLI selects on matched and mismatched together
and reports on matched (released code).
"""

from __future__ import annotations

from hashbench.data.sources.hub import HubPlace
from hashbench.data.tasks.base import Task
from hashbench.data.tasks.kinds import classification, regression

GLUE = "glue"  # the group, and the folder in a data folder
MATCHED, MISMATCHED = "validation_matched", "validation_mismatched"


def _hub(name: str) -> HubPlace:
    return HubPlace("nyu-mll/glue", name, "bcdcba79d07bc864c1c254ccfcedcce55bcc9a8c")


def _glue(
    name: str,
    text: tuple[str, ...],
    metrics: tuple[str, ...],
    *,
    rows: tuple[int, int],
    labels: tuple[str, ...],
    stride: int = 1,
    builtin: bool = True,
) -> Task:
    """A task of GLUE; the first metric is the paper's, no label names mean regression."""
    return Task(
        name=name,
        text=text,
        kind=classification.KIND if labels else regression.KIND,
        metrics=metrics,
        select_metric=metrics[0],
        evaluation_stride=stride,
        n_classes=len(labels) or 1,
        label_names=labels,
        official_rows=dict(zip(("train", "validation"), rows, strict=True)),
        collection=GLUE,
        hub=_hub(name),
        builtin=builtin,
    )


SENTENCE, SENTENCES, QUESTIONS = ("sentence",), ("sentence1", "sentence2"), ("question1", "question2")
UNACCEPTABLE = ("unacceptable", "acceptable")
ENTAILMENT = ("entailment", "not_entailment")  # GLUE's ids: 0 is entailment in qnli and rte


def _no_yes(name: str) -> tuple[str, str]:
    return f"not_{name}", name


# Row counts: the data set nyu-mll/glue. Strides: evaluation intervals of the paper's table 5, three times longer for
# the four small tasks.
TASKS = [
    _glue("cola", SENTENCE, ("matthews", "accuracy"), rows=(8_551, 1_043), labels=UNACCEPTABLE, stride=3),
    _glue("sst2", SENTENCE, ("accuracy",), rows=(67_349, 872), labels=("negative", "positive")),
    _glue("mrpc", SENTENCES, ("accuracy", "f1"), rows=(3_668, 408), labels=_no_yes("equivalent"), stride=3),
    _glue("stsb", SENTENCES, ("spearman", "pearson"), rows=(5_749, 1_500), labels=(), stride=3),
    _glue("qqp", QUESTIONS, ("f1", "accuracy"), rows=(363_846, 40_430), labels=_no_yes("duplicate")),
    Task(
        name="mnli",
        kind=classification.KIND,
        text=("premise", "hypothesis"),
        metrics=("accuracy",),
        select_splits=(MATCHED, MISMATCHED),
        report_splits=(MATCHED,),
        n_classes=3,
        label_names=("entailment", "neutral", "contradiction"),
        official_rows={"train": 392_702, MATCHED: 9_815, MISMATCHED: 9_832},
        collection=GLUE,
        hub=_hub("mnli"),
        builtin=True,
    ),
    _glue("qnli", ("question", "sentence"), ("accuracy",), rows=(104_743, 5_463), labels=ENTAILMENT),
    _glue("rte", SENTENCES, ("accuracy",), rows=(2_490, 277), labels=ENTAILMENT, stride=3),
    _glue("wnli", SENTENCES, ("accuracy",), rows=(635, 71), labels=_no_yes("entailment"), builtin=False),
]
# The eight that the papers average over. They leave wnli out, as most do, since its dev set contradicts its train set.
GROUPS = {GLUE: ("cola", "sst2", "mrpc", "stsb", "qqp", "mnli", "qnli", "rte")}
