"""Sizes of named models before any data are read: parameters, spreads at the start, costs of ProFormer beside BERT.

The costs follow from shapes alone (Sankar, Ravi and Kozareva 2021, table 1). The paper prints 92.16 MB (a table of
30,000 x 768 floats) against 1.7 KB (420 numbers of four bytes, one a bit), which leaves out the trained map of the bits
to d; `embedding_bytes` has both. It prints a saving of 16 x with K = 4, which holds for the attention scores of the
layers; `multiply_adds` counts all matrix products of a forward pass.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from hashbench.common.errors import InputError
from hashbench.common.showing import amount
from hashbench.models.coders.base import make_coder
from hashbench.models.coders.projection import ProjectionCoder
from hashbench.models.embeddings.base import Counts, ModelSpec
from hashbench.models.embeddings.registry import (
    build_embedding,
    embedding_arguments,
    find_model,
    models,
    named_models,
    with_dim,
)
from hashbench.models.encoders.base import encoder_config, find_architecture
from hashbench.models.objectives.base import objective_of, reads_items
from hashbench.models.text.base import make_tokenizer
from hashbench.models.text.types import TypeTable
from hashbench.running.efficiency.parameters import count, frame_of, token_cost
from hashbench.running.experiment.resolved import needs_corpus
from hashbench.running.experiment.sizing import embedding_size, with_budget, with_free_size
from hashbench.running.experiment.used import spec_of_use
from hashbench.running.training.spread import batch_of_words, frequent_words, position_spread, word_spread

MODEL_COLUMNS = [
    "model", "paper", "groups", "tokens", "code", "objective", "total_params", "emb_params", "needs", "summary",
]  # fmt: skip
PARAMETER_COLUMNS = ["model", "paper", "frame", "total_params", "emb_params"]
BUDGET_COLUMNS = [
    "model", "budget", "free_size", "emb_params", "active_params", "total_params", "bytes_per_token", "multiply_adds",
]  # fmt: skip
FLOAT_BYTES = 4  # of a parameter in float32
SizeRow = dict[str, str | int | float | None]


def model_rows(specs: Sequence[ModelSpec], papers: Sequence[str]) -> list[SizeRow]:
    """A row for each model, in the order of their papers; parameters at base, or of the model's own size."""
    ranked = sorted(specs, key=lambda spec: [*papers, spec.origin.paper].index(spec.origin.paper))
    return [_model_row(spec) for spec in ranked]


def _model_row(spec: ModelSpec) -> SizeRow:
    counts = count(spec)
    return {
        "model": spec.name,
        "paper": spec.origin.paper,
        "groups": ", ".join(spec.groups),
        "tokens": spec.text.tokenizer,
        "code": _code(spec),
        "objective": spec.training.objective,
        "total_params": counts.total,
        "emb_params": counts.embedding,
        "needs": _needs(spec),
        "summary": spec.summary,
    }


def _code(spec: ModelSpec) -> str:
    """The coder's name and its first integer argument, as 'md5-rows 1033'."""
    sizes = [str(value) for value in spec.code.args.values() if type(value) is int]
    return " ".join([spec.code.coder, *sizes[:1]])


def _needs(spec: ModelSpec) -> str:
    """The data that a model needs besides the texts of a task."""
    if spec.training.weights not in (None, "random"):
        return "published weights"
    if spec.training.needs:
        return spec.training.needs
    if objective := objective_of(spec):
        return objective.trained_on
    return "corpus (vocabulary)" if needs_corpus(spec) else "the task alone"


def parameter_rows(
    names: Sequence[str],
    size: str,
    *,
    paper: str | None = None,
    printed: Iterable[str] = (),
    all_frames: bool = False,
) -> list[SizeRow]:
    """A row of parameter counts for each model, named by itself, by a group, or as the experiment key `use` names it.

    Where none is named: for all models, or for `printed`, the names in a paper's reference data. With `paper`
    models are counted in its frame, else each in the frame of the paper it is from. `all_frames` adds rows for other
    frames of a model. Raises InputError for an unknown model.
    """
    here = models()
    chosen = named_models(names) or (list(here) if paper is None else [name for name in printed if name in here])
    rows = []
    for spec in map(spec_of, dict.fromkeys(chosen)):
        own_paper = spec.origin.paper if paper is None else paper
        frame = frame_of(spec, own_paper)
        words = frame.words if frame else spec.origin.frame
        rows.append(_parameter_row(spec.name, own_paper, words, count(spec, size, frame=frame)))
        for other in spec.origin.other_frames if all_frames else ():
            rows.append(_parameter_row(spec.name, own_paper, other.words, count(spec, size, frame=other)))
    return rows


