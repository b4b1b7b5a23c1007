"""`hashbench report --format html`: what an experiment measured, as one page without any other file."""

from __future__ import annotations

from pathlib import Path

from hashbench.claims.results import Costs
from hashbench.papers.paper import find_layout, load_paper, papers
from hashbench.rendering.files import write_whole
from hashbench.rendering.page.claims import claims_of
from hashbench.rendering.page.document import Content, document
from hashbench.rendering.report import count_known, paper_of, tables
from hashbench.results.measured import Measured, measure
from hashbench.results.rates import rate_lines
from hashbench.store.engine import Store
from hashbench.store.result import Checkpoint
from hashbench.tables.table import Table


def page(
    store: Store,
    *,
    experiment: str | None = None,
    paper: str | None = None,
    table: str | None = None,
    published: bool = True,
    examples: bool = False,
    all_metrics: bool = False,
    checkpoint: Checkpoint = "best",
    output: Path | None = None,
    costs: Costs | None = None,
) -> str:
    """The page of an experiment (None: the one swept last) as HTML; written to `output` too, whole or not at all.

    Its own tables, then those of `paper` (None: the one with most of its models) in which something was measured, or
    the named ones alone (`table`: numbers with commas between). `costs`: operations of a model's forward pass, where a
    claim asks for them. The other arguments are those of `report`.

    Raises InputError for an experiment, paper or table that is not there, and a file that cannot be written.
    """
    numbers = [number.strip() for number in table.split(",")] if table else []
    measured = measure(store, experiment, checkpoint=checkpoint)
    source = load_paper(paper) if paper is not None else paper_of(measured)
    for number in numbers:
        find_layout(source, number)
    asked = {"published": published, "examples": examples, "checkpoint": checkpoint}
    name = measured.experiment.name
    own = tables(store, experiment=name, all_metrics=all_metrics, **asked)  # type: ignore[arg-type]
    known = count_known(source, measured) > 0
    shown: list[Table] = []
    for each in [source.name] if known or numbers or paper else papers():  # labels of one's own are no paper's
        wanted = ",".join(numbers or load_paper(each).tables)
        printed = tables(store, experiment=name, paper=each, table=wanted, **asked)  # type: ignore[arg-type]
        shown += [one for one in printed if numbers or _is_filled(one, measured, known=known)]
    claims = claims_of(store, name, paper, checkpoint, costs)
    text = document(Content(measured, tuple(own), tuple(shown), claims, rate_lines(store, name)))
    if output is not None:
        write_whole(output, text)
    return text


def _is_filled(table: Table, measured: Measured, *, known: bool) -> bool:
    """Whether a paper's table says something of the experiment: a measured number beside a row of the paper's.

    Where no model is one of the paper's (`known`), a table that reads the scores of its tasks.
    """
    rows = [row for row in table.rows if row.kind in ("model", "family", "task") and row.measured()]
    if known:
        return any(cell.published is not None for row in rows for cell in row.cells.values())
    return bool(rows) and any(task in measured.tasks() for task, _, _ in table.readings)
