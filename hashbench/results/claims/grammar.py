"""A claim: one comparison that a program can decide, read from a row of claims.csv or from an experiment file.

papers/published/claims.md defines the grammar. What it does not allow is an error of one line that names its place.
Operators have spaces around them, because names of models contain hyphens. `min`, `max` and `each` assert a claim of
every member: they are written out into one part a member before anything is computed.

A number may be a constant or the name of a model, which the grammar cannot tell: `named` does, with the models' names.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar, get_args

from hashbench.common.errors import InputError, near_match
from hashbench.common.showing import few

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

SLUG = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
# A task of a language is called COLLECTION:LANGUAGE_Script
COLUMN = re.compile(r"([A-Za-z0-9][A-Za-z0-9._@+-]*?(?::[a-z]+_[A-Z][a-z]+)?)(?::(low|high|value))?")
NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?")
CALL = re.compile(r"([a-z]+)\(([^()]*)\)")
OF_MODELS, OF_COLUMNS = ("mean", "min", "max"), ("mean", "each")
Member = TypeVar("Member")


class GrammarError(ValueError):
    """An expression that the grammar does not allow; the text lists what it allows."""


@dataclass(frozen=True)
class ModelName:
    """A model by the name under which a paper or an experiment knows it."""

    slug: str

    def __str__(self) -> str:
        return self.slug


@dataclass(frozen=True)
class Number:
    """A constant in the unit of its claim, as far as no model has its text for a name."""

    value: float
    text: str = field(default="", compare=False)  # as written

    def __str__(self) -> str:
        return f"{self.value:g}"


@dataclass(frozen=True)
class ColumnName:
    """A column, or one end of the range that it has over tasks."""

    name: str
    # '' is the value, whose low end is meant where it is a range
    end: Literal["low", "high", ""] = ""

    def __str__(self) -> str:
        return f"{self.name}:{self.end}" if self.end else self.name


@dataclass(frozen=True)
class Mean(Generic[Member]):
    """The mean of models and numbers, or of columns, taken in every seed and in every draw."""

    members: tuple[Member, ...]

    def __str__(self) -> str:
        return f"mean({','.join(map(str, self.members))})"


@dataclass(frozen=True)
class Every:
    """`min` or `max` of models: the claim is asserted of every member."""

    extreme: Literal["min", "max"]
    members: tuple[ModelName | Number, ...]


@dataclass(frozen=True)
class Pair(Generic[Member]):
    """A difference or a ratio of two terms, or one column minus another."""

    operator: Literal["-", "/"]
    left: Member
    right: Member

    def __str__(self) -> str:
        return f"{self.left} {self.operator} {self.right}"


Atom = ModelName | Number
Term = ModelName | Number | Mean[Atom] | Every
Models = ModelName | Number | Mean[Atom] | Every | Pair[Term]
Columns = ColumnName | Mean[ColumnName] | Pair[ColumnName]


def read_models(text: str) -> Models:
    """The parsed form of a model expression.

    Raises GrammarError.

    >>> str(read_models("bert-mlm - mean(a-b,c)"))
    'bert-mlm - mean(a-b,c)'
    """
    left, *rest = re.split(r" ([-/]) ", text.strip())
    if len(rest) > 2:
        raise GrammarError(f"{text!r} has more than one operator; allowed is one 'a - b' or 'a / b'")
    return Pair("-" if rest[0] == "-" else "/", _term(left), _term(rest[1])) if rest else _term(left)


def read_chain(text: str) -> list[tuple[str, Term]]:
    """The members of `a > b ~ c`, each with the sign in front of it ('' for the first).

    Raises GrammarError.
    """
    parts = ["", *re.split(r" ([>~]) ", text.strip())]
    if len(parts) < 4:
        raise GrammarError(f"{text!r} is no chain; an ordering is written 'a > b ~ c', blanks around the signs")
    return [(sign, _term(term)) for sign, term in zip(parts[::2], parts[1::2], strict=True)]


def read_columns(text: str) -> tuple[Columns, ...]:
    """The parsed form of a column expression, in a tuple of one, or of the members of `each`.

    Raises GrammarError.

    >>> [str(column) for column in read_columns("each(a,b - c,d:low)")]
    ['a', 'b - c', 'd:low']
    """
    call = CALL.fullmatch(text.strip())
    members = _members(call[2], text) if call and call[1] == "each" else [text.strip()]
    return tuple(map(_column, members))


def _term(text: str) -> Term:
    call = CALL.fullmatch(text)
    if not call:
        return _atom(text)
    if call[1] not in OF_MODELS:
        raise GrammarError(f"no function {call[1]!r} of models; there are: {', '.join(OF_MODELS)}")
    members = tuple(map(_atom, _members(call[2], text)))
    return Mean(members) if call[1] == "mean" else Every("min" if call[1] == "min" else "max", members)


def _atom(text: str) -> Atom:
    if NUMBER.fullmatch(text):
        return Number(float(text), text)
    if SLUG.fullmatch(text):
        return ModelName(text)
    raise GrammarError(
        f"{text!r} is no model expression; allowed are a model's name, a number, mean(a,b), min(a,b), max(a,b), "
        "and 'a - b' or 'a / b' of these with blanks around the sign"
    )


def _column(text: str) -> Columns:
    parts = text.split(" - ")
    if len(parts) == 2:
        return Pair("-", *map(_column_name, parts))
    call = CALL.fullmatch(text)
    if not call:
        return _column_name(text)
    if call[1] != "mean":
        raise GrammarError(f"no function {call[1]!r} of columns; there are: {', '.join(OF_COLUMNS)}")
    return Mean(tuple(map(_column_name, _members(call[2], text))))


def _column_name(text: str) -> ColumnName:
    match = COLUMN.fullmatch(text.strip())
    if not match:
        raise GrammarError(
            f"{text!r} is no column; allowed are a column's name, perhaps with :low or :high behind it, mean(c,d), "
            "'c - d' and each(c,d)"
        )
    return ColumnName(match[1], "low" if match[2] == "low" else "high" if match[2] == "high" else "")


def _members(text: str, whole: str) -> list[str]:
    members = [member.strip() for member in text.split(",")]
    if not all(members):
        raise GrammarError(f"{whole!r} has an empty member; write them with one comma between")
    return members


def check_sides(models: Models, *, favourable: bool, both: bool = False) -> None:
    """Checks that `min` is on the side claimed larger and `max` on the other, so that every member is claimed.

    `both`: the claim bounds the difference on either side, so that each of the two says "every".
    Raises GrammarError.
    """
    if isinstance(models, Pair):
        check_sides(models.left, favourable=favourable, both=both)
        check_sides(models.right, favourable=not favourable, both=both)
    elif isinstance(models, Every) and not both and (models.extreme == "min") != favourable:
        wanted = "min" if favourable else "max"
        raise GrammarError(
            f"{models.extreme}() on this side would ask for one member only; a claim is decided of every member: "
            f"write {wanted}()"
        )


def alternatives(models: Models) -> list[Models]:
    """The expressions with each member in place of `min` and `max`, without comparisons of a term with itself."""
    if isinstance(models, Pair):
        sides = product(_each_term(models.left), _each_term(models.right))
        return [Pair(models.operator, left, right) for left, right in sides if left != right]
    return [*_each_term(models)]


def _each_term(term: Term) -> Sequence[Term]:
    return term.members if isinstance(term, Every) else [term]


def slugs(models: Models) -> list[str]:
    """All models of an expression, in order."""
    if isinstance(models, Mean | Every):
        return [member.slug for member in models.members if isinstance(member, ModelName)]
    if isinstance(models, Pair):
        return slugs(models.left) + slugs(models.right)
    return [models.slug] if isinstance(models, ModelName) else []


def constants(models: Models) -> list[Number]:
    """All constants of an expression, in order."""
    if isinstance(models, Mean | Every):
        return [member for member in models.members if isinstance(member, Number)]
    if isinstance(models, Pair):
        return constants(models.left) + constants(models.right)
    return [models] if isinstance(models, Number) else []


def _with_names(models: Models, names: Collection[str]) -> Any:
    """The expression with a model's name in the place of each number that is one."""
    if isinstance(models, Number):
        return ModelName(models.text) if models.text in names else models
    if isinstance(models, Mean | Every):
        return replace(models, members=tuple(_with_names(member, names) for member in models.members))
    if isinstance(models, Pair):
        return replace(models, left=_with_names(models.left, names), right=_with_names(models.right, names))
    return models


