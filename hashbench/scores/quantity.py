"""A number that is made of models' scores, with its interval: over the models' units and over the examples.

A unit of a model is what was drawn independently: a pre-training with its fine-tunings, or a training by itself. Every
expression (a mean, a difference, a ratio, a difference of differences) has its interval in one way, the jackknife: one
unit of one model is left out in turn, and (n - 1) / n times the sum of the squared deviations of these values is the
variance that this model brings in (Efron and Stein, The Annals of Statistics 9, 1981, equation 1.5). The degrees of
freedom are Satterthwaite's over the models (Biometrics Bulletin 2, 1946, equation 17). Of the difference of two means
this is Welch's interval. No other model enters.

The examples are the same for all models, and their variance is the variance of the expression over draws of examples.
Variation of units and examples together is in both variances. It is read from the draws of the values with a unit left
out, and subtracted from the examples' variance. Both half-widths add in quadrature.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from hashbench.scores.draws import CONFIDENCE, Estimate, Spread, undefined_share

Expression = Callable[..., float | np.ndarray]
Unit = int | str | None  # of one model
ENOUGH_UNITS = 4  # beside a model with more units


@dataclass(frozen=True)
class Quantity:
    """A number with its values in draws of the examples (draws,), and with one unit of one model left out in turn.

    `by_draw` None: no examples, or not stored. `without` and `draws_without` (each (draws,)): by model and unit; none
    of what has no units, such as a trivial baseline or a count. A model with one unit has NaN in `without`.

    >>> Quantity(3.0).fixed
    True
    """

    value: float
    by_draw: np.ndarray | None = None
    n_examples: Mapping[str, int] = field(default_factory=dict)  # by task
    without: Mapping[Hashable, Mapping[Unit, float]] = field(default_factory=dict)
    draws_without: Mapping[Hashable, Mapping[Unit, np.ndarray]] = field(default_factory=dict)

    @classmethod
    def of_units(
        cls, model: Hashable, values: Mapping[Unit, float], draws: Mapping[Unit, np.ndarray] | None = None,
        n_examples: Mapping[str, int] | None = None, centre: float | None = None,
    ) -> Quantity:  # fmt: skip
        """A model's score: the mean over its units, one or more.

        `values`: of each unit; `draws`: its values in draws of the examples, each (draws,). `centre`: the value where
        it is not the mean, such as a median, whose interval is as wide as the mean's.
        """
        units, mean = list(values), sum(values.values()) / len(values)
        moved = 0.0 if centre is None else centre - mean
        without = dict(zip(units, (_without(list(values.values())) + moved).tolist(), strict=True))
        if draws is None:
            return cls(mean + moved, None, n_examples or {}, {model: without})
        of_units = np.stack([draws[unit] for unit in units])
        left = dict(zip(units, _without(of_units) + moved, strict=True)) if len(units) > 1 else {}
        return cls(mean + moved, of_units.mean(axis=0) + moved, n_examples or {}, {model: without}, {model: left})

    @property
    def fixed(self) -> bool:
        """True if neither units nor draws vary the number."""
        return not self.without and self.by_draw is None

    @property
    def units(self) -> tuple[int, ...]:
        """The number of units of each model."""
        return tuple(map(len, self.without.values()))

    def estimate(self, confidence: float = CONFIDENCE) -> Estimate:
        """The value with its interval, as of `Uncertain`."""
        return self.uncertain.estimate(confidence)

    @cached_property
    def uncertain(self) -> Uncertain:
        """The value with what it varies by."""
        of_draws = None if self.by_draw is None else _variance(self.by_draw)
        n_examples = sum(self.n_examples.values())
        return Uncertain(self.value, self._variances, of_draws, n_examples, undefined_share(self.by_draw))

    @cached_property
    def _variances(self) -> dict[Hashable, Variance]:
        """The part of each model."""
        return {
            model: Variance(len(units), _jackknife(list(units.values())), self._together(model))
            for model, units in self.without.items()
        }

    def _together(self, model: Hashable) -> float:
        """The variance over draws of what this model's units and the examples vary only together."""
        left = list(self.draws_without.get(model, {}).values())
        if len(left) < 2:
            return 0.0
        finite = np.stack(left)
        finite = finite[:, np.isfinite(finite).all(axis=0)]
        apart = finite - finite.mean(axis=0)
        return (len(left) - 1) / len(left) * float(apart.var(axis=1).sum()) if finite.size else 0.0


