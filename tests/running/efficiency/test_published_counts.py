"""Every exact count of the reference data against the models, to the digit, in the frame of its paper."""

from __future__ import annotations

import csv
from collections.abc import Callable
from importlib.resources import files

import pytest

from hashbench.models.embeddings.base import Counts, Frame, ModelSpec, Parts, stored
from hashbench.models.embeddings.registry import find_model, models
from hashbench.running.efficiency.parameters import OF_PAPERS, count, frame_of, with_pooler

PAPERS = ("hashformers", "eelbert", "proformer", "superbloom")
BYTES = 4  # of a float32
CLASSES = {"mrda": 6, "atis": 21, "ag": 4, "yahoo-answers": 10}  # ProFormer, table 2


def _exact() -> list[tuple[str, str, str, int]]:
    """(paper, model, column, integer) of all derived counts."""
    found = []
    for paper in PAPERS:
        text = (files("hashbench.results.papers") / "published" / f"{paper}.csv").read_text(encoding="utf-8")
        for row in csv.DictReader(text.splitlines()):
            if "_exact" in row["column"] and not row["column"].endswith("_paper_fit"):
                found.append((paper, row["model"], row["column"], int(row["value"])))
    return found


EXACT = _exact()


def _total(spec: ModelSpec, paper: str) -> int:
    return count(spec, frame=frame_of(spec, paper)).total


def _of_frame(counted: Callable[..., object]) -> Callable[[ModelSpec, str], int]:
    return lambda spec, paper: count(spec, frame=Frame("", counted)).total  # type: ignore[arg-type]


def bare(parts: Parts) -> Counts:
    """Encoder and embedding, without pooler and head."""
    return Counts(stored(parts.encoder) + stored(parts.embedding), 0)


def _rows(spec: ModelSpec, paper: str) -> int:
    """Rows of the table: its numbers by the dimension, which a model of a fixed size names."""
    return count(spec).embedding // int(spec.encoder.args["dim"])


# How a column of the reference data is counted.
COUNTED: dict[str, Callable[[ModelSpec, str], int]] = {
    "total_params_exact": _total,
    "emb_params_exact": lambda spec, paper: count(spec, frame=frame_of(spec, paper)).embedding,
    "size_bytes_exact": lambda spec, paper: BYTES * _total(spec, paper),
    "encoder_params_exact": _of_frame(bare),
    "encoder_pooler_params_exact": _of_frame(with_pooler),
    "cls2_params_exact": lambda spec, paper: count(spec, n_classes=2, deployed=True).total,
    "total_params_exact_no_head": _of_frame(bare),
    "vocab_size_exact": _rows,
    **{
        f"total_params_exact_{name}": lambda spec, paper, n=n: count(spec, n_classes=n).total  # type: ignore[misc]
        for name, n in CLASSES.items()
    },
}


@pytest.mark.parametrize(("paper", "model", "column", "exact"), EXACT, ids=str)
def test_an_exact_count(paper: str, model: str, column: str, exact: int) -> None:
    assert COUNTED[column](find_model(model), paper) == exact


def test_every_column_of_the_reference_data_is_counted() -> None:
    assert {column for _, _, column, _ in EXACT} == set(COUNTED)
    assert len(EXACT) == 165  # 36 + 46 + 29 + 54 in the order of PAPERS


@pytest.mark.parametrize("paper", PAPERS)
def test_every_printed_count_is_of_a_model_here_and_has_an_exact_one(paper: str) -> None:
    """A model that loses its name, or a count without its check, would go unnoticed."""
    text = (files("hashbench.results.papers") / "published" / f"{paper}.csv").read_text(encoding="utf-8")
    rows = csv.DictReader(text.splitlines())
    printed = {row["model"] for row in rows if row["column"] in ("total_params", "emb_params")}
    exact = {model for owner, model, _, _ in EXACT if owner == paper}
    assert printed and printed | exact <= set(models())
    assert printed <= exact


def test_a_paper_that_counts_another_familys_model_has_a_frame_for_it() -> None:
    known = {(paper, model) for paper, model, _, _ in EXACT}
    assert set(OF_PAPERS) <= known
    for (paper, model), frame in OF_PAPERS.items():
        assert find_model(model).origin.paper != paper and frame.words


def test_counts_that_would_fit_superblooms_printed_ones() -> None:
    """Other numbers of special items or buckets, row by row of d numbers and a bias (tables 1 and 4)."""
    exact = {(model, column): value for _, model, column, value in EXACT}
    fits = {}
    text = (files("hashbench.results.papers") / "published" / "superbloom.csv").read_text(encoding="utf-8")
    for row in csv.DictReader(text.splitlines()):
        if row["column"].endswith("_paper_fit"):
            fits[row["model"]] = int(row["value"])
    rows_more = {  # model -> (rows that the fit has more, d)
        "superbloom-a50": (2 * 100_352 + 6 - 211_282, 768),
        "superbloom-text-baseline-h64": (-3, 64),  # 985 special items inside the million
        "superbloom-text-baseline-h256": (-3, 256),
        "superbloom-text-hash40-h512": (2 * (985 - 3), 512),
        "superbloom-text-hash20-h1024": (2 * (985 - 3), 1024),
    }
    for model, (more, dim) in rows_more.items():
        assert fits[model] == exact[model, "total_params_exact"] + more * (dim + 1)
    assert set(fits) == set(rows_more)
