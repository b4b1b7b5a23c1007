"""Which models of a column are not separable from its best, and between which ranks each model is.

Hsu's multiple comparisons with the best (The Annals of Statistics 12, 1984): a model is outside the group of the best
if another is above it by more than the model's own one-sided bound, which holds for all others at once. That bound is
too narrow for the statement that all of several equal models are in the group. So before it all pairs are compared at
once (Tukey's range): where no difference is above a bound that holds for all pairs, all models are in the group. The
same bound gives the ranks.

The variance of a difference is that of the seeds, of either model, and that of the examples, which all models share.
What seeds and examples vary only together counts as variance of seeds. Three seeds say little about one model's
variance, so each model has at least the mean of its kind's, without the largest. A model above it is perhaps an
unstable one, and its seeds say as little about its mean: it counts with the power 1 + 1 / (seeds - 1) of how many times
the mean its variance is, so that it is as unsure as it may be, and widens no bound of others. How far the largest of so
many differences deviates by chance, estimated variances included, is read from joint draws in which the seeds of all
models vary by the mean variance of their kind.

Measured in simulated columns of 5, 23 and 50 models, one of which has seeds that deviate four times as far (its
variance over seeds is four times that of the others), and not used: a threshold of six times the others' variance,
above which a model counts as unstable, finds a third of these models; thresholds of three or four find as many stable
ones. The deviation from the mean of all models in place of the range sees less of models that are apart by equal steps
(the last of five, with an unstable one, was outside in 63 % of columns, now in 83 %), and so does the range's bound
without the models' own (the last of 50 in 74 %, now in 95 %).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from hashbench.scores.estimates import SeedError

JOINT_DRAWS = 10_000
ALIKE = 1e-9  # of the variance over draws: what is smaller over seeds is an error of rounding
# The share of joint draws below a bound. They take the mean variance as known, so that a bound of 95 % was exceeded in
# 6 to 7 % of simulated columns.
WITHIN = 0.96
LEAST_SEEDS = 2  # with one there is no variance of seeds
LEAST_MODELS = 3  # of a kind, whose variances are taken together


@dataclass(frozen=True)
class SeedSpread:
    """The variances over seeds of models, each with at least the mean of the others of its kind.

    `by_seed` (models, seeds): a score of each model with each seed, at least two of either. `kinds`: that of each
    model; () means one for all. A model of whose kind there are fewer than three is judged by all models.
    """

    by_seed: np.ndarray
    joint_draws: int = JOINT_DRAWS
    kinds: Sequence[Hashable] = ()

    @cached_property
    def of_means(self) -> np.ndarray:
        """The variance of each model's mean over its seeds, as it is estimated (models,).

        Variances 2, 2 and 8 over two seeds, where a model far above the others counts as yet less sure:

        >>> by_seed = np.array([[0.0, 2.0], [1.0, 3.0], [0.0, 4.0]])
        >>> SeedSpread(by_seed).of_means.round(1)
        array([2.2, 2.2, 7.1])
        """
        return self.estimated(self.by_seed.var(axis=1, ddof=1)) / self.by_seed.shape[1]

    @property
    def freedom(self) -> int:
        """The fewest degrees of freedom of the mean variance of a kind, of which the largest does not count."""
        return min(self._freedom * (len(others) - 1) for _, others in self._together)

    def estimated(self, variances: np.ndarray) -> np.ndarray:
        """The variances by which models are judged, from those over their seeds: (..., models) both."""
        pooled = self.pooled(variances)
        times = np.divide(variances, pooled, out=np.ones_like(variances), where=pooled > 0)
        return np.maximum(pooled, variances) * np.maximum(times, 1.0) ** (1 / self._freedom)

    def pooled(self, variances: np.ndarray) -> np.ndarray:
        """The variance of each model, were all of its kind equal: (..., models) both.

        It is the mean of the kind without the largest, over what that is in draws of models whose variance is 1.
        """
        pooled = np.empty_like(variances)
        for (members, others), shrunk in zip(self._together, self._shrunk, strict=True):
            pooled[..., members] = _mean_of_smaller(variances[..., others]) / shrunk
        return pooled

    @cached_property
    def _together(self) -> list[tuple[list[int], list[int]]]:
        """For each kind its models, and the models whose variances are taken together for them."""
        everyone = list(range(len(self.by_seed)))
        by_kind: dict[Hashable, list[int]] = {}
        for model, kind in zip(everyone, self.kinds or [None] * len(everyone), strict=True):
            by_kind.setdefault(kind, []).append(model)
        return [(of_kind, of_kind if len(of_kind) >= LEAST_MODELS else everyone) for of_kind in by_kind.values()]

    @cached_property
    def _shrunk(self) -> list[float]:
        return [float(_mean_of_smaller(self.chi_squares[:, others]).mean()) for _, others in self._together]

    @cached_property
    def chi_squares(self) -> np.ndarray:
        """Variances over seeds of models whose variance is 1: (joint draws, models)."""
        return np.random.default_rng(1).chisquare(self._freedom, (self.joint_draws, len(self.by_seed))) / self._freedom

    @property
    def _freedom(self) -> int:
        return self.by_seed.shape[1] - 1


@dataclass(frozen=True)
class Separation:
    """The scores of a column's models with the variances of their differences, and what they separate.

    `by_seed` (models, seeds): a score of each model with each seed, at least two. `by_draw` (models, seeds, draws): the
    same in bootstrap draws of the examples, equal for all models. `kinds`: as in `SeedSpread`.
    """

    by_seed: np.ndarray
    by_draw: np.ndarray
    joint_draws: int = JOINT_DRAWS
    kinds: Sequence[Hashable] = ()

    def group(self) -> np.ndarray:
        """True for each model (models,) that is not separable from the best.

        Two models, one of them 10 points below with seeds and draws that vary by one or two:

        >>> random = np.random.default_rng(0)
        >>> seeds, draws = random.normal(size=(3, 4)), random.normal(size=(3, 4, 200))
        >>> above = np.array([10.0, 10.0, 0.0])
        >>> Separation(seeds + above[:, None], draws + above[:, None, None]).group()
        array([ True,  True, False])
        """
        if not (self._standardised > self._bound_of_all).any():
            return np.ones(len(self.by_seed), bool)
        return np.logical_not((self._standardised > self._bounds[:, None]).any(axis=1))

    def ranks(self) -> tuple[np.ndarray, np.ndarray]:
        """The first and the last rank that each model may have, (models,) each; all hold at once, 1 is the best."""
        above = self._standardised > self._bound_of_all  # [i, j]: j is above i
        return 1 + above.sum(axis=1), len(above) - above.sum(axis=0)

    def half_widths(self, reference: int) -> np.ndarray:
        """Half the width of each model's difference from the reference (models,): intervals that hold all at once.

        Each is exceeded as often as any other, so that an unstable model widens its own interval alone.
        """
        distances = np.abs(self._draws_against(reference))  # (models, joint draws)
        places = distances.argsort(axis=1).argsort(axis=1)
        place = int(np.quantile(places.max(axis=0), WITHIN))
        return np.sort(distances, axis=1)[:, place] * self._errors[reference]

    def half_widths_of_pairs(self) -> np.ndarray:
        """Half the width of the interval of each difference between two models: (models, models), all hold at once.

        Two models differ by more than it if and only if their ranks are separated by it: `ranks` has the same bound.
        """
        return self._bound_of_all * self._errors

    def half_widths_alone(self) -> np.ndarray:
        """Half the width of each model's own 95 % interval over seeds and examples (models,), as figures draw it.

        The variance over seeds is that by which models are compared. Two models may differ although these intervals
        overlap, since both were measured on the same examples.
        """
        of_each = np.sqrt(self._seed_variances + np.maximum(np.diag(self._of_examples), 0.0))
        return SeedError(1.0, self._spread.freedom).interval(0.0)[1] * of_each

    @cached_property
    def _standardised(self) -> np.ndarray:
        """[i, j]: by how many standard errors model j is above model i; 0 where nothing varies (models, models)."""
        means = self.by_seed.mean(axis=1)
        difference = means - means[:, None]
        return np.divide(difference, self._errors, out=np.zeros_like(difference), where=self._errors > 0)

    @cached_property
    def _errors(self) -> np.ndarray:
        """Standard errors of the differences between models (models, models)."""
        return np.sqrt(self._seed_variances[:, None] + self._seed_variances + self._example_variances)

    @cached_property
    def _spread(self) -> SeedSpread:
        return SeedSpread(self.by_seed, self.joint_draws, self.kinds)

    @cached_property
    def _seed_variances(self) -> np.ndarray:
        """The variance over seeds of each model's mean, as it is estimated (models,)."""
        return self._spread.of_means

    @property
    def _n_seeds(self) -> int:
        return self.by_seed.shape[1]

    @cached_property
    def _of_examples(self) -> np.ndarray:
        """Covariances of the scores over the examples alone, which more seeds do not take away (models, models).

        Draws of means over n seeds have the covariance E + J / n, draws of one seed E + J.
        """
        finite = self.by_draw[:, :, np.isfinite(self.by_draw).all(axis=(0, 1))]
        of_means = np.atleast_2d(np.cov(finite.mean(axis=1)))
        if self.by_seed.var(axis=1).sum() < ALIKE * np.trace(of_means):
            return of_means  # equal seeds show nothing of what they vary together with the examples
        of_seeds = np.mean([np.cov(finite[:, seed]) for seed in range(self._n_seeds)], axis=0)
        values, vectors = np.linalg.eigh(of_means - (np.atleast_2d(of_seeds) - of_means) / (self._n_seeds - 1))
        return (vectors * np.maximum(values, 0.0)) @ vectors.T  # estimated, so that it may have values below 0

    @cached_property
    def _example_variances(self) -> np.ndarray:
        """Variances of the differences between models over the examples (models, models)."""
        own = np.diag(self._of_examples)
        return np.maximum(own[:, None] + own - 2 * self._of_examples, 0.0)

    @cached_property
    def _joint(self) -> tuple[np.ndarray, np.ndarray]:
        """Deviations of the models' means, and variances of seeds estimated with them: (models, joint draws) each.

        A draw has one set of examples for all models, and other seeds for each.
        """
        random, shape = np.random.default_rng(0), (self.joint_draws, len(self.by_seed))
        values, vectors = np.linalg.eigh(self._of_examples)
        examples = random.standard_normal(shape) @ (vectors * np.sqrt(np.maximum(values, 0.0))).T
        pooled = self._spread.pooled(self.by_seed.var(axis=1, ddof=1)) / self._n_seeds
        seeds = random.standard_normal(shape) * np.sqrt(pooled)
        estimated = self._spread.estimated(pooled * self._spread.chi_squares)
        return tuple(np.ascontiguousarray(part.T, np.float32) for part in (examples + seeds, estimated))  # type: ignore[return-value]

    def _draws_against(self, model: int) -> np.ndarray:
        """The others' differences from a model in standard errors, were all equal: (models, joint draws)."""
        deviations, variances = self._joint
        squares = variances + variances[model] + self._example_variances[model].astype(np.float32)[:, None]
        squares[model] = 1.0
        difference = deviations - deviations[model]
        return np.divide(difference, np.sqrt(squares), out=np.zeros_like(difference), where=squares > 0)

    @cached_property
    def _largest(self) -> np.ndarray:
        """By how much the highest of the others is above each model, were all equal: (models, joint draws)."""
        return np.stack([self._draws_against(model).max(axis=0) for model in range(len(self.by_seed))])

    @cached_property
    def _bounds(self) -> np.ndarray:
        """Each model's bound on the others' differences from it, in standard errors (models,)."""
        return np.quantile(self._largest, WITHIN, axis=1)

    @cached_property
    def _bound_of_all(self) -> float:
        """The bound on the differences of all pairs at once, in standard errors."""
        return float(np.quantile(self._largest.max(axis=0), WITHIN))


