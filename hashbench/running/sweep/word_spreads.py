"""How far apart word vectors begin beside position vectors, for `check --measure`: measured on each model's start."""

from __future__ import annotations

from collections.abc import Mapping

from hashbench.models.objectives.base import pretrains, reads_items
from hashbench.running.efficiency.spreads import Spreads
from hashbench.running.experiment.models import ResolvedModel
from hashbench.running.experiment.resolved import ResolvedExperiment, SummaryRow
from hashbench.running.runs.finetuning import first_weights
from hashbench.running.runs.materials import Materials
from hashbench.running.training.spread import batch_of_words, position_spread, word_spread

TITLE = "spread of word vectors at the start, of position vectors, and their ratio"
APART = 2.0  # times as far apart as those of another model: noted
REMEDY = "initial_spread: matched makes them begin alike"


def measured(resolved: ResolvedExperiment, materials: Materials) -> dict[str, Spreads]:
    """The spreads of the first weights of each model that reads words, by model.

    A model at an earlier step of its pre-training begins as the whole one does, and is left out.
    """
    spreads = {}
    for model in resolved.models.values():
        if model.checkpoint is None and not reads_items(model.spec):
            texts = materials.texts(model)
            start = first_weights(model.spec, texts, resolved.experiment.encoder, seed=_seed(resolved, model))
            words = batch_of_words(texts.tokenizer.tokenize, texts.coder, model.spec.text.template)
            positions = position_spread(start.embedding, start.encoder)
            spreads[model.label] = Spreads(word_spread(start, words), positions)
    return spreads


def rows(spreads: Mapping[str, Spreads]) -> list[SummaryRow]:
    """A row for each model."""
    return [{"model": label, **of_model.row()} for label, of_model in spreads.items()]


def notes(spreads: Mapping[str, Spreads]) -> list[str]:
    """A note where models that have position vectors begin with ratios far from each other."""
    ratios = {label: ratio for label, of_model in spreads.items() if (ratio := of_model.ratio) is not None}
    if not ratios:
        return []
    least, most = min(ratios, key=ratios.__getitem__), max(ratios, key=ratios.__getitem__)
    if ratios[most] < APART * ratios[least]:
        return []
    far = f"word vectors of {most} begin {ratios[most] / ratios[least]:.3g} times as far apart as those of {least}"
    return [f"{far}, beside position vectors; {REMEDY}"]


def _seed(resolved: ResolvedExperiment, model: ResolvedModel) -> int:
    return model.pretrain.all_seeds[0] if pretrains(model.spec) else resolved.experiment.seeds[0]