def weights_of(plus: Models, minus: Models = Number(0.0)) -> dict[str, float] | None:
    """The weight of each model in a difference, without constants; None where a side is no weighted sum.

    >>> weights_of(read_models("a - mean(b,c)"), read_models("c")), weights_of(read_models("a / b"))
    ({'a': 1.0, 'b': -0.5, 'c': -1.5}, None)
    """
    summed: dict[str, float] = {}
    for side, sign in ((plus, 1.0), (minus, -1.0)):
        if isinstance(side, Every) or (isinstance(side, Pair) and side.operator == "/"):
            return None
        if isinstance(side, ModelName):
            summed[side.slug] = summed.get(side.slug, 0.0) + sign
        parts: list[tuple[float, Models]] = []
        if isinstance(side, Pair):
            parts = [(sign, side.left), (-sign, side.right)]
        elif isinstance(side, Mean):
            parts = [(sign / len(side.members), member) for member in side.members]
        for factor, part in parts:
            for slug, weight in (weights_of(part) or {}).items():
                summed[slug] = summed.get(slug, 0.0) + factor * weight
    return summed


def column_names(columns: Columns) -> tuple[ColumnName, ...]:
    """The columns of an expression."""
    if isinstance(columns, ColumnName):
        return (columns,)
    return columns.members if isinstance(columns, Mean) else (columns.left, columns.right)


