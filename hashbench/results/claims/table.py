"""Decided claims as tables, and as rows for programs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from hashbench.results.claims import words
from hashbench.results.claims.report import DecidedClaims, claim_sections
from hashbench.results.claims.rule import Outcome
from hashbench.results.claims.verdicts import Decided, Decision
from hashbench.results.papers.paper import Column
from hashbench.results.tables.request import ReportRequest
from hashbench.results.tables.table import Cell, Row, Table, Tone
from hashbench.store.engine import Store

TONES: dict[Outcome, Tone] = {"holds": "good", "fails": "bad", "undecided": "open", "not measured": "none"}
COLUMNS = tuple(
    Column(name.replace(" ", "_"), "", "text", name)
    for name in ("verdict", "statement", "measured", "claimed", "paper", "stands on", "remarks")
)
Record = dict[str, Any]


def claim_tables(store: Store, request: ReportRequest = ReportRequest()) -> list[Table]:
    """A table a paper, then one of the experiment's own claims. Raises InputError as `claim_sections` does."""
    return [verdict_table(section, parts=request.parts) for section in claim_sections(store, request)]


def verdict_table(section: DecidedClaims, *, parts: bool = False) -> Table:
    """Decided claims as a table of words, folded by their number. `parts`: each part of a claim below it."""
    basis = dict(section.provenance)
    scale = {name: basis[name] if name in basis else "" for name in ("encoder", "pre-training")}
    by_number: dict[str, list[Decided]] = {}
    for decided in section.decided:
        by_number.setdefault(decided.claim.number, []).append(decided)
    rows: list[Row] = []
    for number, members in by_number.items():
        named = dict.fromkeys(place for each in members for place in each.claim.section.split(", ") if place)
        counts = words.short_tally(members)
        heading = f"{number}  {', '.join(named)}{': ' if named else ''}{counts}"
        for each in members:
            rows += [_row(each, heading), *(_part_row(part, each, heading) for part in _parts(each, parts))]
    records: list[Record] = []
    for each in section.decided:
        claim = {"id": each.claim.id, "paper": each.claim.paper}
        records.append({**_flat(record(each) | scale), "part": None})
        records += [claim | _flat(part_record(part)) for part in _parts(each, parts)]
    document = {
        "paper": section.paper, "title": section.title, "warnings": list(section.warnings), "measured_on": basis,
        "notes": list(section.notes), "counts": words.tally(section.decided),
        "claims": [record(each) | scale | {"parts": [part_record(part) for part in each.parts]}
                   for each in section.decided],
    }  # fmt: skip
    return Table(
        section.paper, "claims", section.title, section.experiment, COLUMNS, tuple(rows), section.warnings,
        section.provenance, notes=(*words.closing(section.decided), *section.notes, "", words.READING), published=False,
        records=tuple(records), document=document,
    )  # fmt: skip


def _parts(decided: Decided, wanted: bool) -> tuple[Decision, ...]:
    """The parts that are listed: of a claim that has several."""
    return decided.parts if wanted and len(decided.parts) > 1 else ()


def _row(decided: Decided, heading: str) -> Row:
    """A claim: its cells for a table, its sentences for a terminal."""
    claim, shown = decided.claim, decided.shown
    missing = words.lacks(decided.missing)
    texts = (
        words.verdict(decided), claim.statement or f"{claim.left} {claim.right} {claim.column}",
        words.measured(claim, shown), words.claimed(claim),
        "" if claim.expected is None else words.number(claim.expected, claim),
        words.stands_on(shown), "; ".join(filter(None, [*words.remarks(decided), missing])),
    )  # fmt: skip
    sentences = filter(None, ("; ".join([words.evidence(decided), *words.remarks(decided)]), missing))
    return Row(claim.id, claim.id, _cells(texts, decided.outcome), "claim", section=heading, details=tuple(sentences))


def _part_row(part: Decision, decided: Decided, heading: str) -> Row:
    value, why = words.measured(decided.claim, part), "; ".join((*part.marks, *part.missing))
    sentence = f"- {part.part}: {words.verdict(part)} {value}" + (f" ({why})" if why else "")
    texts = (words.verdict(part), part.part, value, "", "", "", why)
    return Row(decided.claim.id, "", _cells(texts, part.outcome), "claim", section=heading, details=(sentence,))


def _cells(texts: Sequence[str], outcome: Outcome) -> dict[str, Cell]:
    cells = {column.name: Cell(text=text) for column, text in zip(COLUMNS, texts, strict=True)}
    return cells | {"verdict": replace(cells["verdict"], tone=TONES[outcome])}


def record(decided: Decided) -> Record:
    """A claim with its verdict as plain values: what JSON holds, and CSV with lists as text."""
    claim, shown = decided.claim, decided.shown
    return {
        "id": claim.id, "paper": claim.paper, "section": claim.section, "statement": claim.statement,
        "kind": claim.kind, "left": claim.left, "right": claim.right, "column": claim.column, "bound": claim.bound,
        "unit": claim.unit, "about": decided.about, "verdict": decided.outcome, "because": decided.because,
        **_numbers(shown), "decided_part": shown.part,
        "n_parts": len(decided.parts), "remarks": words.remarks(decided), "missing": list(decided.missing),
        "expected": claim.expected, "published_holds": claim.published_holds, "needs": claim.needs,
        "note": claim.note,
    }  # fmt: skip


def part_record(decision: Decision) -> Record:
    """A part with its verdict as plain values."""
    return {"part": decision.part, "verdict": decision.outcome, "because": decision.because, **_numbers(decision),
            "remarks": list(decision.marks), "missing": list(decision.missing)}  # fmt: skip


def _numbers(decision: Decision) -> Record:
    return {
        "value": decision.value, "low": decision.low, "high": decision.high, "exact": decision.exact,
        "seeds": list(decision.seeds), "n_examples": decision.n_examples, "tasks": list(decision.tasks),
    }  # fmt: skip


def _flat(values: Record) -> Record:
    return {name: "; ".join(map(str, value)) if isinstance(value, list) else value for name, value in values.items()}
