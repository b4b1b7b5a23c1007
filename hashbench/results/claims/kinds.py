"""The kinds of claims: what each compares, when it holds, and how it is printed. `KINDS` has them by name.

A kind compares a left side with a right one: d = left - right, of a ratio left / right.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, product
from typing import Literal

from hashbench.results.claims.grammar import (
    ColumnName,
    Columns,
    GrammarError,
    ModelReader,
    Models,
    column_names,
    read_chain,
    slugs,
    text_of,
)

Outcome = Literal["holds", "fails", "undecided", "not measured"]
DIGITS = 9  # decimals of a unit in which exact numbers are compared: 75.3 - 79.5 is not -4.2 in binary


@dataclass(frozen=True)
class KindOfClaim:
    """A kind of claim: d > 0, d >= bound, or |d| <= bound. `bound` is in the unit of the claim."""

    name: str
    sign: str  # between the sides of a part
    formula: str  # of the sides as written, with {unit} and the numbers of `claimed`
    claimed: str  # printed beside the measured number, with {bound} and {expected}
    what: Literal["difference", "ratio", "number"] = "difference"
    has_bound: bool = True  # also of constants other than 0
    both_sides: bool = False  # the difference is bounded on either side

    @property
    def is_ratio(self) -> bool:
        """True where the sides are divided, which is computed on logarithms."""
        return self.what == "ratio"

    def check(self, bound: float, expected: float | None, unit: str) -> None:
        """Raises GrammarError for a bound, a claimed number or a unit that the kind does not have."""
        if not self.has_bound and bound != 0:
            raise GrammarError(f"bound of '{self.name}' is 0; with another one the kind is difference_at_least")
        if self.is_ratio and (bound <= 0 or unit != "x"):
            raise GrammarError("ratio_at_least has a bound above 0 and the unit x")
        if self.both_sides and bound < 0:
            raise GrammarError(f"bound of '{self.name}' is a distance, so not below 0")
        if self.what == "number" and expected is None:
            raise GrammarError("count needs the number that is claimed, in 'expected'")

    def parts(self, left: str, right: str, columns: Sequence[Columns], reader: ModelReader) -> list[ClaimPart]:
        """The comparisons that the two sides mean. Raises GrammarError."""
        if self.name in ("count", "ordering"):
            if right:
                raise GrammarError(f"right of '{self.name}' is empty, not {right!r}")
        elif not right:
            raise GrammarError(f"'{self.name}' compares with something: right is empty (a model, or a number where the "
                               "kind has a bound)")  # fmt: skip
        if self.name == "ordering":
            steps = pairwise(read_chain(left))
            kinds = {">": KINDS["greater"], "~": KINDS["equal_within"]}
            return [
                part for (_, before), (sign, after) in steps
                for part in kinds[sign].parts(before, after, columns, reader)
            ]  # fmt: skip
        reader = replace(reader, has_bound=self.has_bound)
        first = reader.read(left, larger=True, both=self.both_sides)
        second: list[Models | None] = [None]
        if right:
            second = [*reader.read(right, larger=False, both=self.both_sides)]
        parts = [ClaimPart(self, *sides, column) for column in columns for sides in product(first, second)]
        for part in parts if reader.models is not None else ():
            if not part.slugs:
                raise GrammarError(f"{part} names no model; at least one side does")
        return parts

    def of_interval(self, low: float, high: float, *, bound: float) -> Outcome:
        """The verdict where the difference, or the ratio, lies in [low, high]; 'undecided' where an end is NaN.

        >>> [KINDS["greater"].of_interval(low, high, bound=0) for low, high in ((0.1, 2.0), (-1.0, 0.0), (-1.0, 2.0))]
        ['holds', 'fails', 'undecided']
        """
        if not low <= high:
            return "undecided"
        if self.both_sides:
            inside, outside = -bound <= low and high <= bound, bound < low or high < -bound
        elif self.has_bound:
            inside, outside = low >= bound, high < bound
        else:
            inside, outside = low > 0, high <= 0
        return "holds" if inside else "fails" if outside else "undecided"

    def of_point(self, quantity: float, bound: float) -> Outcome:
        """The verdict on an exact number: a count, a share, or a printed point.

        >>> KINDS["difference_at_least"].of_point(75.3 - 79.5, -4.2)
        'holds'
        """
        exact = round(quantity, DIGITS)
        return self.of_interval(exact, exact, bound=bound)

    def margin(self, value: float, bound: float) -> float:
        """How far a value, of a ratio its logarithm, lies from where the verdict changes."""
        edge = (math.log(bound) if self.is_ratio else bound) if self.has_bound else 0.0
        return abs((abs(value) if self.both_sides else value) - edge)

    def comes_free(self, bound: float) -> bool:
        """True if two equal (say, untrained) models would fulfil the claim. Both must then beat the trivial ones."""
        if self.both_sides:
            return self.what != "number"
        return self.has_bound and bound <= (1 if self.is_ratio else 0)


KINDS = {
    kind.name: kind
    for kind in (
        KindOfClaim("greater", ">", "{left} > {right}", "> 0", has_bound=False),
        KindOfClaim("difference_at_least", "-", "{left} - {right} >= {bound} {unit}", "at least {bound}"),
        KindOfClaim("ratio_at_least", "/", "{left} / {right} >= {bound}", "at least {bound}", what="ratio"),
        KindOfClaim(
            "equal_within", "~", "|{left} - {right}| <= {bound} {unit}", "within {bound}", both_sides=True
        ),
        # A number equals `expected` within the bound, half the last printed digit; right is empty
        KindOfClaim(
            "count", "=", "{left} = {expected}", "{expected} within {bound}", what="number", both_sides=True
        ),
        # Left is a chain: every `a > b` is `greater`, every `a ~ b` is `equal_within` the bound; right is empty
        KindOfClaim("ordering", "", "{left}", "> 0 (~: within {bound})", both_sides=True),
    )
}  # fmt: skip
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
        return tuple(dict.fromkeys((*slugs(self.left), *(() if self.right is None else slugs(self.right)))))

    @property
    def leaves(self) -> list[tuple[str, ColumnName]]:
        """All pairs of a model and a column that the part compares."""
        return list(product(self.slugs, column_names(self.column)))

    def __str__(self) -> str:
        right = "" if self.right is None else f" {self.kind.sign} {text_of(self.right)}"
        return f"{text_of(self.left)}{right}: {self.column}"
