"""Which models of a column are not separable from its best, and between which ranks each model is.

Hsu's multiple comparisons with the best (The Annals of Statistics 12, 1984): a model is outside the group of the best
if another is above it by more than the model's own one-sided bound, which holds for all others at once. That bound is
too narrow for the statement that all of several equal models are in the group. So before it each model is compared
with the mean of all (Ott's analysis of means, 1967): where none deviates by more than a bound that holds for all at
once, the column separates no models, and all are in the group. Ranks come from all pairs at once (Tukey).

The variance of a difference is that of the seeds, of either model, and that of the examples, which all models share.
What seeds and examples vary only together counts as variance of seeds. Three seeds say little about one model's
variance, so each model has at least the mean of the column's. A model whose variance is over six times that of the
others is unstable: its seeds say as little about its mean, and it counts as three times as unsure as they show, so that
it widens no bound of others. How far the largest of so many differences deviates by chance, estimated variances
included, is read from joint draws in which the seeds of all stable models vary by the mean variance.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hashbench.scores.estimates import ALIKE

JOINT_DRAWS = 10_000
# The share of joint draws below a bound. They take the models' variances as known and equal, so that a bound of 95 %
# was exceeded in 6 to 7 % of simulated worlds.
WITHIN = 0.96
UNSTABLE = 6.0  # times the others' variance: of three seeds by chance one in 400
CAUTION = 9.0  # times an unstable model's variance: three times its deviation, for Student's tails
LEAST_SEEDS = 2  # with one there is no variance of seeds


@dataclass(frozen=True)
class Separation:
    """The scores of a column's models with the variances of their differences, and what they separate.

    `by_seed` (models, seeds): a score of each model with each seed, at least two. `by_draw` (models, seeds, draws): the
    same in bootstrap draws of the examples, equal for all models.
    """

    by_seed: np.ndarray
    by_draw: np.ndarray
    joint_draws: int = JOINT_DRAWS

    def group(self) -> np.ndarray:
        """True for each model (models,) that is not separable from the best.

        Two models, one of them 10 points below with seeds and draws that vary by one or two:

        >>> random = np.random.default_rng(0)
        >>> seeds, draws = random.normal(size=(3, 4)), random.normal(size=(3, 4, 200))
        >>> above = np.array([10.0, 10.0, 0.0])
        >>> Separation(seeds + above[:, None], draws + above[:, None, None]).group()
        array([ True,  True, False])
        """
        if not self._any_separable:
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
    def _unstable(self) -> np.ndarray:
        return _unstable(self.by_seed.var(axis=1, ddof=1))

    @cached_property
    def _seed_variances(self) -> np.ndarray:
        """The variance over seeds of each model's mean, as it is estimated (models,)."""
        return self._estimated(self.by_seed.var(axis=1, ddof=1)) / self._n_seeds

    def _estimated(self, variances: np.ndarray) -> np.ndarray:
        """The variances by which models are judged, from those over their seeds: (..., models) both."""
        pooled = variances[..., ~self._unstable].mean(axis=-1, keepdims=True)
        return np.where(self._unstable, CAUTION * variances, np.maximum(variances, pooled))

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
        random = np.random.default_rng(0)
        shape, freedom = (self.joint_draws, len(self.by_seed)), self._n_seeds - 1
        values, vectors = np.linalg.eigh(self._of_examples)
        examples = random.standard_normal(shape) @ (vectors * np.sqrt(np.maximum(values, 0.0))).T
        own = self.by_seed.var(axis=1, ddof=1) / self._n_seeds
        true = np.where(self._unstable, own, own[~self._unstable].mean())
        seeds = random.standard_normal(shape) * np.sqrt(true)
        estimated = self._estimated(true * random.chisquare(freedom, shape) / freedom)
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
    def _any_separable(self) -> bool:
        """True if a model deviates from the mean of all by more than chance explains for the furthest one."""
        deviations, variances = self._joint
        means, n = self.by_seed.mean(axis=1), len(self.by_seed)
        of_examples = self._of_examples - self._of_examples.mean(axis=0)
        of_examples = np.diag(of_examples - of_examples.mean(axis=1, keepdims=True))  # of deviations from the mean

        def furthest(values: np.ndarray, of_seeds: np.ndarray) -> np.ndarray:
            """The largest deviation in standard errors: values and variances over seeds (..., models) -> (...)."""
            squares = of_seeds * (1 - 2 / n) + of_seeds.sum(axis=-1, keepdims=True) / n**2 + of_examples
            distances = np.abs(values - values.mean(axis=-1, keepdims=True))
            errors = np.sqrt(np.maximum(squares, 0.0))
            return np.divide(distances, errors, out=np.zeros_like(distances), where=errors > 0).max(axis=-1)

        bound = np.quantile(furthest(deviations.T, variances.T), WITHIN)
        return bool(furthest(means, self._seed_variances) > bound)

    @cached_property
    def _bound_of_all(self) -> float:
        """The bound on the differences of all pairs at once, in standard errors."""
        return float(np.quantile(self._largest.max(axis=0), WITHIN))


def _unstable(variances: np.ndarray) -> np.ndarray:
    """True for each model (models,) whose variance is over `UNSTABLE` times the mean of the others'."""
    mean, largest, n = variances.mean(), variances.max(), len(variances)
    others = (n * mean - largest) / (n - 1)
    return variances > UNSTABLE * (others if largest > UNSTABLE * others else mean)


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
