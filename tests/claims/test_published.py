"""The papers' claims on the papers' own numbers: the rule gives `published_holds`, the cells give `expected`."""

from __future__ import annotations

import re

import pytest

from hashbench.claims.grammar import Claim
from hashbench.claims.published import (
    COSTS,
    claims_of,
    operations,
    paper_claims,
    published_quantity,
    published_verdict,
)
from hashbench.papers.paper import load_paper
from hashbench.tables.paper import printed_number

# Rows whose note says why a number or a word leaves the answer open although the rule gives one.
BY_HAND = {
    "hashformers-10e": ("no", "2.4 is possible only before rounding"),
    "canine-02": ("no", "not from the checkpoint"),
    "eelbert-04f": ("no", "only if binary is meant"),
    "eelbert-08b": ("no", "89.4 without MLM head and pooler"),
    "proformer-10a": ("no", "The paper gives no size of SGNN"),
}
CELL = re.compile(r"\[cell: (-?)([^@\]]+)@([^\]]+)\]")


def _costs(slug: str, column: str) -> float | None:
    """Operations for the shortest input, where the saving is least sure."""
    return operations()[slug, 16][column] if column in COSTS else None


def test_there_are_153_of_five_systems() -> None:
    numbers = {name: len(claims_of(name)) for name in ("hashformers", "eelbert", "superbloom", "proformer")}
    assert numbers == {"hashformers": 73, "eelbert": 25, "superbloom": 30, "proformer": 25}
    assert len(paper_claims()) == 153 and sum(claim.id.startswith("canine") for claim in paper_claims()) == 9


@pytest.mark.parametrize("claim", paper_claims(), ids=lambda claim: claim.id)
def test_the_rule_gives_what_is_published(claim: Claim) -> None:
    found = published_verdict(claim, _costs)
    if claim.id in BY_HAND:
        assert claim.published_holds == "unclear" and BY_HAND[claim.id][1] in claim.note
        assert found == BY_HAND[claim.id][0]
    else:
        assert found == claim.published_holds


def test_expected_is_what_the_printed_cells_give() -> None:
    """To the digits of the file; ratios of rounded counts in the third."""
    for claim in paper_claims():
        cells = CELL.findall(claim.note)
        found = published_quantity(claim)
        if cells:
            paper = load_paper(claim.paper)
            numbers = [(-1 if sign else 1, printed_number(paper, model, column)) for sign, column, model in cells]
            found = sum(sign * number.value for sign, number in numbers if number is not None)
        assert (found is None) == (claim.expected is None), claim.id
        if found is not None and claim.expected is not None:
            assert found == pytest.approx(claim.expected, abs=0.051), claim.id
