"""The claims that an experiment decides, as rows for the page."""

from __future__ import annotations

from dataclasses import dataclass

from hashbench.common.errors import InputError
from hashbench.results.claims import table
from hashbench.results.claims.report import claim_sections
from hashbench.results.claims.verdicts import Decided, Outcome
from hashbench.results.papers.paper import load_paper
from hashbench.results.tables.request import ReportRequest
from hashbench.store.engine import Store

OWN = "own"  # the source of a user's own claims


@dataclass(frozen=True)
class Claimed:
    """One claim: what is said, by whom, what came of it and on what that stands."""

    number: str
    statement: str
    source: str
    outcome: Outcome
    verdict: str  # the outcome with what it is for want of
    measured: str
    claimed: str
    remarks: str
    absent: bool  # names a model that the experiment does not have


@dataclass(frozen=True)
class Claims:
    """All claims about the models of an experiment, or why there are none ('' where none is meant)."""

    rows: tuple[Claimed, ...] = ()
    why: str = ""
    tally: tuple[str, ...] = ()  # counts by verdict in words, of each paper as in the text report


def claims_of(store: Store, request: ReportRequest) -> Claims:
    """The claims decided; where that cannot be done the reason, for a page is more than its claims."""
    if request.paper is not None:
        load_paper(request.paper)  # a wrong name is an error here as elsewhere
    try:
        sections = claim_sections(store, request)
    except InputError as error:
        # Where the file lies is no reader's business.
        return Claims(why=str(error).removeprefix(f"{store.name}: "))
    rows = tuple(_claimed(decided, section.paper) for section in sections for decided in section.decided)
    lines = {section.title.partition(", on ")[0]: table.tally_lines(section.decided) for section in sections}
    tally = tuple(" ".join([f"{title}."] * (len(lines) > 1) + said) for title, said in lines.items())
    return Claims(rows, tally=tally)


def _claimed(decided: Decided, paper: str) -> Claimed:
    claim, shown = decided.claim, decided.shown
    remarks = filter(None, [table.stands_on(shown), *table.remarks(decided), *decided.missing])
    return Claimed(
        claim.number, claim.statement, ", ".join(filter(None, (paper or OWN, claim.section))), decided.outcome,
        table.verdict(decided), table.measured(claim, shown), table.claimed_beside_paper(claim), "; ".join(remarks),
        decided.names_absent_model,
    )  # fmt: skip
