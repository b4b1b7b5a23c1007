"""Parameter counts of models beside the published ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hashbench.cli.output import Value
from hashbench.efficiency.frames import frame_of
from hashbench.efficiency.parameters import count
from hashbench.embeddings.base import Counts, ModelSpec
from hashbench.embeddings.registry import find_model, groups, models
from hashbench.papers.paper import Paper, load_paper, papers
from hashbench.tables.paper import printed_number
from hashbench.tables.table import SIZES

COLUMNS = ["model", "paper", "frame", "total_params", "emb_params", "published_total", "published_emb"]
DEPLOYED = "2-class fine-tuned model as deployed: without heads or matrices of pre-training"
Row = dict[str, Value]


@dataclass(frozen=True)
class Asked:
    """How to count: the size of models without one of their own, and the frame."""

    size: str
    paper: Paper | None = None  # in whose frame models are counted that stand in several papers; None: each in its own
    count_generic_row: bool = True
    deployed: bool = False
    all_frames: bool = False


def parameter_rows(
    names: Sequence[str],
    size: str,
    *,
    paper: str | None = None,
    count_generic_row: bool = True,
    deployed: bool = False,
    all_frames: bool = False,
) -> list[Row]:
    """A row for each named model or member of a group; where none is named, for all of the paper's, or simply all.

    `deployed`: as fine-tuned, in place of the paper's frame. `all_frames`: further rows for a model's other frames.
    Raises InputError for an unknown paper or model.
    """
    asked = Asked(size, load_paper(paper) if paper is not None else None, count_generic_row, deployed, all_frames)
    known = groups()
    wanted = [each for name in names for each in (known[name] if name in known else [name])]
    wanted = wanted or (models_of(asked.paper) if asked.paper else list(models()))
    return [row for name in dict.fromkeys(wanted) for row in _rows(find_model(name), asked)]


def models_of(paper: Paper) -> list[str]:
    """The models of a paper's reference data that there are here, in its order."""
    here = models()
    return [name for name in dict.fromkeys(model for _, model, _ in paper.numbers) if name in here]


def _rows(spec: ModelSpec, asked: Asked) -> list[Row]:
    """The row in the frame of the paper (or as deployed), then those of other frames."""
    paper = asked.paper.name if asked.paper else spec.origin.paper
    if asked.deployed:
        return [_row(spec.name, "", DEPLOYED, count(spec, asked.size, n_classes=2, deployed=True)) | {"paper": paper}]
    frame = frame_of(spec, paper)
    counts = count(spec, asked.size, count_generic_row=asked.count_generic_row, frame=frame)
    rows = [_row(spec.name, paper, frame.words if frame else spec.origin.frame, counts)]
    for other in spec.origin.other_frames if asked.all_frames else ():
        rows.append(_row(spec.name, paper, other.words, count(spec, asked.size, frame=other)))
    return rows


def _row(model: str, paper: str, frame: str, counts: Counts) -> Row:
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