def seed_error(
    weights: Mapping[Any, float], by_seed: Mapping[Any, Sequence[float]], kinds: Mapping[Any, Hashable]
) -> SeedError | None:
    """The standard error over seeds of a weighted sum of models' means, where few seeds say little about one model.

    `by_seed`: the seeds' scores of each known model, and `kinds` the kind of each. The models of the sum
    have the variance of their kind, or more where their own is larger (`SeedSpread`). None for a sum with a model of
    whose kind fewer than three are known: two models tell of each other hardly more than each of itself.

    Measured in simulated columns of four to eleven models with two seeds: the interval of a difference holds 97 to 98 %
    of true values, 94 % where one of the models deviates twice as far as the others, 88 to 93 % where four times.
    """
    of_sum = {kinds[model] for model in weights if model in kinds}
    members = [model for model in by_seed if kinds[model] in of_sum]
    counts = Counter(kinds[model] for model in members)
    has_scores = bool(weights) and weights.keys() <= by_seed.keys()
    if not has_scores or any(counts[kind] < LEAST_MODELS for kind in of_sum):
        return None
    spread = SeedSpread(np.array([by_seed[model] for model in members]), kinds=[kinds[model] for model in members])
    of_means = dict(zip(members, spread.of_means.tolist(), strict=True))
    variance = sum(weight**2 * of_means[model] for model, weight in weights.items())
    return SeedError(math.sqrt(variance), spread.freedom)


def _mean_of_smaller(variances: np.ndarray) -> np.ndarray:
    """The mean of all but the largest: (..., models) -> (..., 1)."""
    largest = variances.max(axis=-1, keepdims=True)
    return (variances.sum(axis=-1, keepdims=True) - largest) / (variances.shape[-1] - 1)


def variance_shares(parts: np.ndarray) -> np.ndarray:
    """The share of each part (parts,) in the variance between models of their sum; (models, parts) -> sum 1.

    It is the covariance of the part and the sum over the variance of the sum, and below 0 for a part that runs against
    the others. NaN where the sums are all equal.

    >>> variance_shares(np.array([[1.0, 10.0], [1.0, 20.0], [1.0, 30.0]]))
    array([0., 1.])
    """
    sums = parts.sum(axis=1)
    centred = parts - parts.mean(axis=0)
    variance = float(((sums - sums.mean()) ** 2).sum())
    return (
        (centred * (sums - sums.mean())[:, None]).sum(axis=0) / variance
        if variance
        else np.full(parts.shape[1], np.nan)
    )
