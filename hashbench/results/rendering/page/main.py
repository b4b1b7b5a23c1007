"""`hashbench report --format html`: the results of an experiment as one page that needs no other file.

The page holds its style, its scripts, its figures, and one block of data: the runs behind each cell.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from itertools import groupby
from typing import Any, Protocol

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from hashbench.common.errors import InputError
from hashbench.common.showing import printable
from hashbench.common.texts_read import NOTE
from hashbench.results.claims import table as wording
from hashbench.results.claims.report import DecidedClaims, claim_sections
from hashbench.results.claims.verdicts import Decided, Outcome
from hashbench.results.papers.paper import Column, load_paper, papers
from hashbench.results.read.measured import Measured
from hashbench.results.read.runs import MeasuredRun
from hashbench.results.tables import numbers
from hashbench.results.tables.numbers import has_published, legend, notes, row_head, without_details
from hashbench.results.tables.report import measured_columns, settled, tables_of
from hashbench.results.tables.request import ReportRequest, ReportSource, count_known
from hashbench.results.tables.table import Row, Table, comparable
from hashbench.store.engine import Store

PACKAGE = "hashbench.results.rendering.page"
SCRIPTS = ("tables.js", "panel.js")
RATIOS = ("prr", "prr_average", "drop", "gain")  # measures that are computed from the baseline's runs too
OWN = "own"  # the source of user-defined claims


class PageFigure(Protocol):
    """A figure of the page, drawn by the package `plots`, which this package must not import."""

    @property
    def name(self) -> str: ...  # its id on the page
    @property
    def title(self) -> str: ...
    @property
    def note(self) -> str: ...  # small print
    @property
    def svg(self) -> str: ...  # an `svg` element whose ids begin with the figure's name


@dataclass(frozen=True)
class Claimed:
    """One claim: its statement and source, the verdict, and the numbers and remarks behind it."""

    number: str
    statement: str
    source: str
    outcome: Outcome
    verdict: str  # the outcome with its reason
    measured: str
    claimed: str
    remarks: str
    absent: bool  # names a model that the experiment does not have


@dataclass(frozen=True)
class Claims:
    """All claims about the models of an experiment, or the reason that none is decided ('' if none was requested)."""

    rows: tuple[Claimed, ...] = ()
    why: str = ""
    tally: tuple[str, ...] = ()  # counts by verdict in words, of each paper as in the text report


@dataclass(frozen=True)
class Content:
    """The contents of an experiment's page: tables, claims and figures."""

    measured: Measured
    own: tuple[Table, ...]
    printed: tuple[Table, ...]  # of a paper, with its numbers beside the measured ones
    claims: Claims
    figures: tuple[PageFigure, ...]


def page(store: Store, request: ReportRequest = ReportRequest(), figures: Iterable[PageFigure] = ()) -> str:
    """The page of an experiment as HTML.

    Its own tables, then those of the paper in which something was measured, or the named ones alone. `figures` may be
    lazy: they are read once the request was found to be right.

    Raises InputError for an experiment, paper or table that does not exist.
    """
    request = settled(store, request)
    source = ReportSource(store, request)  # of all tables, so that the experiment is read once
    shown = tables_of(source) if request.table else []
    measured = source.measured
    request = replace(request, experiment=measured.experiment.name)
    own = tables_of(source.under(replace(request, paper=None, table=None)))
    any_known = count_known(source.paper.name, measured) > 0
    if not request.table:
        # Where no model is one of the paper's, the tables of every paper may have the experiment's tasks.
        for paper in [source.paper.name] if any_known or request.paper else papers():
            printed = tables_of(source.under(replace(request, paper=paper, table="paper")))
            shown += [table for table in printed if _is_filled(table, measured, any_known=any_known)]
    content = Content(measured, tuple(own), tuple(shown), claims_of(store, request), tuple(figures))
    return printable(document(content))  # a name from a database elsewhere may hold control characters