@dataclass(frozen=True)
class Variance:
    """The part of one model in the variance of a quantity: its number of units, over them, and over them in draws."""

    n: int
    of_units: float
    together: float  # with the examples


@dataclass(frozen=True)
class Uncertain:
    """A number with what each model brings into its variance, and its variance over draws (None: there are none)."""

    value: float
    variances: Mapping[Hashable, Variance]
    of_draws: float | None
    n_examples: int
    undefined: float  # share of the draws without a value

    def estimate(self, confidence: float = CONFIDENCE) -> Estimate:
        """The value with its interval. With one unit of a model it is over the examples alone: of these trained models.

        Over units only where there are no draws; NaN where there is neither.
        """
        half, n_units = self.half_width(confidence), min((of.n for of in self.variances.values()), default=0)
        if math.isnan(half) or math.isnan(self.value):
            return Estimate(self.value, math.nan, math.nan, n_units, self.n_examples)
        ends = self.value - half, self.value + half
        return Estimate(self.value, *ends, n_units, self.n_examples, self._spread, self.undefined)

    def half_width(self, confidence: float = CONFIDENCE) -> float:
        """Half the width of the interval; NaN where nothing is known of what the number varies by."""
        from scipy import special  # half a second to load, which tables without intervals need not wait

        upper, of_examples = (1 + confidence) / 2, self.of_draws or 0.0
        if self._spread == "none":
            return math.nan
        normal = float(special.ndtri(upper))
        by_examples = normal * math.sqrt(of_examples)
        if self._spread == "examples":
            return by_examples
        models = self.variances.values()
        of_units = math.sqrt(sum(model.of_units for model in models))
        alone = max(0.0, of_examples - sum(model.together for model in models))
        half = math.hypot(float(special.stdtrit(self._freedom, upper)) * of_units, normal * math.sqrt(alone))
        # Few units may agree by chance: it is never narrower than over the examples of these trained models.
        return max(half, by_examples)

    def is_apart(self, confidence: float = CONFIDENCE) -> bool:
        """True where the interval is without 0."""
        return abs(self.value) > self.half_width(confidence)

    def chance(self, distance: float | None = None) -> float:
        """The p-value of the number's lying off by `distance` (None: of its being 0), 1 where there is no interval.

        It is 1 minus the confidence whose interval reaches just as far.

        >>> difference(*(Quantity.of_units(name, {0: 1.0, 1: 2.0}) for name in ("a", "b"))).chance()
        1.0
        """
        distance = abs(self.value) if distance is None else distance
        if not distance or not self.half_width() >= 0:
            return 1.0
        low, high = -750.0, 0.0  # logarithms
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (low, middle) if distance > self.half_width(1 - math.exp(middle)) else (middle, high)
        return math.exp(high)

    @property
    def _spread(self) -> Spread:
        if self.variances and all(model.n > 1 for model in self.variances.values()):
            return "seeds" if self.of_draws is None else "seeds and examples"
        return "none" if self.of_draws is None else "examples"

    @cached_property
    def _freedom(self) -> float:
        """Satterthwaite's degrees of freedom; the smallest model's, if it has two or three units and others have more.

        Two units that vary much against eight that do not would be covered in 89.5 % of cases, three in 92.5 %.
        """
        models = list(self.variances.values())
        numbers = {model.n for model in models}
        varying = [model for model in models if model.of_units > 0]
        if not varying or (len(numbers) > 1 and min(numbers) < ENOUGH_UNITS):
            return min(numbers) - 1.0
        # Scaled, lest the square of a small variance is 0
        most = max(model.of_units for model in varying)
        shares = [(model.of_units / most, model.n) for model in varying]
        return sum(share for share, _ in shares) ** 2 / sum(share**2 / (n - 1) for share, n in shares)


