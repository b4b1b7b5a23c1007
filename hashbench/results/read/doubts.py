"""Reasons to doubt a score: a pre-training that did not get over its plateau, and texts that were not read whole.

The loss of Shuffle + Random falls twice: early, when random tokens are found by how rare they are, and late, within a
few hundred steps, when shuffled tokens are found by the order of words. A model that was stopped before has learned
little that a task of sentence pairs can use.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from hashbench.common.measured import HELD_OUT, NOTED_LOSS, SEPARATION, TextCounts
from hashbench.common.showing import percent_text
from hashbench.results.read import queries
from hashbench.results.read.runs import MeasuredRun
from hashbench.scores.base import metric_of

# How well shuffled tokens must be separated from intact ones: area under the ROC curve, 0.5 by chance.
JUMPED = 0.6
NOT_JUMPED = "a pre-training did not jump"  # the reason that a model is not compared
Separations = Mapping[str, Sequence[tuple[int, float]]]  # by model: seed and separation on held-out rows


def separations(query: Callable[..., Sequence[Any]], experiment_id: int) -> Separations:
    """How well each pre-training of an experiment separates shuffled tokens from intact ones, by model.

    Pre-trainings without held-out rows or with another objective are not judged and left out.
    """
    areas: dict[str, list[tuple[int, float]]] = {}
    for row in query(queries.FACT_OF_PRETRAINING, experiment=experiment_id, split=HELD_OUT, metric=SEPARATION):
        areas.setdefault(row["model"], []).append((int(row["seed"] or 0), float(row["value"])))
    return areas


def before_the_jump(areas: Separations) -> dict[str, list[tuple[int, float]]]:
    """The pre-trainings that did not jump, by model: seed and separation of each."""
    low = {model: [(seed, value) for seed, value in of_model if value < JUMPED] for model, of_model in areas.items()}
    return {model: of_model for model, of_model in low.items() if of_model}


NOT_COUNTED = "not counted"  # of a run that was stored before texts were counted


def counts_on(runs: Iterable[MeasuredRun], split: str) -> list[TextCounts]:
    """The distinct counts of a split over finished runs; runs without counts are left out."""
    read = [run.texts_read for run in runs if run.state == "done"]
    return list(dict.fromkeys(of.splits[split] for of in read if of is not None and split in of.splits))


def share_lost(runs: Iterable[MeasuredRun], split: str) -> float | None:
    """The share of a split's characters that finished runs did not read, the largest; None where not counted."""
    return max((counts.share_lost for counts in counts_on(runs, split)), default=None)


def is_uncounted(runs: Iterable[MeasuredRun], metric: str, split: str) -> bool:
    """True where a finished run of a model read texts that nobody counted; other seeds do not speak for it."""
    done = [run for run in runs if run.state == "done" and run.is_scored]
    of = metric_of(metric)
    return (of is None or of.outputs != "rankings") and any(not counts_on([run], split) for run in done)


def unequal_note(first: tuple[str, float | None], second: tuple[str, float | None], where: str) -> str:
    """A note on two sides, each a name and a share of characters lost, that differ by over two points; else "".

    >>> unequal_note(("A", 0.03), ("B", 0.737), "ag_news")
    'not the same share of the texts was read on ag_news: A lost 3.0 % of the characters, B 73.7 %'
    """
    (name, lost), (other, of_other) = first, second
    if lost is None or of_other is None or abs(lost - of_other) <= NOTED_LOSS:
        return ""
    shares = f"{name} lost {percent_text(lost)} % of the characters, {other} {percent_text(of_other)} %"
    return f"not the same share of the texts was read on {where}: {shares}"
