"""`quickstart`, `init`, and the experiments and results that come with the program, by name."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from hashbench.common import shipped
from hashbench.common.shipped import experiments
from hashbench.running.experiment.load import load_experiment
from tests.cli.commands import Run, fails
from tests.databases.made_up import World, build

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def untold() -> None:
    shipped._tell_once.cache_clear()


def test_the_quickstart_sweeps_the_shipped_file_and_prints_its_table(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    import hashbench.running.sweep.runner as runner

    swept = []

    def sweep(loaded, *, db):  # type: ignore[no-untyped-def]
        swept.append(loaded.path)
        build(Path(db), World(name="quickstart", seeds=(0,), tasks=("cola", "sst2")))
        return runner.DONE

    monkeypatch.setattr(runner, "sweep", sweep)
    Path("quickstart.yaml").write_text("name: another\nmodels: [bert-mlm]\n")  # which does not count
    outcome = run("quickstart")
    assert (outcome.code, swept) == (0, [experiments()["quickstart"]])
    assert Path("quickstart.db").is_file()
    assert "Experiment quickstart" in outcome.out and "hashformers table" not in outcome.out
    assert "hashbench report quickstart --table 1 --db quickstart.db" in outcome.err
    assert "hashbench report glue_tiny --db example" in outcome.err


def test_a_quickstart_with_failed_runs_prints_no_tables(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hashbench.running.sweep.runner.sweep", lambda loaded, db: 1)
    assert run("quickstart").code == 1


def test_init_writes_an_experiment_that_passes_check(run: Run) -> None:
    outcome = run("init", "own")
    assert (outcome.code, outcome.out) == (0, "own.yaml\nown.py\nhashbench.schema.json\n")
    assert Path("own.yaml").read_text().splitlines()[0] == "# yaml-language-server: $schema=hashbench.schema.json"
    assert json.loads(Path("hashbench.schema.json").read_text())["properties"]
    assert not re.search("NAME", Path("own.yaml").read_text() + Path("own.py").read_text())
    checked = run("check", "own.yaml")
    assert checked.code == 0 and "own-ngrams" in checked.out
    assert run("check", "--coder", "own.py:Ngrams").code == 0
    embedding = run("check", "--embedding", "own.py:NgramBuckets", "--coder", "own.py:Ngrams")
    assert embedding.code == 0, embedding.out


def test_init_writes_the_file_that_the_docs_show(run: Run) -> None:
    run("init")
    assert Path("mine.py").read_text() in (ROOT / "docs" / "extend.md").read_text()


def test_init_writes_a_classifier_of_own_texts_that_can_be_swept(run: Run) -> None:
    outcome = run("init", "questions", "--classifier")
    assert (outcome.code, outcome.out) == (0, "questions.yaml\nhashbench.schema.json\n")
    Path("questions-texts").mkdir()
    rows = [f"{word} text number {n},{label}" for n in range(30) for word, label in (("good", "yes"), ("bad", "no"))]
    Path("questions-texts/train.csv").write_text("\n".join(["text,label", *rows]) + "\n")
    planned = run("sweep", "questions.yaml", "--dry-run")
    assert planned.code == 0, planned.err
    assert re.search(r"^hashed +num_buckets 14,\d+ +2[23]\d,\d+ ", planned.out, re.MULTILINE)
    assert run("sweep", "questions.yaml", "floors=[majority]").code == 0
    exported = run("export", "my-classifier", "--experiment", "questions", "--model", "hashed", "--onnx", "--int8")
    assert exported.code == 0, exported.err
    assert sum(file.stat().st_size for file in Path("my-classifier/onnx").iterdir()) < 300_000
    answer = run("predict", "my-classifier", "good text number 99")
    assert (answer.code, answer.out) == (0, "yes\n")


@pytest.mark.parametrize("there", ["own.yaml", "own.py"])
def test_init_keeps_what_is_there(run: Run, there: str) -> None:
    Path(there).write_text("mine")
    fails(run("init", "own"), f"{there}: is there already; choose another name")
    assert Path(there).read_text() == "mine" and len(list(Path().glob("own.*"))) == 1


@pytest.mark.parametrize("name", ["a/b", "../x", "mine.yaml", "1st", "", "a b", "-x", "ü"])
def test_init_refuses_what_is_no_name(run: Run, name: str) -> None:
    outcome = run("init", "--", name)
    fails(outcome, "no name of an experiment")
    assert not list(Path().glob("*.py"))


def test_init_refuses_the_name_of_a_shipped_experiment(run: Run) -> None:
    fails(run("init", "glue_tiny"), "comes with hashbench has this name")


def test_the_list_has_every_file_with_its_first_sentence(run: Run) -> None:
    rows = json.loads(run("experiments", "--format", "json").out)
    assert [row["experiment"] for row in rows] == list(experiments())
    for row in rows:
        assert row["about"].endswith((".", "?")) and len(row["about"]) > 20, row


@pytest.mark.parametrize("name", experiments())
def test_every_shipped_file_is_shown_as_it_is(run: Run, name: str) -> None:
    outcome = run("experiments", name)
    assert (outcome.code, outcome.out) == (0, experiments()[name].read_text())


def test_a_shown_file_works_with_those_that_it_names(run: Run) -> None:
    outcome = run("experiments", "budgets_tiny")
    Path("copy.yaml").write_text(outcome.out)
    for line in outcome.err.splitlines():
        name = line.rpartition(" ")[2]
        Path(name).write_text(run("experiments", name).out)
    assert load_experiment("copy.yaml").experiment == load_experiment("budgets_tiny").experiment


@pytest.mark.parametrize("name", ["glue_tinny", "../pyproject.toml", "", "schema", "/etc/hostname"])
def test_only_files_of_the_experiments_are_shown(run: Run, name: str) -> None:
    fails(run("experiments", name), "no such experiment")


def test_a_name_is_an_experiment_in_every_command(run: Run) -> None:
    assert "quickstart: valid" in run("check", "quickstart").out
    assert run("sweep", "quickstart", "--dry-run").code == 0
    fails(run("worker", "quickstrat"), "did you mean 'quickstart'")
    fails(run("data", "prepare", "nothing"), "no experiment has this name")
    fails(run("check", "quickstart", "tasks=[colaa]"), "override tasks=[colaa]: unknown task 'colaa'")


def test_the_example_is_read_by_its_name(run: Run) -> None:
    assert "glue_tiny" in run("list", "--db", "example").out
    assert not list(Path().glob("example*"))


@pytest.mark.parametrize(
    "line", ["sweep small.yaml", "db upgrade", "db void aaaa --reason x", "db merge small.yaml", "worker small.yaml"]
)
def test_nothing_writes_the_example(run: Run, line: str) -> None:
    before = shipped.example_database().stat()
    outcome = run(*line.split(), "--db", "example")
    assert outcome.code == 2 and "hashbench: example: the example database, which is only read" in outcome.err
    assert shipped.example_database().stat().st_mtime_ns == before.st_mtime_ns


def test_a_file_called_example_wins_and_is_named(run: Run) -> None:
    build(Path("example"), World(name="here", seeds=(0,), tasks=("cola",)))
    outcome = run("list", "--db", "example")
    assert "here" in outcome.out and "glue_tiny" not in outcome.out
    assert (
        outcome.err
        == f"--db example: the file {Path('example').resolve()}, not the example database that comes with hashbench\n"
    )
