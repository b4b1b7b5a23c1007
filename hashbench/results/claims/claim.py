"""A claim: one comparison that a program can decide, read from a row of claims.csv or from an experiment file.

What the grammar does not allow is an error of one line that names its place.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hashbench.common.errors import InputError, near_match
from hashbench.results.claims.grammar import GrammarError, ModelReader, Pair, read_columns
from hashbench.results.claims.kinds import KINDS, READ_AS, ClaimPart, KindOfClaim

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
