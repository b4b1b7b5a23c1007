"""What an experiment resolves to, in rows: its models with their recipes, and its tasks."""

from __future__ import annotations

from hashbench.data.tasks.base import LocatedTask
from hashbench.models.objectives.registry import pretrains
from hashbench.running.experiment.models import ResolvedModel
from hashbench.running.experiment.resolved import ResolvedExperiment

SummaryRow = dict[str, str | int | float | None]
SHORT = 8  # digits of a fingerprint


def model_rows(resolved: ResolvedExperiment) -> list[SummaryRow]:
    """A row for each model. Nothing stands where a value has no meaning: epochs where steps are given."""
    return [_model_row(model) for model in resolved.models.values()]


def task_rows(resolved: ResolvedExperiment) -> list[SummaryRow]:
    """A row for each task; none where an experiment is pre-training alone."""
    return [_task_row(entry) for entry in resolved.tasks]


def _model_row(model: ResolvedModel) -> SummaryRow:
    trains = pretrains(model.spec)
    rate = model.finetune.learning_rate
    return {
        "model": model.label,
        "tokenizer": model.spec.text.tokenizer,
        "coder": model.spec.code.coder,
        "objective": model.spec.training.objective or "none",
        "steps": model.pretrain.steps if trains else None,
        "pretrain_lr": model.pretrain.learning_rate if trains else None,
        "warmup": model.pretrain.warmup_steps if trains else None,
        "epochs": None if model.finetune.steps else model.finetune.epochs,
        "finetune_steps": model.finetune.steps,
        "finetune_lr": rate if not isinstance(rate, tuple) else ", ".join(f"{each:g}" for each in rate),
    }


def _task_row(entry: LocatedTask) -> SummaryRow:
    return {
        "task": entry.task.name,
        "from": entry.origin,
        "metric": entry.task.select_metric,
        "data": entry.fingerprint[:SHORT],
    }
