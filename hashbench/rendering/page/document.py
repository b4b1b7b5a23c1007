"""The page as a whole: one HTML text with its style, its scripts and one block of data inside."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from typing import Any

from hashbench.colours import COLOURS, DARK_COLOURS
from hashbench.rendering.page.behind import Texts, behind, runs_of
from hashbench.rendering.page.cells import table_html
from hashbench.rendering.page.claims import Claimed, Claims
from hashbench.rendering.page.series import charts, looks
from hashbench.results.measured import Measured
from hashbench.results.rates import RateLine
from hashbench.tables.legend import without_details
from hashbench.tables.table import Table

STATIC = files("hashbench.rendering.page") / "static"
SCRIPTS = ("tables.js", "panel.js", "axes.js", "charts.js")
# Nothing is fetched, and a browser is told so: what the data may hold can then do no harm either.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; base-uri 'none'"
LONG = 160  # characters of a warning
TONES = {"holds": "good", "fails": "bad", "undecided": "open"}


@dataclass(frozen=True)
class Content:
    """What the page shows."""

    measured: Measured
    own: tuple[Table, ...]
    printed: tuple[Table, ...]  # of a paper, with its numbers beside ours
    claims: Claims
    rates: Sequence[RateLine]  # scores on perturbed texts


def document(content: Content) -> str:
    """The page as HTML."""
    name = content.measured.experiment.name
    lines = [line for table in (*content.own, *content.printed) for line in table.warnings]
    warnings = {line.partition(":")[0]: line for line in lines}  # of the same warning the one about published numbers
    figures = charts(content.measured, content.own[0], content.rates)
    style = (STATIC / "page.css").read_text(encoding="utf-8").replace("/* colours */", _colours())
    scripts = "".join(f"<script>{(STATIC / each).read_text(encoding='utf-8')}</script>" for each in SCRIPTS)
    sections = _sections(content, figures)
    nav = "".join(f'<a href="#{each}">{escape(title)}</a>' for each, title, _ in sections)
    body = "".join(
        f'<section id="{each}" aria-labelledby="{each}-h"><h2 id="{each}-h">{escape(title)}</h2>{inside}</section>'
        for each, title, inside in sections
    )
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f'<link rel="icon" href="data:,"><title>{escape(name)} · hashbench</title><style>{style}</style></head>\n'
        f'<body><a class="skip" href="#results">To the results</a>{_header(content, list(warnings.values()))}'
        f'<nav aria-label="Sections">{nav}</nav>\n<main>{body}</main>\n{DIALOG}'
        f'<script type="application/json" id="data">{_data(content, figures)}</script>{scripts}</body></html>\n'
    )


DIALOG = (
    '<dialog id="panel" aria-labelledby="panel-title"><form method="dialog"><h2 id="panel-title"></h2>'
    '<button class="close" aria-label="Close">×</button></form><div id="panel-body"></div></dialog>'
    '<div id="tip" role="status" aria-live="polite" hidden></div>'
)


def _colours() -> str:
    """The models' colours as the style's variables, for light and for dark."""

    def block(colours: Sequence[str]) -> str:
        return ":root{" + "".join(f"--m{place}:{colour};" for place, colour in enumerate(colours)) + "}"

    return f"{block(COLOURS)}@media screen and (prefers-color-scheme:dark){{{block(DARK_COLOURS)}}}"


def _header(content: Content, warnings: Sequence[str]) -> str:
    facts = dict(content.own[0].provenance)
    said = [facts[what].partition(": ")[2] for what in ("experiment",) if what in facts]
    said += [f"encoder {facts['encoder']}"] if "encoder" in facts else []
    models = len(content.measured.labels())
    said.append(f"{models} model{'s' if models != 1 else ''}")
    tasks = len(content.measured.tasks())
    said.append(f"{tasks} task{'s' if tasks != 1 else ''}")
    loud = "".join(f"<p>{_loud(line)}</p>" for line in warnings)
    banner = f'<div class="loud" role="note" aria-label="What these numbers are not">{loud}</div>' if loud else ""
    line = "".join(f"<li>{escape(one)}</li>" for one in said)
    name = escape(content.measured.experiment.name)
    return f'<header><p class="over">hashbench report</p><h1>{name}</h1><ul class="facts">{line}</ul>{banner}</header>'


def _loud(line: str) -> str:
    """A warning with its first words set apart; details in parentheses are folded away where it is long."""
    whole, line = line, without_details(line) if len(line) > LONG else line
    head, colon, rest = line.partition(":")
    said = f"<strong>{escape(head)}</strong>{colon}{escape(rest)}"
    return said if whole == line else f"<details><summary>{said}</summary>{escape(whole)}</details>"


def _sections(content: Content, figures: Sequence[dict[str, Any]]) -> list[tuple[str, str, str]]:
    """(id, title, HTML) of each section that has something to show."""
    own = "".join(_table(table, f"own-{place}", place > 0) for place, table in enumerate(content.own))
    found = [("results", "Results", own)]
    if content.claims.rows or content.claims.why:
        found.append(("claims", "Claims", _claims(content.claims)))
    if figures:
        found.append(("figures", "Figures", "".join(map(_figure, figures))))
    if content.printed:
        shown = "".join(_table(table, f"paper-{place}", True) for place, table in enumerate(content.printed))
        found.append(("paper", "Beside the paper", shown))
    facts = "".join(f"<dt>{escape(what)}</dt><dd>{escape(value)}</dd>" for what, value in content.own[0].provenance)
    found.append(("provenance", "What the numbers stand on", f'<dl class="facts-list">{facts}</dl>'))
    return found


def _table(table: Table, name: str, titled: bool) -> str:
    head = f"<h3>{escape(table.title)}</h3>" if titled else ""
    return f'<article class="table">{head}{table_html(table, name)}</article>'


def _figure(chart: dict[str, Any]) -> str:
    return (
        f'<figure id="{chart["id"]}" class="chart"><h3>{escape(chart["title"])}</h3><div class="panels"></div>'
        f'<div class="legend" role="group" aria-label="Models"></div><figcaption>{escape(chart["note"])}</figcaption>'
        "<noscript><p>Figures are drawn by a script; the tables hold the same numbers.</p></noscript></figure>"
    )


def _claims(claims: Claims) -> str:
    if not claims.rows:
        return f'<p class="lead">Not decided: {escape(claims.why)}.</p>'
    decided = [one for one in claims.rows if one.verdict != "not measured"]
    others = [one for one in claims.rows if one.verdict == "not measured"]
    found = f'<p class="lead">{escape(claims.tally())}.</p>' + (_claim_table(decided) if decided else "")
    if others:  # what an experiment has not asked for stands behind what it has
        found += f'<details><summary class="lead">{len(others)} not measured</summary>{_claim_table(others)}</details>'
    return found


def _claim_table(rows: Sequence[Claimed]) -> str:
    heads = "".join(f'<th scope="col">{name}</th>' for name in ("verdict", "claim", "measured", "claimed", "stands on"))
    return (
        '<div class="scroll" tabindex="0" role="region" aria-label="Claims"><table class="claims"><thead>'
        f"<tr>{heads}</tr></thead><tbody>{''.join(map(_claim, rows))}</tbody></table></div>"
    )


def _claim(one: Claimed) -> str:
    tone = TONES[one.verdict] if one.verdict in TONES else "none"
    return (
        f'<tr><td><span class="verdict {tone}">{escape(one.verdict)}</span></td><th scope="row">{escape(one.statement)}'
        f'<span class="sub">{escape(one.source)}, claim {escape(one.number)}</span></th><td>{escape(one.measured)}</td>'
        f"<td>{escape(one.claimed)}</td><td>{escape(one.remarks)}</td></tr>"
    )


def _data(content: Content, figures: Sequence[dict[str, Any]]) -> str:
    """What the scripts read, as JSON in which nothing can end the block or begin markup."""
    texts = Texts()
    tables = [*((f"own-{n}", one) for n, one in enumerate(content.own)),
              *((f"paper-{n}", one) for n, one in enumerate(content.printed))]  # fmt: skip
    data = {
        "runs": runs_of(content.measured, texts),
        "texts": texts.all,
        "tables": {name: behind(table, content.measured) for name, table in tables},
        "charts": figures,
        "looks": looks([entry.model for entry in content.measured.entries]),
        "checkpoint": content.measured.checkpoint,
    }
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
