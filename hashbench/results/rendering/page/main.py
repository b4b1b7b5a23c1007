"""`hashbench report --format html`: what an experiment measured, as one page without any other file."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from hashbench.results.papers.paper import papers
from hashbench.results.read.measured import Measured, measure
from hashbench.results.rendering.page.claims import claims_of
from hashbench.results.rendering.page.document import Content, PageFigure, document
from hashbench.results.tables.report import measured_columns, settled, tables
from hashbench.results.tables.request import ReportRequest, count_known
from hashbench.results.tables.table import Table
from hashbench.store.engine import Store


def page(store: Store, request: ReportRequest = ReportRequest(), figures: Iterable[PageFigure] = ()) -> str:
    """The page of an experiment as HTML.

    Its own tables, then those of the paper in which something was measured, or the named ones alone. `figures` may be
    lazy: they are read once the request was found to be right.

    Raises InputError for an experiment, paper or table that is not there.
    """
    request = settled(store, request)
    measured = measure(store, request.experiment, checkpoint=request.checkpoint)
    source = request.source(measured)
    shown = tables(store, request) if request.table else []
    request = replace(request, experiment=measured.experiment.name)
    own = tables(store, replace(request, paper=None, table=None))
    known = count_known(source.name, measured) > 0
    if not request.table:
        for paper in [source.name] if known or request.paper else papers():  # labels of one's own are no paper's
            printed = tables(store, replace(request, paper=paper, table="paper"))
            shown += [table for table in printed if _is_filled(table, measured, known=known)]
    return document(Content(measured, tuple(own), tuple(shown), claims_of(store, request), tuple(figures)))


def _is_filled(table: Table, measured: Measured, *, known: bool) -> bool:
    """Whether a paper's table says something of the experiment: a measured number beside a row of the paper's.

    Where no model is one of the paper's (`known`), a table that reads the scores of its tasks.
    """
    if known:
        return bool(measured_columns(table))
    rows = [row for row in table.rows if row.kind in ("model", "family", "task") and row.measured()]
    return bool(rows) and any(task in measured.tasks() for task, _, _ in table.readings)
