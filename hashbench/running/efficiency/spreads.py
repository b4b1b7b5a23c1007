"""The spread of word vectors at the start of named models, before any data is read (`hashbench params`)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import torch

from hashbench.models.coders.base import make_coder
from hashbench.models.embeddings.base import ModelSpec
from hashbench.models.embeddings.registry import build_embedding, with_dim
from hashbench.models.encoders.base import encoder_config, find_architecture
from hashbench.models.objectives.base import reads_items
from hashbench.models.text.base import make_tokenizer
from hashbench.models.text.types import TypeTable
from hashbench.running.training.spread import batch_of_words, frequent_words, position_spread, word_spread

SEED = 0
SPREAD_COLUMNS = ["spread", "positions_spread", "spread_ratio"]
DIGITS = 3  # of printed spreads and ratios


@dataclass(frozen=True)
class Spreads:
    """How far apart the vectors of a model begin."""

    words: float
    positions: float | None  # None: it learns no position vectors

    @property
    def ratio(self) -> float | None:
        """The spread of the word vectors over that of the position vectors; None where there are none."""
        return None if self.positions is None else self.words / self.positions

    def row(self) -> dict[str, float | None]:
        """The columns SPREAD_COLUMNS, of few digits."""
        values = (self.words, self.positions, self.ratio)
        short = (None if value is None else float(f"{value:.{DIGITS}g}") for value in values)
        return dict(zip(SPREAD_COLUMNS, short, strict=True))


def spreads_at_start(spec: ModelSpec, size: str) -> Spreads | None:
    """The spreads of a model with fresh weights of seed 0 for an encoder of a size.

    Where a vocabulary is learned from data, each word of the list is an entry of it. None for models that begin with
    published weights, and for those that read items, not words.
    """
    if spec.training.weights not in (None, "random") or reads_items(spec):
        return None
    kind, config = spec.encoder.kind, encoder_config(spec.encoder.kind, size, **spec.encoder.args)
    spec = with_dim(spec, config.dim)
    tokenizer = make_tokenizer(spec.text.tokenizer, **spec.text.args)
    coder = make_coder(spec.code.coder, **spec.code.args)
    if coder.needs_fit:
        coder.fit(TypeTable.from_counts(dict.fromkeys(frequent_words(), 1)))
    torch.manual_seed(SEED)
    embedding = build_embedding(spec, config.dim, vocabulary_rows=coder.num_rows)
    if (strings := coder.strings()) is not None:
        embedding.initialise([*spec.text.template.specials, *strings])
    tokenize = _whole if tokenizer.needs_training else tokenizer.tokenize
    words = word_spread(embedding, batch_of_words(tokenize, coder, spec.text.template))
    return Spreads(words, position_spread(embedding) or _of_positions(kind, config))


def _whole(word: str) -> list[str]:
    return [word]


# Drawing an encoder takes longer than all else; by what builds it, and its config.
_drawn: dict[tuple[object, str], float | None] = {}


def _of_positions(kind: str, config: Any) -> float | None:
    """The spread of the position vectors of an encoder; its layers are drawn behind them and left out but for one."""
    one_layer = {"layers": 1} if "layers" in vars(config) else {}
    build, shape = find_architecture(kind).build, replace(config, **one_layer)
    key = (build, repr(shape))
    if key not in _drawn:
        torch.manual_seed(SEED)
        _drawn[key] = position_spread(build(shape))
    return _drawn[key]
