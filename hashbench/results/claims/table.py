"""Decided claims in words and numbers: as tables, as rows for programs, and the texts that every format prints."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from hashbench.common.showing import decimal_text, whole_number
from hashbench.results.claims.claim import Claim, Outcome
from hashbench.results.claims.report import DecidedClaims, claim_sections
from hashbench.results.claims.verdicts import (
    ABOUT,
    MODEL,
    NOT_HERE,
    OUTCOMES,
    About,
    Decided,
    Decision,
    is_absent_model,
)
from hashbench.results.papers.paper import Column
from hashbench.results.tables.request import ReportRequest
from hashbench.results.tables.table import Cell, Row, Table, Tone
from hashbench.scores.draws import CONFIDENCE
from hashbench.store.engine import Store

TONES: dict[Outcome, Tone] = {"holds": "good", "fails": "bad", "undecided": "open", "not measured": "none"}
COLUMNS = tuple(
    Column(name.replace(" ", "_"), "", "text", name)
    for name in ("verdict", "statement", "measured", "claimed", "paper", "above trivial", "stands on", "remarks")
)
BOUND_OURS = "bound-ours"  # tag of a claim whose bound the paper does not give
ABOUT_WORDS: dict[About, str] = {
    "scores": "On scores", "counts": "By arithmetic on parameters, bytes and operations", "times": "On times",
}  # fmt: skip
COUNT_PREFIXES: dict[About, str] = {"scores": "scores: ", "counts": "arithmetic: ", "times": "times: "}
PLURALS: dict[Outcome, str] = {
    "holds": "hold", "fails": "fail", "undecided": "undecided", "not measured": "not measured"
}  # fmt: skip
VERDICTS = "holds: the whole 95 % interval lies on the claimed side; fails: wholly on the other; else undecided."
SCOPE = "A verdict speaks of what was measured here: 'fails' refutes no paper, 'holds' confirms none at its scale."
READING = (
    f"{VERDICTS} Intervals are of the claim's own models, over pre-trainings or seeds (Welch) and over examples drawn "
    "with replacement, together. Scores are compared only where the better side is above the best constant prediction "
    "by its interval (else: nothing learned), and with two seeds or more: --one-seed decides one seed on its examples "
    "alone, and then speaks of these trained models, not of their methods. 'above trivial': whether that side is above "
    "each task's best trivial baseline by its interval, which decides no claim. 'exact': counts of the models at the "
    f"paper's size. {SCOPE}"
)
MORE = "--full prints every claim with its seeds and examples, and the data, recipe and code behind the numbers."
Record = dict[str, Any]


def claim_tables(store: Store, request: ReportRequest = ReportRequest()) -> list[Table]:
    """A table of user-defined claims, then one for each paper. Raises InputError as `claim_sections` does."""
    return [verdict_table(section) for section in claim_sections(store, request)]


def claim_summaries(store: Store, request: ReportRequest = ReportRequest()) -> list[Table]:
    """As `claim_tables`, without the undecided claims of papers, and without what is behind the numbers."""
    tables = [_summary(section) for section in claim_sections(store, request)]
    return [*tables[:-1], replace(tables[-1], notes=(*tables[-1].notes, f"{VERDICTS} {SCOPE}", MORE))]


def _summary(section: DecidedClaims) -> Table:
    """The counts by verdict, then a claim in a sentence and its number if it is decided, or user-defined."""
    table = verdict_table(section)
    rows = []
    for row, decided in zip(table.rows, section.decided_in_order(), strict=True):
        if decided.outcome in ("holds", "fails") or not section.paper:
            sentence = "; ".join(filter(None, [evidence(decided, full=False), lacks(decided.missing)]))
            rows.append(replace(row, details=(sentence,)))
    return replace(table, rows=tuple(rows), warnings=table.warnings if rows else (), provenance=(), notes=())


def verdict_table(section: DecidedClaims) -> Table:
    """A table of decided claims; claims of one number are under one heading."""
    basis = dict(section.provenance)
    scale = {name: basis.get(name, "") for name in ("encoder", "pre-training")}
    rows: list[Row] = []
    for number, members in section.by_number().items():
        named = dict.fromkeys(place for member in members for place in member.claim.section.split(", ") if place)
        heading = f"{number}  {', '.join(named)}{': ' if named else ''}{short_tally(members)}"
        rows += [_row(decided, heading) for decided in members]
    records = [_flat(record(decided) | scale) for decided in section.decided]
    document = {
        "paper": section.paper, "title": section.title, "warnings": list(section.warnings), "measured_on": basis,
        "notes": list(section.notes), "counts": tally(section.decided),
        "claims": [record(decided) | scale | {"parts": [part_record(part) for part in decided.parts]}
                   for decided in section.decided],
    }  # fmt: skip
    return Table(
        section.paper, "claims", section.title, section.experiment, COLUMNS, tuple(rows), section.warnings,
        section.provenance, lead=tuple(sums(section.decided)), notes=(*section.notes, "", READING), published=False,
        records=tuple(records), document=document,
    )  # fmt: skip


def _row(decided: Decided, heading: str) -> Row:
    """The row of a claim, with the sentences that a terminal shows in place of its cells."""
    claim, shown = decided.claim, decided.shown
    missing = lacks(decided.missing)
    texts = (
        verdict(decided), claim.statement or formula(claim), measured(claim, shown),
        claimed(claim), "" if claim.expected is None else number(claim.expected, claim),
        shown.above_trivial, stands_on(shown), "; ".join(filter(None, [*remarks(decided), missing])),
    )  # fmt: skip
    sentences = filter(None, (evidence(decided), missing))
    return Row(claim.id, claim.id, _cells(texts, decided.outcome), "claim", section=heading, details=tuple(sentences))


def formula(claim: Claim) -> str:
    """A claim as a formula behind its column, for one that has no statement: 'cola: a > b'."""
    unit = "points" if claim.unit == "percent" else claim.unit
    expected = "" if claim.expected is None else number(claim.expected, claim)
    words = claim.kind.formula.format(
        left=claim.left, right=claim.right, bound=f"{claim.bound:g}", unit=unit, expected=expected
    )
    return f"{claim.column}: {words}"


def _cells(texts: Sequence[str], outcome: Outcome) -> dict[str, Cell]:
    cells = {column.name: Cell(text=text) for column, text in zip(COLUMNS, texts, strict=True)}
    return cells | {"verdict": replace(cells["verdict"], tone=TONES[outcome])}


def record(decided: Decided) -> Record:
    """A claim with its verdict as plain values: an object of JSON; in CSV lists are text."""
    claim, shown = decided.claim, decided.shown
    return {
        "id": claim.id, "paper": claim.paper, "section": claim.section, "statement": claim.statement,
        "kind": claim.kind.name, "left": claim.left, "right": claim.right, "column": claim.column, "bound": claim.bound,
        "unit": claim.unit, "about": decided.about, "verdict": decided.outcome, "because": decided.because,
        **_numbers(shown), "p_value": decided.chance, "holm": decided.corrected, "decided_part": shown.part,
        "n_parts": len(decided.parts), "remarks": remarks(decided), "missing": list(decided.missing),
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
        "above_trivial": decision.above_trivial,
        "seeds": list(decision.seeds), "n_examples": decision.n_examples, "tasks": list(decision.tasks),
    }  # fmt: skip


def _flat(values: Record) -> Record:
    return {name: "; ".join(map(str, value)) if isinstance(value, list) else value for name, value in values.items()}


def verdict(decided: Decided | Decision) -> str:
    """The verdict as it is printed: 'holds', 'undecided (nothing learned)', 'holds (one seed)'."""
    return decided.outcome + (f" ({decided.because})" if decided.because else "")


def claimed(claim: Claim) -> str:
    """The claim's bound as it is printed beside the measured number.

    >>> from hashbench.results.claims.columns import claims_of
    >>> [claimed(claim) for claim in claims_of("hashformers")[:4]]
    ['> 0 (~: within 0.5)', 'within 4.2', 'within 4.2', 'at least 0']
    """
    expected = "" if claim.expected is None else f"{claim.expected:g}"
    return claim.kind.claimed.format(bound=f"{claim.bound:g}", expected=expected)


def claimed_beside_paper(claim: Claim) -> str:
    """The bound with the paper's number, as in '> 0 (paper: 3.6)'; without it for a count, whose bound names it."""
    printed = claim.expected is not None and claim.kind.what != "number"
    return claimed(claim) + (f" (paper: {number(claim.expected or 0.0, claim)})" if printed else "")


