"""Facts on the models of an experiment before their first run: sizes, shares of texts read, spreads of word vectors.

Sizes follow from shapes. `check --measure` counts texts, which needs vocabularies and makes them as the sweep would;
the counts stay in the cache, and every plan prints them. Spreads are measured where they are printed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from hashbench.common.measured import NOTED_LOSS, TextCounts, TextsRead
from hashbench.common.showing import BUDGET_TOLERANCE
from hashbench.data.sources.fingerprints import cache_folder
from hashbench.data.tasks.base import LocatedTask
from hashbench.models.objectives.base import pretrains, reads_items
from hashbench.models.text.base import make_tokenizer
from hashbench.results.rendering.rows import text_lines
from hashbench.running.efficiency.parameters import outline_of
from hashbench.running.efficiency.sizes import Spreads
from hashbench.running.experiment.models import ResolvedModel
from hashbench.running.experiment.recipes import KeptTokens
from hashbench.running.experiment.resolved import ResolvedExperiment, SummaryRow
from hashbench.running.runs.base import weight_bytes
from hashbench.running.runs.finetuning import KIND as FINETUNING
from hashbench.running.runs.finetuning import counted, counted_before, first_weights
from hashbench.running.runs.materials import Materials
from hashbench.running.training.spread import batch_of_words, position_spread, word_spread
from hashbench.scores.shares import cut_otherwise


def print_results(resolved: ResolvedExperiment) -> None:
    """Prints the sizes of an experiment's models, and the shares of texts that they read as far as these are known."""
    _print(SIZES, size_rows(resolved))
    _print(SHARES, share_rows(resolved), share_notes(resolved))


def measure(resolved: ResolvedExperiment, progress: Callable[[str], None] | None = None) -> None:
    """Counts and measures what is not known, and prints all of it; `progress` gets lines on how far a corpus is."""
    materials = Materials(resolved.sources, cache_folder(), resolved.tasks, progress=progress)
    count_texts(resolved, materials)
    print_results(resolved)
    spreads = spreads_of(resolved, materials)
    _print(SPREADS, spread_rows(spreads), spread_notes(spreads))


def _print(title: str, rows: Sequence[SummaryRow], remarks: Sequence[str] = ()) -> None:
    """Prints a table with its notes; without rows nothing."""
    if not rows:
        return
    columns = list(dict.fromkeys(name for row in rows for name in row))  # a model not yet counted has fewer
    print(f"\n{title}")
    print("\n".join(text_lines(columns, [dict.fromkeys(columns) | row for row in rows])))
    for remark in remarks:
        print(f"note: {remark}")


SIZES = (
    "sizes, fine-tuned for two classes: parameters that the embedding stores (tables have those its paper counts), "
    "of all, and bytes of all in float32"
)


def size_rows(resolved: ResolvedExperiment) -> list[SummaryRow]:
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
        for model in _text_models(resolved)
    ]


def outside_budget(resolved: ResolvedExperiment) -> list[str]:
    """A note on the models that keep their size though the experiment has a budget."""
    budget, size = resolved.experiment.budget, resolved.experiment.encoder
    if budget is None:
        return []
    outside = [
        f"{model.label} ({embedding:,})"
        for model in _text_models(resolved)
        if _free_size(model) is None
        and not _has_size((embedding := outline_of(model, size, n_classes=2).embedding), budget.sizes)
    ]
    if not outside:
        return []
    why = "nothing of their embeddings is free to change, or their size is written"
    what = f"outside the budget, since {why}: {', '.join(outside)}"
    return [f"{what}; free_size names the argument that a budget sets"]


def _text_models(resolved: ResolvedExperiment) -> list[ResolvedModel]:
    """The models that read texts; one at an earlier step of its pre-training has the size of the whole one."""
    return [model for model in resolved.models.values() if not model.is_variant and not reads_items(model.spec)]


def _free_size(model: ResolvedModel) -> str | None:
    """The free size that a budget gave a model, as 'num_buckets 1,011'; None where none did."""
    free = model.spec.free_size
    return None if free is None or free.value is None else f"{free.argument} {free.value:,}"


def _has_size(parameters: int, sizes: tuple[int, ...]) -> bool:
    return any(abs(parameters - size) <= BUDGET_TOLERANCE * size for size in sizes)


SHARES = (
    "share of text read: tokens a text, texts cut (%), characters lost (%) on the reported split, both texts of a pair"
)
LATER = "not known before the vocabulary is learned"
NOT_COUNTED = "not counted"
COUNT_THEM = "hashbench check FILE --measure learns vocabularies and counts"


