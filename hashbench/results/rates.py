"""Scores on perturbed texts as lines to draw: one a model for each task and kind of perturbation, with intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from hashbench.errors import InputError
from hashbench.results.measured import PERCENT
from hashbench.results.robustness import Curve, measure_robustness
from hashbench.store.engine import Store

SPREAD = "bars: 95 % interval over examples (and seeds, where there are several)"


@dataclass(frozen=True)
class RateLine:
    """A model's score in percent at each rate, with the ends of an interval (empty where there is none)."""

    task: str
    metric: str
    kind: str
    model: str
    rates: tuple[float, ...]
    values: tuple[float, ...]
    lows: tuple[float, ...] = ()
    highs: tuple[float, ...] = ()


def rate_lines(store: Store, experiment: str | None) -> list[RateLine]:
    """The lines of an experiment (None: the one swept last), in its order; [] where no text was perturbed."""
    try:
        return [_line(curve) for curve in measure_robustness(store, experiment).curves]
    except InputError:  # no finished robustness run
        return []


def _line(curve: Curve) -> RateLine:
    scores = [curve.score(at) for at in range(len(curve.rates))]
    values, lows, highs = (
        tuple(PERCENT * end for end in ends)
        for ends in zip(*((one.value, one.low, one.high) for one in scores), strict=True)
    )
    known = not any(math.isnan(end) for end in (*lows, *highs))
    return RateLine(
        curve.task, curve.metric, curve.kind, curve.model, curve.rates, values,
        lows if known else (), highs if known else (),
    )  # fmt: skip


def by_panel(lines: Sequence[RateLine]) -> dict[tuple[str, str, str], list[RateLine]]:
    """The lines of each (task, metric, kind of perturbation)."""
    found: dict[tuple[str, str, str], list[RateLine]] = {}
    for line in lines:
        found.setdefault((line.task, line.metric, line.kind), []).append(line)
    return found
