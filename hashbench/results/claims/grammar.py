"""The expressions of models and columns that a claim compares; papers/published/claims.md defines the grammar.

Operators have spaces around them, because names of models contain hyphens. `min`, `max` and `each` assert a claim of
every member: reading them gives one expression a member. A model is its name, a constant a float.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from itertools import product
from typing import Generic, Literal, TypeVar

from hashbench.scores.quantity import Quantity, apply, mean, minus, over

SLUG = re.compile(
    r"[A-Za-z0-9][A-Za-z0-9._-]*(?:@[0-9]+(?:rows)?)?"
)  # a model, perhaps at an earlier step or on fewer rows
# A task of a language is called COLLECTION:LANGUAGE_Script
COLUMN = re.compile(r"([A-Za-z0-9][A-Za-z0-9._@+-]*?(?::[a-z]+_[A-Z][a-z]+)?)(?::(low|high|value))?")
NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?")
CALL = re.compile(r"([a-z]+)\(([^()]*)\)")
OF_MODELS, OF_COLUMNS = ("mean", "min", "max"), ("mean", "each")
Member = TypeVar("Member")


class GrammarError(ValueError):
    """An expression that the grammar does not allow; the text lists what it allows."""


class Missing(LookupError):
    """Raised for a number that a claim needs and that the experiment or the reference data lack."""


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
        return f"mean({','.join(map(text_of, self.members))})"


@dataclass(frozen=True)
class Pair(Generic[Member]):
    """A difference or a ratio of two terms, or one column minus another."""

    operator: Literal["-", "/"]
    left: Member
    right: Member

    def __str__(self) -> str:
        return f"{text_of(self.left)} {self.operator} {text_of(self.right)}"


Atom = str | float
Term = str | float | Mean[Atom]
Models = str | float | Mean[Atom] | Pair[Term]
Columns = ColumnName | Mean[ColumnName] | Pair[ColumnName]


def text_of(expression: object) -> str:
    """An expression as it is written."""
    return f"{expression:g}" if isinstance(expression, float) else str(expression)


@dataclass(frozen=True)
class ModelReader:
    """Reads expressions of models. A number is a model if one of the `models` has it for a name, else a constant.

    Where a model has a number for a name, no number is a constant. `models` None: not known yet.
    """

    models: Collection[str] | None = None
    has_bound: bool = True  # whether the kind of claim compares with constants other than 0

    def read(self, text: str, *, larger: bool, both: bool = False) -> list[Models]:
        """The parsed forms of a model expression, one for each member of `min` and `max`.

        `larger`: the side is claimed to be the larger one, so that `min` means every member; on the other side `max`
        does. `both`: the claim bounds the difference on either side, so that each of the two does. Raises GrammarError.

        >>> [str(models) for models in ModelReader().read("min(a,b-2) - mean(a-b,c)", larger=True)]
        ['a - mean(a-b,c)', 'b-2 - mean(a-b,c)']
        """
        left, *rest = re.split(r" ([-/]) ", text.strip())
        if len(rest) > 2:
            raise GrammarError(f"{text!r} has more than one operator; allowed is one 'a - b' or 'a / b'")
        first = self._terms(left, None if both else "min" if larger else "max")
        if not rest:
            return [*first]
        second = self._terms(rest[1], None if both else "max" if larger else "min")
        sign: Literal["-", "/"] = "-" if rest[0] == "-" else "/"
        return [Pair(sign, term, other) for term, other in product(first, second) if term != other]

    def _terms(self, text: str, every: str | None) -> list[Term]:
        """The members of the function that means "every" (None: of `min` and `max`), else the one term itself."""
        call = CALL.fullmatch(text)
        if not call:
            return [self._atom(text)]
        if call[1] not in OF_MODELS:
            raise GrammarError(f"no function {call[1]!r} of models; there are: {', '.join(OF_MODELS)}")
        members = [self._atom(member) for member in _members(call[2], text)]
        if call[1] == "mean":
            return [Mean(tuple(members))]
        if every is not None and call[1] != every:
            raise GrammarError(
                f"{call[1]}() on this side would ask for one member only; a claim is decided of every member: "
                f"write {every}()"
            )
        return [*members]

    def _atom(self, text: str) -> Atom:
        if NUMBER.fullmatch(text):
            return self._number(text)
        if SLUG.fullmatch(text):
            return text
        raise GrammarError(
            f"{text!r} is no model expression; allowed are a model's name, a number, mean(a,b), min(a,b), max(a,b), "
            "and 'a - b' or 'a / b' of these with blanks around the sign"
        )

    def _number(self, text: str) -> Atom:
        """A model of this name, or a constant where it can be one. Raises GrammarError."""
        if self.models is None or text in self.models:
            return float(text) if self.models is None else text
        if any(NUMBER.fullmatch(name) for name in self.models):
            raise GrammarError(f"no model {text!r}; where a model's name is a number, every number is a name: rename "
                               "such models to compare with a constant")  # fmt: skip
        if float(text) and not self.has_bound:
            raise GrammarError(f"no model {text!r}; 'greater' compares models: with a number in the place of one, the "
                               "kind is difference_at_least")  # fmt: skip
        return float(text)


def read_chain(text: str) -> list[tuple[str, str]]:
    """The members of `a > b ~ c`, each with the sign in front of it ('' for the first).

    Raises GrammarError.
    """
    parts = ["", *re.split(r" ([>~]) ", text.strip())]
    if len(parts) < 4:
        raise GrammarError(f"{text!r} is no chain; an ordering is written 'a > b ~ c', blanks around the signs")
    return list(zip(parts[::2], parts[1::2], strict=True))


def read_columns(text: str) -> tuple[Columns, ...]:
    """The parsed form of a column expression, in a tuple of one, or of the members of `each`.

    Raises GrammarError.

    >>> [str(column) for column in read_columns("each(a,b - c,d:low)")]
    ['a', 'b - c', 'd:low']
    """
    call = CALL.fullmatch(text.strip())
    members = _members(call[2], text) if call and call[1] == "each" else [text.strip()]
    return tuple(map(_column, members))


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


def slugs(models: Models) -> list[str]:
    """All models of an expression, in order."""
    if isinstance(models, Mean):
        return [member for member in models.members if isinstance(member, str)]
    if isinstance(models, Pair):
        return slugs(models.left) + slugs(models.right)
    return [models] if isinstance(models, str) else []


def column_names(columns: Columns) -> tuple[ColumnName, ...]:
    """The columns of an expression."""
    if isinstance(columns, ColumnName):
        return (columns,)
    return columns.members if isinstance(columns, Mean) else (columns.left, columns.right)


def evaluate(
    models: Models, columns: Columns, leaf: Callable[[str, ColumnName], Quantity], *, scale: float = 1.0
) -> Quantity:
    """The value of a model expression in some columns.

    `leaf` reads a model's column; constants are multiplied by `scale`.
    """
    if isinstance(models, float):
        return Quantity(models * scale)
    if isinstance(models, Mean):
        return apply(mean, [evaluate(member, columns, leaf, scale=scale) for member in models.members])
    if isinstance(models, Pair):
        sides = [evaluate(side, columns, leaf, scale=scale) for side in (models.left, models.right)]
        return apply(minus if models.operator == "-" else over, sides)
    values = [leaf(models, name) for name in column_names(columns)]
    if isinstance(columns, Pair):
        return apply(minus, values)
    return apply(mean, values) if len(values) > 1 else values[0]
