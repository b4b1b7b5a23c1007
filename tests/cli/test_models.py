"""`models`: all models, for programs and for people."""

from __future__ import annotations

import csv
import io
import json

from tests.cli.commands import Run


def test_models(run: Run) -> None:
    rows = {row["model"]: row for row in csv.DictReader(io.StringIO(run("models", "--format", "csv").out))}
    assert sum("hashformers" in row["groups"].split(", ") for row in rows.values()) == 10
    proj, mlm = rows["hashformer-md-proj"], rows["bert-mlm"]
    assert (proj["tokens"], proj["code"], proj["needs"]) == ("words", "md5-bits", "corpus (shuffle + random)")
    assert (proj["total_params"], proj["emb_params"]) == ("86146562", "99072")
    assert (mlm["tokens"], mlm["code"], mlm["needs"]) == ("bpe", "vocabulary", "corpus (MLM)")
    assert json.loads(run("models", "--format", "json").out)[0]["paper"] == "hashformers"


def test_models_for_people_have_short_sizes_and_their_groups(run: Run) -> None:
    lines = run("models").out.splitlines()
    row = next(line for line in lines if line.startswith("hashformer-md-emb-1k "))
    assert row.split()[1:6] == ["words", "md5-rows", "1033", "86.8M", "797.2K"]
    assert "corpus (shuffle + random)" in row and row.endswith("hashformers")
    assert run("models", "--format", "latex").out.startswith("% needs")
