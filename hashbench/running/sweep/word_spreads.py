"""How far apart word vectors begin beside position vectors, for `check --measure`: measured on each model's start."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from hashbench.models.objectives.registry import pretrains, reads_items
from hashbench.running.efficiency.spreads import Spreads
from hashbench.running.experiment.identity import canonical
from hashbench.running.experiment.measured_before import recall, remember
from hashbench.running.experiment.models import ResolvedModel
from hashbench.running.experiment.resolved import ResolvedExperiment, SummaryRow
from hashbench.running.runs.finetuning import first_weights
from hashbench.running.runs.materials import Materials
from hashbench.running.training.spread import batch_of_words, position_spread, word_spread

KIND = "word-spread"  # of a record
TITLE = "spread of word vectors at the start, of position vectors, and their ratio"
NOT_MEASURED = "not measured"
APART = 2.0  # times as far apart as those of another model: noted
REMEDY = "initial_spread: matched makes them begin alike"


def take(resolved: ResolvedExperiment, materials: Materials) -> None:
    """Measures every model's first weights, if nobody has; what was measured is kept in the cache."""
    for model in _models(resolved):
        if recall(KIND, _digest(resolved, model)) is None:
            texts = materials.texts(model)
            start = first_weights(model.spec, texts, resolved.experiment.encoder, seed=_seed(resolved, model))
            words = batch_of_words(texts.tokenizer.tokenize, texts.coder, model.spec.text.template)
            positions = position_spread(start.embedding, start.encoder)
            record = {"words": word_spread(start, words), "positions": positions}
            remember(KIND, _digest(resolved, model), record)


def rows(resolved: ResolvedExperiment) -> list[SummaryRow]:
    """A row for each model of texts; none where nothing was measured."""
    measured = _measured(resolved)
    if not any(measured.values()):
        return []
    unknown: SummaryRow = {"spread": NOT_MEASURED}
    return [{"model": label, **(unknown if spreads is None else spreads.row())} for label, spreads in measured.items()]


def notes(resolved: ResolvedExperiment) -> list[str]:
    """A note where models that have position vectors begin with ratios far from each other."""
    ratios = {label: spreads.ratio for label, spreads in _measured(resolved).items() if spreads is not None}
    in_all = {label: ratio for label, ratio in ratios.items() if ratio is not None}
    if not in_all:
        return []
    least, most = min(in_all, key=in_all.__getitem__), max(in_all, key=in_all.__getitem__)
    if in_all[most] < APART * in_all[least]:
        return []
    far = f"word vectors of {most} begin {in_all[most] / in_all[least]:.3g} times as far apart as those of {least}"
    return [f"{far}, beside position vectors; {REMEDY}"]


def _models(resolved: ResolvedExperiment) -> Iterator[ResolvedModel]:
    """The models that read words; one at an earlier step of its pre-training begins as the whole one does."""
    return (model for model in resolved.models.values() if model.checkpoint is None and not reads_items(model.spec))


def _measured(resolved: ResolvedExperiment) -> dict[str, Spreads | None]:
    """The records of the cache, by model."""
    records = {model.label: recall(KIND, _digest(resolved, model)) for model in _models(resolved)}
    return {label: None if record is None else Spreads(**record) for label, record in records.items()}


def _seed(resolved: ResolvedExperiment, model: ResolvedModel) -> int:
    return model.pretrain.all_seeds[0] if pretrains(model.spec) else resolved.experiment.seeds[0]


def _digest(resolved: ResolvedExperiment, model: ResolvedModel) -> str:
    """SHA-256 (hex) of all that a model's first weights and its words depend on."""
    start = {
        "model": resolved.model_block(model),
        "corpus": resolved.corpus_block(model),
        "seed": _seed(resolved, model),
    }
    return hashlib.sha256(canonical(start).encode()).hexdigest()
