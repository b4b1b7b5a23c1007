"""`hashbench compare` as a user calls it."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from pathlib import Path

import pytest

from hashbench.cli.app import main
from tests.databases.compared import Trained, build

A = Trained("bert-mlm", {"validation": range(0, 4)})
B = Trained("bert-sr", {"validation": range(2, 10)})


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A function from arguments to (exit code, stdout, stderr), beside two databases."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HASHBENCH_DB", raising=False)
    build(Path("results.db"), {"one": [A, B]}).close()
    build(Path("other.db"), {"one": [replace(A, wrong={"validation": range(9)}), replace(B, kept=False)]}).close()

    def run(*arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as left:
            main(["compare", *arguments])
        out, err = capsys.readouterr()
        return int(left.value.code or 0), out, err

    return run


def test_for_people(command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    code, out, err = command("bert-mlm", "bert-sr")
    assert (code, err) == (0, "")
    assert out.startswith("A: bert-mlm - B: bert-sr\n!! SAMPLED DATA: ") and "!! ONE SEED: " in out
    row = next(line.split() for line in out.splitlines() if line.startswith("sst2"))
    assert row[:5] == ["sst2", "accuracy", "90.0", "80.0", "10.0"]
    assert row[6:] == ["one", "seed", "1", "40", "15.0", "/", "5.0"]
    assert "bert-sr, experiment one (results.db)" in out and "0, which both have" in out and "sweep more seeds" in out


@pytest.mark.parametrize("width", [60, 80, 120])
def test_it_keeps_to_the_width_of_a_terminal(command, monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    out = command("bert-mlm", "bert-sr")[1]
    assert max(map(len, out.splitlines())) <= width
    rows = [line.split() for line in out.splitlines() if line.startswith("sst2 ")]
    assert [cell for row in rows for cell in row if cell != "sst2"][:4] == ["accuracy", "90.0", "80.0", "10.0"]


def test_rows_for_programs_are_alone_on_stdout(command) -> None:
    code, out, err = command("bert-mlm", "bert-sr", "--format", "csv")
    (row,) = csv.DictReader(io.StringIO(out))
    assert code == 0 and float(row["a-b"]) == pytest.approx(10.0) and float(row["low"]) < 10 < float(row["high"])
    assert "!! ONE SEED: " in err
    assert json.loads(command("bert-mlm", "bert-sr", "--format", "json")[1])[0]["only_a_right"] == pytest.approx(15.0)


def test_markdown_rows_are_a_table(command) -> None:
    out = command("bert-mlm", "bert-sr", "--format", "md")[1]
    assert "| task | metric | a | b | a-b | 95 % |" in out and "| sst2 | accuracy |" in out


def test_the_same_model_in_two_databases(command) -> None:
    code, out, _ = command("bert-mlm", "--db", "results.db", "--db", "other.db")
    assert code == 0 and "bert-mlm, experiment one (other.db)" in out
    assert next(line.split()[4] for line in out.splitlines() if line.startswith("sst2")) == "12.5"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["bert-mlm"], "name two models or experiments, or give --db twice"),
        (["bert-mlm", "bert-sr", "--db", "other.db"], "no stored predictions on validation"),
        (["bert-mlm", "bert-srr"], "did you mean 'bert-sr'"),
        (["one", "bert-sr", "--best"], "compare --best is gone: "),
        (["bert-mlm", "--db", "a", "--db", "b", "--db", "c"], "--db is given 3 times"),
        (["bert-mlm", "bert-sr", "--db", "none.db"], "none.db: no such database"),
    ],
)
def test_wrong_input_is_one_line(command, arguments: list[str], message: str) -> None:
    code, out, err = command(*arguments)
    assert (code, out, err.count("\n")) == (2, "", 1) and message in err


def test_the_experiment_comes_first_as_in_a_report(command) -> None:
    assert command("one", "bert-mlm", "bert-sr") == command("bert-mlm", "bert-sr")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("one bert-mlm", "name two models or experiments"),
        ("one bert-mlm bert-sr bert-sr", "3 models are named; compare two, A and B"),
        ("oen bert-mlm bert-sr", "compare two, A and B; no experiment 'oen'; did you mean 'one'?"),
        ("bert-mlm bert-sr --experiment one", "compare --experiment is gone: "),
    ],
)
def test_a_wrong_number_of_names_is_one_line(command, line: str, message: str) -> None:
    code, out, err = command(*line.split())
    assert (code, out, err.count("\n")) == (2, "", 1) and message in err
