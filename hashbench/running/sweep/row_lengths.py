"""Tokens of the rows of words that each model is pre-trained on, for `check --measure`, and positions that they train.

A row of so many words has as many tokens as a model's tokenizer makes of it. What a fine-tuning reads of a task is
found by the same tokenizer, so a row that has more words than the task's texts trains the positions that they need.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import asdict

from hashbench.data.corpora.corpus import RowFacts
from hashbench.models.objectives.registry import pretrains
from hashbench.running.experiment.identity import canonical
from hashbench.running.experiment.measured_before import recall, remember
from hashbench.running.experiment.models import ResolvedModel
from hashbench.running.experiment.resolved import ResolvedExperiment, SummaryRow
from hashbench.running.runs.materials import Materials
from hashbench.running.sweep.text_shares import counted_texts

KIND = "row-lengths"  # of a record
TITLE = "pre-training on rows of words: tokens a row, tokens cut (%), positions that one row in a hundred reaches"


def take(resolved: ResolvedExperiment, materials: Materials) -> None:
    """Counts the tokens of every model's rows, if nobody has; the counts are kept in the cache."""
    for model in _models(resolved):
        if recall(KIND, _digest(resolved, model)) is None:
            corpus = materials.texts(model).corpus
            assert corpus is not None  # texts that are a stream have no rows of words
            specials = len(model.spec.text.template.single) - 1
            facts = corpus.row_facts(model.pretrain.sequence_length, specials)
            remember(KIND, _digest(resolved, model), asdict(facts))


def rows(resolved: ResolvedExperiment) -> list[SummaryRow]:
    """A row for each model whose rows were counted."""
    return [
        {"model": label, "rows": facts.rows, "tokens": f"{facts.tokens:.1f}", "cut": f"{100 * facts.cut:.2f}",
         "positions": facts.trained}
        for label, facts in _facts(resolved).items()
    ]  # fmt: skip


def notes(resolved: ResolvedExperiment) -> list[str]:
    """Notes on tasks whose inputs are longer than the rows that train their positions, as far as both are counted."""
    facts, labels_by_note = _facts(resolved), dict[str, list[str]]()
    for (task, label), read in counted_texts(resolved).items():
        if read is not None and label in facts and read.max_length > facts[label].trained:
            note = f"{task}: fine-tunings read more tokens than one row of the pre-training in a hundred has"
            labels_by_note.setdefault(note, []).append(f"{label} {read.max_length} and {facts[label].trained}")
    remedy = "raise pretrain.words_per_row, or lower finetune.max_length"
    return [f"{note}; {remedy}: {', '.join(labels)}" for note, labels in labels_by_note.items()]


def _models(resolved: ResolvedExperiment) -> Iterator[ResolvedModel]:
    """The models that are pre-trained on rows of words; one at an earlier step reads the same rows."""
    return (
        model
        for model in resolved.models.values()
        if model.pretrain.words_per_row is not None and pretrains(model.spec) and model.checkpoint is None
    )


def _facts(resolved: ResolvedExperiment) -> dict[str, RowFacts]:
    """The records of the cache, by model."""
    records = {model.label: recall(KIND, _digest(resolved, model)) for model in _models(resolved)}
    return {label: RowFacts(**record) for label, record in records.items() if record is not None}


def _digest(resolved: ResolvedExperiment, model: ResolvedModel) -> str:
    """SHA-256 (hex) of all that the tokens of a model's rows depend on."""
    block, recipe = resolved.model_block(model), model.pretrain
    start = {
        "tokenizer": block["tokenizer"],
        "template": block["template"],
        "corpus": resolved.corpus_block(model),
        "rows": [recipe.words_per_row, recipe.sequence_length],
    }
    return hashlib.sha256(canonical(start).encode()).hexdigest()