def count_texts(resolved: ResolvedExperiment, materials: Materials) -> None:
    """Counts the texts of every task for every model, if nobody has; the counts are kept in the cache."""
    for task, model in _pairs(resolved):
        spec = _first(resolved, model, task)
        if counted_before(spec) is None:
            tokenizer = materials.texts(model).tokenizer
            data, recipe = materials.task_data(task.task.name), model.recipe(task.task.name)
            counted(spec, data, tokenizer, model.spec.text.template, recipe, materials.cache)


def share_rows(resolved: ResolvedExperiment) -> list[SummaryRow]:
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


def share_notes(resolved: ResolvedExperiment) -> list[str]:
    """Notes on tasks where models read different shares of the texts, and on texts that are cut otherwise in train."""
    counts, lines = counted_texts(resolved), []
    by_task: dict[str, dict[str, float]] = {}
    for task, model in _pairs(resolved):
        if (read := counts[task.task.name, model.label]) is not None:
            by_task.setdefault(task.task.name, {})[model.label] = reported(read, task).share_lost
    for name, lost in by_task.items():
        least, most = min(lost, key=lambda label: lost[label]), max(lost, key=lambda label: lost[label])
        if lost[most] - lost[least] > NOTED_LOSS:
            shares = f"{least} loses {100 * lost[least]:.1f} % of its characters, {most} {100 * lost[most]:.1f} %"
            lines.append(f"{name}: models do not read the same share of the texts: {shares}")
    by_line: dict[str, list[str]] = {}
    for task, model in _pairs(resolved):
        read = counts[task.task.name, model.label]
        if read is not None and (line := cut_otherwise(read, task.task.report_splits[0])):
            by_line.setdefault(f"{task.task.name}: {line}", []).append(model.label)
    lines += [f"{line}: {', '.join(labels)}" for line, labels in by_line.items()]
    lines += _caps(resolved, counts)
    return lines + ([COUNT_THEM] if any(counts.values()) and not all(counts.values()) else [])


def _caps(resolved: ResolvedExperiment, counts: Mapping[tuple[str, str], TextsRead | None]) -> list[str]:
    """Lines on tasks where models read a smaller share than they are to keep, as the cap is too small."""
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
    """All tasks of texts with all models that are trained on them, on all rows of train, task by task."""
    of_texts = [task for task in resolved.tasks if task.task.kind.learned and not task.task.kind.reads_items]
    return ((task, model) for task in of_texts for model in resolved.models.values() if model.train_rows is None)


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


SPREADS = "spread of word vectors at the start, of position vectors, and their ratio"
APART = 2.0  # times as far apart as another model's: noted
MATCH_THEM = "initial_spread: matched makes them begin alike"


def spreads_of(resolved: ResolvedExperiment, materials: Materials) -> dict[str, Spreads]:
    """The spreads of the first weights of each model that reads words, by model.

    A model at an earlier step of its pre-training begins as the whole one does, and is left out.
    """
    spreads = {}
    for model in resolved.models.values():
        if not model.is_variant and not reads_items(model.spec):
            texts = materials.texts(model)
            start = first_weights(model.spec, texts, resolved.experiment.encoder, seed=_seed(resolved, model))
            words = batch_of_words(texts.tokenizer.tokenize, texts.coder, model.spec.text.template)
            positions = position_spread(start.embedding, start.encoder)
            spreads[model.label] = Spreads(word_spread(start, words), positions)
    return spreads


def spread_rows(spreads: Mapping[str, Spreads]) -> list[SummaryRow]:
    """A row for each model."""
    return [{"model": label, **of_model.row()} for label, of_model in spreads.items()]


def spread_notes(spreads: Mapping[str, Spreads]) -> list[str]:
    """A note where models that have position vectors begin with ratios far from each other."""
    ratios = {label: ratio for label, of_model in spreads.items() if (ratio := of_model.ratio) is not None}
    if not ratios:
        return []
    least, most = min(ratios, key=ratios.__getitem__), max(ratios, key=ratios.__getitem__)
    if ratios[most] < APART * ratios[least]:
        return []
    far = f"word vectors of {most} begin {ratios[most] / ratios[least]:.3g} times as far apart as those of {least}"
    return [f"{far}, beside position vectors; {MATCH_THEM}"]


def _seed(resolved: ResolvedExperiment, model: ResolvedModel) -> int:
    return model.pretrain.all_seeds[0] if pretrains(model.spec) else resolved.experiment.seeds[0]
