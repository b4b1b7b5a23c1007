"""Whether compared models learned anything: the rule of claims.md on trivial baselines."""

from __future__ import annotations

from collections.abc import Iterator

from hashbench.results.claims.columns import ScoreColumn
from hashbench.results.claims.expressions import (
    ColumnName,
    ColumnPair,
    Columns,
    ModelName,
    Models,
    Pair,
    Term,
    column_names,
    slugs,
)
from hashbench.results.claims.grammar import ClaimPart
from hashbench.results.claims.quantities import Quantity, apply, evaluate, minus
from hashbench.results.claims.results import Missing, Results, Seeds
from hashbench.results.read.measured import PERCENT, hollow_accuracy
from hashbench.scores.estimates import Estimate

AT_BASELINE = "at the baseline"
NONE_KNOWN = f"{AT_BASELINE}, for all that is known"


def at_baseline(part: ClaimPart, results: Results, seeds: Seeds, *, every_side: bool) -> str:
    """Why a part is not decided: a side that must beat every trivial baseline by its interval does not. '' if all do.

    That side is the better one of each comparison, or each of them (`every_side`). What is compared is the claim's
    quantity: an average with the baseline's average, of a difference of columns each by itself.
    """
    try:
        for sides in _comparisons(part, results):
            for column in _apart(part.column):
                for side in sides if every_side else [_better(sides, column, results, seeds)]:
                    if why := _not_above(side, column, results, seeds):
                        return why
    except Missing as error:
        return f"{NONE_KNOWN}: {error}"
    return ""


def f1_marks(part: ClaimPart, results: Results) -> list[str]:
    """Of averages that count the F1 of a model whose accuracy is below the majority class: what must be said."""
    marks: dict[str, None] = {}
    for slug, column in part.leaves:
        known = results.meaning(column)
        if not isinstance(known, ScoreColumn) or len(known.scores) < 2 or results.is_quoted(slug):
            continue
        entry = results.entry(results.variant(slug)[0])
        for score in known.scores:
            below = hollow_accuracy(results.measured, entry, score.task, score.metric, score.split)
            if below:
                ours, theirs = (PERCENT * value for value in below)
                marks[f"the average counts F1 on {score.task} of {slug}, whose accuracy of {ours:.1f} is below the "
                      f"majority class ({theirs:.1f})"] = None  # fmt: skip
    return list(marks)


def _comparisons(part: ClaimPart, results: Results) -> Iterator[list[Term]]:
    """The terms that are compared with each other, of models that were trained here: of a difference of differences
    those of each difference."""
    sides: list[Models] = [side for side in (part.left, part.right) if side is not None]
    pairs = [[side.left, side.right] for side in sides if isinstance(side, Pair)]
    plain: list[Term] = [side for side in sides if not isinstance(side, Pair)]
    for compared in [*pairs, plain]:
        trained = [term for term in compared if any(not results.is_quoted(slug) for slug in slugs(term))]
        if trained:
            yield trained


def _apart(column: Columns) -> tuple[Columns, ...]:
    """A column, or each of a difference of two."""
    return column_names(column) if isinstance(column, ColumnPair) else (column,)


def _value(term: Term, column: Columns, results: Results, seeds: Seeds) -> Quantity:
    return evaluate(term, column, lambda slug, name: results.leaf(slug, name, seeds), scale=1.0)


def _better(sides: list[Term], column: Columns, results: Results, seeds: Seeds) -> Term:
    return max(sides, key=lambda side: _value(side, column, results, seeds).value)


def _not_above(side: Term, column: Columns, results: Results, seeds: Seeds) -> str:
    """The trivial baseline that a side is least above, where that is not above by the interval. Raises Missing."""
    names = results.baselines(column_names(column))
    if not names:
        raise Missing(f"no trivial baseline has {column}")
    above = {name: _above(side, name, column, results, seeds) for name in names}
    nearest = min(above, key=lambda name: above[name].low)
    least = above[nearest]
    if least.low > 0:
        return ""
    interval = f"{least.value:+.1f} [{least.low:+.1f}, {least.high:+.1f}]"
    return f"{AT_BASELINE}: on {column} {side} minus {nearest} is {interval}"


def _above(side: Term, baseline: str, column: Columns, results: Results, seeds: Seeds) -> Estimate:
    """How far a side is above a trivial baseline, in percent. Raises Missing where that has not all of the scores."""

    def leaf(slug: str, name: ColumnName) -> Quantity:
        return results.trivial(slug, name, seeds)

    return apply(minus, [_value(side, column, results, seeds), evaluate(ModelName(baseline), column, leaf)]).estimate()
