"""The expressions of models and columns that a claim compares; papers/published/claims.md defines the grammar.

Operators have spaces around them, because names of models contain hyphens. `min`, `max` and `each` assert a claim of
every member: they are written out into one part a member before anything is computed.

A number may be a constant or the name of a model, which the grammar cannot tell: `with_names` does, with their names.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any, Generic, Literal, TypeVar

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


def with_names(models: Models, names: Collection[str]) -> Any:
    """The expression with a model's name in the place of each number that is one."""
    if isinstance(models, Number):
        return ModelName(models.text) if models.text in names else models
    if isinstance(models, Mean | Every):
        return replace(models, members=tuple(with_names(member, names) for member in models.members))
    if isinstance(models, Pair):
        return replace(models, left=with_names(models.left, names), right=with_names(models.right, names))
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
