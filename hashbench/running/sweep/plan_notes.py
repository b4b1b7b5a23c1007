"""Notes of a plan on its models and data: what a user should know, and no error."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from hashbench.common.errors import InputError
from hashbench.data.sources.documents import is_own_corpus
from hashbench.data.sources.sources import Folder, Source
from hashbench.models.objectives.base import pretrains, scores_texts
from hashbench.models.text.base import Tokenizer, make_tokenizer
from hashbench.running.experiment.models import ResolvedModel
from hashbench.running.experiment.resolved import ResolvedExperiment, learns_on_corpora


def labelled(notes: Iterable[tuple[str, str]]) -> list[str]:
    """Each note once, behind the labels of its models; `notes`: pairs of label and note, "" for none.

    >>> labelled([("a", "one"), ("b", ""), ("c", "one")])
    ['a, c: one']
    """
    labels_by_note: dict[str, list[str]] = {}
    for label, note in notes:
        labels_by_note.setdefault(note, []).append(label)
    return [f"{', '.join(labels)}: {note}" for note, labels in labels_by_note.items() if note]


def spread_notes(resolved: ResolvedExperiment) -> Iterator[str]:
    """A note on the models to which the experiment's `initial_spread` does not apply."""
    labels = [label for label, model in resolved.models.items() if model.spec.initial_spread is None]
    if labels and resolved.experiment.initial_spread is not None:
        yield f"initial_spread does not apply to published weights: {', '.join(labels)}"


def baseline_notes(resolved: ResolvedExperiment) -> Iterator[str]:
    """A note on a baseline that is none of the models, so that figures of differences have nothing to draw."""
    if (baseline := resolved.baseline.label) not in resolved.models:
        yield f"baseline {baseline} is none of the models, so no score is compared with it; write baseline: MODEL"


def untuned_notes(resolved: ResolvedExperiment) -> Iterator[str]:
    """A note on the models that are not scored on the tasks without fine-tuning."""
    tasks = [entry.task.name for entry in resolved.tasks if not entry.task.kind.learned]
    labels = [label for label, model in resolved.models.items() if not scores_texts(model.spec)]
    if tasks and labels:
        what = f"not scored on {', '.join(tasks)}, since nothing here pre-trains them to score texts"
        yield f"{what}: {', '.join(labels)}"


def source_notes(resolved: ResolvedExperiment, sources: Sequence[Source]) -> Iterator[str]:
    """A note on each task or corpus that several of the folders have: it is read from the first one."""
    folders = [source for source in sources if isinstance(source, Folder)]
    for what, wanted, has in (
        ("task", {entry.task.name: entry.task for entry in resolved.tasks if not entry.task.is_own}, _has_task),
        ("corpus", {name: name for name in resolved.corpora}, _has_corpus),
    ):
        for name, entry in wanted.items():
            having = [folder.name for folder in folders if has(folder, entry)]
            if len(having) > 1:
                yield f"{what} {name}: read from {having[0]}, not from {', '.join(having[1:])}"


def _has_task(folder: Folder, task: Any) -> bool:
    """True where a folder has a task, or files that are meant for it."""
    try:
        return task.kind.find_in(folder, task) is not None
    except InputError:
        return True


def _has_corpus(folder: Folder, name: Any) -> bool:
    """True where a folder has a corpus, or files that are meant for it."""
    try:
        return not is_own_corpus(name) and folder.find_corpus(name) is not None
    except InputError:
        return True


def vocabulary_notes(resolved: ResolvedExperiment) -> Iterator[tuple[str, str]]:
    """Notes on the models whose vocabulary is learned on training texts of tasks, with what it is learned on."""
    for label, model in resolved.models.items():
        if model.learned_on:
            block = resolved.corpus_block(model) or {}
            corpora = [corpus["name"] for corpus in block["corpora"] if learns_on_corpora(tokenizer_of(model))]
            tasks = f"the training texts of {', '.join(task['name'] for task in block['tasks'])}"
            yield label, f"vocabulary learned on {' and '.join([*corpora, tasks])}"


def tokenizer_of(model: ResolvedModel) -> Tokenizer:
    return make_tokenizer(model.spec.text.tokenizer, **model.spec.text.args)


def rate_notes(models: Mapping[str, ResolvedModel]) -> Iterator[str]:
    """Notes on learning rates above 1: AdamW moves every weight by about the rate at each step."""
    for label, model in models.items():
        finetune = model.finetune.learning_rate
        rates = {"pretrain": model.pretrain.learning_rate} if pretrains(model.spec) else {}
        rates["finetune"] = max(finetune) if isinstance(finetune, tuple) else finetune
        for block, rate in rates.items():
            if rate is not None and rate > 1:
                yield f"{label}: {block}.learning_rate {rate:g} is above 1, so that no training can be expected to work"
