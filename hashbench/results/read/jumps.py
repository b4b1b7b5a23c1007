"""Pre-trainings that did not get over the plateau of their objective, as their held-out rows show.

The loss of Shuffle + Random falls twice: early, when random tokens are found by how rare they are, and late, within a
few hundred steps, when shuffled tokens are found by the order of words. A model that was stopped before has learned
little that a task of sentence pairs can use.
"""

from __future__ import annotations

from hashbench.common.measured import HELD_OUT, SEPARATION
from hashbench.results.read import queries
from hashbench.results.read.measured import Measured

# How well shuffled tokens must be separated from intact ones: area under the ROC curve, 0.5 by chance.
JUMPED = 0.6


def before_the_jump(measured: Measured) -> dict[str, list[tuple[int, float]]]:
    """The pre-trainings that did not jump, by model: seed and separation on held-out rows of each.

    Pre-trainings without held-out rows, and those of another objective, are not judged.
    """
    key = {"experiment": measured.experiment.id, "split": HELD_OUT, "metric": SEPARATION}
    low: dict[str, list[tuple[int, float]]] = {}
    for row in measured.query(queries.FACT_OF_PRETRAINING, **key):
        if row["value"] < JUMPED:
            low.setdefault(row["model"], []).append((int(row["seed"] or 0), float(row["value"])))
    return low


def jump_warning(measured: Measured) -> list[str]:
    """The warning that names the models with a pre-training that did not jump; or none."""
    models = [
        f"{model} ({', '.join(f'seed {seed}: {value:.2f}' for seed, value in of_model)})"
        for model, of_model in before_the_jump(measured).items()
    ]
    if not models:
        return []
    return [
        f"NOT JUMPED: {'; '.join(models)}: this pre-training hardly separates shuffled words from intact ones on "
        f"held-out rows (below {JUMPED:g}, by chance 0.5): their scores show too short a training, not the embedding."
    ]
