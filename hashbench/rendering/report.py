"""`hashbench report`: the tables of an experiment as text, markdown, CSV, JSON or LaTeX."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from hashbench.errors import InputError, near_match
from hashbench.papers.paper import Paper, find_layout, load_paper, papers
from hashbench.rendering.files import write_whole
from hashbench.rendering.render import FORMATS, Format, render
from hashbench.results.examples import Examples
from hashbench.results.measured import Measured, measure
from hashbench.store.engine import Store
from hashbench.store.result import Checkpoint
from hashbench.tables.experiment import own_table
from hashbench.tables.links import has_links, link_tables
from hashbench.tables.notes import provenance, warnings
from hashbench.tables.paper import paper_table
from hashbench.tables.table import Table

WIDTH = 100  # columns where there is no terminal to ask


def report(
    store: Store,
    *,
    experiment: str | None = None,
    paper: str | None = None,
    table: str | None = None,
    format: str = "text",
    published: bool = True,
    examples: bool = False,
    all_metrics: bool = False,
    checkpoint: Checkpoint = "best",
    output: Path | None = None,
    width: int | None = None,
    color: bool = False,
) -> str:
    """The tables as one text, written to `output` too where one is given.

    `experiment` None: the one that was swept last. `table` None: the experiment's own; else numbers of the paper's,
    with commas between. `paper` None: the one whose tables have most of the experiment's models. `all_metrics`: the
    experiment's own table has a column for every stored metric. `examples`: with 95 % intervals over examples. CSV and
    JSON hold rows alone: what is said loudly about the data then goes to stderr.

    Raises InputError for an experiment, paper, table or format that is not there.
    """
    if format not in FORMATS:
        near = near_match(format, list(FORMATS))
        raise InputError(f"--format: no format {format!r}{near}; there are: {', '.join(FORMATS)}")
    found = tables(
        store,
        experiment=experiment,
        paper=paper,
        table=table,
        published=published,
        examples=examples,
        all_metrics=all_metrics,
        checkpoint=checkpoint,
    )
    if format in ("csv", "json"):
        for line in _loud_lines(found):
            print(f"!! {line}", file=sys.stderr)
    text = render(found, _known(format), width=width or shutil.get_terminal_size((WIDTH, 24)).columns, color=color)
    if output is not None:
        write_whole(output, text)
    return text


def tables(
    store: Store,
    *,
    experiment: str | None = None,
    paper: str | None = None,
    table: str | None = None,
    published: bool = True,
    examples: bool = False,
    all_metrics: bool = False,
    checkpoint: Checkpoint = "best",
) -> list[Table]:
    """The same tables as data."""
    if paper is not None:
        load_paper(paper)  # wrong input is said before anything is read
    measured = measure(store, experiment, checkpoint=checkpoint)
    source = load_paper(paper) if paper is not None else paper_of(measured)
    numbers = [number.strip() for number in table.split(",")] if table else []
    for number in numbers:
        find_layout(source, number)
    drawn = Examples(store, checkpoint) if examples else None
    found = [paper_table(measured, source, number, published=published, examples=drawn) for number in numbers]
    if not found and has_links(measured):
        found = link_tables(measured, store if examples else None)
    found = found or [own_table(measured, source, examples=drawn, all_metrics=all_metrics)]
    return [
        replace(
            one,
            warnings=tuple(warnings(measured, source, one)),
            provenance=tuple(provenance(measured, source, one)) if one.paper or one is found[0] else (),
        )
        for one in found
    ]


def paper_of(measured: Measured) -> Paper:
    """The paper in whose tables most models of an experiment stand; of several the first in `papers`."""
    return max((load_paper(name) for name in papers()), key=lambda paper: count_known(paper, measured))


def count_known(paper: Paper, measured: Measured) -> int:
    """How many models of a paper an experiment has. A variation stands for the model that it is like."""
    entries = measured.experiment.config.get("models", [])
    like = {entry["like"] for entry in entries if isinstance(entry, dict) and entry.get("like")}
    return len({model for _, model, _ in paper.numbers} & (measured.labels() | like))


def _known(name: str) -> Format:
    """The format of a name that was checked."""
    return next(format for format in FORMATS if format == name)


def _loud_lines(found: Sequence[Table]) -> list[str]:
    """What is said of the data in all tables, each line once."""
    return list(dict.fromkeys(line for table in found for line in table.warnings))
