"""Simulated experiments whose true difference is known, and how often an interval covers it.

    python -m tests.scores.simulation --experiments 1000

Two models, some seeds each, one test set. An example has a difficulty that all runs share, a run a skill that its seed
varies, and both together a noise of their own; so the true value of a metric is a function of the skill, and that of a
model its mean over the seeds' normal distribution.

`examples`: one seed, the truth is that of these two trained models. `seeds`: runs measured without error, the truth is
that of the models. `both`: the truth is that of the models, on other examples and with other seeds.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from hashbench.scores.base import find_metric
from hashbench.scores.draws import drawn
from hashbench.scores.quantity import Quantity, difference

NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(60)  # of a mean over a normal distribution
SHARE = 0.4  # of class 1


@dataclass(frozen=True)
class World:
    """How experiments are made. Skills are on the probit scale, for correlations on Fisher's."""

    metric: str
    skills: tuple[float, float]
    spread: float  # of a skill over seeds
    examples: int = 300
    shared: float = 0.7  # share of an example's variance that all runs have in common
    draws: int = 1_000

    def population(self, skill: np.ndarray) -> np.ndarray:
        """The metric of runs with these skills on all examples that there are."""
        return POPULATION[self.metric](skill)

    def truth(self) -> float:
        """The difference of the models' means over seeds."""
        a, b = (np.sum(WEIGHTS * self.population(m + self.spread * NODES)) / WEIGHTS.sum() for m in self.skills)
        return float(a - b)


def _matthews(skill: np.ndarray) -> np.ndarray:
    p = stats.norm.cdf(skill)  # share of either class that is right
    predicted = SHARE * p + (1 - SHARE) * (1 - p)
    shared = SHARE * p - SHARE * predicted
    return shared / np.sqrt(SHARE * (1 - SHARE) * predicted * (1 - predicted))


def _f1(skill: np.ndarray) -> np.ndarray:
    p = stats.norm.cdf(skill)
    return 2 * SHARE * p / (2 * SHARE * p + 1 - p)


def _spearman(skill: np.ndarray) -> np.ndarray:
    return 6 / np.pi * np.arcsin(np.tanh(skill) / 2)  # of two normal variables with that correlation


POPULATION: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "accuracy": stats.norm.cdf,
    "matthews": _matthews,
    "f1": _f1,
    "spearman": _spearman,
}
# differences of 3 to 6 points; seeds deviate by 1.5 to 2 points, as small fine-tunings do
WORLDS = {
    "matthews": World("matthews", (1.0, 0.9), 0.05),
    "f1": World("f1", (1.0, 0.9), 0.05),
    "spearman": World("spearman", (0.8, 0.7), 0.04),
}


def simulate(world: World, random: np.random.Generator, seeds: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """One experiment: targets (n,), outputs (2, seeds, n), skills (2, seeds)."""
    n = world.examples
    skills = np.array(world.skills)[:, None] + world.spread * random.standard_normal((2, seeds))
    noise = np.sqrt(world.shared) * random.standard_normal(n)
    noise = noise + np.sqrt(1 - world.shared) * random.standard_normal((2, seeds, n))
    if world.metric == "spearman":
        targets, r = random.standard_normal(n), np.tanh(skills)[..., None]
        return targets, r * targets + np.sqrt(1 - r**2) * noise, skills
    targets = (random.random(n) < SHARE).astype(np.int64)
    return targets, np.where(skills[..., None] + noise > 0, targets, 1 - targets), skills


def covered(world: World, experiments: int, seed_counts: Sequence[int], seed: int = 0) -> dict[str, float]:
    """Share of the experiments whose 95 % interval covers the truth, by what the interval is over."""
    random, most = np.random.default_rng(seed), max(seed_counts)
    truth = world.truth()
    hits: dict[str, list[bool]] = {}
    for _ in range(experiments):
        targets, outputs, skills = simulate(world, random, most)
        draws = drawn(
            world.metric, targets, outputs.reshape(2 * most, -1), draws=world.draws, seed=int(random.integers(2**31))
        ).reshape(2, most, -1)
        points = drawn_once(world.metric, targets, outputs)  # (2, seeds)
        exact = world.population(skills)
        one = difference(*(_model(side, points[side, :1], draws[side, :1]) for side in (0, 1))).estimate()
        hits.setdefault("examples", []).append(one.low <= exact[0, 0] - exact[1, 0] <= one.high)
        for count in seed_counts:
            for name, values, by_draw in (("seeds", exact, None), ("both", points, draws)):
                sides = (
                    _model(side, values[side, :count], None if by_draw is None else by_draw[side, :count])
                    for side in (0, 1)
                )
                found = difference(*sides).estimate()
                hits.setdefault(f"{name}, {count} seeds", []).append(found.low <= truth <= found.high)
    return {name: float(np.mean(values)) for name, values in hits.items()}


def _model(side: int, scores: np.ndarray, draws: np.ndarray | None) -> Quantity:
    """A model with a score for each seed (seeds,), and in draws of the examples (seeds, draws)."""
    by_draw = None if draws is None else dict(enumerate(draws))
    return Quantity.of_units(side, dict(enumerate(scores.tolist())), by_draw)


def drawn_once(metric: str, targets: np.ndarray, outputs: np.ndarray) -> np.ndarray:
    """The metric of the examples themselves (2, seeds); a call of scikit-learn for each would be most of the time."""
    scorer = find_metric(metric).scorer(targets, list(outputs.reshape(-1, len(targets))))
    return scorer.scores(np.ones((1, len(targets)), int)).reshape(outputs.shape[:2])


def main() -> None:
    """Prints a line for each metric."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--experiments", type=int, default=1_000)
    parser.add_argument("--seeds", type=int, nargs="+", default=[3, 5])
    parser.add_argument("--metrics", nargs="+", default=list(WORLDS))
    arguments = parser.parse_args()
    for metric in arguments.metrics:
        found = covered(WORLDS[metric], arguments.experiments, arguments.seeds)
        shown = "  ".join(f"{name}: {100 * share:.1f} %" for name, share in found.items())
        print(f"{metric:9s} true difference {100 * WORLDS[metric].truth():.1f} points  {shown}", flush=True)


if __name__ == "__main__":
    main()
