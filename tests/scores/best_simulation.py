"""Simulated columns whose true best model is known, and how often the group of the best is right.

    python -m tests.scores.best_simulation --worlds 1000

Models with some seeds each on the same examples. Whether a run has an example right depends on the model's skill, which
its seed varies, on a difficulty of the example that all runs share, on one that the runs of a model share, and on noise
of the run. A column is the mean of one metric over some tasks, which share nothing.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass, replace

import numpy as np
from scipy import stats

from hashbench.scores.best import group
from hashbench.scores.draws import drawn
from hashbench.scores.quantity import Quantity, difference

SKILL = 0.8  # of the best models, on the probit scale: 79 % right
PARTS = (0.5, 0.25, 0.25)  # of an example's variance: shared by all, by a model's runs, by none
BELOW = 4.0  # standard errors of a difference


@dataclass(frozen=True)
class World:
    """How a column is made: `kind` is "equal", "one below" (four standard errors), "one above" or "ladder"."""

    models: int
    kind: str = "equal"
    unstable: float = 1.0  # times as far as the others' do the last model's seeds deviate
    unstable_is_best: bool = False  # it is the second model then, which is the best
    seeds: int = 3
    examples: int = 400
    tasks: int = 1
    metric: str = "accuracy"
    spread: float = 0.03  # of a skill over seeds: 0.9 points of accuracy
    draws: int = 1_000


@dataclass(frozen=True)
class Found:
    """Shares of the worlds: all models in the group, the best in it; of models far below those outside."""

    all_in: float
    best_in: float
    below_out: float


def column(world: World, skills: np.ndarray, spreads: np.ndarray, random: np.random.Generator) -> list[Quantity]:
    """A column of models with these skills (models,) that deviate over seeds by `spreads` (models,)."""
    shape = (world.models, world.seeds, world.examples)
    scores, draws = [], []
    for task in range(world.tasks):
        of_all, of_model, of_run = (
            np.sqrt(part) * random.standard_normal(size)
            for part, size in zip(PARTS, (shape[2], (shape[0], 1, shape[2]), shape), strict=True)
        )
        seeds = skills[:, None] + spreads[:, None] * random.standard_normal(shape[:2])
        right = (seeds[:, :, None] + of_all + of_model + of_run > 0).reshape(-1, shape[2])
        targets = random.integers(0, 2, shape[2])
        outputs = list(np.where(right, targets, 1 - targets))
        drawn_scores = drawn(world.metric, targets, outputs, draws=world.draws, seed=int(random.integers(2**31)) + task)
        draws.append(drawn_scores.reshape(*shape[:2], -1))
        whole = _scores(world.metric, targets, outputs)
        scores.append(whole.reshape(shape[:2]))
    values, by_draw = np.mean(scores, axis=0), np.mean(draws, axis=0)  # (models, seeds), (models, seeds, draws)
    return [
        Quantity.of_units(model, dict(enumerate(values[model].tolist())), dict(enumerate(by_draw[model])))
        for model in range(world.models)
    ]


def _scores(metric: str, targets: np.ndarray, outputs: list[np.ndarray]) -> np.ndarray:
    from hashbench.scores.base import find_metric

    return np.array([find_metric(metric).score(targets, of_run) for of_run in outputs])


def best_of(models: list[Quantity]) -> list[bool]:
    """The group of the best of a column."""
    return group([model.value for model in models], lambda i, j: difference(models[i], models[j]))


def far_below(world: World) -> float:
    """The skill that a model lacks which is four standard errors below the best.

    The standard error is that of the difference between the two models' accuracies, from simulated columns.
    """
    pilot = replace(world, models=40, draws=1, metric="accuracy")
    of_best, far = _variance(pilot, SKILL, 1.0), 0.0
    for _ in range(3):  # a lower skill has a larger variance
        error = np.sqrt(of_best + _variance(pilot, SKILL - far, 1.0))
        far = SKILL - stats.norm.ppf(stats.norm.cdf(SKILL) - BELOW * error)
    return float(far)


def _variance(pilot: World, skill: float, factor: float) -> float:
    """The variance of a model's accuracy, mean over seeds and tasks, without what all models share."""
    random, same = np.random.default_rng(7), np.full(pilot.models, 1.0)
    columns = [column(pilot, skill * same, factor * pilot.spread * same, random) for _ in range(20)]
    return float(np.mean([np.var([model.value for model in of_one], ddof=1) for of_one in columns]))


def simulate(world: World, n: int, seed: int = 0) -> Found:
    """How often the group is right in n worlds."""
    far = far_below(world)
    below = {
        "equal": np.zeros(world.models),
        "one below": np.where(np.arange(world.models) == 0, far, 0.0),
        "one above": np.where(np.arange(world.models) == 1, 0.0, far),
        "ladder": np.roll(np.linspace(0.0, far, world.models), 1),
    }[world.kind]
    spreads = np.full(world.models, world.spread)
    spreads[1 if world.unstable_is_best else -1] *= world.unstable
    # The mean over seeds of the share of right examples is as if the seeds' variance were one of the examples.
    skills = (SKILL - below) * np.sqrt((1 + spreads**2) / (1 + world.spread**2))
    random, rows = np.random.default_rng(seed), []
    for _ in range(n):
        models = column(world, skills, spreads, random)
        members = np.array(best_of(models))
        out = ~members[np.isclose(below, far) & (spreads == world.spread)]
        rows.append((members.all(), members[1], out.mean() if len(out) else np.nan))
    return Found(*np.mean(rows, axis=0))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--worlds", type=int, default=1000)
    parser.add_argument("--models", type=int, nargs="+", default=[5, 23, 50])
    parser.add_argument("--unstable", type=float, nargs="+", default=[1.0, 4.0])
    parser.add_argument("--kinds", nargs="+", default=["equal", "one below", "one above", "ladder"])
    parser.add_argument("--tasks", type=int, default=1)
    parser.add_argument("--metric", default="accuracy")
    parser.add_argument("--examples", type=int, default=400)
    given = parser.parse_args()
    for n_models in given.models:
        for unstable in given.unstable:
            for kind in given.kinds:
                world = World(n_models, kind, unstable, tasks=given.tasks, metric=given.metric, examples=given.examples)
                print(n_models, unstable, kind, simulate(world, given.worlds), flush=True)
