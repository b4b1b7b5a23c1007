"""What the papers say: their claims, their printed numbers, exact counts, and the systems that they only quote."""

from __future__ import annotations

import csv
from collections.abc import Callable
from functools import cache

from hashbench.results.claims.expressions import ColumnName
from hashbench.results.claims.grammar import UNITS, Claim, read_rows
from hashbench.results.papers.paper import PUBLISHED, Paper
from hashbench.results.read.measured import PERCENT, Measured
from hashbench.results.read.origins import task_origins
from hashbench.results.tables.paper import printed_number

ALIASES = {"rec@1": "entity_rec@1"}  # one column under two names
# Of a parameter in float32, in which the papers give sizes.
FLOAT_BYTES = 4
# Ends the name of a column of exact integers in the reference data.
EXACT = "_exact"
COSTS = ("attention_scores", "multiply_adds")  # columns of operations.csv


class Unprinted(LookupError):
    """A number that the reference data lack."""


@cache
def paper_claims() -> tuple[Claim, ...]:
    """All claims of all papers, in the file's order."""
    text = (PUBLISHED / "claims.csv").read_text(encoding="utf-8")
    rows = list(csv.DictReader(text.splitlines()))
    return tuple(read_rows(rows, [f"claims.csv: {row['id']}" for row in rows]))


def claims_of(paper: str) -> list[Claim]:
    """The claims that a paper's models are named in."""
    return [claim for claim in paper_claims() if claim.paper == paper]


@cache
def operations() -> dict[tuple[str, int], dict[str, int]]:
    """Operations of one forward pass by (model, words of the input): as `hashbench costs` counts, written down."""
    text = (PUBLISHED / "operations.csv").read_text(encoding="utf-8")
    rows = csv.DictReader(text.splitlines())
    return {(row["model"], int(row["length"])): {name: int(row[name]) for name in COSTS} for row in rows}


def published_value(paper: Paper, slug: str, column: ColumnName) -> float:
    """A printed number in single things, percent or ms. Raises Unprinted where the reference data lack it."""
    printed = printed_number(paper, slug, column.name)
    if printed is None and column.name in ALIASES:
        printed = printed_number(paper, slug, ALIASES[column.name])
    if printed is None:
        raise Unprinted(f"{slug}: {column}")
    high = printed.value_high if column.end == "high" else None
    return (printed.value if high is None else high) * (UNITS[printed.unit][1] if printed.unit in UNITS else 1.0)


def exact_value(paper: Paper, slug: str, column: str) -> float | None:
    """A size or share from the exact integers of the paper's frame, which this suite's models reproduce to the digit.

    Shares in percent. None where the column is no such, or an integer is not there.
    """
    column = column.removesuffix(EXACT)
    return EXACT_FORMS[column](paper, slug) if column in EXACT_FORMS else None


def _integer(paper: Paper, slug: str, name: str) -> float | None:
    number = printed_number(paper, slug, f"{name}{EXACT}")
    return None if number is None else number.value


def _total(paper: Paper, slug: str) -> float | None:
    return _integer(paper, slug, "total_params")


def _embedding(paper: Paper, slug: str) -> float | None:
    return _integer(paper, slug, "emb_params")


def _share(paper: Paper, slug: str) -> float | None:
    """Embedding / all, in percent."""
    part, whole = _embedding(paper, slug), _total(paper, slug)
    return None if part is None or not whole else PERCENT * part / whole


def _saved(ours: float | None, theirs: float | None) -> float | None:
    """1 - ours / theirs, in percent."""
    return None if ours is None or not theirs else PERCENT * (1 - ours / theirs)


def _saved_of_pair(paper: Paper, slug: str) -> float | None:
    """The share of parameters that a model saves against the plain model of its size."""
    for layout in paper.tables.values():
        if slug in layout.pairs:
            return _saved(_total(paper, slug), _total(paper, layout.pairs[slug]))
    return None


def _bytes(paper: Paper, slug: str) -> float | None:
    total = _total(paper, slug)
    return None if total is None else FLOAT_BYTES * total


def _projected_bytes(paper: Paper, slug: str) -> float | None:
    """Four bytes for each bit of a projection: what ProFormer prints of it; the map behind the bits is left out."""
    bits = printed_number(paper, slug, "projection_bits")
    return None if bits is None else FLOAT_BYTES * bits.value


BASELINE = "bert-mlm"  # of HashFormers' compression ratios
EXACT_FORMS: dict[str, Callable[[Paper, str], float | None]] = {
    "total_params": _total,
    "emb_params": _embedding,
    "poep": _share,
    "embedding_share": _share,
    "pcr_all": lambda paper, slug: _saved(_total(paper, slug), _total(paper, BASELINE)),
    "pcr_emb": lambda paper, slug: _saved(_embedding(paper, slug), _embedding(paper, BASELINE)),
    "params_reduction": _saved_of_pair,
    "size": _bytes,
    "embedding_memory": _projected_bytes,
}


def quoted_systems(paper: Paper) -> set[str]:
    """The names of a paper's quoted systems."""
    sections = [section for layout in paper.tables.values() for section in layout.sections]
    return {name for section in sections for name in section.quoted}


def other_test_set(measured: Measured, paper: Paper, task: str) -> str:
    """Why the experiment's test set of a task is not the one that the paper's scores speak of; '' where it is."""
    origin = task_origins(measured, paper)[task]
    if origin.built_in:
        return f"{task} is built-in data"
    official = paper.reported_rows[task] if task in paper.reported_rows else None
    if origin.n_reported != official:
        return f"{task} has {origin.n_reported or 0:,} test rows, the published set {official or 0:,}"
    printed = _printed_rows(paper, task)
    if printed is not None and official is not None and abs(printed - official) > _rounding(printed) / 2:
        return f"the paper's test set of {task} has {printed:,} rows, the published one {official:,}"
    return ""


def _printed_rows(paper: Paper, task: str) -> int | None:
    """Test rows that the paper prints of a data set."""
    for layout in paper.tables.values():
        for section in layout.sections:
            for name, ours in section.tasks.items():
                number = printed_number(paper, name, "test") if ours == task else None
                if number is not None:
                    return round(number.value)
    return None


def _rounding(number: int) -> int:
    """The unit of the last digit that is not a trailing zero.

    >>> _rounding(15_000), _rounding(893)
    (1000, 1)
    """
    unit = 1
    while number and number % (10 * unit) == 0:
        unit *= 10
    return unit
