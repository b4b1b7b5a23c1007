"""Parameter counts of models beside the published ones."""

from __future__ import annotations

from collections.abc import Sequence

from hashbench.cli.output import Value
from hashbench.efficiency.parameters import count
from hashbench.embeddings.base import ModelSpec
from hashbench.embeddings.registry import find_model, groups, models
from hashbench.report.papers import Paper, load_paper, papers

COLUMNS = ["model", "paper", "frame", "total_params", "emb_params", "published_total", "published_emb"]
DEPLOYED = "2-class fine-tuned model as deployed: without heads or matrices of pre-training"
NOT_PUBLISHED: dict[str, Value] = {"published_total": None, "published_emb": None}
UNITS = {"M": 1e6, "K": 1e3, "params": 1}  # of the printed counts


def parameter_rows(
    names: Sequence[str], size: str, *, count_generic_row: bool = True, deployed: bool = False
) -> list[dict[str, Value]]:
    """A row for each named model or member of a group, all where none is named; in the frame of each paper, or as
    deployed. Raises InputError for unknown names."""
    known = groups()
    wanted = [each for name in names for each in (known[name] if name in known else [name])] or list(models())
    specs = [find_model(name) for name in dict.fromkeys(wanted)]
    if deployed:
        return [_row(spec, size, count_generic_row, deployed) for spec in specs]
    return [row for spec in specs for row in (_row(spec, size, count_generic_row, deployed), *_other_rows(spec, size))]


def _other_rows(spec: ModelSpec, size: str) -> list[dict[str, Value]]:
    """A row for each further frame of a model."""
    rows = []
    for frame in spec.other_frames:
        counts = count(spec, size, frame=frame)
        row = {"model": spec.name, "paper": spec.paper, "frame": frame.words}
        rows.append(row | {"total_params": counts.total, "emb_params": counts.embedding} | _both_published(spec))
    return rows


def _row(spec: ModelSpec, size: str, count_generic_row: bool, deployed: bool) -> dict[str, Value]:
    counts = count(spec, size, count_generic_row=count_generic_row, deployed=deployed)
    return {
        "model": spec.name,
        "paper": spec.paper,
        "frame": DEPLOYED if deployed else spec.frame,
        "total_params": counts.total,
        "emb_params": counts.embedding,
        **(NOT_PUBLISHED if deployed else _both_published(spec)),
    }


def _both_published(spec: ModelSpec) -> dict[str, Value]:
    return {"published_total": _published(spec, "total_params"), "published_emb": _published(spec, "emb_params")}


def _published(spec: ModelSpec, column: str) -> int | None:
    """The count as the paper's tables print it, rounded as it is there; None where there is none. Papers count base."""
    paper: Paper | None = load_paper(spec.paper) if spec.paper in papers() else None
    for table in paper.tables if paper else ():
        if paper and (table, spec.name, column) in paper.numbers:
            printed = paper.numbers[table, spec.name, column]
            return round(printed.value * UNITS[printed.unit])
    return None
