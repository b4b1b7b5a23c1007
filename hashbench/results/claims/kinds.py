"""The kinds of claims: each says in one class how it is written, when it holds, and how it is printed.

A plain kind compares a left side with a right one: d = left - right. `KINDS` has them by name.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import ClassVar, Literal

from hashbench.results.claims.grammar import (
    ColumnName,
    Columns,
    GrammarError,
    Models,
    alternatives,
    check_sides,
    column_names,
    read_chain,
    read_models,
    slugs,
)

Outcome = Literal["holds", "fails", "undecided", "not measured"]
DIGITS = 9  # decimals of a unit in which exact numbers are compared: 75.3 - 79.5 is not -4.2 in binary


@dataclass(frozen=True)
class KindOfClaim:
    """`greater`: d > 0; the base of the other kinds. `bound` is in the unit of the claim."""

    name: ClassVar[str] = "greater"
    sign: ClassVar[str] = ">"  # between the sides of a part
    what: ClassVar[str] = "difference"  # the kind of number that is printed
    has_bound: ClassVar[bool] = False  # also of constants other than 0
    is_ratio: ClassVar[bool] = False
    both_sides: ClassVar[bool] = (
        False  # the difference is bounded on either side, so that each of min and max says "every"
    )
    claimed: ClassVar[str] = "> 0"  # printed beside the measured number, with {bound} and {expected}
    formula: ClassVar[str] = "{left} > {right}"  # of the sides as written, with {unit} and the numbers of `claimed`

    def check(self, bound: float, expected: float | None, unit: str) -> None:
        """Raises GrammarError for a bound, a claimed number or a unit that the kind does not have."""
        if bound != 0:
            raise GrammarError(f"bound of '{self.name}' is 0; with another one the kind is difference_at_least")

    def parts(self, left: str, right: str, columns: Sequence[Columns]) -> list[ClaimPart]:
        """The comparisons that the two sides mean. Raises GrammarError."""
        first = read_models(left)
        if not right:
            raise GrammarError(
                f"'{self.name}' compares with something: right is empty (a model, or a number where the kind has a "
                "bound)"
            )
        return self.of_every(first, read_models(right), columns)

    def of_every(self, left: Models, right: Models, columns: Sequence[Columns]) -> list[ClaimPart]:
        """A part for each column and each member of `min` and `max`. Raises GrammarError."""
        check_sides(left, favourable=True, both=self.both_sides)
        check_sides(right, favourable=False, both=self.both_sides)
        pairs = list(product(alternatives(left), alternatives(right)))
        return [ClaimPart(self, *pair, column) for column in columns for pair in pairs]

    def of_interval(self, low: float, high: float, *, bound: float) -> Outcome:
        """The verdict where the difference, or the ratio, lies in [low, high]; 'undecided' where an end is NaN.

        >>> [KindOfClaim().of_interval(low, high, bound=0) for low, high in ((0.1, 2.0), (-1.0, 0.0), (-1.0, 2.0))]
        ['holds', 'fails', 'undecided']
        """
        return "holds" if high >= low > 0 else "fails" if low <= high <= 0 else "undecided"

    def of_point(self, quantity: float, bound: float) -> Outcome:
        """The verdict on an exact number: a count, a share, or a printed point.

        >>> DifferenceAtLeast().of_point(75.3 - 79.5, -4.2)
        'holds'
        """
        exact = round(quantity, DIGITS)
        return self.of_interval(exact, exact, bound=bound)

    def margin(self, value: float, bound: float) -> float:
        """How far a value, of a ratio its logarithm, lies from where the verdict changes."""
        return abs(value)

    def comes_free(self, bound: float) -> bool:
        """True if two equal (say, untrained) models would fulfil the claim. Both must then beat the trivial ones."""
        return False


class DifferenceAtLeast(KindOfClaim):
    """d >= bound."""

    name = "difference_at_least"
    sign = "-"
    has_bound = True
    claimed = "at least {bound}"
    formula = "{left} - {right} >= {bound} {unit}"

    def check(self, bound: float, expected: float | None, unit: str) -> None:
        """Any bound fits."""

    def of_interval(self, low: float, high: float, *, bound: float) -> Outcome:
        """The verdict on the bound."""
        return "holds" if high >= low >= bound else "fails" if low <= high < bound else "undecided"

    def margin(self, value: float, bound: float) -> float:
        """The distance from the bound."""
        return abs(value - bound)

    def comes_free(self, bound: float) -> bool:
        """True of a small loss."""
        return bound <= 0


class RatioAtLeast(DifferenceAtLeast):
    """left / right >= bound, computed on logarithms."""

    name = "ratio_at_least"
    sign = "/"
    what = "ratio"
    is_ratio = True
    formula = "{left} / {right} >= {bound}"

    def check(self, bound: float, expected: float | None, unit: str) -> None:
        """A ratio has a bound and no unit."""
        if bound <= 0 or unit != "x":
            raise GrammarError("ratio_at_least has a bound above 0 and the unit x")

    def margin(self, value: float, bound: float) -> float:
        """The distance of the logarithms."""
        return abs(value - math.log(bound))

    def comes_free(self, bound: float) -> bool:
        """True of a small loss."""
        return bound <= 1


class EqualWithin(KindOfClaim):
    """-bound <= d <= bound."""

    name = "equal_within"
    sign = "~"
    has_bound = True
    both_sides = True
    claimed = "within {bound}"
    formula = "|{left} - {right}| <= {bound} {unit}"

    def check(self, bound: float, expected: float | None, unit: str) -> None:
        """A distance is not negative."""
        if bound < 0:
            raise GrammarError(f"bound of '{self.name}' is a distance, so not below 0")

    def of_interval(self, low: float, high: float, *, bound: float) -> Outcome:
        """The verdict on both bounds."""
        if -bound <= low <= high <= bound:
            return "holds"
        return "fails" if bound < low <= high or low <= high < -bound else "undecided"

    def margin(self, value: float, bound: float) -> float:
        """The distance from the nearer bound."""
        return abs(abs(value) - bound)

    def comes_free(self, bound: float) -> bool:
        """Untrained models are equal."""
        return True


class CountIs(EqualWithin):
    """A number equals `expected` within the bound, half the last printed digit; right is empty."""

    name = "count"
    sign = "="
    what = "number"
    claimed = "{expected} within {bound}"
    formula = "{left} = {expected}"

    def check(self, bound: float, expected: float | None, unit: str) -> None:
        """A count has the claimed number."""
        super().check(bound, expected, unit)
        if expected is None:
            raise GrammarError("count needs the number that is claimed, in 'expected'")

    def parts(self, left: str, right: str, columns: Sequence[Columns]) -> list[ClaimPart]:
        """A part for each number."""
        _nothing_right(self, right)
        number = read_models(left)
        check_sides(number, favourable=True, both=True)
        return [ClaimPart(self, models, None, column) for models in alternatives(number) for column in columns]

    def comes_free(self, bound: float) -> bool:
        """No count is of what a model learned."""
        return False


class Ordering(KindOfClaim):
    """Left is a chain: every `a > b` is `greater`, every `a ~ b` is `equal_within` the bound; right is empty."""

    name = "ordering"
    claimed = "> 0 (~: within {bound})"
    formula = "{left}"

    def check(self, bound: float, expected: float | None, unit: str) -> None:
        """The bound is that of each `~`."""
        EqualWithin.check(EqualWithin(), bound, expected, unit)

    def parts(self, left: str, right: str, columns: Sequence[Columns]) -> list[ClaimPart]:
        """The parts of every step."""
        _nothing_right(self, right)
        chain = read_chain(left)
        steps = zip(chain, chain[1:], strict=False)
        return [
            part
            for (_, before), (sign, after) in steps
            for part in KINDS["greater" if sign == ">" else "equal_within"].of_every(before, after, columns)
        ]


def _nothing_right(kind: KindOfClaim, right: str) -> None:
    if right:
        raise GrammarError(f"right of '{kind.name}' is empty, not {right!r}")


KINDS: dict[str, KindOfClaim] = {
    kind.name: kind
    for kind in (KindOfClaim(), DifferenceAtLeast(), RatioAtLeast(), EqualWithin(), CountIs(), Ordering())
}
READ_AS = {"interaction": "greater"}  # a kind of earlier files: a difference of differences is written with `greater`


@dataclass(frozen=True)
class ClaimPart:
    """One comparison of two models (or means of models) in one column, the smallest unit that has a verdict."""

    kind: KindOfClaim
    left: Models
    right: Models | None
    column: Columns

    @property
    def slugs(self) -> tuple[str, ...]:
        """All models that it names."""
        return tuple(dict.fromkeys((*slugs(self.left), *(slugs(self.right) if self.right else ()))))

    @property
    def leaves(self) -> list[tuple[str, ColumnName]]:
        """All pairs of a model and a column that the part compares."""
        return list(product(self.slugs, column_names(self.column)))

    def __str__(self) -> str:
        right = "" if self.right is None else f" {self.kind.sign} {self.right}"
        return f"{self.left}{right}: {self.column}"
