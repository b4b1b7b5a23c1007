"""The metrics by name: the suite's, and those of plug-ins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import get_args

import numpy as np

from hashbench.common.errors import InputError, near_match
from hashbench.common.measured import MetricRow
from hashbench.common.registry import registered, unreadable
from hashbench.scores.base import Metric, OutputKind


def metrics(*kinds: OutputKind) -> Mapping[str, Metric]:
    """All metrics by name, or those of some kinds of output. Raises InputError where two have one name."""
    by_name: Mapping[str, Metric] = registered("metric")
    order = kinds or get_args(OutputKind)
    return {name: metric for kind in order for name, metric in by_name.items() if metric.outputs == kind}


def find_metric(name: str, *kinds: OutputKind) -> Metric:
    """The named metric, of some kinds of output or of any; the name may end in a condition, as ' tenth=3' of rankings.

    Raises:
        InputError: there is none of this name.
    """
    by_name = metrics(*kinds)
    stem, _, condition = name.partition(" ")
    metric = by_name.get(stem)
    if metric is not None and condition:
        metric = metric.under(condition)
    if metric is None:
        hint = near_match(name, list(by_name)) or f"; known are {', '.join(by_name)}"
        raise InputError(f"unknown metric {name!r}{hint}{unreadable()}")
    return metric


def metric_of(name: str) -> Metric | None:
    """The metric of a stored score's name, whatever condition follows in it; None where it no longer exists."""
    metric: Metric | None = registered("metric").get(name.partition(" ")[0])
    return metric


def is_drawable(metric: str) -> bool:
    """True if a metric can be computed from the stored predictions; one under another beam width cannot.

    >>> is_drawable("f1"), is_drawable("rec@1 tenth=3"), is_drawable("rec@1 beam=10")
    (True, True, False)
    """
    name, _, condition = metric.partition(" ")
    return not condition or condition.startswith("tenth=")


def evaluate(names: Sequence[str], targets: np.ndarray, outputs: np.ndarray) -> dict[str, MetricRow]:
    """Each metric's score of targets (n,) and outputs (n,), (n, C) or (n, 3 + m); undefined ones with their reason."""
    targets, outputs = np.asarray(targets), np.asarray(outputs)
    return {name: find_metric(name).scored(targets, outputs) for name in names}