def number(value: float, claim: Claim) -> str:
    """A value in the claim's unit as text; differences have their sign."""
    sign = "+" if claim.kind.what == "difference" else ""
    if claim.unit == "params":
        return decimal_text(value, 0, f"{sign},")
    return decimal_text(value, 3 if claim.unit in ("x", "Mi", "K", "M", "MB", "KB") else 2, sign)


def measured(claim: Claim, decision: Decision) -> str:
    """The measured value with its interval, such as '+1.57 [+0.60, +2.55] points'; '' where there is none."""
    if decision.value is None:
        return ""
    interval = ""
    if decision.low is not None and decision.high is not None:
        interval = f" [{number(decision.low, claim)}, {number(decision.high, claim)}]"
    is_points = claim.unit == "percent" and claim.kind.what == "difference"
    return f"{number(decision.value, claim)}{interval} {'points' if is_points else claim.unit}"


def stands_on(decision: Decision) -> str:
    """The seeds and examples behind a verdict: '2 seeds (0, 1); 1,150 examples of rte, sst2'.

    Where fine-tunings share a pre-training it is '2 pre-trainings (0, 1), 4 seeds'.
    """
    parts = ["exact"] if decision.exact else []
    n = len(decision.seeds)
    if n:
        seeds = "" if decision.timed else f" ({', '.join(map(str, decision.seeds))})"
        shared = decision.n_trainings > n and not decision.timed
        of = "timed run" if decision.timed else "pre-training" if shared else "seed"
        trainings = f", {decision.n_trainings} seeds" if shared else ""
        parts.append(f"{n} {of}{'s' if n > 1 else ''}{seeds}{trainings}")
    if decision.n_examples:
        parts.append(f"{decision.n_examples:,} examples of {', '.join(decision.tasks)}")
    return "; ".join(parts)