def _is_filled(table: Table, measured: Measured, *, any_known: bool) -> bool:
    """True if a paper's table has a measured number beside a row of the paper's.

    Where no model is one of the paper's (`any_known` False), if it reads the scores of the experiment's tasks.
    """
    if any_known:
        return bool(measured_columns(table))
    rows = [row for row in table.rows if row.kind in ("model", "family", "task") and row.measured()]
    return bool(rows) and any(task in measured.tasks() for task, _, _ in table.readings)


def claims_of(store: Store, request: ReportRequest) -> Claims:
    """The decided claims, or the reason that they cannot be decided, which is no error for a page."""
    if request.paper is not None:
        load_paper(request.paper)  # a wrong name is an error here as elsewhere
    try:
        sections = claim_sections(store, request)
    except InputError as error:
        # Readers of a page have no use for the path of the database.
        return Claims(why=str(error).removeprefix(f"{store.name}: "))
    rows = tuple(_claimed(decided, _source(section)) for section in sections for decided in section.decided)
    counts = {section.title.partition(", on ")[0]: wording.tally_lines(section.decided) for section in sections}
    tally = tuple(" ".join([f"{title}."] * (len(counts) > 1) + lines) for title, lines in counts.items())
    return Claims(rows, tally=tally)


def _source(section: DecidedClaims) -> str:
    """The source of a section's claims: a paper, its sizes as they are counted here, or the user."""
    return f"{section.paper} (the paper's sizes, counted here)" if section.counted else section.paper or OWN


def _claimed(decided: Decided, source: str) -> Claimed:
    claim, shown = decided.claim, decided.shown
    remarks = filter(None, [wording.stands_on(shown), *wording.remarks(decided), *decided.missing])
    return Claimed(
        claim.number, claim.statement, ", ".join(filter(None, (source, claim.section))), decided.outcome,
        wording.verdict(decided), wording.measured(claim, shown), wording.claimed_beside_paper(claim),
        "; ".join(remarks), decided.names_absent_model,
    )  # fmt: skip


def document(content: Content) -> str:
    """The page with these contents, as HTML."""
    shown = {
        "results": ("Results", True),
        "claims": ("Claims", content.claims.rows or content.claims.why),
        "figures": ("Figures", content.figures),
        "paper": ("Beside the paper", content.printed),
        "provenance": ("What the numbers stand on", True),
    }
    lines = [line for table in (*content.own, *content.printed) for line in table.warnings]
    return _environment().get_template("page.html").render(
        **vars(content),
        name=content.measured.experiment.name,
        facts=_facts(content),
        # Of several warnings with one beginning the last, which is the longest.
        warnings=list({line.partition(":")[0]: line for line in lines}.values()),
        sections={name: title for name, (title, there) in shown.items() if there},
        provenance=content.own[0].provenance,
        data=_data(content),
        style=_static("page.css"),
        scripts=[_static(name) for name in SCRIPTS],
    )  # fmt: skip


