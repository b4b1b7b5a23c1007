"""A claim: one comparison that a program can decide, read from a row of claims.csv or from an experiment file.

The grammar stands in papers/published/claims.md; what it does not have is one line of error that says where.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any, Literal, get_args

from hashbench.common.errors import InputError, near_match
from hashbench.results.claims.expressions import (
    ColumnName,
    ColumnPair,
    Columns,
    GrammarError,
    Models,
    Pair,
    alternatives,
    check_sides,
    column_names,
    read_chain,
    read_columns,
    read_models,
    slugs,
)

ClaimKind = Literal[
    "greater", "difference_at_least", "ratio_at_least", "equal_within", "interaction", "ordering", "count"
]  # fmt: skip
KINDS: tuple[ClaimKind, ...] = get_args(ClaimKind)
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
class ClaimPart:
    """What is decided by itself: one model against one other in one column."""

    kind: ClaimKind
    left: Models
    right: Models | None
    column: Columns

    @property
    def slugs(self) -> tuple[str, ...]:
        """All models that it names."""
        return tuple(dict.fromkeys((*slugs(self.left), *(slugs(self.right) if self.right else ()))))

    @property
    def leaves(self) -> list[tuple[str, ColumnName]]:
        """Every model with every column that is read of it."""
        return list(product(self.slugs, column_names(self.column)))

    def __str__(self) -> str:
        sign = {"equal_within": "~", "count": "=", "ratio_at_least": "/", "difference_at_least": "-"}
        right = "" if self.right is None else f" {sign.get(self.kind, '>')} {self.right}"
        return f"{self.left}{right}: {self.column}"


@dataclass(frozen=True)
class Claim:
    """One row, read. `left`, `right` and `column` are as written; `parts` is what they mean."""

    id: str
    paper: str  # '' for a user's own
    section: str
    statement: str
    kind: ClaimKind
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
        """The claim's number without the letter of its part: what a report folds by."""
        match = NUMBERED.fullmatch(self.id)
        return match[1] if match else self.id

    @property
    def tags(self) -> tuple[str, ...]:
        """The tags of the note without brackets."""
        return tuple(TAG.findall(self.note))

    @property
    def counts_only(self) -> bool:
        """Whether it speaks of counts that follow from a model's shape, without training."""
        return self.needs.startswith(COUNTS_ONLY)

    @property
    def slugs(self) -> tuple[str, ...]:
        """All models that it names."""
        return tuple(dict.fromkeys(slug for part in self.parts for slug in part.slugs))

    @property
    def measure(self) -> str:
        """What its unit measures: percent | x | ms | count | bytes."""
        return UNITS[self.unit][0]

    @property
    def scale(self) -> float:
        """One of its unit in single things."""
        return UNITS[self.unit][1]


def read_rows(rows: Sequence[Mapping[str, Any]], where: Sequence[str]) -> list[Claim]:
    """The claims of rows of strings or plain values; `where`: file and line of each, for messages.

    Raises InputError for an unknown key, kind, unit or expression, and for an id that stands twice.
    """
    claims = [_claim(row, place) for row, place in zip(rows, where, strict=True)]
    seen: dict[str, str] = {}
    for claim in claims:
        if claim.id in seen:
            raise InputError(f"{claim.where}: claim {claim.id!r} stands twice (first: {seen[claim.id]}); rename one")
        seen[claim.id] = claim.where
    return claims


def read_file(path: Path) -> list[Claim]:
    """The claims of a CSV file whose first row names columns of claims.csv.

    Raises InputError, also where the file cannot be read.
    """
    rows, where = csv_rows(path)
    return read_rows(rows, where)


def csv_rows(path: Path) -> tuple[list[dict[str, str]], list[str]]:
    """The rows of a CSV file of claims, and the file and line of each; their form is not checked yet.

    Raises InputError where the file cannot be read or holds no row.
    """
    remedy = f"name a CSV file with columns {', '.join(NEEDED)}"
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InputError(f"claims in {path}: {error.strerror}; {remedy}") from None
    except UnicodeDecodeError:
        raise InputError(f"claims in {path}: is no text file; {remedy}") from None
    return _rows(text, str(path))


