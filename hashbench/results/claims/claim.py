"""A claim: one comparison that a program can decide, its kind, and the reading of claims from rows and files.

A kind compares a left side with a right one: d = left - right, of a ratio left / right. What the grammar does not allow
is an error of one line that names its place.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, product
from pathlib import Path
from typing import Any, Literal

from hashbench.common.errors import InputError, near_match
from hashbench.results.claims.grammar import (
    ColumnName,
    Columns,
    GrammarError,
    ModelReader,
    Models,
    Pair,
    column_names,
    read_chain,
    read_columns,
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
    one_side: bool = False  # the right side is empty
    is_chain: bool = False  # the left side holds several comparisons

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
        if self.one_side:
            if right:
                raise GrammarError(f"right of '{self.name}' is empty, not {right!r}")
        elif not right:
            raise GrammarError(f"'{self.name}' compares with something: right is empty (a model, or a number where the "
                               "kind has a bound)")  # fmt: skip
        if self.is_chain:
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

    def room(self, value: float) -> float:
        """A number that is the larger, the farther a difference, or the logarithm of a ratio, is from failing."""
        return -abs(value) if self.both_sides and not self.one_side else value

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
            "count", "=", "{left} = {expected}", "{expected} within {bound}",
            what="number", both_sides=True, one_side=True,
        ),
        # Left is a chain: every `a > b` is `greater`, every `a ~ b` is `equal_within` the bound; right is empty
        KindOfClaim("ordering", "", "{left}", "> 0 (~: within {bound})", both_sides=True, one_side=True, is_chain=True),
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


FIELDS = (
    "id", "paper", "section", "statement", "kind", "left", "right", "column", "bound", "expected", "unit",
    "published_holds", "needs", "note",
)  # fmt: skip
NEEDED = ("id", "kind", "left", "column", "unit")
# unit -> (what it measures, its size); binary units have an i
UNITS: dict[str, tuple[str, float]] = {
    "percent": ("percent", 1.0), "points": ("percent", 1.0), "GLUE points": ("percent", 1.0),
    "x": ("x", 1.0), "ms": ("ms", 1.0), "ms/sample": ("ms", 1.0),
    "params": ("count", 1.0), "count": ("count", 1.0), "K": ("count", 1e3), "M": ("count", 1e6),
    "Ki": ("count", 2.0**10), "Mi": ("count", 2.0**20), "Gi": ("count", 2.0**30),
    "B": ("bytes", 1.0), "KB": ("bytes", 1e3), "MB": ("bytes", 1e6),
    "KiB": ("bytes", 2.0**10), "MiB": ("bytes", 2.0**20),
}  # fmt: skip
COUNTS_ONLY = "counts only"
TAG = re.compile(r"\[([^\]]+)\]")
NUMBERED = re.compile(r"(.*?[0-9]+)([a-z]?)")


@dataclass(frozen=True)
class Claim:
    """One claim. `left`, `right` and `column` are expressions as written; `parts` are the comparisons they mean."""

    id: str
    paper: str  # '' for user-defined claims
    section: str
    statement: str
    kind: KindOfClaim
    left: str
    right: str
    column: str
    bound: float
    expected: float | None
    unit: str
    published_holds: str
    needs: str
    note: str
    parts: tuple[ClaimPart, ...]
    where: str  # file and line, for messages

    @property
    def number(self) -> str:
        """The claim's id without the letter behind its number; reports put claims of one number under one heading."""
        match = NUMBERED.fullmatch(self.id)
        return match[1] if match else self.id

    @property
    def tags(self) -> tuple[str, ...]:
        """The words in brackets in the note."""
        return tuple(TAG.findall(self.note))

    @property
    def counts_only(self) -> bool:
        """True if it is about counts that follow from a model's shape, without training."""
        return self.needs.startswith(COUNTS_ONLY)

    @property
    def slugs(self) -> tuple[str, ...]:
        """All models that it names."""
        return tuple(dict.fromkeys(slug for part in self.parts for slug in part.slugs))

    @property
    def measure(self) -> str:
        """The kind of quantity that the claim's unit measures: percent | x | ms | count | bytes."""
        return UNITS[self.unit][0]

    @property
    def scale(self) -> float:
        """The factor from the claim's unit to single parameters, operations or bytes, to percent or to ms."""
        return UNITS[self.unit][1]


