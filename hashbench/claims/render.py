"""Decided claims as text, markdown, CSV and JSON, folded by the claim's number."""

from __future__ import annotations

import csv
import io
import json
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from hashbench.claims import words
from hashbench.claims.decide import Decided, Decision
from hashbench.claims.rule import Outcome

Format = Literal["text", "md", "csv", "json"]
FORMATS: tuple[Format, ...] = get_args(Format)
STYLES: dict[Outcome, str] = {"holds": "32", "fails": "31", "undecided": "33", "not measured": "2"}  # ANSI
HEAD = 22  # columns before a statement
SHORTEST = 60  # columns; below this nothing can be laid out
ESCAPES = str.maketrans({mark: f"\\{mark}" for mark in "*_[]|`~"})


@dataclass(frozen=True)
class Section:
    """The claims of one paper, or the experiment's own, with what must be said about the data."""

    title: str
    paper: str  # '' for own claims
    decided: tuple[Decided, ...]
    warnings: tuple[str, ...] = ()
    provenance: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()

    def scale(self) -> dict[str, words.Value]:
        """Encoder and pre-training of the models, to stand beside every verdict."""
        known = dict(self.provenance)
        return {name: known[name] if name in known else "" for name in ("encoder", "pre-training")}

    def by_number(self) -> list[tuple[str, list[Decided]]]:
        """The claims by their number, in order."""
        found: dict[str, list[Decided]] = {}
        for one in self.decided:
            found.setdefault(one.claim.number, []).append(one)
        return list(found.items())


def render(
    sections: Sequence[Section], format: Format, *, parts: bool = False, width: int = 100, color: bool = False
) -> str:
    """All sections in one format, as one text that ends in a line feed. `parts`: each part of a claim by itself."""
    if format == "json":
        return _json(sections)
    if format == "csv":
        return _csv(sections, parts)
    if format == "md":
        return "\n".join(_markdown(section, parts) for section in sections)
    return "\n".join(_text(section, parts, max(width, SHORTEST), color) for section in sections)


def _text(section: Section, parts: bool, width: int, color: bool) -> str:
    lines = [section.title]
    lines += [line for warning in section.warnings for line in _wrapped(f"!! {warning}", width, 0, 3)]
    for number, decided in section.by_number():
        counts = words.tally_words(words.tally(one.outcome for one in decided))
        named = [place for one in decided for place in one.claim.section.split(", ") if place]
        places = ", ".join(dict.fromkeys(named))
        lines += ["", f"{number}  {places + ': ' if places else ''}{counts}"]
        for one in decided:
            lines += _claim_lines(one, parts, width, color)
    lines += ["", *(line for note in words.closing(section.decided) for line in _wrapped(note, width, 0))]
    lines += [line for note in section.notes for line in _wrapped(note, width, 0)]
    lines += ["", *_wrapped(words.READING, width, 0)]
    if section.provenance:
        head = max(len(what) for what, _ in section.provenance) + 2
        lines.append("")
        for what, value in section.provenance:
            wrapped = _wrapped(value, width, head)
            lines += [what.ljust(head) + wrapped[0].lstrip(), *wrapped[1:]]
    return "\n".join(lines) + "\n"


def _claim_lines(decided: Decided, parts: bool, width: int, color: bool) -> list[str]:
    """The verdict and the statement, then the numbers, what is missing and how it is to be read."""
    claim = decided.claim
    letter = claim.id.removeprefix(claim.number)
    statement = _wrapped(claim.statement or f"{claim.left} {claim.right} {claim.column}", width, HEAD)
    verdict = _styled(decided.outcome.ljust(14), decided.outcome, color)
    lines = [f"  {letter:4s}  {verdict}{statement[0].lstrip()}", *statement[1:]]
    for text in ("; ".join([_evidence(decided), *words.remarks(decided)]), _missing(decided.missing)):
        lines += _wrapped(text, width, HEAD) if text else []
    for part in decided.parts if parts and len(decided.parts) > 1 else ():
        lines += _wrapped(_part(part, decided), width, HEAD, 4)
    return lines


def _styled(text: str, outcome: Outcome, color: bool) -> str:
    return f"\x1b[{STYLES[outcome]}m{text}\x1b[0m" if color else text


def _evidence(decided: Decided) -> str:
    """'difference +1.57 [+0.60, +2.55] percent, claimed > 0 (paper: 3.6); 1 seed (0); ...'."""
    claim, shown = decided.claim, decided.shown
    found = words.measured(claim, shown)
    unknown = claim.expected is None or claim.kind == "count"  # a count's number is what is claimed
    paper = "" if unknown else f" (paper: {words.number(claim.expected or 0.0, claim)})"
    what = f"{words.quantity(claim)} {found}, claimed " if found else "claimed "
    of = f"; of {len(decided.parts)} parts this one: {shown.part}" if found and len(decided.parts) > 1 else ""
    stands = words.stands_on(shown)
    return f"{what}{words.claimed(claim)}{paper}" + (f"; {stands}" if found and stands else "") + of


