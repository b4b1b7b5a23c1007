"""The page as a whole: one HTML text with its style, its scripts, its figures and one block of data inside."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import groupby
from typing import Any, Protocol

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from hashbench.results.read.measured import Measured
from hashbench.results.rendering.page.behind import SharedTexts, run_data, table_data
from hashbench.results.rendering.page.claims import Claims
from hashbench.results.tables import numbers
from hashbench.results.tables.numbers import has_published, legend, notes, row_head, without_details
from hashbench.results.tables.table import Row, Table, comparable

PACKAGE = "hashbench.results.rendering.page"
SCRIPTS = ("tables.js", "panel.js")


class PageFigure(Protocol):
    """A figure that somebody else has drawn."""

    @property
    def name(self) -> str: ...  # its id on the page
    @property
    def title(self) -> str: ...
    @property
    def note(self) -> str: ...  # what it shows and what it stands on
    @property
    def svg(self) -> str: ...  # an `svg` element whose ids begin with the figure's name


@dataclass(frozen=True)
class Content:
    """What the page shows."""

    measured: Measured
    own: tuple[Table, ...]
    printed: tuple[Table, ...]  # of a paper, with its numbers beside ours
    claims: Claims
    figures: tuple[PageFigure, ...]


def document(content: Content) -> str:
    """The page as HTML."""
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
        # Of several warnings that begin alike the last, which says most.
        warnings=list({line.partition(":")[0]: line for line in lines}.values()),
        sections={name: title for name, (title, there) in shown.items() if there},
        provenance=content.own[0].provenance,
        data=_data(content),
        style=_static("page.css"),
        scripts=[_static(name) for name in SCRIPTS],
    )  # fmt: skip


@cache
def _environment() -> Environment:
    """Templates in which every text is escaped, and what they call."""
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
    """Rows with their place in the table, those of one heading together."""
    groups = groupby(enumerate(table.rows), key=lambda placed: placed[1].section)
    return [(section, list(rows)) for section, rows in groups]


def _facts(content: Content) -> list[str]:
    """The line under the page's title."""
    facts = dict(content.own[0].provenance)
    line = [facts["experiment"].partition(": ")[2]] if "experiment" in facts else []
    line += [f"encoder {facts['encoder']}"] if "encoder" in facts else []
    counts = {"model": len(content.measured.labels()), "task": len(content.measured.tasks())}
    return line + [f"{n} {what}{'s' if n != 1 else ''}" for what, n in counts.items()]


def _data(content: Content) -> dict[str, Any]:
    """What the scripts read."""
    texts = SharedTexts()
    named: dict[str, Sequence[Table]] = {"own": content.own, "paper": content.printed}
    return {
        "runs": [run_data(content.measured, run, texts) for run in content.measured.runs],
        "texts": texts.all(),
        "tables": {
            f"{name}-{place}": table_data(table, content.measured)
            for name, tables in named.items()
            for place, table in enumerate(tables)
        },
    }
