"""A column of a table and a number that a paper printed in it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Direction = Literal["high", "low", ""]


@dataclass(frozen=True)
class PublishedNumber:
    """One printed number of a paper, in the unit it was printed in."""

    value: float
    value_high: float | None = None  # upper end of a printed range
    std: float | None = None  # the deviation in parentheses
    unit: str = ""
    decimals: int = field(default=1, compare=False)  # as printed


@dataclass(frozen=True)
class Column:
    """One column. `name` is the key of the reference data and of the tidy rows."""

    name: str
    unit: str  # percent | points | params | binary params | bytes | ms/sample | x | minutes | count
    measure: str  # what is measured: a key of measures.MEASURES
    title: str = ""
    task: str | None = None  # "*": every task that has the metric, a row each
    better: Direction = ""
    subtitle: str = ""  # the metric that is read
    metric: str = ""  # of a score: read instead of the paper's choice for the task
    split: str = ""
    # Of an average: columns; those in brackets count together as one
    tasks: tuple[str | tuple[str, ...], ...] = ()
    fact: str = ""  # a stored fact of another name than the column's
    factor: float = 1.0  # by which a fact is multiplied
    of: str = ""  # of a difference: the column that is compared
    against: str = ""  # with which model; "pair": with the row's partner
    path: str = ""  # of a setting: its place in a run's spec, with dots
    unavailable: bool = False  # printed in the paper, in numbers that are not at hand

    @property
    def is_time(self) -> bool:
        """Whether it is a measured time or a ratio of two."""
        return self.unit == "ms/sample" or (self.measure == "fact" and self.unit == "x")
