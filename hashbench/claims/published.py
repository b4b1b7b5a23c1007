"""The papers' claims, and what they come to on the papers' own printed numbers."""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from functools import cache

from hashbench.claims.expressions import Score, compute
from hashbench.claims.grammar import UNITS, Claim, Part, read_rows
from hashbench.claims.rule import Outcome, all_of, of_point
from hashbench.papers.column import PublishedNumber
from hashbench.papers.paper import PUBLISHED, Paper, load_paper
from hashbench.tables.cells import PERCENT
from hashbench.tables.paper import printed_number

ALIASES = {"rec@1": "entity_rec@1"}  # one column under two names
FLOAT_BYTES = 4
EXACT = "_exact"
COSTS = ("attention_scores", "multiply_adds")  # columns of operations.csv
Extra = Callable[[str, str], float | None]  # (model, column) of counts that the reference data lack


class Unprinted(LookupError):
    """A number that the reference data lack."""


@cache
def paper_claims() -> tuple[Claim, ...]:
    """All claims of all papers, in the file's order."""
    text = (PUBLISHED / "claims.csv").read_text(encoding="utf-8")
    rows = list(csv.DictReader(text.splitlines()))
    return tuple(read_rows(rows, [f"claims.csv: {row['id']}" for row in rows]))


def claims_of(paper: str) -> list[Claim]:
    """The claims that a paper's models are named in."""
    return [claim for claim in paper_claims() if claim.paper == paper]


@cache
def operations() -> dict[tuple[str, int], dict[str, int]]:
    """Operations of one forward pass by (model, words of the input): efficiency.costs.operation_rows, written down."""
    text = (PUBLISHED / "operations.csv").read_text(encoding="utf-8")
    rows = csv.DictReader(text.splitlines())
    return {(row["model"], int(row["length"])): {name: int(row[name]) for name in COSTS} for row in rows}


def published_value(paper: Paper, slug: str, score: Score, *, exact: bool = False) -> float:
    """A printed number in single things, percent or ms; `exact`: counts and what follows from them as exact integers.

    Raises Unprinted where the reference data lack it.
    """
    if exact:
        found = exact_value(paper, slug, score.name)
        if found is not None:
            return found
    printed = printed_number(paper, slug, score.name)
    if printed is None and score.name in ALIASES:
        printed = printed_number(paper, slug, ALIASES[score.name])
    if printed is None:
        raise Unprinted(f"{slug}: {score.name}")
    return _plain(printed, score)


def _plain(printed: PublishedNumber, score: Score) -> float:
    value = printed.value_high if score.end == "high" and printed.value_high is not None else printed.value
    return value * (UNITS[printed.unit][1] if printed.unit in UNITS else 1.0)


def exact_value(paper: Paper, slug: str, column: str) -> float | None:
    """A size or share from the exact integers of the paper's frame, which this suite's models reproduce to the digit.

    Shares in percent. None where the column is no such, or an integer is not there.
    """
    column = column.removesuffix(EXACT)
    if column not in EXACT_FORMS:
        return None
    return EXACT_FORMS[column](paper, slug)


def _integer(paper: Paper, slug: str, name: str) -> float | None:
    found = printed_number(paper, slug, f"{name}{EXACT}")
    return None if found is None else found.value


def _total(paper: Paper, slug: str) -> float | None:
    return _integer(paper, slug, "total_params")


def _embedding(paper: Paper, slug: str) -> float | None:
    return _integer(paper, slug, "emb_params")


def _share(paper: Paper, slug: str) -> float | None:
    """Embedding / all, in percent."""
    part, whole = _embedding(paper, slug), _total(paper, slug)
    return None if part is None or not whole else PERCENT * part / whole


def _saved(size: Callable[[Paper, str], float | None], paper: Paper, slug: str, other: str) -> float | None:
    """1 - size / the other model's size, in percent."""
    ours, theirs = size(paper, slug), size(paper, other)
    return None if ours is None or not theirs else PERCENT * (1 - ours / theirs)


