"""Memory and arithmetic of ProFormer beside BERT, from their shapes alone (Sankar, Ravi and Kozareva 2021, table 1).

The paper prints 92.16 MB (a table of 30,000 x 768 floats) against 1.7 KB (420 numbers of four bytes, one a bit), which
leaves out the trained map of the bits to d; `embedding_bytes` has both. It prints a saving of 16 x with K = 4, which is
that of the attention scores of the layers; `multiply_adds` counts all matrix products of a forward pass.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hashbench.common.errors import InputError
from hashbench.models.coders.base import make_coder
from hashbench.models.coders.projection import ProjectionCoder
from hashbench.models.embeddings.base import ModelSpec
from hashbench.models.embeddings.registry import embedding_arguments, find_model, named_models
from hashbench.models.encoders.base import encoder_config

# Of a parameter in float32, as the paper counts.
FLOAT_BYTES = 4
BASELINE = "bert-base (table 1)"
# Groups that are listed where none is named.
LISTED = ("proformers", "proformer-ablations", "two-layer-berts")
COLUMNS = (
    "model", "words", "embedding_bytes_printed", "embedding_bytes_whole", "attention_scores", "madds_projection",
    "madds_groups", "madds_layers", "madds", "times_less_than_bert",
)  # fmt: skip


@dataclass(frozen=True)
class Shape:
    """The sizes of a model that its costs follow from: of its layers, and of its embedding table or projection."""

    layers: int
    dim: int
    feed_forward: int
    rows: int = 0  # of a table that vectors are looked up in
    bits: int = 0  # T of a projection; 0: there is none
    group: int = 1  # K, neighbours that become one vector


@dataclass(frozen=True)
class Bytes:
    """Bytes of a model's token embedding: as the paper prints them, and with the trained map that it leaves out."""

    printed: int
    whole: int


@dataclass(frozen=True)
class MultiplyAdds:
    """Matrix products of one forward pass of one input, by part."""

    projection: int
    groups: int  # attention among K neighbours
    layers: int

    @property
    def total(self) -> int:
        """Multiply-adds of all parts."""
        return self.projection + self.groups + self.layers


# The baseline of table 1, with its 30,000 words.
PAPER_BERT = Shape(layers=12, dim=768, feed_forward=3072, rows=30_000)


def embedding_bytes(shape: Shape) -> Bytes:
    """Bytes of a model's token embedding in float32.

    >>> embedding_bytes(PAPER_BERT).printed / 1e6
    92.16
    >>> embedding_bytes(Shape(layers=2, dim=768, feed_forward=3072, bits=420))
    Bytes(printed=1680, whole=1291920)
    """
    if not shape.bits:
        table = shape.rows * shape.dim * FLOAT_BYTES
        return Bytes(table, table)
    hyperplanes = shape.bits * FLOAT_BYTES
    return Bytes(hyperplanes, hyperplanes + shape.bits * shape.dim * FLOAT_BYTES)


def multiply_adds(shape: Shape, length: int) -> MultiplyAdds:
    """Multiply-adds of a forward pass over `length` words, by part; a table look-up costs none.

    N words, n = N / K vectors in the layers.
    Projection N T d; groups 4 N d^2 + 2 N K d; a layer 4 n d^2 + 2 n^2 d + 2 n d I.

    Raises:
        InputError: `length` is no positive multiple of K.
    """
    if length < 1 or length % shape.group:
        raise InputError(f"length {length} is no positive multiple of K = {shape.group}; choose one that is")
    dim, n = shape.dim, length // shape.group
    return MultiplyAdds(
        projection=length * shape.bits * dim,
        groups=4 * length * dim**2 + 2 * length * shape.group * dim if shape.group > 1 else 0,
        layers=shape.layers * (4 * n * dim**2 + 2 * n**2 * dim + 2 * n * dim * shape.feed_forward),
    )


def attention_scores(shape: Shape, length: int) -> int:
    """Number of attention scores of one head of one layer, n^2, to which the paper's saving of 16 x refers."""
    return (length // shape.group) ** 2


def shape_of(spec: ModelSpec, size: str) -> Shape:
    """The shape of a named model. Raises InputError for models that are neither BERT over a table nor ProFormer."""
    config = encoder_config(spec.encoder.kind, size, **spec.encoder.args)
    coder, arguments = make_coder(spec.code.coder, **spec.code.args), embedding_arguments(spec)
    if spec.encoder.kind == "proformer" and isinstance(coder, ProjectionCoder):
        return Shape(config.layers, config.dim, config.feed_forward, bits=coder.n_bits, group=config.group)
    rows = arguments.get("num_rows")
    if spec.encoder.kind == "bert" and isinstance(rows, int):
        return Shape(config.layers, config.dim, config.feed_forward, rows=rows)
    raise InputError(f"costs of '{spec.name}' are not known; name models of {', '.join(LISTED)}")


def cost_rows(names: Sequence[str], size: str, length: int = 128) -> list[dict[str, str | int | float | None]]:
    """A row of COLUMNS for the baseline of table 1 and for each model, for inputs of `length` words.

    Raises InputError for an unknown model, one whose arithmetic is not this, or a length that groups do not divide.
    """
    shapes = {BASELINE: PAPER_BERT}
    shapes |= {name: shape_of(find_model(name), size) for name in named_models(names or LISTED)}
    baseline = multiply_adds(PAPER_BERT, length).total
    rows = []
    for name, shape in shapes.items():
        memory, work = embedding_bytes(shape), multiply_adds(shape, length)
        values: tuple[str | int | float | None, ...] = (
            name, length, memory.printed, memory.whole, attention_scores(shape, length), work.projection, work.groups,
            work.layers, work.total, round(baseline / work.total, 2),
        )  # fmt: skip
        rows.append(dict(zip(COLUMNS, values, strict=True)))
    return rows
