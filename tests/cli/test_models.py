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


def test_models_for_people_stand_under_their_papers(run: Run) -> None:
    lines = run("models").out.splitlines()
    head = next(i for i, line in enumerate(lines) if line.startswith("Xue and Aletras"))
    assert lines[head + 1].startswith("groups: canine, hashformers, hashformers-bpe, baselines")
    row = next(line for line in lines[head:] if line.startswith("hashformer-md-emb-1k "))
    assert row.split()[1:6] == ["words", "md5-rows", "1033", "86.8M", "797.2K"]
    assert row.endswith("corpus (shuffle + random)")
    assert max(map(len, lines)) <= 114
