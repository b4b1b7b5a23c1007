"""Expressions of models and of columns, as claims.md defines them: read, and written out into parts.

Operators have spaces around them: slugs hold hyphens. `min`, `max` and `each` assert a claim of every member, and are
written out into one part a member before anything is computed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Literal

SLUG = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
# A task of a language is called COLLECTION:LANGUAGE_Script
COLUMN = re.compile(r"([A-Za-z0-9][A-Za-z0-9._@+-]*?(?::[a-z]+_[A-Z][a-z]+)?)(?::(low|high|value))?")
NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?")
CALL = re.compile(r"([a-z]+)\(([^()]*)\)")
OF_MODELS, OF_COLUMNS = ("mean", "min", "max"), ("mean", "each")


class GrammarError(ValueError):
    """An expression that the grammar does not have; the text says what it has."""


@dataclass(frozen=True)
class ModelName:
    """A model by the name under which a paper or an experiment knows it."""

    slug: str

    def __str__(self) -> str:
        return self.slug


@dataclass(frozen=True)
class Number:
    """A constant in the unit of its claim."""

    value: float

    def __str__(self) -> str:
        return f"{self.value:g}"


@dataclass(frozen=True)
class Mean:
    """The mean of models or numbers, taken in every seed and in every draw."""

    members: tuple[ModelName | Number, ...]

    def __str__(self) -> str:
        return f"mean({','.join(map(str, self.members))})"


@dataclass(frozen=True)
class Every:
    """`min` or `max`: the claim is asserted of every member."""

    extreme: Literal["min", "max"]
    members: tuple[ModelName | Number, ...]


@dataclass(frozen=True)
class Pair:
    """A difference or a ratio of two terms."""

    operator: Literal["-", "/"]
    left: ModelName | Number | Mean | Every
    right: ModelName | Number | Mean | Every

    def __str__(self) -> str:
        return f"{self.left} {self.operator} {self.right}"


Term = ModelName | Number | Mean | Every
Models = Term | Pair


@dataclass(frozen=True)
class ColumnName:
    """A column, or one end of the range that it has over tasks."""

    name: str
    # '' is the value, whose low end is meant where it is a range
    end: Literal["low", "high", ""] = ""

    def __str__(self) -> str:
        return f"{self.name}:{self.end}" if self.end else self.name


@dataclass(frozen=True)
class ColumnMean:
    """The mean of columns."""

    members: tuple[ColumnName, ...]

    def __str__(self) -> str:
        return f"mean({','.join(map(str, self.members))})"


@dataclass(frozen=True)
class ColumnPair:
    """One column minus another."""

    left: ColumnName
    right: ColumnName

    def __str__(self) -> str:
        return f"{self.left} - {self.right}"


Columns = ColumnName | ColumnMean | ColumnPair


def read_models(text: str) -> Models:
    """A model expression.

    Raises GrammarError.

    >>> str(read_models("bert-mlm - mean(a-b,c)"))
    'bert-mlm - mean(a-b,c)'
    """
    parts = re.split(r" ([-/]) ", text.strip())
    if len(parts) == 1:
        return _term(parts[0])
    if len(parts) > 3:
        raise GrammarError(f"{text!r} has more than one operator; allowed is one 'a - b' or 'a / b'")
    return Pair("-" if parts[1] == "-" else "/", _term(parts[0]), _term(parts[2]))


def read_chain(text: str) -> list[tuple[str, Models]]:
    """The members of `a > b ~ c`, each with the sign in front of it ('' for the first).

    Raises GrammarError.
    """
    parts = re.split(r" ([>~]) ", text.strip())
    if len(parts) < 3:
        raise GrammarError(f"{text!r} is no chain; an ordering is written 'a > b ~ c', blanks around the signs")
    return [(sign, _term(term)) for sign, term in zip(["", *parts[1::2]], parts[::2], strict=True)]


def read_columns(text: str) -> tuple[Columns, ...]:
    """A column expression: one, or those of `each`.

    Raises GrammarError.

    >>> [str(column) for column in read_columns("each(a,b - c,d:low)")]
    ['a', 'b - c', 'd:low']
    """
    call = CALL.fullmatch(text.strip())
    every = call is not None and call[1] == "each"
    return tuple(map(_column, _members(call[2], text) if call and every else [text.strip()]))


def _term(text: str) -> Term:
    call = CALL.fullmatch(text)
    if call:
        if call[1] not in OF_MODELS:
            raise GrammarError(f"no function {call[1]!r} of models; there are: {', '.join(OF_MODELS)}")
        members = tuple(_atom(member) for member in _members(call[2], text))
        return Mean(members) if call[1] == "mean" else Every("min" if call[1] == "min" else "max", members)
    return _atom(text)


def _atom(text: str) -> ModelName | Number:
    if NUMBER.fullmatch(text):
        return Number(float(text))
    if SLUG.fullmatch(text):
        return ModelName(text)
    raise GrammarError(
        f"{text!r} is no model expression; allowed are a model's name, a number, mean(a,b), min(a,b), max(a,b), "
        "and 'a - b' or 'a / b' of these with blanks around the sign"
    )


def _column(text: str) -> Columns:
    parts = text.split(" - ")
    if len(parts) == 2:
        return ColumnPair(_column_name(parts[0]), _column_name(parts[1]))
    call = CALL.fullmatch(text)
    if call and call[1] == "mean":
        return ColumnMean(tuple(_column_name(member) for member in _members(call[2], text)))
    if call:
        raise GrammarError(f"no function {call[1]!r} of columns; there are: {', '.join(OF_COLUMNS)}")
    return _column_name(text)


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
    """That "of every member" is what the words say: `min` on the side that must be large, `max` on the other.

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
    """The same expression once for each member of `min` and `max`; nothing is compared with itself."""
    if isinstance(models, Every):
        return list(models.members)
    if isinstance(models, Pair):
        sides = product(alternatives(models.left), alternatives(models.right))
        return [
            Pair(models.operator, left, right)
            for left, right in sides
            if left != right and not isinstance(left, Pair) and not isinstance(right, Pair)
        ]
    return [models]


def slugs(models: Models) -> Iterator[str]:
    """All models of an expression, in order."""
    if isinstance(models, ModelName):
        yield models.slug
    elif isinstance(models, Mean | Every):
        for member in models.members:
            yield from slugs(member)
    elif isinstance(models, Pair):
        yield from slugs(models.left)
        yield from slugs(models.right)


def column_names(columns: Columns) -> tuple[ColumnName, ...]:
    """The columns of an expression."""
    if isinstance(columns, ColumnName):
        return (columns,)
    return columns.members if isinstance(columns, ColumnMean) else (columns.left, columns.right)
