"""How large the models are, in rows: all of them with what they need, or their counts beside the published ones."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hashbench.models.embeddings.base import Counts, ModelSpec
from hashbench.models.embeddings.registry import find_model, models, named_models
from hashbench.models.objectives.registry import objective_of
from hashbench.results.papers.paper import Paper, load_paper, papers
from hashbench.results.tables.paper import printed_number
from hashbench.results.tables.table import SIZES
from hashbench.running.efficiency.parameters import count, frame_of
from hashbench.running.experiment.corpus_needs import needs_corpus
from hashbench.running.experiment.used import spec_of_use

MODEL_COLUMNS = [
    "model", "paper", "groups", "tokens", "code", "objective", "total_params", "emb_params", "needs", "summary",
]  # fmt: skip
PARAMETER_COLUMNS = ["model", "paper", "frame", "total_params", "emb_params", "published_total", "published_emb"]
DEPLOYED = "2-class fine-tuned model as deployed: without heads or matrices of pre-training"
SizeRow = dict[str, str | int | None]


def model_rows(specs: Sequence[ModelSpec]) -> list[SizeRow]:
    """A row for each model, those of a paper together; parameters at base, or of the model's own size."""
    order = papers()
    ranked = sorted(specs, key=lambda spec: [*order, spec.origin.paper].index(spec.origin.paper))
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
    """The coder and the first number that it was given: 'md5-rows 1033'."""
    sizes = [str(value) for value in spec.code.args.values() if type(value) is int]
    return " ".join([spec.code.coder, *sizes[:1]])


def _needs(spec: ModelSpec) -> str:
    """What must be there beside the texts of a task."""
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
    count_generic_row: bool = True,
    deployed: bool = False,
    all_frames: bool = False,
) -> list[SizeRow]:
    """A row for each named model or member of a group, or of what `use` may name in an experiment (with a colon); where
    none is named, for all of the paper's, or simply all.

    With `paper` models are counted in its frame, else each in that of its own paper; `deployed` counts them as
    fine-tuned, whatever the papers do. `all_frames` adds rows for a model's other frames.
    Raises InputError for an unknown paper or model.
    """
    chosen = load_paper(paper) if paper is not None else None
    wanted = named_models(names) or (models_of(chosen) if chosen else list(models()))
    rows = []
    for spec in map(spec_of, dict.fromkeys(wanted)):
        own_paper = chosen.name if chosen else spec.origin.paper
        if deployed:
            counts = count(spec, size, n_classes=2, deployed=True)
            rows.append(_row(spec.name, "", DEPLOYED, counts) | {"paper": own_paper})
            continue
        frame = frame_of(spec, own_paper)
        counts = count(spec, size, count_generic_row=count_generic_row, frame=frame)
        rows.append(_row(spec.name, own_paper, frame.words if frame else spec.origin.frame, counts))
        for other in spec.origin.other_frames if all_frames else ():
            rows.append(_row(spec.name, own_paper, other.words, count(spec, size, frame=other)))
    return rows


def spec_of(name: str) -> ModelSpec:
    """A registered model, or what `use` may name in an experiment (with a colon). Raises InputError."""
    return spec_of_use(name, name, Path.cwd()) if ":" in name else find_model(name)


def models_of(paper: Paper) -> list[str]:
    """The models of a paper's reference data that there are here, in its order."""
    here = models()
    return [name for name in dict.fromkeys(model for _, model, _ in paper.numbers) if name in here]


def _row(model: str, paper: str, frame: str, counts: Counts) -> SizeRow:
    """One row; without a paper nothing published stands beside."""
    return {
        "model": model,
        "paper": paper,
        "frame": frame,
        "total_params": counts.total,
        "emb_params": counts.embedding,
        "published_total": _published(model, paper, "total_params"),
        "published_emb": _published(model, paper, "emb_params"),
    }


def _published(model: str, paper: str, column: str) -> int | None:
    """The count as the paper prints it, rounded as it is there; None where there is none. Papers count base.

    Mi and Gi are Superbloom's binary M and G.
    """
    printed = printed_number(load_paper(paper), model, column) if paper in papers() else None
    return None if printed is None else round(printed.value * SIZES[printed.unit])