def _rows(text: str, name: str) -> tuple[list[dict[str, str]], list[str]]:
    reader = csv.DictReader(text.splitlines())
    rows, where = [], []
    for row in reader:
        place = f"{name}:{reader.line_num}"
        if None in row or None in row.values():
            raise InputError(f"{place}: has {'more' if None in row else 'fewer'} cells than the header; quote commas")
        rows.append({str(key): str(value) for key, value in row.items()})
        where.append(place)
    if not rows:
        raise InputError(f"{name}: holds no claim; it needs a header ({', '.join(NEEDED)}, ...) and rows below it")
    return rows, where


def _claim(row: Mapping[str, Any], where: str) -> Claim:
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
        return _checked(values, where)
    except GrammarError as error:
        raise InputError(f"{where}: claim {values['id']!r}: {error}") from None


def _checked(values: Mapping[str, str], where: str) -> Claim:
    kind = next((known for known in KINDS if known == values["kind"]), None)
    if kind is None:
        raise GrammarError(f"unknown kind {values['kind']!r}{near_match(values['kind'], list(KINDS))}; there are: "
                           f"{', '.join(KINDS)}")  # fmt: skip
    if values["unit"] not in UNITS:
        raise GrammarError(f"unknown unit {values['unit']!r}; there are: {', '.join(UNITS)}")
    bound = _number(values, "bound") or 0.0
    expected = _number(values, "expected")
    _check_bound(kind, bound, expected=expected, unit=values["unit"])
    parts = _parts(kind, values["left"], values["right"], columns=read_columns(values["column"]))
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


def _check_bound(kind: ClaimKind, bound: float, *, expected: float | None, unit: str) -> None:
    if kind in ("greater", "interaction") and bound != 0:
        raise GrammarError(f"bound of '{kind}' is 0; with another one the kind is difference_at_least")
    if kind in ("equal_within", "ordering", "count") and bound < 0:
        raise GrammarError(f"bound of '{kind}' is a distance, so not below 0")
    if kind == "ratio_at_least" and (bound <= 0 or unit != "x"):
        raise GrammarError("ratio_at_least has a bound above 0 and the unit x")
    if kind == "count" and expected is None:
        raise GrammarError("count needs the number that is claimed, in 'expected'")


def _parts(kind: ClaimKind, left: str, right: str, *, columns: Sequence[Columns]) -> tuple[ClaimPart, ...]:
    """The parts of a claim. Raises GrammarError."""
    if kind in ("ordering", "count") and right:
        raise GrammarError(f"right of '{kind}' is empty, not {right!r}")
    if kind == "ordering":
        chain = read_chain(left)
        steps: list[tuple[ClaimKind, Models, Models]] = [
            ("greater" if sign == ">" else "equal_within", before, after)
            for (_, before), (sign, after) in zip(chain, chain[1:], strict=False)
        ]
        return _written_out(steps, columns)
    first = read_models(left)
    if kind == "count":
        check_sides(first, favourable=True, both=True)
        return tuple(ClaimPart(kind, models, None, name) for models in alternatives(first) for name in columns)
    if not right:
        raise GrammarError(f"'{kind}' compares with something: right is empty (a number may stand there)")
    second = read_models(right)
    paired = isinstance(first, Pair) and isinstance(second, Pair)
    if kind == "interaction" and not paired and not all(isinstance(name, ColumnPair) for name in columns):
        raise GrammarError("interaction is a difference of differences: 'a - b' of models on both sides, or of columns")
    return _written_out([(kind, first, second)], columns)


def _written_out(
    steps: Sequence[tuple[ClaimKind, Models, Models]], columns: Sequence[Columns]
) -> tuple[ClaimPart, ...]:
    parts = []
    for kind, left, right in steps:
        check_sides(left, favourable=True, both=kind == "equal_within")
        check_sides(right, favourable=False, both=kind == "equal_within")
        sides = list(product(alternatives(left), alternatives(right)))
        parts += [ClaimPart(kind, *pair, column) for column in columns for pair in sides]
    return tuple(parts)
