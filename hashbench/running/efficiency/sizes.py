"""Rows on the sizes of models: what each reads and needs, its parameters as papers count, its free size at a budget."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from hashbench.common.errors import InputError
from hashbench.common.showing import amount
from hashbench.models.embeddings.base import Counts, ModelSpec
from hashbench.models.embeddings.registry import find_model, models, named_models
from hashbench.models.encoders.base import encoder_config
from hashbench.models.objectives.base import objective_of, reads_items
from hashbench.running.efficiency.parameters import count, frame_of, token_cost
from hashbench.running.efficiency.spreads import SPREAD_COLUMNS, Spreads, spreads_at_start
from hashbench.running.experiment.resolved import needs_corpus
from hashbench.running.experiment.sizing import embedding_size, with_budget, with_free_size
from hashbench.running.experiment.used import spec_of_use

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

    Where none is named: for all models, or for those of `printed`, the names in a paper's reference data. With `paper`
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
    float32, and the multiply-adds of its vector are those of WORD. Raises InputError for an unknown model.
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