def add_spreads(rows: Iterable[SizeRow], size: str) -> list[str]:
    """Adds to rows of parameter counts the spread of each model's word vectors at the start; returns the new columns.

    They are empty where `spreads_at_start` has nothing to measure.
    """
    measured: dict[str, Spreads | None] = {}
    for row in rows:
        name = str(row["model"])
        if name not in measured:
            measured[name] = spreads_at_start(spec_of(name), size)
        spreads = measured[name]
        row.update(dict.fromkeys(SPREAD_COLUMNS) if spreads is None else spreads.row())
    return SPREAD_COLUMNS


def spec_of(name: str) -> ModelSpec:
    """The registered model of a name, or of the experiment key `use` if it has a colon. Raises InputError."""
    if ":" not in name:
        return find_model(name)
    spec = spec_of_use(name, name, Path.cwd())
    try:
        return with_free_size(spec)
    except InputError:  # its class names an argument of a coder that only an experiment gives it
        return spec


def _parameter_row(model: str, paper: str, frame: str, counts: Counts) -> SizeRow:
    row = (model, paper, frame, counts.total, counts.embedding)
    return dict(zip(PARAMETER_COLUMNS, row, strict=True))


def budget_rows(names: Sequence[str], size: str, budgets: Sequence[int]) -> tuple[list[SizeRow], list[str]]:
    """A row for each model at each budget of embedding parameters, and a line for each budget that a model cannot meet.

    A model whose embedding has one size has one row without a budget. Parameters that one token uses, their bytes in
    float32, and the multiply-adds of its vector are counted for WORD. Raises InputError for an unknown model.
    """
    rows, missed = [], []
    for spec in map(spec_of, dict.fromkeys(named_models(names) or models())):
        if reads_items(spec):
            continue
        if spec.free_size is None:
            rows.append(_budget_row(spec, "", size))
            continue
        dim = encoder_config(spec.encoder.kind, size, **spec.encoder.args).dim
        for budget in budgets:
            try:
                rows.append(_budget_row(with_budget(spec, dim, budget).spec, amount(budget), size))
            except InputError as error:
                missed.append(str(error))
    return rows, missed


def _budget_row(spec: ModelSpec, budget: str, size: str) -> SizeRow:
    dim = encoder_config(spec.encoder.kind, size, **spec.encoder.args).dim
    cost, free = token_cost(spec, size), spec.free_size
    return {
        "model": spec.name,
        "budget": budget,
        "free_size": f"{free.argument} {free.value:,}" if free is not None and free.value is not None else "",
        "emb_params": embedding_size(spec, dim),
        "active_params": cost.active_parameters,
        "total_params": count(spec, size, n_classes=2, deployed=True).total,
        "bytes_per_token": None if cost.active_parameters is None else FLOAT_BYTES * cost.active_parameters,
        "multiply_adds": cost.multiply_adds,
    }


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
        """The word vectors' spread over the position vectors' spread; None where there are none."""
        return None if self.positions is None else self.words / self.positions

    def row(self) -> dict[str, float | None]:
        """The columns SPREAD_COLUMNS, of few digits."""
        values = (self.words, self.positions, self.ratio)
        short = (None if value is None else float(f"{value:.{DIGITS}g}") for value in values)
        return dict(zip(SPREAD_COLUMNS, short, strict=True))


def spreads_at_start(spec: ModelSpec, size: str) -> Spreads | None:
    """The spreads of a model with fresh weights of seed 0 for an encoder of a size.

    Where a vocabulary is learned from data, each word of the list is an entry of it. None for models that begin with
    published weights, and for models that read items, not words.
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


BASELINE = "bert-base (table 1)"
# Groups that are listed where none is named.
LISTED_GROUPS = ("proformers", "proformer-ablations", "two-layer-berts")
COST_COLUMNS = (
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
    raise InputError(f"costs of '{spec.name}' are not known; name models of {', '.join(LISTED_GROUPS)}")


def cost_rows(names: Sequence[str], size: str, length: int = 128) -> list[dict[str, str | int | float | None]]:
    """A row of COST_COLUMNS for the baseline of table 1 and for each model, for inputs of `length` words.

    Raises InputError for an unknown model, one whose arithmetic is not this, or a length that groups do not divide.
    """
    shapes = {BASELINE: PAPER_BERT}
    shapes |= {name: shape_of(find_model(name), size) for name in named_models(names or LISTED_GROUPS)}
    baseline = multiply_adds(PAPER_BERT, length).total
    rows = []
    for name, shape in shapes.items():
        memory, work = embedding_bytes(shape), multiply_adds(shape, length)
        values: tuple[str | int | float | None, ...] = (
            name, length, memory.printed, memory.whole, attention_scores(shape, length), work.projection, work.groups,
            work.layers, work.total, round(baseline / work.total, 2),
        )  # fmt: skip
        rows.append(dict(zip(COST_COLUMNS, values, strict=True)))
    return rows