def _saved_of_pair(paper: Paper, slug: str) -> float | None:
    """The share of parameters that a model saves against the plain model of its size."""
    for layout in paper.tables.values():
        if slug in layout.pairs:
            return _saved(_total, paper, slug, layout.pairs[slug])
    return None


def _bytes(paper: Paper, slug: str) -> float | None:
    total = _total(paper, slug)
    return None if total is None else FLOAT_BYTES * total


def _projected_bytes(paper: Paper, slug: str) -> float | None:
    """Four bytes for each bit of a projection: what ProFormer prints of it; the map behind the bits is left out."""
    bits = printed_number(paper, slug, "projection_bits")
    return None if bits is None else FLOAT_BYTES * bits.value


BASELINE = "bert-mlm"  # of HashFormers' compression ratios
EXACT_FORMS: dict[str, Callable[[Paper, str], float | None]] = {
    "total_params": _total,
    "emb_params": _embedding,
    "poep": _share,
    "embedding_share": _share,
    "pcr_all": lambda paper, slug: _saved(_total, paper, slug, BASELINE),
    "pcr_emb": lambda paper, slug: _saved(_embedding, paper, slug, BASELINE),
    "params_reduction": _saved_of_pair,
    "size": _bytes,
    "embedding_memory": _projected_bytes,
}


def published_part(claim: Claim, part: Part, *, exact: bool, extra: Extra | None = None) -> tuple[float, Outcome]:
    """A part's quantity in the claim's unit (L - R, or L / R of a ratio) and its verdict, without any interval.

    Raises Unprinted.
    """
    paper = load_paper(claim.paper)

    def leaf(slug: str, score: Score) -> float:
        found = extra(slug, score.name) if extra else None
        return found if found is not None else published_value(paper, slug, score, exact=exact)

    def side(which: Part) -> tuple[float, float]:
        left, right = (
            None
            if one is None
            else compute(
                one, which.column, leaf=leaf, constant=lambda value: value * claim.scale,
                apply=lambda form, values: form(*values),
            )
            for one in (which.left, which.right)
        )  # fmt: skip
        assert left is not None
        return left, claim.scale * (claim.expected or 0.0) if right is None else right

    left, right = side(part)
    quantity = left / right if part.kind == "ratio_at_least" else (left - right) / claim.scale
    return quantity, of_point(part.kind, quantity, claim.bound)


def published_verdict(claim: Claim, extra: Extra | None = None) -> str:
    """What `published_holds` should say by the rule alone: yes, no, or unclear where a number is missing."""
    outcomes: list[Outcome] = []
    for part in claim.parts:
        try:
            outcomes.append(published_part(claim, part, exact=claim.counts_only, extra=extra)[1])
        except Unprinted:
            outcomes.append("not measured")
    return {"holds": "yes", "fails": "no"}.get(all_of(outcomes), "unclear")


def published_quantity(claim: Claim, *, exact: bool = False, extra: Extra | None = None) -> float | None:
    """The printed quantity of the weakest part, as `expected` gives it; None where a number is missing."""
    try:
        found = [published_part(claim, part, exact=exact, extra=extra)[0] for part in claim.parts]
    except Unprinted:
        return None
    if claim.kind == "count":
        assert claim.expected is not None
        return found[0] + claim.expected
    return weakest(claim, found)


def weakest(claim: Claim, quantities: Sequence[float]) -> float:
    """The quantity of the part that is nearest to failing; of `equal_within` the one farthest from 0."""
    if claim.kind == "equal_within":
        return max(quantities, key=abs)
    if claim.kind == "ordering":
        strict = [one for one, part in zip(quantities, claim.parts, strict=True) if part.kind == "greater"]
        return min(strict or [max(quantities, key=abs)])
    return min(quantities)