def _missing(missing: Sequence[str]) -> str:
    """'missing: ...', lacks of one kind together."""
    absent = [why.removeprefix("model ").removesuffix(ABSENT) for why in missing if why.endswith(ABSENT)]
    parts = [f"not in this experiment: {', '.join(absent)}"] if absent else []
    by_reason: dict[str, list[str]] = {}
    for why in missing:
        if not why.endswith(ABSENT):
            what, _, reason = why.partition(": ")
            by_reason.setdefault(reason, []).append(what)
    parts += [f"{', '.join(whats)}: {reason}" for reason, whats in by_reason.items()]
    return f"missing: {'; '.join(parts)}" if parts else ""


ABSENT = ": not in this experiment"


def _part(part: Decision, decided: Decided) -> str:
    why = "; ".join((*part.marks, *part.missing))
    return f"- {part.part}: {part.outcome} {words.measured(decided.claim, part)}" + (f" ({why})" if why else "")


def _wrapped(text: str, width: int, indent: int, further: int = 0) -> list[str]:
    first, rest = " " * indent, " " * (indent + further)
    return textwrap.wrap(text, width, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False)


def _markdown(section: Section, parts: bool) -> str:
    lines = [f"### {_md(section.title)}", ""]
    lines += [f"> **{_md(warning)}**  " for warning in section.warnings] + ([""] if section.warnings else [])
    lines += ["| claim | verdict | statement | measured | claimed | paper | stands on | remarks |",
              "|---|---|---|---:|---|---:|---|---|"]  # fmt: skip
    for number, decided in section.by_number():
        counts = words.tally_words(words.tally(one.outcome for one in decided))
        lines.append(f"| **{_md(number)}** | **{counts}** | | | | | | |")
        for one in decided:
            lines.append(_md_row(one))
            if parts and len(one.parts) > 1:
                lines += [f"| | {part.outcome} | {_md(part.part)} | {words.measured(one.claim, part)} | | | | "
                          f"{_md('; '.join((*part.marks, *part.missing)))} |" for part in one.parts]  # fmt: skip
    lines += ["", *(f"{_md(line)}  " for line in (*words.closing(section.decided), *section.notes, words.READING)), ""]
    lines += [f"- **{_md(what)}**: {_md(value)}" for what, value in section.provenance]
    return "\n".join(lines).rstrip() + "\n"


def _md_row(one: Decided) -> str:
    claim, shown = one.claim, one.shown
    paper = "" if claim.expected is None else words.number(claim.expected, claim)
    said = "; ".join(filter(None, [*words.remarks(one), _missing(one.missing)]))
    cells = [claim.id, f"**{one.outcome}**", _md(claim.statement), words.measured(claim, shown), words.claimed(claim),
             paper, words.stands_on(shown), _md(said)]  # fmt: skip
    return f"| {' | '.join(cells)} |"


def _md(text: str) -> str:
    return text.translate(ESCAPES)


def _json(sections: Sequence[Section]) -> str:
    found = [
        {
            "paper": section.paper, "title": section.title, "warnings": list(section.warnings),
            "measured_on": dict(section.provenance), "notes": list(section.notes),
            "counts": words.tally(one.outcome for one in section.decided),
            "claims": [words.row(one) | section.scale() | {"parts": [words.part_row(part) for part in one.parts]}
                       for one in section.decided],
        }
        for section in sections
    ]  # fmt: skip
    return json.dumps(found, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _csv(sections: Sequence[Section], parts: bool) -> str:
    """One row a claim; with `parts`, below it one a part, whose other columns are empty."""
    rows = []
    for section in sections:
        for one in section.decided:
            rows.append({**words.row(one), **section.scale(), "part": ""})
            if parts and len(one.parts) > 1:
                rows += [{"id": one.claim.id, "paper": one.claim.paper, **words.part_row(part)} for part in one.parts]
    names = list(rows[0]) if rows else []
    file = io.StringIO()
    writer = csv.DictWriter(file, names, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows({key: _cell(value) for key, value in row.items()} for row in rows)
    return file.getvalue()


def _cell(value: words.Value) -> str | float | int:
    if value is None:
        return ""
    if isinstance(value, list):
        return "; ".join(map(str, value))
    return str(value).lower() if isinstance(value, bool) else value