@dataclass(frozen=True)
class ClaimPart:
    """One comparison of two models (or means of models) in one column, the smallest unit that has a verdict."""

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
        """All pairs of a model and a column that the part compares."""
        return list(product(self.slugs, column_names(self.column)))

    def __str__(self) -> str:
        sign = {"equal_within": "~", "count": "=", "ratio_at_least": "/", "difference_at_least": "-"}
        right = "" if self.right is None else f" {sign.get(self.kind, '>')} {self.right}"
        return f"{self.left}{right}: {self.column}"


@dataclass(frozen=True)
class Claim:
    """One claim. `left`, `right` and `column` are expressions as written; `parts` are the comparisons they mean."""

    id: str
    paper: str  # '' for user-defined claims
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


def named(claim: Claim, models: Collection[str]) -> Claim:
    """The claim of an experiment with these models: a number that is the name of one is read as that model.

    Any other number is a constant, where the kind of claim has a bound; 0 also in `greater` and `interaction`, for the
    sign of a difference. Where a model has a number for a name, every number is a name. Raises InputError for a number
    that can be neither, and for a part without a model.
    """
    parts = tuple(
        replace(part, left=_with_names(part.left, models), right=part.right and _with_names(part.right, models))
        for part in claim.parts
    )
    numbered = sorted(name for name in models if NUMBER.fullmatch(name))
    for part in parts:
        numbers = [*constants(part.left), *(constants(part.right) if part.right else ())]
        unbounded = [number for number in numbers if number.value and part.kind in ("greater", "interaction")]
        if numbered and numbers:
            why = f"no model {numbers[0].text!r}; where a model's name is a number ({few(numbered)}), "
            why += "every number is a name: rename such models to compare with a constant"
        elif unbounded:
            why = f"no model {unbounded[0].text!r}; {part.kind!r} compares models: with a number in the place of one, "
            why += "the kind is difference_at_least"
        elif not part.slugs:
            why = f"{part} names no model; at least one side does"
        else:
            continue
        raise InputError(f"{claim.where}: claim {claim.id!r}: {why}")
    return replace(claim, parts=parts)


def read_rows(rows: Sequence[Mapping[str, Any]], where: Sequence[str]) -> list[Claim]:
    """The claims in rows of strings or plain values. `where`: file and line of each row, for messages.

    Raises InputError for an unknown key, kind, unit or expression, and for a second claim of one id.
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
    kind = next((name for name in KINDS if name == values["kind"]), None)
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
    if kind == "count":
        number = read_models(left)
        check_sides(number, favourable=True, both=True)
        return tuple(ClaimPart(kind, models, None, name) for models in alternatives(number) for name in columns)
    if kind == "ordering":
        chain = read_chain(left)
        steps: list[tuple[ClaimKind, Models, Models]] = [
            ("greater" if sign == ">" else "equal_within", before, after)
            for (_, before), (sign, after) in zip(chain, chain[1:], strict=False)
        ]
    else:
        first = read_models(left)
        if not right:
            raise GrammarError(
                f"'{kind}' compares with something: right is empty (a model, or a number where the kind has a bound)"
            )
        second = read_models(right)
        paired = isinstance(first, Pair) and isinstance(second, Pair)
        if kind == "interaction" and not paired and not all(isinstance(name, Pair) for name in columns):
            differences = "'a - b' of models on both sides, or of columns"
            raise GrammarError(f"interaction is a difference of differences: {differences}")
        steps = [(kind, first, second)]
    parts = []
    for step, larger, smaller in steps:
        check_sides(larger, favourable=True, both=step == "equal_within")
        check_sides(smaller, favourable=False, both=step == "equal_within")
        pairs = list(product(alternatives(larger), alternatives(smaller)))
        parts += [ClaimPart(step, *pair, column) for column in columns for pair in pairs]
    return tuple(parts)