@cache
def _environment() -> Environment:
    """The jinja environment of the page's templates, with escaping on and the functions that they call."""
    environment = Environment(
        loader=PackageLoader(PACKAGE), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.policies["json.dumps_kwargs"] = {
        "ensure_ascii": False, "allow_nan": False, "separators": (",", ":")
    }  # fmt: skip
    environment.filters["without_details"] = without_details
    environment.globals |= {
        "comparable": comparable, "has_published": has_published, "legend": legend, "notes": notes, "numbers": numbers,
        "row_head": row_head, "sections_of": _sections_of,
    }  # fmt: skip
    return environment


def _static(name: str) -> Markup:
    return Markup((files(PACKAGE) / "static" / name).read_text(encoding="utf-8"))


def _sections_of(table: Table) -> list[tuple[str, list[tuple[int, Row]]]]:
    """(heading, rows with their indexes) of each section of the table."""
    groups = groupby(enumerate(table.rows), key=lambda placed: placed[1].section)
    return [(section, list(rows)) for section, rows in groups]


def _facts(content: Content) -> list[str]:
    """The facts under the page's title: experiment, encoder, and numbers of models and tasks."""
    facts = dict(content.own[0].provenance)
    line = [facts["experiment"].partition(": ")[2]] if "experiment" in facts else []
    line += [f"encoder {facts['encoder']}"] if "encoder" in facts else []
    counts = {"model": len(content.measured.labels()), "task": len(content.measured.tasks())}
    return line + [f"{n} {what}{'s' if n != 1 else ''}" for what, n in counts.items()]


def _data(content: Content) -> dict[str, Any]:
    """The data that the page's scripts read: runs, tables, and the texts to which runs refer by index."""
    places: dict[str, int] = {}
    named: dict[str, Sequence[Table]] = {"own": content.own, "paper": content.printed}
    return {
        "runs": [_run(content.measured, run, places) for run in content.measured.runs],
        "texts": list(places),
        "tables": {
            f"{name}-{place}": _table(table, content.measured)
            for name, tables in named.items()
            for place, table in enumerate(tables)
        },
    }


def _run(measured: Measured, run: MeasuredRun, places: dict[str, int]) -> dict[str, Any]:
    """A run as the page's script reads it. `places`: index by text, extended here, since many runs share texts."""

    def place(text: str) -> int:
        return places.setdefault(text, len(places))

    origin = run.origin
    finished = datetime.fromtimestamp(origin.finished_at, UTC) if origin.finished_at else None
    values = {
        "id": run.run_id[:16], "kind": place(run.kind), "model": place(run.model),
        "task": None if run.task is None else place(run.task), "seed": run.seed, "state": place(run.state),
        "reason": place(run.reason) if run.reason else None, "data": place(run.fingerprint),
        "commit": place(origin.code() if run.state == "done" else ""),
        "machine": place(origin.hardware), "encoder": place(run.encoder),
        "software": place(", ".join(f"{name} {version}" for name, version in origin.packages)),
        "notes": [place(f"{topic}: {text}") for topic, text in origin.notes if text and topic != NOTE],
        "seconds": round(origin.seconds, 1), "at": finished.strftime("%Y-%m-%d %H:%M UTC") if finished else "",
        "scores": {f"{score.metric} {score.split}": score.value for score in measured.scores_of(run)},
    }  # fmt: skip
    return {name: value for name, value in values.items() if value not in (None, "", [], {})}


def _table(table: Table, measured: Measured) -> dict[str, Any]:
    """A table as the page's script reads it: its columns with their scores, and its rows with the runs behind them."""
    baseline = measured.experiment.baseline
    return {
        "title": table.title,
        "columns": [_column(column) for column in table.columns],
        "rows": [{"name": row.title.strip(), "runs": _runs_of_row(row, measured)} for row in table.rows],
        "baseline": [place for place, run in enumerate(measured.runs) if run.model == baseline],
    }


def _column(column: Column) -> dict[str, Any]:
    tasks: Sequence[str | None] = [column.task]
    if column.measure in ("average", "prr_average"):
        tasks = [name for part in column.tasks for name in ((part,) if isinstance(part, str) else part)]
    return {
        "title": " ".join(filter(None, (column.title or column.name, column.subtitle))),
        "measure": column.measure,
        "tasks": [task for task in tasks if task],
        "reads": f"{column.metric} {column.split}" if column.metric else "",
        "scored": column.measure in ("score", "average", *RATIOS),
        "ratio": column.measure in RATIOS,
    }


def _runs_of_row(row: Row, measured: Measured) -> list[int]:
    """Indexes of the runs behind a row: those of its entry, and its model's runs without a task."""
    scored = {
        id(run)
        for entry in measured.entries
        if entry.model == row.model and (not row.encoder or entry.encoder == row.encoder)
        and (entry.settings in row.settings or not entry.settings)
        for run in entry.runs
    }  # fmt: skip
    return [
        place
        for place, run in enumerate(measured.runs)
        if id(run) in scored or (run.model == row.model and run.task is None)
    ]