def remarks(decided: Decided) -> list[str]:
    """Remarks on a verdict: its limits, a bound not from the paper, contrary published numbers, and missing seeds."""
    remarked = list(decided.marks) if decided.outcome != "not measured" else []
    if decided.outcome in ("holds", "fails") and decided.corrected is False:
        remarked.append("undecided with Holm's correction")
    if BOUND_OURS in decided.claim.tags:
        remarked.append(f"[{BOUND_OURS}] the threshold is not the paper's")
    if decided.claim.published_holds == "no":
        remarked.append("the paper's own numbers do not give it")
    wanted = wanted_seeds(decided.claim)
    if wanted and 1 < decided.shown.n_trainings < wanted and not decided.shown.timed:
        remarked.append(f"{decided.shown.n_trainings} of the {wanted} seeds asked for")
    return remarked


def wanted_seeds(claim: Claim) -> int | None:
    """The least number of seeds that a claim needs ('3 x 2 hash seeds': 3), None where it names none."""
    for need in claim.needs.split(";"):
        key, _, value = need.strip().partition("=")
        if key == "seeds" and (number := whole_number(value.split(" ")[0])) is not None:
            return number
    return None


def tally(decided: Iterable[Decided]) -> dict[About, dict[Outcome, int]]:
    """The number of claims by verdict, separately for claims on scores, on counts and on times.

    Claims that name a model which the experiment does not have are not counted."""
    counts = Counter((claim.about, claim.outcome) for claim in decided if not claim.names_absent_model)
    kinds = {about for about, _ in counts}
    return {about: {outcome: counts[about, outcome] for outcome in OUTCOMES} for about in ABOUT if about in kinds}


def tally_words(counts: dict[Outcome, int]) -> str:
    """Counts of verdicts in words, such as '2 hold, 1 undecided'.

    >>> tally_words({"holds": 1, "fails": 0, "undecided": 2, "not measured": 0})
    '1 holds, 2 undecided'
    """
    return ", ".join(f"{n} {PLURALS[outcome] if n > 1 else outcome}" for outcome, n in counts.items() if n)


