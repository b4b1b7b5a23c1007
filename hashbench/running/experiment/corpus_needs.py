"""What a model learns from the corpora besides its weights, and whether it needs them at all."""

from __future__ import annotations

from hashbench.models.coders.base import Coder, make_coder
from hashbench.models.embeddings.base import ModelSpec
from hashbench.models.objectives.registry import objective_of, pretrains, reads_items
from hashbench.models.text.base import Tokenizer, make_tokenizer


def needs_corpus(spec: ModelSpec) -> bool:
    """Whether a model learns anything from the corpora: weights, a vocabulary, or a dictionary of its coder."""
    if pretrains(spec):
        return True
    if reads_items(spec):  # its items and maps are made of the page-link set
        return False
    tokenizer = make_tokenizer(spec.text.tokenizer, **spec.text.args)
    if tokenizer.needs_training or spec.training.weights is not None:
        # With weights its rows are the pieces that they came with.
        return tokenizer.needs_training
    return make_coder(spec.code.coder, **spec.code.args).needs_fit


def read_without_corpus(spec: ModelSpec) -> tuple[Tokenizer, Coder]:
    """Tokenizer and coder of a model that learns nothing from the corpora; a vocabulary is that of its tokenizer."""
    tokenizer = make_tokenizer(spec.text.tokenizer, **spec.text.args)
    coder = make_coder(spec.code.coder, **spec.code.args)
    coder.fit_pieces(tokenizer.pieces)
    return tokenizer, coder


def pass_before(spec: ModelSpec) -> str:
    """What a model must learn from all texts before it can be trained on the first; empty where that is nothing."""
    tokenizer = make_tokenizer(spec.text.tokenizer, **spec.text.args)
    objective = objective_of(spec)
    if tokenizer.needs_training:
        return f"its {tokenizer.title} is trained on them"
    if make_coder(spec.code.coder, **spec.code.args).needs_fit:
        return f"coder {spec.code.coder} learns from them what there is"
    if objective is not None and objective.label_types:
        return f"objective {objective.name} predicts rows of a table of all types"
    return ""
