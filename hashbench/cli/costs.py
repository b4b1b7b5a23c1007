"""Memory and multiply-adds of ProFormer's models beside BERT's, computed from their shapes (its table 1)."""

from __future__ import annotations

from collections.abc import Sequence

from hashbench.cli.output import Value
from hashbench.coders.projection import Projection
from hashbench.coders.registry import make_coder
from hashbench.efficiency.costs import PAPER_BERT, Shape, attention_scores, embedding_bytes, multiply_adds
from hashbench.embeddings.base import ModelSpec
from hashbench.embeddings.registry import embedding_arguments, find_model, groups
from hashbench.encoders.registry import encoder_config
from hashbench.errors import InputError

COLUMNS = [
    "model",
    "words",
    "embedding_bytes_printed",
    "embedding_bytes_whole",
    "attention_scores",
    "madds_projection",
    "madds_groups",
    "madds_layers",
    "madds",
    "times_less_than_bert",
]
BASELINE = "bert-base (table 1)"
BY_ITSELF = ("proformers", "proformer-ablations", "two-layer-berts")  # groups that are listed where none is named


def cost_rows(names: Sequence[str], size: str, length: int) -> list[dict[str, Value]]:
    """A row for the baseline of table 1 and for each model, for inputs of `length` words.

    Raises InputError for an unknown model, one whose arithmetic is not this, or a length that groups do not divide.
    """
    known = groups()
    wanted = [each for name in names or BY_ITSELF for each in (known[name] if name in known else [name])]
    shapes = {name: shape_of(find_model(name), size) for name in dict.fromkeys(wanted)}
    return [_row(name, shape, length) for name, shape in {BASELINE: PAPER_BERT, **shapes}.items()]


def shape_of(spec: ModelSpec, size: str) -> Shape:
    """The shape of a named model. Raises InputError for models that are neither BERT over a table nor ProFormer."""
    config = encoder_config(spec.encoder, size, **spec.encoder_args)
    coder, arguments = make_coder(spec.coder, **spec.coder_args), embedding_arguments(spec)
    shape = Shape(config.layers, config.dim, config.feed_forward)
    if spec.encoder == "proformer" and isinstance(coder, Projection):
        return Shape(shape.layers, shape.dim, shape.feed_forward, bits=coder.n_bits, group=config.group)
    rows = arguments["num_rows"] if "num_rows" in arguments else None
    if spec.encoder == "bert" and isinstance(rows, int):
        return Shape(shape.layers, shape.dim, shape.feed_forward, rows=rows)
    raise InputError(f"costs of '{spec.name}' are not known; name models of {', '.join(BY_ITSELF)}")


def _row(name: str, shape: Shape, length: int) -> dict[str, Value]:
    memory, work = embedding_bytes(shape), multiply_adds(shape, length)
    return {
        "model": name,
        "words": length,
        "embedding_bytes_printed": memory.printed,
        "embedding_bytes_whole": memory.whole,
        "attention_scores": attention_scores(shape, length),
        "madds_projection": work.projection,
        "madds_groups": work.groups,
        "madds_layers": work.layers,
        "madds": work.total,
        "times_less_than_bert": round(multiply_adds(PAPER_BERT, length).total / work.total, 2),
    }