def short_tally(decided: Sequence[Decided]) -> str:
    """The counts of verdicts in one line: 'scores: 2 undecided; arithmetic: 1 holds', or '1 holds' for one kind."""
    kinds = tally(decided)
    if not kinds:
        return "about models that are not in this experiment"
    names = COUNT_PREFIXES if len(kinds) > 1 else dict.fromkeys(ABOUT, "")
    return "; ".join(names[about] + tally_words(counts) for about, counts in kinds.items())


def tally_lines(decided: Sequence[Decided]) -> list[str]:
    """A line of counts for each kind of claim, such as 'On scores, 3 claims: 1 holds, 0 fail, 2 undecided, ...'."""
    lines = []
    for about, counts in tally(decided).items():
        members = [claim for claim in decided if claim.about == about and not claim.names_absent_model]
        parts = []
        for outcome, n in counts.items():
            reasons = Counter(claim.because for claim in members if claim.outcome == outcome and claim.because)
            listed = ", ".join(f"{count} {reason}" for reason, count in reasons.items())
            parts.append(f"{n} {outcome if n == 1 else PLURALS[outcome]}" + (f" ({listed})" if listed else ""))
        n_claims = f"{len(members)} claim{'s' if len(members) > 1 else ''}"
        lines.append(f"{ABOUT_WORDS[about]}, {n_claims}: {', '.join(parts)}.")
    absent = sum(claim.names_absent_model for claim in decided)
    if absent:
        many = f"{absent} further claims name models" if absent > 1 else "A further claim names a model"
        lines.append(f"{many} that the experiment does not have: not counted.")
    return lines


def sums(decided: Sequence[Decided]) -> list[str]:
    """The first lines of a report of claims: counts by verdict, and how many verdicts may be wrong by chance."""
    by_interval = [claim for claim in decided if claim.outcome in ("holds", "fails") and not claim.shown.exact]
    lines = tally_lines(decided)
    if len(by_interval) > 1:
        chance = math.ceil(len(by_interval) * (1 - CONFIDENCE))
        tested = sum(claim.corrected is not None for claim in decided)
        stays = Counter(claim.outcome for claim in by_interval if claim.corrected)
        after = tally_words({outcome: stays[outcome] for outcome in OUTCOMES}) or "none decided"
        lines.append(f"{len(by_interval)} verdicts rest on a 95 % interval each: up to about {chance} of them may be "
                     f"wrong by chance. Corrected for all {tested} with an interval (Holm): {after}.")  # fmt: skip
    return lines


def evidence(decided: Decided, *, full: bool = True) -> str:
    """The numbers behind a verdict: 'difference +1.57 [+0.60, +2.55] points, claimed > 0 (paper: 3.6); 1 seed (0)'.

    With remarks. `full`: with seeds, examples and the part that the numbers are of.
    """
    claim, shown = decided.claim, decided.shown
    value, beside = measured(claim, shown), f"claimed {claimed_beside_paper(claim)}"
    parts = [f"{claim.kind.what} {value}, {beside}" if value else beside]
    if full and value:
        parts.append(stands_on(shown))
        parts += [f"of {len(decided.parts)} parts this one: {shown.part}"] if len(decided.parts) > 1 else []
    return "; ".join(filter(None, [*parts, *remarks(decided)]))


def lacks(missing: Sequence[str]) -> str:
    """The numbers that a claim lacks, by reason, as 'missing: ...'; '' if it lacks none."""
    absent = [why.removeprefix(MODEL).removesuffix(NOT_HERE) for why in missing if is_absent_model(why)]
    by_reason: dict[str, list[str]] = {}
    for why in missing:
        if not is_absent_model(why):
            what, _, reason = why.partition(": ")
            by_reason.setdefault(reason, []).append(what)
    parts = [f"not in this experiment: {', '.join(absent)}"] if absent else []
    parts += [", ".join(whats) + (f": {reason}" if reason else "") for reason, whats in by_reason.items()]
    return f"missing: {'; '.join(parts)}" if parts else ""
