"""`hashbench report --format html`: the results of an experiment as one page that needs no other file.

The page holds its style, its scripts, its figures, and one block of data: the runs behind each cell.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields, replace
from functools import cache, cached_property
from importlib.resources import files
from itertools import groupby
from typing import Any, Protocol

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from hashbench.common.errors import InputError
from hashbench.common.registry import registered
from hashbench.common.showing import printable
from hashbench.results.claims import table as wording
from hashbench.results.claims.report import DecidedClaims, sections_of
from hashbench.results.claims.verdicts import Decided
from hashbench.results.papers.paper import load_paper
from hashbench.results.read.measured import Measured
from hashbench.results.rendering.page.data import Lacking, RunsBehind, lacking_of, page_data
from hashbench.results.tables import numbers
from hashbench.results.tables.numbers import has_published, legend, notes, row_head, without_details
from hashbench.results.tables.ranking import with_ranks
from hashbench.results.tables.report import has_measured, own_name, tables_of
from hashbench.results.tables.request import ReportRequest, ReportSource, count_known
from hashbench.results.tables.table import Row, Table, comparable
from hashbench.store.engine import Store

PACKAGE = "hashbench.results.rendering.page"
SCRIPTS = ("tables.js", "panel.js")
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
class Claims:
    """All claims about the models of an experiment, or the reason that none is decided ('' if none was requested)."""

    rows: tuple[tuple[str, Decided], ...] = ()  # each with its source: a paper, or the user
    why: str = ""
    tally: tuple[str, ...] = ()  # counts by verdict in words, of each paper as in the text report


@dataclass(frozen=True)
class Content:
    """The contents of an experiment's page: tables, claims and figures."""

    measured: Measured
    own: tuple[Table, ...]
    printed: tuple[Table, ...] = ()  # of a paper, with its numbers beside the measured ones
    claims: Claims = Claims()
    figures: tuple[PageFigure, ...] = ()
    on_board: bool = False  # its page is one of a board

    @cached_property
    def behind(self) -> RunsBehind:
        """The runs behind its cells."""
        return RunsBehind(self.measured)

    @cached_property
    def ranks(self) -> list[Table]:
        """The own tables with ranks in the place of scores, where models are compared."""
        return [with_ranks(table) for table in self.own if table.pairs]

    @cached_property
    def lacking(self) -> list[Lacking]:
        """Empty cells of the own tables, and unfinished runs."""
        return lacking_of(self.own, self.measured)


Figures = Callable[[ReportSource], Iterable[PageFigure]]


def page(store: Store, request: ReportRequest = ReportRequest(), figures: Figures = lambda source: ()) -> str:
    """The page of an experiment as HTML.

    Its own tables, then those of the paper in which something was measured, or the named ones alone. `figures` draws
    those of the page from the results that its tables have read; it is called once the request was found to be right.

    Raises InputError for an experiment, paper or table that does not exist.
    """
    source = ReportSource(store, request)  # of all tables, so that the experiment is read once
    shown = tables_of(source) if request.table else []
    measured = source.measured
    request = replace(request, experiment=measured.experiment.name)
    own = own_tables(source.under(replace(request, paper=None, table=None)))
    if not request.table and (request.paper or count_known(source.paper.name, measured)):
        printed = tables_of(source.under(replace(request, paper=source.paper.name, table="paper")))
        shown += [table for table in printed if has_measured(table)]
    of_all = source.under(request)
    return document(Content(measured, own, tuple(shown), claims_of(of_all), tuple(figures(of_all))))


def own_tables(source: ReportSource) -> tuple[Table, ...]:
    """The own tables of an experiment, and the tables that a page has beside them; averages are the first columns."""
    beside = [name for name, of in registered("table").items() if of.beside(source.measured)]
    names = [own_name(source.measured), *beside]
    tables = tables_of(source.under(replace(source.request, table=",".join(names))))
    return tuple(
        # Missing cells are in another section
        replace(table, columns=tuple(sorted(table.columns, key=lambda of: of.measure != "average")), missing=())
        for table in tables
    )


def claims_of(source: ReportSource) -> Claims:
    """The decided claims, or the reason that they cannot be decided, which is no error for a page."""
    if source.request.paper is not None:
        load_paper(source.request.paper)  # a wrong name is an error here as elsewhere
    try:
        sections = sections_of(source)
    except InputError as error:
        # Readers of a page have no use for the path of the database.
        return Claims(why=str(error).removeprefix(f"{source.store.name}: "))
    rows = tuple((_source(section), decided) for section in sections for decided in section.decided)
    counts = {section.title.partition(", on ")[0]: wording.tally_lines(section.decided) for section in sections}
    tally = tuple(" ".join([f"{title}."] * (len(counts) > 1) + lines) for title, lines in counts.items())
    return Claims(rows, tally=tally)


def _source(section: DecidedClaims) -> str:
    """The source of a section's claims: a paper, its sizes as they are counted here, or the user."""
    return f"{section.paper} (the paper's sizes, counted here)" if section.counted else section.paper or OWN


def document(content: Content) -> str:
    """The page with these contents, as HTML."""
    shown = {
        "results": ("Results", True),
        "figures": ("Figures", content.figures),
        "claims": ("Claims", content.claims.rows or content.claims.why),
        "paper": ("Beside the paper", content.printed),
        "lacking": ("Not run", content.lacking),
        "provenance": ("What the numbers stand on", True),
        "runs": ("Runs", True),
    }
    lines = [line for table in (*content.own, *content.printed) for line in table.warnings]
    named = {"own": content.own, "paper": content.printed}
    tables = {f"{name}-{place}": table for name, of in named.items() for place, table in enumerate(of)}
    return written(
        "page.html",
        **{field.name: getattr(content, field.name) for field in fields(content)},
        behind=content.behind,
        ranks=content.ranks,
        lacking=content.lacking,
        name=content.measured.experiment.name,
        title=f"{content.measured.experiment.name} · hashbench",
        facts=_facts(content),
        # Among warnings with one beginning the last, which is the longest.
        warnings=list({line.partition(":")[0]: line for line in lines}.values()),
        sections={name: title for name, (title, there) in shown.items() if there},
        provenance=content.own[0].provenance,
        data=page_data(content.behind, tables),
    )


def written(template: str, **contents: Any) -> str:
    """A page of one of the templates, whose scripts alone a browser runs: their hashes are in its policy."""
    scripts = [_static(name) for name in SCRIPTS]
    digests = [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts]
    hashes = " ".join(f"'sha256-{digest}'" for digest in digests)
    policy = (
        f"default-src 'none'; script-src {hashes}; "
        "style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
    )
    text = (
        _environment()
        .get_template(template)
        .render(**contents, policy=Markup(policy), style=_static("page.css"), scripts=scripts)
    )
    return printable(text)  # a name from a database elsewhere may hold control characters


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
        "comparable": comparable, "has_published": has_published, "legend": legend, "table_notes": notes,
        "numbers": numbers, "row_head": row_head, "sections_of": _sections_of, "wording": wording,
    }  # fmt: skip
    return environment


@cache
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
