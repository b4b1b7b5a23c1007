"""Labels and predictions of a regression as numbers of 32 bits, where these are precise enough.

A number of 32 bits has 24 binary digits. Labels that lie close together and far from 0, such as time stamps, become one
there: models cannot learn the difference, and scores would be measured against other labels.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from decimal import Context, Decimal, InvalidOperation
from typing import NamedTuple

import numpy as np

from hashbench.common.errors import InputError
from hashbench.common.showing import SHOWN_CHARACTERS
from hashbench.data.sources.files import Cells
from hashbench.scores.base import UndefinedScore
from hashbench.scores.correlations import Pearson, Spearman

LARGEST_FLOAT32 = float(np.finfo(np.float32).max)
DIGITS = Context(prec=14)  # of a fraction: in those behind them two ways to compute one mean differ
BITS = 46  # the same in binary digits
LEAST_CORRELATION = 0.9999  # least correlation of numbers with themselves in 32 bits: it prints as 100.0
NOTED_EQUAL_LABELS = 0.01  # share of the different labels that are lost, above which there is a note


class ReadValues(NamedTuple):
    """Labels float32 (n,) of each split, and notes on their precision."""

    labels: dict[str, np.ndarray]
    notes: tuple[str, ...] = ()


def read_values(columns: Mapping[str, Cells], where: Mapping[str, str]) -> ReadValues:
    """The labels of a regression. `where` names the table of each split in messages.

    Raises:
        InputError: a cell is no finite number. The labels of a split are others in 32 bits.
    """
    wide = {
        split: np.array([_number(cell, f"{where[split]}: row {row}") for row, cell in enumerate(cells, 1)], np.float64)
        for split, cells in columns.items()
    }
    labels = {split: values.astype(np.float32) for split, values in wide.items()}
    notes = [
        note
        for split, cells in columns.items()
        for note in _lost(cells, wide[split], labels[split], split, where[split])
    ]
    return ReadValues(labels, tuple(notes))


def _shown(cell: object) -> str:
    """A cell as a message repeats it; Python writes out no whole number of thousands of digits."""
    return (
        "a number of so many digits"
        if isinstance(cell, int) and cell.bit_length() > 256
        else repr(cell)[:SHOWN_CHARACTERS]
    )


def _number(cell: object, where: str) -> float:
    try:
        # Python reads 1_5 as 15, which no program that writes tables means
        odd = isinstance(cell, bool) or (isinstance(cell, str) and "_" in cell)
        value = float(cell) if isinstance(cell, str | int | float | Decimal) and not odd else math.nan
    except (ValueError, OverflowError):
        value = math.nan
    with np.errstate(over="ignore"):
        is_finite = bool(np.isfinite(np.float32(value)))
    if not is_finite:
        raise InputError(
            f"{where}: {_shown(cell)} is not a label; a regression needs finite numbers below 3.4e38; "
            "correct it, or give the task a metric of classes, such as accuracy"
        )
    return value


def _lost(cells: Cells, wide: np.ndarray, values: np.ndarray, split: str, where: str) -> list[str]:
    """A note where more than a few different labels of a split are one in `values`, float32 (n,). `wide`: float64.

    Raises InputError where perfect predictions would not have a perfect score.
    """
    if not len(wide):
        return []
    apart, least = _apart(cells, wide)
    before, after = len(np.unique(apart)), len(np.unique(values))
    kept = likeness(apart, values)
    if kept < LEAST_CORRELATION:
        raise InputError(
            f"{where}: labels lose digits in float32, in which models learn and are scored: {after:,} of {before:,} "
            f"different ones are left, and perfect predictions would score {100 * kept:.2f}; subtract "
            f"{_plainly(least)} from the labels of every split, or scale them"
        )
    lost = before - after
    return [f"{lost:,} of {before:,} different labels of {split} equal another in float32"] * (
        lost > NOTED_EQUAL_LABELS * before
    )


def _apart(cells: Cells, wide: np.ndarray) -> tuple[np.ndarray, Decimal]:
    """How far each label is above the least one, (n,) float64, without digits that are rounding alone; the least one.

    `wide` (n,): the labels as float64, which has all digits of whole numbers that are not large.
    """
    if np.abs(wide).max() < 2**BITS:
        parts, exponents = np.frexp(wide)
        rounded = np.ldexp(np.round(parts * 2.0**BITS), exponents - BITS)
        return rounded - rounded.min(), Decimal(repr(float(wide.min())))
    exact = {cell: _exact(cell) for cell in set(cells)}
    least = min(exact.values())
    above = {cell: float(number - least) for cell, number in exact.items()}
    return np.array([above[cell] for cell in cells]), least


def _exact(cell: object) -> Decimal:
    """The number that a cell writes: a whole one with all digits, a fraction without digits that are only rounding."""
    try:
        number = Decimal(repr(float(cell)) if isinstance(cell, float) else cell)  # type: ignore[arg-type]
    except InvalidOperation:  # an exponent of many digits, which as a float is 0
        return Decimal(0)
    return number if number == number.to_integral_value() else DIGITS.plus(number)


def _plainly(number: Decimal) -> str:
    """A number as a message writes it: with all digits, unless they are too many to read."""
    digits = format(number.normalize(), "f")
    return digits if len(digits) <= SHOWN_CHARACTERS else format(number, "e")


def likeness(exact: np.ndarray, values: np.ndarray) -> float:
    """The lower of two correlations, of ranks and of values (n,), between numbers and their forms in another precision.

    0 where `values` are all equal, 1 where `exact` are.
    """
    if (exact == exact[0]).all():
        return 1.0
    try:
        return min(Spearman().score(exact, values), Pearson().score(exact, values))
    except UndefinedScore:
        return 0.0


def narrowed(values: Sequence[float] | np.ndarray) -> np.ndarray:
    """Predictions (n,) as float32, or as float64 where float32 would be another prediction."""
    wide = np.asarray(values, np.float64)
    with np.errstate(over="ignore"):
        narrow = wide.astype(np.float32)
    return narrow if np.isfinite(narrow).all() and likeness(wide, narrow) >= LEAST_CORRELATION else wide