def apply(form: Expression, quantities: Sequence[Quantity]) -> Quantity:
    """The function applied to quantities: to their values, draw by draw, and with each unit of each model left out.

    A model in several quantities has the same units in each. The result is NaN where the function has no value (a
    logarithm of 0, a division by it).

    >>> both = apply(minus, [Quantity.of_units("a", {0: 1.0, 1: 3.0}), Quantity.of_units("b", {0: 1.0, 1: 2.0})])
    >>> both.value, both.without["a"]
    (0.5, {0: 1.5, 1: -0.5})
    """
    varying = [quantity for quantity in quantities if not quantity.fixed]
    units: dict[Hashable, list[Unit]] = {}
    for quantity in varying:
        for model, of_model in quantity.without.items():
            if set(units.setdefault(model, list(of_model))) != set(of_model):
                raise ValueError(f"{model} has other units in two parts of one number")

    def taken(numbers: Sequence[float | np.ndarray]) -> np.ndarray:
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(form(*map(np.asarray, numbers)))

    values = [quantity.value for quantity in quantities]
    without = {
        model: {
            unit: float(taken([of.without[model][unit] if model in of.without else of.value for of in quantities]))
            for unit in members
        }
        for model, members in units.items()
    }
    by_draw, draws_without = None, {}
    if varying and all(quantity.by_draw is not None for quantity in varying):
        by_draw = taken([of.value if of.by_draw is None else of.by_draw for of in quantities])
        draws_without = {
            model: {unit: taken([_left(of, model, unit) for of in quantities]) for unit in members}
            for model, members in units.items()
            if len(members) > 1
        }
    examples = {task: n for quantity in varying for task, n in quantity.n_examples.items()}
    return Quantity(float(taken(values)), by_draw, examples, without, draws_without)


def difference(left: Quantity, right: Quantity) -> Uncertain:
    """`left` - `right`: as `apply(minus, [left, right])`, in less time for two unlike models."""
    if left.fixed or right.fixed or left.without.keys() & right.without.keys():
        return apply(minus, [left, right]).uncertain
    draws = None if left.by_draw is None or right.by_draw is None else left.by_draw - right.by_draw
    return Uncertain(
        left.value - right.value, {**left._variances, **right._variances}, None if draws is None else _variance(draws),
        sum({**left.n_examples, **right.n_examples}.values()), undefined_share(draws),
    )  # fmt: skip


def unmatched(left: Quantity, right: Quantity) -> Uncertain:
    """`left` - `right` of two that have no seed in common: without an interval, so that it separates nothing."""
    return Uncertain(left.value - right.value, {}, None, 0, 0.0)


def minus(left: float, right: float) -> float:
    """left - right."""
    return left - right


def mean(*values: float) -> float:
    """The mean, of numbers or of arrays."""
    return sum(values) / len(values)


def over(left: float, right: float) -> float:
    """left / right."""
    return left / right


def _without(values: Sequence[float] | np.ndarray) -> np.ndarray:
    """The mean of all others, for each of (n, ...) values; NaN for a single one."""
    of = np.asarray(values, float)
    if len(of) < 2:
        return np.full_like(of, np.nan)
    return np.stack([np.delete(of, place, axis=0).mean(axis=0) for place in range(len(of))])


def _jackknife(values: Sequence[float]) -> float:
    """The variance from values with one unit left out in turn; NaN for one unit."""
    n = len(values)
    if n < 2 or not np.isfinite(values).all():
        return math.nan
    return (n - 1) / n * float(np.square(np.asarray(values) - np.mean(values)).sum())


def _left(of: Quantity, model: Hashable, unit: Unit) -> float | np.ndarray:
    """The draws of a quantity with a unit left out; of one that the model is not in, its draws; else its value."""
    if model in of.draws_without and of.draws_without[model]:
        return of.draws_without[model][unit]
    return of.value if of.by_draw is None else of.by_draw


def _variance(draws: np.ndarray) -> float:
    """The variance over those draws that have a value; 0 where none has."""
    finite = draws[np.isfinite(draws)]
    return float(finite.var()) if finite.size else 0.0
