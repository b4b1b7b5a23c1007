"""The papers' claims on the papers' own numbers: the rule gives `published_holds`, the cells give `expected`."""

from __future__ import annotations

import re

import pytest

from hashbench.results.claims.claim import Claim, ClaimPart
from hashbench.results.claims.columns import (
    COSTS,
    claims_of,
    exact_value,
    operations,
    paper_claims,
    published_value,
)
from hashbench.results.claims.grammar import ColumnName, Missing, evaluate
from hashbench.results.claims.verdicts import all_of
from hashbench.results.papers.paper import load_paper
from hashbench.results.tables.paper import printed_number
from hashbench.scores.quantity import Quantity

# Rows whose note says why a number or a word leaves the answer open although the rule gives one.
BY_HAND = {
    "hashformers-10e": ("no", "2.4 is possible only before rounding"),
    "canine-02": ("no", "not from the checkpoint"),
    "eelbert-04f": ("no", "only if binary is meant"),
    "eelbert-08b": ("no", "89.4 without MLM head and pooler"),
    "proformer-10a": ("no", "The paper gives no size of SGNN"),
}
CELL = re.compile(r"\[cell: (-?)([^@\]]+)@([^\]]+)\]")


def _printed(claim: Claim, part: ClaimPart, *, counts: bool = False) -> float:
    """A part's quantity on the papers' numbers: L - R in the claim's unit, or L / R of a ratio. Raises Missing.

    `counts`: of a claim on counts the exact ones, and operations for the shortest input, where a saving is least sure.
    """
    paper = load_paper(claim.paper)

    def leaf(slug: str, column: ColumnName) -> Quantity:
        if counts and column.name in COSTS:
            return Quantity(operations()[slug, 16][column.name])
        exact = exact_value(paper, slug, column.name) if counts and claim.counts_only else None
        return Quantity(published_value(paper, slug, column) if exact is None else exact)

    left = evaluate(part.left, part.column, leaf, scale=claim.scale).value
    if part.right is None:
        right = claim.scale * (claim.expected or 0.0)
    else:
        right = evaluate(part.right, part.column, leaf, scale=claim.scale).value
    return left / right if part.kind.is_ratio else (left - right) / claim.scale


def _verdict(claim: Claim) -> str:
    """What `published_holds` should say by the rule alone: yes, no, or unclear where a number is missing."""
    try:
        outcomes = [part.kind.of_point(_printed(claim, part, counts=True), claim.bound) for part in claim.parts]
    except Missing:
        return "unclear"
    return {"holds": "yes", "fails": "no"}[all_of(outcomes)]


def _weakest(claim: Claim) -> float | None:
    """The printed quantity of the part that is nearest to failing, as `expected` gives it; None where one is missing.

    Of `equal_within` it is the one farthest from 0, of a count the number itself.
    """
    try:
        found = [_printed(claim, part) for part in claim.parts]
    except Missing:
        return None
    if claim.kind.name == "count":
        return found[0] + (claim.expected or 0.0)
    strict = [one for one, part in zip(found, claim.parts, strict=True) if part.kind.name != "equal_within"]
    return min(strict) if strict else max(found, key=abs)


def test_there_are_153_of_five_systems() -> None:
    numbers = {name: len(claims_of(name)) for name in ("hashformers", "eelbert", "superbloom", "proformer")}
    assert numbers == {"hashformers": 73, "eelbert": 25, "superbloom": 30, "proformer": 25}
    assert len(paper_claims()) == 153 and sum(claim.id.startswith("canine") for claim in paper_claims()) == 9


@pytest.mark.parametrize("claim", paper_claims(), ids=lambda claim: claim.id)
def test_the_rule_gives_what_is_published(claim: Claim) -> None:
    found = _verdict(claim)
    if claim.id in BY_HAND:
        assert claim.published_holds == "unclear" and BY_HAND[claim.id][1] in claim.note
        assert found == BY_HAND[claim.id][0]
    else:
        assert found == claim.published_holds


def test_expected_is_what_the_printed_cells_give() -> None:
    """To the digits of the file; ratios of rounded counts in the third."""
    assert paper_claims()
    for claim in paper_claims():
        cells = CELL.findall(claim.note)
        found = _weakest(claim)
        if cells:
            paper = load_paper(claim.paper)
            numbers = [(-1 if sign else 1, printed_number(paper, model, column)) for sign, column, model in cells]
            found = sum(sign * number.value for sign, number in numbers if number is not None)
        assert (found is None) == (claim.expected is None), claim.id
        if found is not None and claim.expected is not None:
            assert found == pytest.approx(claim.expected, abs=0.051), claim.id
