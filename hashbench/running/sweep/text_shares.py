"""The share of its texts that each model reads, for `check --measure`: counted per data set, tokenizer and limit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hashbench.common.measured import NOTED, TextCounts, TextsRead
from hashbench.data.tasks.base import LocatedTask
from hashbench.models.text.base import make_tokenizer
from hashbench.running.experiment.models import ResolvedModel
from hashbench.running.experiment.recipes import KeptTokens
from hashbench.running.experiment.resolved import ResolvedExperiment, SummaryRow
from hashbench.running.runs.finetuning import KIND as FINETUNING
from hashbench.running.runs.materials import Materials
from hashbench.running.runs.reading import counted, counted_before
from hashbench.scores.shares import cut_otherwise

TITLE = (
    "share of text read: tokens a text, texts cut (%), characters lost (%) on the reported split, both texts of a pair"
)
LATER = "not known before the vocabulary is learned"
NOT_COUNTED = "not counted"
REMEDY = "hashbench check FILE --measure learns vocabularies and counts"


def take(resolved: ResolvedExperiment, materials: Materials) -> None:
    """Counts the texts of every task for every model, if nobody has; the counts are kept in the cache."""
    for task, model in _pairs(resolved):
        spec = _first(resolved, model, task)
        if counted_before(spec) is None:
            tokenizer = materials.texts(model).tokenizer
            data, recipe = materials.task_data(task.task.name), model.recipe(task.task.name)
            counted(spec, data, tokenizer, model.spec.text.template, recipe, materials.cache)


def rows(resolved: ResolvedExperiment) -> list[SummaryRow]:
    """A row for each model with what a task's texts lose; none where nothing was counted."""
    counts = counted_texts(resolved)
    if not any(counts.values()):
        return []
    of_models: dict[str, SummaryRow] = {}
    for task, model in _pairs(resolved):
        if model.label not in of_models:
            of_model = [(other, counts[other.task.name, model.label]) for other, of in _pairs(resolved) if of is model]
            of_models[model.label] = {"model": model.label, "limit": _limits(of_model, model)}
        row = of_models[model.label]
        read = counts[task.task.name, model.label]
        row[task.task.name] = _missing(model) if read is None else _in_short(reported(read, task))
    return list(of_models.values())


def notes(resolved: ResolvedExperiment) -> list[str]:
    """Notes on tasks of which models read different shares, and on texts that are cut otherwise in train."""
    counts, lines = counted_texts(resolved), []
    by_task: dict[str, dict[str, float]] = {}
    for task, model in _pairs(resolved):
        if (read := counts[task.task.name, model.label]) is not None:
            by_task.setdefault(task.task.name, {})[model.label] = reported(read, task).share_lost
    for name, lost in by_task.items():
        least, most = min(lost, key=lambda label: lost[label]), max(lost, key=lambda label: lost[label])
        if lost[most] - lost[least] > NOTED:
            shares = f"{least} loses {100 * lost[least]:.1f} % of its characters, {most} {100 * lost[most]:.1f} %"
            lines.append(f"{name}: models do not read the same share of the texts: {shares}")
    by_line: dict[str, list[str]] = {}
    for task, model in _pairs(resolved):
        read = counts[task.task.name, model.label]
        if read is not None and (line := cut_otherwise(read, task.task.report_splits[0])):
            by_line.setdefault(f"{task.task.name}: {line}", []).append(model.label)
    lines += [f"{line}: {', '.join(labels)}" for line, labels in by_line.items()]
    lines += _caps(resolved, counts)
    return lines + ([REMEDY] if any(counts.values()) and not all(counts.values()) else [])


def _caps(resolved: ResolvedExperiment, counts: Mapping[tuple[str, str], TextsRead | None]) -> list[str]:
    """Lines on tasks of which models read less than the share that they are to keep, as the cap is too small."""
    models: dict[str, list[str]] = {}
    for task, model in _pairs(resolved):
        limit, read = model.recipe(task.task.name).max_length, counts[task.task.name, model.label]
        if isinstance(limit, KeptTokens) and read is not None and not read.keeps(limit.keep):
            line = f"{task.task.name}: at_most {limit.at_most} keeps less than {100 * limit.keep:g} % of train's tokens"
            models.setdefault(line, []).append(model.label)
    return [f"{line}: {', '.join(labels)}" for line, labels in models.items()]


def reported(read: TextsRead, task: LocatedTask) -> TextCounts:
    """The counts of the split that a task reports."""
    return read.splits[task.task.report_splits[0]]


def _pairs(resolved: ResolvedExperiment) -> Iterator[tuple[LocatedTask, ResolvedModel]]:
    """All tasks of texts with all models, task by task."""
    of_texts = [task for task in resolved.tasks if task.task.kind.learned and not task.task.kind.reads_items]
    return ((task, model) for task in of_texts for model in resolved.models.values())


def _first(resolved: ResolvedExperiment, model: ResolvedModel, task: LocatedTask) -> Mapping[str, Any]:
    """The spec of a model's first training on a task."""
    seed = model.seeds(task.task.name, resolved.experiment.seeds)[0]
    return FINETUNING.of(resolved, model, task, seed).spec


def counted_texts(resolved: ResolvedExperiment) -> dict[tuple[str, str], TextsRead | None]:
    """The counts that the cache has, by task and model."""
    return {
        (task.task.name, model.label): counted_before(_first(resolved, model, task)) for task, model in _pairs(resolved)
    }


def _limits(of_model: Sequence[tuple[LocatedTask, TextsRead | None]], model: ResolvedModel) -> int | str:
    """The tokens of an input, special ones included, of a model; several where tasks differ."""
    limits: dict[int | str, None] = {}
    for task, read in of_model:
        limit = model.recipe(task.task.name).max_length
        limits[limit if isinstance(limit, int) else f"at most {limit.at_most}" if read is None else read.max_length] = (
            None
        )
    return next(iter(limits)) if len(limits) == 1 else ", ".join(map(str, limits))


def _in_short(counts: TextCounts) -> str:
    return f"{counts.tokens_a_text:.1f} / {100 * counts.share_cut:.0f} / {100 * counts.share_lost:.1f}"


def _missing(model: ResolvedModel) -> str:
    text = model.spec.text
    return LATER if make_tokenizer(text.tokenizer, **text.args).needs_training else NOT_COUNTED
