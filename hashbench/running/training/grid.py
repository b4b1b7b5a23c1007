"""A learning rate chosen from a grid, on rows of the training set that were held out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from hashbench.data.tasks.text_batches import FinetuningData
from hashbench.running.training.curves import NotFinite, Point
from hashbench.running.training.finetuning import Job, finetune
from hashbench.running.training.machine import Machine
from hashbench.running.training.model import Model


def best_learning_rate(
    job: Job, held_out: Callable[[], tuple[Model, FinetuningData]], machine: Machine
) -> tuple[float, list[Point]]:
    """The learning rate to use, and the score of each that was tried on the held-out rows.

    A single rate is used as it is. Of a grid the one with the best score on a seeded tenth of train is taken, ties
    going to the smaller; `held_out` makes a fresh model and the data without that tenth.
    """
    rates = job.recipe.learning_rate
    assert rates is not None  # the plan has set it
    if isinstance(rates, float | int):
        return float(rates), []
    tried: list[Point] = []
    quiet = replace(machine, watch=None)
    for number, rate in enumerate(sorted(rates)):
        model, data = held_out()
        part = replace(quiet, folder=machine.folder / f"rate-{number}")
        name = f"learning_rate={rate:g}"
        try:
            done = finetune(model, data, job, learning_rate=rate, machine=part)
        except NotFinite as error:  # a rate that is too large loses; the others are worth a try
            tried.append(Point("holdout", name, 0, None, str(error)))
        else:
            tried.append(Point("holdout", name, 0, done.best.selection))
    chosen = max(range(len(tried)), key=lambda i: (tried[i].value is not None, tried[i].value or 0.0, -i))
    return float(sorted(rates)[chosen]), tried
