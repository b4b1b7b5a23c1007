"""Learning curves: loss of every pre-training by objective, and the reported metric of every task while fine-tuning."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hashbench.results.read import queries
from hashbench.results.read.measured import Measured

OBJECTIVES = {"mlm": "masked language model", "shuffle_random": "Shuffle + Random"}
LearningCurve = dict[int, list[float]]  # step -> values of the seeds
Panels = dict[str, dict[str, LearningCurve]]  # panel -> model -> curve


@dataclass(frozen=True)
class LearningCurves:
    """One figure of curves: a panel each objective or task, `labels` the vertical axis of each."""

    name: str  # curves_pretraining | curves_finetuning
    what: str
    panels: Panels
    labels: dict[str, str]
    scale: float  # what a stored value is multiplied by


def panels_of(rows: Sequence[dict[str, object]]) -> Panels:
    """The curves by panel and model, each {step: values of all seeds}, from rows (panel, model, step, value).

    >>> row = {"panel": "cola", "model": "m", "step": 5}
    >>> panels_of([{**row, "value": 0.5}, {**row, "value": 0.7}])
    {'cola': {'m': {5: [0.5, 0.7]}}}
    """
    panels: Panels = {}
    for row in rows:
        curve = panels.setdefault(str(row["panel"]), {}).setdefault(str(row["model"]), {})
        curve.setdefault(int(str(row["step"])), []).append(float(str(row["value"])))
    return panels


def curves(measured: Measured, metric: str = "") -> list[LearningCurves]:
    """Up to two figures, of pre-training and of fine-tuning curves, as far as points are stored.

    `metric`: of training; '' is the loss in pre-training and the reported score in fine-tuning, or the validation
    score if the reported split is read at the end only.
    """
    key = {"experiment": measured.experiment.id, "split": "train"}
    kinds = {run.model: run.spec["model"]["objective"]["kind"] for run in measured.pretrainings()}
    objectives = {model: OBJECTIVES.get(kind, kind) for model, kind in kinds.items()}
    stored = measured.query(queries.CURVE_OF_PRETRAINING, **key, metric=metric or "loss")
    before = [{**row, "panel": objectives[row["model"]]} for row in stored]
    after = measured.query(queries.CURVE_OF_TRAINING, **key, metric=metric) if metric else _scores(measured)
    both = [
        _made("curves_pretraining", "pre-training", before, is_score=False),
        _made("curves_finetuning", "fine-tuning", [dict(row) for row in after], is_score=not metric),
    ]
    return [figure for figure in both if figure.panels]


def _scores(measured: Measured) -> list[dict[str, object]]:
    """Rows of the reported metric at every evaluation, on validation where that has more points."""
    rows: dict[str, list[dict[str, object]]] = {}
    for row in measured.query(queries.CURVE_OF_OWN_SCORES, experiment=measured.experiment.id):
        rows.setdefault(row["panel"], []).append(dict(row))
    chosen: dict[str, list[dict[str, object]]] = {}
    for row in measured.query(queries.CURVE_OF_SCORES, experiment=measured.experiment.id, split="validation"):
        chosen.setdefault(row["panel"], []).append(dict(row))
    for task, on_validation in chosen.items():
        if task not in rows or len(on_validation) > len(rows[task]):
            rows[task] = on_validation
    return [row for task in measured.tasks() if task in rows for row in rows[task]]


def _made(name: str, what: str, rows: Sequence[dict[str, object]], *, is_score: bool) -> LearningCurves:
    labels = {str(row["panel"]): f"{row['label']}, percent" if is_score else str(row["label"]) for row in rows}
    return LearningCurves(name, what, panels_of(rows), labels, 100.0 if is_score else 1.0)
