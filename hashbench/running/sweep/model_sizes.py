"""Sizes of the models of an experiment, which every plan prints: they follow from shapes, nothing is measured."""

from __future__ import annotations

from hashbench.common.showing import BUDGET_TOLERANCE
from hashbench.models.objectives.base import reads_items
from hashbench.running.efficiency.parameters import outline_of
from hashbench.running.experiment.models import ResolvedModel
from hashbench.running.experiment.resolved import ResolvedExperiment, SummaryRow
from hashbench.running.runs.base import weight_bytes

TITLE = (
    "sizes, fine-tuned for two classes: parameters that the embedding stores (tables have those its paper counts), "
    "of all, and bytes of all in float32"
)


def rows(resolved: ResolvedExperiment) -> list[SummaryRow]:
    """A row for each model that reads texts; models of items have as many rows as the data have items."""
    size = resolved.experiment.encoder
    return [
        {
            "model": model.label,
            "free_size": _free_size(model),
            "emb_params": outline_of(model, size, n_classes=2).embedding,
            "total_params": outline_of(model, size, n_classes=2).weights,
            "bytes": weight_bytes(model, size),
        }
        for model in _models(resolved)
    ]


def outside_budget(resolved: ResolvedExperiment) -> list[str]:
    """A note on the models that keep their size though the experiment has a budget."""
    budget, size = resolved.experiment.budget, resolved.experiment.encoder
    if budget is None:
        return []
    outside = [
        f"{model.label} ({embedding:,})"
        for model in _models(resolved)
        if _free_size(model) is None
        and not _is_at((embedding := outline_of(model, size, n_classes=2).embedding), budget.sizes)
    ]
    if not outside:
        return []
    what = f"outside the budget, since nothing of their embeddings is free to change: {', '.join(outside)}"
    return [f"{what}; free_size names the argument that a budget sets"]


def _models(resolved: ResolvedExperiment) -> list[ResolvedModel]:
    """The models that read texts; one at an earlier step of its pre-training has the size of the whole one."""
    return [model for model in resolved.models.values() if model.checkpoint is None and not reads_items(model.spec)]


def _free_size(model: ResolvedModel) -> str | None:
    """The free size that a budget gave a model, as 'num_buckets 1,011'; None where none did."""
    free = model.spec.free_size
    return None if free is None or free.value is None else f"{free.argument} {free.value:,}"


def _is_at(parameters: int, sizes: tuple[int, ...]) -> bool:
    return any(abs(parameters - size) <= BUDGET_TOLERANCE * size for size in sizes)
