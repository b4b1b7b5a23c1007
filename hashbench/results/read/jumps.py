"""Pre-trainings that did not get over the plateau of their objective, as their held-out rows show.

The loss of Shuffle + Random falls twice: early, when random tokens are found by how rare they are, and late, within a
few hundred steps, when shuffled tokens are found by the order of words. A model that was stopped before has learned
little that a task of sentence pairs can use.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hashbench.common.measured import HELD_OUT, SEPARATION
from hashbench.results.read import queries

# How well shuffled tokens must be separated from intact ones: area under the ROC curve, 0.5 by chance.
JUMPED = 0.6
NOT_JUMPED = "a pre-training did not jump"  # the reason that a model is not compared
Separations = Mapping[str, Sequence[tuple[int, float]]]  # by model: seed and separation on held-out rows


def separations(query: Callable[..., Sequence[Any]], experiment_id: int) -> Separations:
    """How well each pre-training of an experiment separates shuffled tokens from intact ones, by model.

    Pre-trainings without held-out rows, and those of another objective, are not judged and have none.
    """
    areas: dict[str, list[tuple[int, float]]] = {}
    for row in query(queries.FACT_OF_PRETRAINING, experiment=experiment_id, split=HELD_OUT, metric=SEPARATION):
        areas.setdefault(row["model"], []).append((int(row["seed"] or 0), float(row["value"])))
    return areas


def before_the_jump(areas: Separations) -> dict[str, list[tuple[int, float]]]:
    """The pre-trainings that did not jump, by model: seed and separation of each."""
    low = {model: [(seed, value) for seed, value in of_model if value < JUMPED] for model, of_model in areas.items()}
    return {model: of_model for model, of_model in low.items() if of_model}
