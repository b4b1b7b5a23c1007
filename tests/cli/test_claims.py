"""`hashbench report claims` as it is called: exit codes, one line for what is wrong, stdout for results alone."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from hashbench.cli.app import main
from tests.results.claims.world import Answers, build

HEAD = "id,kind,left,right,column,unit\n"


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("command") / "results.db"
    build(path, [Answers("bert-mlm", 0.9), Answers("bert-sr", 0.6), Answers("majority", 0.5, None)])
    return path


def _run(capsys: pytest.CaptureFixture[str], db: Path, *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as left:
        main(["report", "claims", "--db", str(db), *arguments])
    said = capsys.readouterr()
    return int(str(left.value.code or 0)), said.out, said.err


def test_a_papers_claims_are_printed_with_their_counts(db: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = _run(capsys, db, "--paper", "hashformers", "--full")
    assert code == 0
    assert "hashformers-05  5.1, abstract, Table 1, 5.2" in out and "hashformers-05  abstract, 5.2: 1 holds" in out
    words = " ".join(out.split())
    assert "By arithmetic on parameters, bytes and operations, 14 claims: " in words
    assert "58 further claims name models that the experiment does not have: not counted." in words
    sizes = words.partition("counted here")[2]  # of all of the paper's models
    assert sizes and "does not have" not in sizes and "not in this experiment" not in sizes


def test_without_full_there_are_counts_and_decided_claims_alone(db: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, brief, _ = _run(capsys, db, "--paper", "hashformers")
    assert (
        code == 0 and "undecided (" not in brief.replace(") undecided (", "") and "--full prints every claim" in brief
    )
    assert "By arithmetic on parameters, bytes and operations, 14 claims: " in " ".join(brief.split())
    _, full, _ = _run(capsys, db, "--paper", "hashformers", "--full")
    assert len(brief.splitlines()) < len(full.splitlines())


def test_without_a_paper_the_claims_that_name_a_model_are_decided(db: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = _run(capsys, db, "--format", "json")
    ids = [claim["id"] for section in json.loads(out) for claim in section["claims"]]
    assert code == 0 and "hashformers-10a" in ids and "hashformers-02a" not in ids


def test_a_file_of_own_claims_is_decided(db: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "own.csv").write_text(HEAD + "own-1,greater,bert-mlm,bert-sr,sst2,percent\n")
    code, out, _ = _run(capsys, db, "--claims-file", str(tmp_path / "own.csv"), "--format", "csv")
    rows = {row["id"]: row for row in csv.DictReader(io.StringIO(out))}
    assert (code, rows["own-1"]["verdict"], rows["own-1"]["because"]) == (0, "undecided", "one seed")
    assert rows["own-1"]["remarks"] == "one seed: examples only; on its examples alone it holds"


def test_one_seed_is_decided_where_that_is_asked_for_and_every_line_says_so(
    db: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "own.csv").write_text(HEAD + "own-1,greater,bert-mlm,bert-sr,sst2,percent\n")
    arguments = ("--claims-file", str(tmp_path / "own.csv"))
    code, out, _ = _run(capsys, db, *arguments, "--one-seed")
    assert code == 0 and "holds (one seed)" in out and "one seed: examples only" in " ".join(out.split())
    assert "On scores, 1 claim: 1 holds (1 one seed), 0 fail" in out
    code, out, _ = _run(capsys, db, *arguments)
    assert code == 0 and "undecided (one seed)" in out and "on its examples alone it holds" in " ".join(out.split())


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("own-1,bigger,bert-mlm,bert-sr,sst2,percent", "own.csv:2: claim 'own-1': unknown kind 'bigger'"),
        ("own-1,greater,bert-mlm,bert-xr,sst2,percent", "unknown model 'bert-xr'; did you mean 'bert-sr'"),
        ("own-1,greater,bert-mlm,bert-sr,sst,percent", "unknown column 'sst'; did you mean 'sst2'"),
    ],
)
def test_wrong_claims_are_one_line_and_code_2(
    db: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path, row: str, said: str
) -> None:
    (tmp_path / "own.csv").write_text(HEAD + row + "\n")
    code, out, err = _run(capsys, db, "--claims-file", str(tmp_path / "own.csv"))
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert said in err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--table", "2"], "No such option: --table"),
        (["--format", "latx"], "--format: no format 'latx'; did you mean 'latex'?; there are: text, md, csv, json, l"),
        (["--paper", "hashformer"], "no paper 'hashformer'; did you mean 'hashformers'"),
        (["--paper", "eelbert", "another"], "no experiment 'another'"),
    ],
)
def test_wrong_options_are_one_line_and_code_2(
    db: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    code, out, err = _run(capsys, db, *arguments)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert said in err


def test_a_database_without_predictions_is_one_line_and_code_2(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    build(tmp_path / "bare.db", [Answers("strong", 0.9, stored=False), Answers("weak", 0.6, stored=False)])
    (tmp_path / "own.csv").write_text(HEAD + "own-1,greater,strong,weak,sst2,percent\n")
    code, out, err = _run(capsys, tmp_path / "bare.db", "--claims-file", str(tmp_path / "own.csv"))
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "one seed and no stored predictions" in err and "read the database that the sweep wrote" in err