def read_rows(
    rows: Sequence[Mapping[str, Any]], where: Sequence[str], models: Collection[str] | None = None
) -> list[Claim]:
    """The claims in rows of strings or plain values. `where`: file and line of each row, for messages.

    `models`: of the experiment, by which a number is one of them or a constant; None: not known yet.
    Raises InputError for an unknown key, kind, unit or expression, and for a second claim of one id.
    """
    claims = [_claim(row, place, ModelReader(models)) for row, place in zip(rows, where, strict=True)]
    seen: dict[str, str] = {}
    for claim in claims:
        if claim.id in seen:
            raise InputError(f"{claim.where}: claim {claim.id!r} stands twice (first: {seen[claim.id]}); rename one")
        seen[claim.id] = claim.where
    return claims


def csv_rows(path: Path) -> tuple[list[dict[str, str]], list[str]]:
    """The rows of a CSV file of claims, and the file and line of each; their form is not checked yet.

    Raises InputError where the file cannot be read or holds no row.
    """
    remedy = f"name a CSV file with columns {', '.join(NEEDED)}"
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "is no text file"
        raise InputError(f"claims in {path}: {reason}; {remedy}") from None
    reader = csv.DictReader(text.splitlines())
    rows, where = [], []
    for row in reader:
        place = f"{path}:{reader.line_num}"
        if None in row or None in row.values():
            raise InputError(f"{place}: has {'more' if None in row else 'fewer'} cells than the header; quote commas")
        rows.append({str(key): str(value) for key, value in row.items()})
        where.append(place)
    if not rows:
        raise InputError(f"{path}: holds no claim; {remedy}")
    return rows, where


def _claim(row: Mapping[str, Any], where: str, reader: ModelReader) -> Claim:
    values = {key: "" if value is None else str(value).strip() for key, value in row.items()}
    for key in values:
        if key not in FIELDS:
            raise InputError(f"{where}: unknown key {key!r} of a claim{near_match(key, list(FIELDS))}; there are: "
                             f"{', '.join(FIELDS)}")  # fmt: skip
    values = {**dict.fromkeys(FIELDS, ""), **values}
    for key in NEEDED:
        if not values[key]:
            raise InputError(f"{where}: claim {values['id']!r} has no {key}; give one")
    try:
        return _checked(values, where, reader)
    except GrammarError as error:
        raise InputError(f"{where}: claim {values['id']!r}: {error}") from None


def _checked(values: Mapping[str, str], where: str, reader: ModelReader) -> Claim:
    name = READ_AS.get(values["kind"], values["kind"])
    if name not in KINDS:
        raise GrammarError(f"unknown kind {name!r}{near_match(name, list(KINDS))}; there are: {', '.join(KINDS)}")
    if values["unit"] not in UNITS:
        raise GrammarError(f"unknown unit {values['unit']!r}; there are: {', '.join(UNITS)}")
    kind, bound, expected = KINDS[name], _number(values, "bound") or 0.0, _number(values, "expected")
    kind.check(bound, expected, values["unit"])
    parts = tuple(kind.parts(values["left"], values["right"], read_columns(values["column"]), reader))
    if any("/" in str(side) for part in parts for side in (part.left, part.right) if isinstance(side, Pair)):
        if values["unit"] != "x":
            raise GrammarError(f"'a / b' is a ratio: its unit is x, not {values['unit']}")
    words = {key: values[key] for key in FIELDS if key not in ("kind", "bound", "expected")}
    return Claim(kind=kind, bound=bound, expected=expected, parts=parts, where=where, **words)


def _number(values: Mapping[str, str], key: str) -> float | None:
    if not values[key]:
        return None
    try:
        number = float(values[key])
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise GrammarError(f"{key} {values[key]!r} is no number")
    return number
