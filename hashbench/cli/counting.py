"""Parameter counts of models beside the published ones."""

from __future__ import annotations

from collections.abc import Sequence

from hashbench.cli.output import Value
from hashbench.efficiency.frames import DEPLOYED, frame_of
from hashbench.efficiency.parameters import count
from hashbench.embeddings.base import Counts, ModelSpec
from hashbench.embeddings.registry import find_model, groups, models
from hashbench.report.papers import Paper, load_paper, papers
from hashbench.report.rows import SIZES
from hashbench.report.tables import printed_number

COLUMNS = ["model", "paper", "frame", "total_params", "emb_params", "published_total", "published_emb"]
Row = dict[str, Value]


def parameter_rows(
    names: Sequence[str],
    size: str,
    *,
    paper: str | None = None,
    count_generic_row: bool = True,
    all_frames: bool = False,
) -> list[Row]:
    """A row for each named model or member of a group; where none is named, for all of the paper's, or simply all.

    `paper`: in whose frame models are counted that stand in several papers. `all_frames`: further rows for other ways
    to count a model, as deployed among them. Raises InputError for an unknown paper or model.
    """
    asked = load_paper(paper) if paper is not None else None
    known = groups()
    wanted = [each for name in names for each in (known[name] if name in known else [name])]
    wanted = wanted or (models_of(asked) if asked else list(models()))
    return [
        row
        for name in dict.fromkeys(wanted)
        for row in _rows(find_model(name), size, asked, count_generic_row, all_frames)
    ]


def models_of(paper: Paper) -> list[str]:
    """The models of a paper's reference data that there are here, in its order."""
    here = models()
    return [name for name in dict.fromkeys(model for _, model, _ in paper.numbers) if name in here]


def _rows(
    spec: ModelSpec, size: str, asked: Paper | None, count_generic_row: bool, all_frames: bool
) -> list[Row]:
    """The row in the frame of the paper, then those of other frames."""
    paper = asked.name if asked else spec.paper
    frame = frame_of(spec, paper)
    counts = count(spec, size, count_generic_row=count_generic_row, frame=frame)
    rows = [_row(spec, paper, frame.words if frame else spec.frame, counts)]
    if not all_frames:
        return rows
    others = [count(spec, size, frame=other) for other in (*spec.other_frames, DEPLOYED)]
    words = [other.words for other in (*spec.other_frames, DEPLOYED)]
    further = [_row(spec, paper, said, found) for said, found in zip(words, others, strict=True) if found != counts]
    return rows + [row | {"published_total": None, "published_emb": None} for row in further]


def _row(spec: ModelSpec, paper: str, frame: str, counts: Counts) -> Row:
    return {
        "model": spec.name,
        "paper": paper,
        "frame": frame,
        "total_params": counts.total,
        "emb_params": counts.embedding,
        "published_total": _published(spec.name, paper, "total_params"),
        "published_emb": _published(spec.name, paper, "emb_params"),
    }


def _published(model: str, paper: str, column: str) -> int | None:
    """The count as the paper prints it, rounded as it is there; None where there is none. Papers count base.

    Mi and Gi are Superbloom's binary M and G.
    """
    printed = printed_number(load_paper(paper), model, column) if paper in papers() else None
    return None if printed is None else round(printed.value * SIZES[printed.unit])
