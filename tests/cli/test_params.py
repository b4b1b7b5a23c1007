"""`params`: counts beside the published ones."""

from __future__ import annotations

import csv
import io
import json
import re
from importlib.resources import files

from tests.cli.commands import Run, fails


def reference(column: str) -> dict[str, int]:
    """Exact counts of the reference data by model, of the models that this release has."""
    text = (files("hashbench.results.papers") / "published/hashformers.csv").read_text()
    rows = [row for row in csv.DictReader(io.StringIO(text)) if row["column"] == column]
    return {row["model"]: int(row["value"]) for row in rows if re.match("hashformer|bert|canine", row["model"])}


def test_params_equal_the_published_counts_to_the_digit(run: Run) -> None:
    rows = list(csv.DictReader(io.StringIO(run("params", "--encoder", "base", "--format", "csv").out)))
    assert list(rows[0]) == [
        "model",
        "paper",
        "frame",
        "total_params",
        "emb_params",
        "published_total",
        "published_emb",
    ]
    found = {row["model"]: row for row in reversed(rows)}  # the first of a model is in the frame of its paper
    totals, embeddings = reference("total_params_exact"), reference("emb_params_exact")
    assert len(totals) == len(embeddings) == 17
    assert {name: int(found[name]["total_params"]) for name in totals} == totals
    assert {name: int(found[name]["emb_params"]) for name in embeddings} == embeddings
    proj = found["hashformer-md-proj"]
    assert (proj["published_total"], proj["published_emb"]) == ("86100000", "99100")  # printed as 86.1M and 99.1K


def test_params_of_a_model_with_two_frames(run: Run) -> None:
    """The second is the one nearest to what the paper printed."""
    rows = json.loads(run("params", "canine-c", "--all-frames", "--format", "json").out)
    assert [(row["total_params"], row["emb_params"]) for row in rows] == [
        (132_084_482, 12_582_912),
        (reference("total_params_published_frame")["canine-c"], reference("emb_params_published_frame")["canine-c"]),
    ]
    assert [row["published_total"] for row in rows] == [121_000_000] * 2
    assert "2,048 positions that were trained" in rows[1]["frame"]


def test_params_of_a_paper_are_its_models(run: Run) -> None:
    rows = list(csv.DictReader(io.StringIO(run("params", "--paper", "hashformers", "--format", "csv").out)))
    assert {row["paper"] for row in rows} == {"hashformers"}
    assert [row["model"] for row in rows][:2] == ["bert-mlm", "bert-sr"]  # the order of the paper's tables
    assert len({row["model"] for row in rows}) == len(rows) >= 16
    fails(run("params", "--paper", "eelbrt"), "--paper: no paper 'eelbrt'; did you mean 'eelbert'")


def test_params_at_budgets_that_no_model_meets(run: Run) -> None:
    done = run("params", "hashformer-md-emb-50k", "--budget", "130,140")
    fails(done, "no embedding within 2 % of 130 parameters; the nearest has 4,608 (num_buckets 1) (and 1 more like it)")
    some = run("params", "hashformer-md-emb-50k", "--budget", "130,0.8M", "--format", "json")
    assert [row["budget"] for row in json.loads(some.out)] == ["0.8M"] and "within 2 % of 130" in some.err


def test_named_models_show_how_far_apart_their_word_vectors_begin(run: Run) -> None:
    (row,) = csv.DictReader(io.StringIO(run("params", "bert-mlm", "--encoder", "tiny", "--format", "csv").out))
    assert float(row["spread"]) == float(row["positions_spread"]) == 0.0176
    assert float(row["spread_ratio"]) == 1.0
