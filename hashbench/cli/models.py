"""`models`: the models and groups that there are."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

from hashbench.cli.options import TableFormat
from hashbench.cli.output import print_rows

if TYPE_CHECKING:
    from hashbench.running.efficiency.sizes import SizeRow

SHOWN = ["model", "tokens", "code", "params", "embedding", "needs"]  # on a terminal, under a heading for each paper
OWN = "Further models, of no paper"

GROUPS_WIDTH = 100  # columns of the names of groups


def models(style: TableFormat = "text") -> None:
    """List the models and groups that an experiment may name, what each reads and needs, and its size.

    Example: hashbench models --format csv
    """
    from hashbench.models.embeddings.registry import models as known_models
    from hashbench.results.papers.paper import papers
    from hashbench.running.efficiency.sizes import MODEL_COLUMNS, model_rows

    rows = model_rows(list(known_models().values()), papers())
    if style == "text":
        _print_models(rows)
    else:
        print_rows(MODEL_COLUMNS, rows, style)


def _print_models(rows: Sequence[SizeRow]) -> None:
    """The rows for people: a heading for each paper, the names of groups beside it, sizes in M and K."""
    from hashbench.results.papers.paper import load_paper, papers
    from hashbench.results.rendering.rows import text_lines

    short = [row | {"params": _size(row["total_params"]), "embedding": _size(row["emb_params"])} for row in rows]
    lines = text_lines(SHOWN, short)
    print(lines[0])
    paper = ""
    for row, line in zip(rows, lines[1:], strict=True):
        if row["paper"] != paper:
            paper = str(row["paper"])
            members = [member["groups"] for member in rows if member["paper"] == paper]
            groups = dict.fromkeys(name for names in members for name in str(names).split(", ") if name)
            print(f"\n{load_paper(paper).title if paper in papers() else OWN}")
            print(textwrap.fill(f"groups: {', '.join(groups) or 'none'}", GROUPS_WIDTH, subsequent_indent=" " * 8))
        print(line)
    print("\nparams: at base, or of the model's own size, in the frame of its paper (hashbench params says which).")


def _size(count: str | int | None) -> str:
    """A count in M or K; nothing for an embedding without parameters.

    >>> _size(38_603_520), _size(0)
    ('38.6M', '-')
    """
    from hashbench.results.tables.table import scaled

    value, unit = scaled(int(count or 0))
    return f"{value:.1f}{unit}" if count else "-"
