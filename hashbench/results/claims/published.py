"""The papers' claims, their printed numbers, exact counts, and the systems whose scores they only quote."""

from __future__ import annotations

import csv
from collections.abc import Callable
from functools import cache, partial

from hashbench.results.claims.claim import UNITS, Claim, read_rows
from hashbench.results.claims.grammar import ColumnName, Missing
from hashbench.results.papers.paper import PUBLISHED, Paper, load_paper, papers
from hashbench.results.read.measured import PERCENT, Measured
from hashbench.results.read.origins import task_origins
from hashbench.results.tables.paper import printed_number

ALIASES = {"rec@1": "entity_rec@1"}  # one column under two names
# Of a parameter in float32, in which the papers give sizes.
FLOAT_BYTES = 4
# Ends the name of a column of exact integers in the reference data.
EXACT = "_exact"
COSTS = ("attention_scores", "multiply_adds")  # columns of operations.csv
BASELINE = "bert-mlm"  # of HashFormers' compression ratios


@cache
def paper_claims() -> tuple[Claim, ...]:
    """All claims of all papers, in the file's order."""
    text = (PUBLISHED / "claims.csv").read_text(encoding="utf-8")
    rows = list(csv.DictReader(text.splitlines()))
    return tuple(read_rows(rows, [f"claims.csv: {row['id']}" for row in rows], models=()))


def claims_of(paper: str) -> list[Claim]:
    """The claims of one paper, by its name."""
    return [claim for claim in paper_claims() if claim.paper == paper]


@cache
def published_models() -> frozenset[str]:
    """The models of all papers, as their printed numbers name them."""
    return frozenset(model for name in papers() for _, model, _ in load_paper(name).numbers)


@cache
def operations() -> dict[tuple[str, int], dict[str, int]]:
    """Operations of one forward pass by (model, words of the input), as `hashbench costs` counts them."""
    text = (PUBLISHED / "operations.csv").read_text(encoding="utf-8")
    rows = csv.DictReader(text.splitlines())
    return {(row["model"], int(row["length"])): {name: int(row[name]) for name in COSTS} for row in rows}


def published_value(paper: Paper, slug: str, column: ColumnName) -> float:
    """The number that a paper prints, unscaled (38.6M is 38,600,000). Raises Missing for one that is not stored."""
    printed = printed_number(paper, slug, column.name)
    if printed is None and column.name in ALIASES:
        printed = printed_number(paper, slug, ALIASES[column.name])
    if printed is None:
        raise Missing(f"{slug}: {column}")
    high = printed.value_high if column.end == "high" else None
    return (printed.value if high is None else high) * (UNITS[printed.unit][1] if printed.unit in UNITS else 1.0)


def exact_value(paper: Paper, slug: str, column: str) -> float | None:
    """A model's size or share from the exact parameter counts of its paper, which the suite's models reproduce.

    Shares in percent. None for another column, and where the reference data lack an integer.
    """
    form = EXACT_FORMS.get(column.removesuffix(EXACT))
    try:
        return form(paper, slug) if form else None
    except Missing:
        return None


def _integer(paper: Paper, slug: str, column: str) -> float:
    number = printed_number(paper, slug, column)
    if number is None:
        raise Missing(f"{slug}: {column}")
    return number.value


def _total(paper: Paper, slug: str) -> float:
    return _integer(paper, slug, f"total_params{EXACT}")


def _embedding(paper: Paper, slug: str) -> float:
    return _integer(paper, slug, f"emb_params{EXACT}")


def _share(paper: Paper, slug: str) -> float:
    """The embedding's share of all parameters, in percent."""
    return PERCENT * _embedding(paper, slug) / _total(paper, slug)


def _saved(parameters: Callable[[Paper, str], float], paper: Paper, slug: str, *, of: str = BASELINE) -> float:
    """The share of parameters that a model saves against the model `of`, in percent."""
    return PERCENT * (1 - parameters(paper, slug) / parameters(paper, of))


def _saved_of_pair(paper: Paper, slug: str) -> float:
    """The share of parameters that a model saves against the plain model of its size, in percent. Raises Missing."""
    plain = next((layout.pairs[slug] for layout in paper.tables.values() if slug in layout.pairs), None)
    if plain is None:
        raise Missing(f"{slug}: plain model of its size")
    return _saved(_total, paper, slug, of=plain)


EXACT_FORMS: dict[str, Callable[[Paper, str], float]] = {
    "total_params": _total,
    "emb_params": _embedding,
    "poep": _share,
    "embedding_share": _share,
    "pcr_all": partial(_saved, _total),
    "pcr_emb": partial(_saved, _embedding),
    "params_reduction": _saved_of_pair,
    "size": lambda paper, slug: FLOAT_BYTES * _total(paper, slug),
    # ProFormer prints four bytes for each bit of a projection; the map behind the bits is left out.
    "embedding_memory": lambda paper, slug: FLOAT_BYTES * _integer(paper, slug, "projection_bits"),
}


def quoted_systems(paper: Paper) -> set[str]:
    """Names of the systems whose scores a paper quotes from other papers and that are not trained here."""
    sections = [section for layout in paper.tables.values() for section in layout.sections]
    return {name for section in sections for name in section.quoted}


def other_test_set(measured: Measured, paper: Paper, task: str) -> str:
    """The reason that the experiment's test set of a task is not the one of the paper's scores; '' where it is."""
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
    """The number of test rows that the paper prints for a task, or None."""
    for layout in paper.tables.values():
        for section in layout.sections:
            for name, of_task in section.tasks.items():
                number = printed_number(paper, name, "test") if of_task == task else None
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
