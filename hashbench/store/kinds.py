"""The meaning of the metrics of a kind of run, stored beside the specs, so that readers need no code of the kind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, get_args

# training: scores of a model that the run trained, averaged over seeds. evaluation: of a model that another run
# trained, never averaged with trainings. none: no scores.
Metrics = Literal["training", "evaluation", "none"]
METRICS: tuple[Metrics, ...] = get_args(Metrics)
KEY = "metrics of "  # begins the key of a kind in the table `setting`; `views.sql` has it too
STORED = f"SELECT key, value FROM setting WHERE key LIKE '{KEY}%'"
# The suite's kinds without scores: older databases store no meaning of their metrics
WITHOUT_SCORES = ("pretrain", "efficiency", "robustness")
EVALUATIONS = "evaluation"  # begins their names


def metrics_of(kind: str, stored: Mapping[str, str]) -> Metrics:
    """The meaning of the metrics of a kind. `stored`: the meaning for plug-in kinds, by name.

    >>> metrics_of("finetune", {}), metrics_of("evaluation-floor", {}), metrics_of("probe", {"probe": "evaluation"})
    ('training', 'evaluation', 'evaluation')
    """
    if kind in stored:
        return next((metrics for metrics in METRICS if metrics == stored[kind]), "none")  # a value of elsewhere
    if kind.startswith(EVALUATIONS):
        return "evaluation"
    return "none" if kind in WITHOUT_SCORES else "training"
