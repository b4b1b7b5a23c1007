"""Finished models on further labelled sets: stored once, read like any other result, and wrong input in one line."""

from __future__ import annotations

import contextlib
import csv
import json
import shutil
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hashbench.cli.app import main
from hashbench.data.sources.sources import open_sources
from hashbench.data.tasks.catalogue import find_task, load_task
from hashbench.results.exchange.merge import merge
from hashbench.results.read.comparison import compare
from hashbench.results.read.evidence import Evidence
from hashbench.results.read.measured import measure
from hashbench.running.sweep import attempt, evaluate
from hashbench.scores.base import metrics
from hashbench.store.engine import Store, open_store
from hashbench.store.status import predictions
from tests.running.sweep.test_worker import away

pytestmark = pytest.mark.usefixtures("warm_workers")

EXPERIMENT = """\
name: later
data: builtin
encoder: tiny
models:
  - {name: proj, like: hashformer-md-proj, objective: none}
  - {name: add, like: hashformer-md-add, objective: none}
baseline: add
tasks: [sst2, rte]
seeds: [0, 1]
floors: [majority]
finetune: {epochs: 1, batch_size: 64, max_length: 24, evaluations_per_epoch: 1, learning_rate: 1.0e-3}
keep_weights: best
threads: 1
"""


def command(*arguments: object) -> int:
    """Exit code of a command."""
    with pytest.raises(SystemExit) as ended:
        main(list(map(str, arguments)))
    return int(ended.value.code or 0)


def refused(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    """The one line with which a command refuses its input."""
    assert command("evaluate", *arguments) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1, err
    return err


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a finished sweep, its database and its cache, and the reporting set of sst2 as a file."""
    folder = tmp_path_factory.mktemp("later")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("HASHBENCH_CACHE", str(folder / "cache"))
        Path("later.yaml").write_text(EXPERIMENT)
        assert command("sweep", "later.yaml") == 0
    split = load_task(find_task("sst2"), open_sources("builtin")).splits["validation"]
    rows = {"sentence": split.texts[0], "label": split.labels.tolist()}
    pq.write_table(pa.table(rows), folder / "same.parquet")
    return folder


@pytest.fixture
def here(swept: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of the test's own with a copy of the database."""
    for name in ("later.yaml", "same.parquet"):
        shutil.copy(swept / name, tmp_path)
    copy_database(swept / "results.db", tmp_path / "results.db")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HASHBENCH_CACHE", str(swept / "cache"))
    return tmp_path


def copy_database(source: Path, target: Path) -> None:
    """A copy, what is not yet in the main file included."""
    with contextlib.closing(sqlite3.connect(source)) as ours, contextlib.closing(sqlite3.connect(target)) as theirs:
        ours.backup(theirs)


@contextlib.contextmanager
def opened(path: str = "results.db") -> Iterator[Store]:
    """The database while no command works on it: SQLite's locks belong to the whole process."""
    store = open_store(path)
    yield store
    store.close()


def query(sql: str, path: str = "results.db", **parameters: str) -> list[Mapping[str, Any]]:
    """Rows of the database as it is now."""
    with opened(path) as store:
        return list(store.query(sql, **parameters))


def tunings(task: str = "sst2") -> list[str]:
    """Ids of the fine-tunings on a task."""
    rows = query("SELECT id FROM run WHERE kind = 'finetune' AND task = :task ORDER BY id", task=task)
    return [row["id"] for row in rows]


def attempts() -> int:
    return int(query("SELECT COUNT(*) AS n FROM attempt")[0]["n"])


def test_on_the_reporting_set_itself_predictions_and_scores_are_those_of_the_fine_tuning(here: Path) -> None:
    run_id = tunings()[0]
    assert command("evaluate", run_id[:10], "--on", "same.parquet") == 0
    row = query("SELECT id, data_fingerprint FROM run WHERE kind = 'evaluation'")[0]
    with opened() as store:
        ours, theirs = predictions(store, row["id"], "test", "best"), predictions(store, run_id, "validation", "best")
    assert ours is not None and theirs is not None
    np.testing.assert_allclose(ours.outputs, theirs.outputs, atol=1e-5)
    assert (ours.targets == theirs.targets).all()
    found = {
        row["task"]: row["value"]
        for row in query(
            "SELECT task, value FROM scores WHERE own = 1 AND checkpoint = 'best' AND (run_id = :a OR run_id = :b)",
            a=run_id, b=row["id"],
        )
    }  # fmt: skip
    assert found["same"] == pytest.approx(found["sst2"], abs=1e-12)


def test_the_second_time_nothing_is_computed_even_without_weights(here: Path, capsys, monkeypatch) -> None:
    run_id = tunings()[0]
    assert command("evaluate", run_id, "--on", "same.parquet") == 0
    before, first = attempts(), capsys.readouterr().out
    monkeypatch.setenv("HASHBENCH_CACHE", str(here / "empty"))
    assert command("evaluate", run_id, "--on", "same.parquet") == 0
    assert attempts() == before
    assert capsys.readouterr().out.replace(" (stored before)", "") == first


def test_reports_and_comparisons_read_it_like_a_task_and_no_average_has_it(here: Path, capsys) -> None:
    before = {row["model"]: row["value"] for row in query("SELECT * FROM paper_averages WHERE paper = 'own'")}
    assert command("evaluate", "--experiment", "later", "--task", "sst2", "--on", "same.parquet", "--name", "adv") == 0
    assert len(capsys.readouterr().out.splitlines()) == 4  # two models, two seeds
    after = {row["model"]: row["value"] for row in query("SELECT * FROM paper_averages WHERE paper = 'own'")}
    assert after == before
    with opened() as store:
        measured = measure(store, "later")
        lines = {line.task: line for line in compare([store], "proj", "add", experiment="later", draws=50).lines}
        entry = measured.entries[0]
        low, high, n = Evidence(store, measured, draws=50).interval(entry, [measured.own(entry, "adv")]) or (0, 0, 0)
    assert measured.further_sets() == ["adv"] and measured.tasks()[-1] == "adv"
    assert len(measured.trainings()) == 8
    assert low < high and n == len(pq.read_table("same.parquet"))
    assert lines["adv"].seeds == (0, 1) and lines["adv"].difference.value == pytest.approx(
        lines["sst2"].difference.value, abs=1e-9
    )
    assert lines["average"].metric == "2 tasks"
    assert command("report", "later", "--examples") == 0
    out = capsys.readouterr().out
    assert "adv" in out and "Further sets, evaluated with the models of other columns and in no average: adv." in out


def test_constant_predictions_of_it_are_found_too(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert command("evaluate", "--experiment", "later", "--task", "sst2", "--on", "same.parquet", "--name", "adv") == 0
    monkeypatch.setattr(type(metrics()["accuracy"]), "is_constant", lambda self, outputs: True)
    with opened() as store:
        measured = measure(store, "later")
        evaluations = {run.run_id for run in measured.runs if run.is_evaluation}
        assert len(evaluations) == 4 and evaluations < measured.constant_runs


def test_the_trivial_baselines_of_the_task_are_measured_on_it_too(here: Path, capsys) -> None:
    assert command("evaluate", tunings()[0], "--on", "same.parquet", "--name", "adv") == 0
    scores = {
        row["task"]: row["value"]
        for row in query("SELECT task, value FROM scores WHERE model = 'majority' AND own = 1 AND checkpoint = 'best'")
    }
    assert scores["adv"] == scores["sst2"]  # the same rows, learned from the same train set
    made = attempts()
    assert command("evaluate", tunings()[1], "--on", "same.parquet", "--name", "adv") == 0
    assert attempts() == made + 1  # the second model alone
    capsys.readouterr()
    assert command("report", "later", "--format", "csv") == 0
    rows = {row["model"]: row for row in csv.DictReader(capsys.readouterr().out.splitlines()) if row["column"] == "adv"}
    assert float(rows["majority"]["value"]) > 0


def test_a_sweep_neither_takes_nor_loses_it(here: Path, capsys) -> None:
    assert command("evaluate", tunings()[0], "--on", "same.parquet") == 0
    capsys.readouterr()
    assert command("sweep", "later.yaml") == 0
    assert "all 10 runs are done already" in capsys.readouterr().err
    assert command("db", "void", tunings()[0][:12], "--reason", "test") == 0
    assert command("sweep", "later.yaml") == 0  # makes the fine-tuning again and leaves the evaluation alone
    states = {row["kind"]: row["state"] for row in query("SELECT kind, state FROM run")}
    assert states == {"finetune": "done", "floor": "done", "evaluation": "planned", "evaluation-floor": "done"}
    assert "-1 of" not in capsys.readouterr().err
    assert command("evaluate", tunings()[0], "--on", "same.parquet") == 0
    assert query("SELECT state FROM run WHERE kind = 'evaluation'")[0]["state"] == "done"


def test_a_merge_brings_it_under_its_experiment(here: Path) -> None:
    copy_database(here / "results.db", here / "other.db")
    assert command("evaluate", tunings()[0], "--on", "same.parquet", "--db", "other.db") == 0
    with opened() as store:
        merge(store, "other.db")
        assert measure(store, "later").further_sets() == ["same"]


def test_an_exported_folder_is_its_fine_tuning_where_the_database_has_it(here: Path, capsys) -> None:
    run_id = tunings()[0]
    assert command("export", "--run", run_id, "model") == 0
    assert command("evaluate", "model", "--on", "same.parquet") == 0
    assert command("export", "--run", run_id, "extended", "--transformers") == 0  # with tensors for other libraries
    assert command("evaluate", "extended", "--on", "same.parquet") == 0
    assert command("evaluate", run_id, "--on", "same.parquet") == 0
    assert query("SELECT COUNT(*) AS n FROM run WHERE kind = 'evaluation'")[0]["n"] == 1
    capsys.readouterr()
    assert command("evaluate", "model", "--on", "same.parquet", "--db", "new.db", "--format", "json") == 0
    alone = json.loads(capsys.readouterr().out)[0]
    there = query("SELECT id FROM run WHERE kind = 'evaluation'")[0]["id"]
    assert alone["experiments"] == ["evaluated"] and alone["run_id"] != there
    values = [query("SELECT value FROM scores WHERE run_id = :id AND metric = 'accuracy'", id=there)[0]["value"]]
    assert alone["scores"]["accuracy"] == pytest.approx(values[0], abs=1e-12)
    assert command("export", "--run", tunings()[1], "second") == 0
    assert command("evaluate", "second", "--on", "same.parquet", "--db", "new.db") == 0
    with opened("new.db") as store:
        lines = compare([store], "second", "model", experiment="evaluated", draws=20).lines
    assert [line.task for line in lines] == ["same"]
    shutil.rmtree("model")
    shutil.copytree("second", "model")
    capsys.readouterr()
    assert "another model called 'model' was evaluated" in refused(
        capsys, "model", "--on", "same.parquet", "--db", "new.db"
    )


@pytest.mark.parametrize("key", ["max_length", "labels"])
def test_a_folder_with_true_weights_and_another_description_counts_as_a_further_model(
    here: Path, key: str, capsys
) -> None:
    """Whoever gives a folder away may change how it reads texts, or what its classes are called."""
    run_id = tunings()[0]
    assert command("export", "--run", run_id, "model") == 0
    place = Path("model/config.json")
    values = json.loads(place.read_text())
    values[key] = values[key] // 2 if key == "max_length" else values[key][::-1]
    place.write_text(json.dumps(values))
    capsys.readouterr()
    assert command("evaluate", "model", "--on", "same.parquet") == 0
    printed = capsys.readouterr()
    assert (
        f"model: config.json: not as an export of run {run_id[:12]} has it; it counts as a further model" in printed.err
    )
    assert query("SELECT model FROM run WHERE kind = 'evaluation'") == [{"model": "model"}]


def test_columns_formats_and_folders(here: Path) -> None:
    run_id = tunings()[0]
    table = pq.read_table("same.parquet").to_pydict()
    names = [["negative", "positive"][label] for label in table["label"]]
    rows = [{"text": text, "gold": name} for text, name in zip(table["sentence"], names, strict=True)]
    Path("folder").mkdir()
    Path("folder/test.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    Path("tabbed.tsv").write_text("gold\ttext\n" + "".join(f"{row['gold']}\t{row['text']}\n" for row in rows))
    with Path("commas.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, ["text", "gold"])
        writer.writeheader()
        writer.writerows(rows)
    for place in (["folder"], ["tabbed.tsv"], ["commas.csv"]):
        assert command("evaluate", run_id, "--on", *place, "--text", "text", "--label", "gold") == 0
    swapped = [f"{row['text']}\t{1 - label}\n" for row, label in zip(rows, table["label"], strict=True)]
    Path("mapped.tsv").write_text("text\tlabel\n" + "".join(swapped))
    mapping = ["--labels", "0=positive,1=negative"]
    assert command("evaluate", run_id, "--on", "mapped.tsv", "--text", "text", *mapping) == 0
    assert command("evaluate", run_id, "--on", "same.parquet") == 0
    sql = "SELECT task, value FROM scores WHERE metric = 'accuracy' AND kind = 'evaluation'"
    assert {row["task"] for row in query(sql)} == {"folder", "tabbed", "commas", "mapped", "same"}
    assert len({row["value"] for row in query(sql)}) == 1


def test_wrong_input_is_one_line_and_leaves_nothing(here: Path, capsys) -> None:
    run_id, rte = tunings()[0], tunings("rte")[0]

    def written(name: str, text: str) -> str:
        Path(name).write_text(text)
        return name

    odd = written("odd.csv", "sentence,label\na,positive\nb,mixed\nc,7\nd,negative\n")
    assert "labels that training never saw: 'mixed', '7'; it saw negative, positive" in refused(
        capsys, run_id, "--on", odd
    )
    text = refused(capsys, run_id, "--on", written("named.csv", "sentnce,label\na,1\n"))
    assert "no column 'sentence'; did you mean 'sentnce'?" in text and "--text and --label name the columns" in text
    assert "is an empty file" in refused(capsys, run_id, "--on", written("empty.csv", ""))
    assert 'is not of the form "0=no,1=yes"' in refused(capsys, run_id, "--on", odd, "--labels", "positive")
    unknown = refused(capsys, run_id, "--on", odd, "--labels", "mixed=negativ,7=positive")
    assert "--labels: 'negativ' is none of the classes that training saw; did you mean 'negative'" in unknown
    assert "has no rows" in refused(capsys, run_id, "--on", written("none.csv", "sentence,label\n"))
    assert "a table is a .parquet" in refused(capsys, run_id, "--on", written("some.txt", "a"))
    assert "not a parquet file" in refused(capsys, run_id, "--on", written("bad.parquet", "PAR"))
    numbers = written("numbers.jsonl", '{"sentence": 3, "label": 1}\n')
    assert "row 1: int, not text" in refused(capsys, run_id, "--on", numbers)
    assert "no such file or folder" in refused(capsys, run_id, "--on", "nowhere")
    assert "'rte' has 2 text columns" in refused(capsys, rte, "--on", "same.parquet", "--text", "sentence")
    assert "'sst2' is a task of the suite" in refused(capsys, run_id, "--on", "same.parquet", "--name", "sst2")
    named = refused(capsys, run_id, "--on", "same.parquet", "--name", "add")
    assert "set 'add': is the name of a model of the experiment; give the set another one: --name NAME" in named
    floor = query("SELECT id FROM run WHERE kind = 'floor'")[0]["id"]
    assert "is of kind floor; name a fine-tuning" in refused(capsys, floor, "--on", "same.parquet")
    assert "no run 'ffffff" in refused(capsys, "ffffffffff", "--on", "same.parquet")
    assert "no such file or folder" in refused(capsys, "ffffffffff", "--on", "nowhere")
    assert "name runs or folders, or --experiment with --task" in refused(capsys, "--on", "same.parquet")
    assert "no finished fine-tuning on 'cola'" in refused(
        capsys, "--experiment", "later", "--task", "cola", "--on", "same.parquet"
    )
    Path("three").mkdir()
    for name in ("a.csv", "b.csv"):
        shutil.copy(odd, Path("three") / name)
    assert "no test or validation file" in refused(capsys, run_id, "--on", "three")
    assert query("SELECT id FROM run WHERE kind = 'evaluation'") == []


def test_weights_that_are_gone_are_one_line(here: Path, capsys, monkeypatch) -> None:
    monkeypatch.setenv("HASHBENCH_CACHE", str(here / "empty"))
    assert "is gone; set HASHBENCH_CACHE" in refused(capsys, tunings()[0], "--on", "same.parquet")
    with opened() as store, store.write() as connection:
        connection.exec_driver_sql("DELETE FROM artifact")
    text = refused(capsys, tunings()[0], "--on", "same.parquet")
    assert "its weights were not kept; hashbench db void" in text


def test_one_name_means_one_set(here: Path, capsys) -> None:
    run_id = tunings()[0]
    assert command("evaluate", run_id, "--on", "same.parquet") == 0
    capsys.readouterr()
    Path("same.csv").write_text("sentence,label\na film,1\n")
    assert "'same' was another set, or had other columns or labels, before" in refused(
        capsys, run_id, "--on", "same.csv"
    )
    again = (run_id, "--on", "same.parquet")
    assert "no column 'sentenc'" in refused(capsys, *again, "--text", "sentenc")
    assert "'bad' is none of the classes" in refused(capsys, *again, "--labels", "0=bad,1=positive")
    assert "was another set" in refused(capsys, *again, "--labels", "0=positive,1=negative")


def test_a_database_that_is_away_is_waited_for(here: Path, capsys, monkeypatch) -> None:
    """Each call of the store fails once before, and once after its work was done."""
    calls = {
        evaluate: ["find_run", "TrainedRun", "done_ids", "attach_run", "claim", "running", "names_of_experiments"],
        attempt: ["finish", "held_under"],
    }
    for module, names in calls.items():
        for name in names:
            monkeypatch.setattr(module, name, failing_twice(getattr(module, name)))
    assert command("evaluate", tunings()[0], "--on", "same.parquet") == 0
    out, err = capsys.readouterr()
    assert out.count("same: ") == 1 and err.count("answers again") > len(calls)
    assert query("SELECT COUNT(*) AS n FROM attempt WHERE state <> 'done'")[0]["n"] == 0
    assert query("SELECT COUNT(*) AS n FROM run WHERE kind = 'evaluation' AND state = 'done'")[0]["n"] == 1


def failing_twice(whole: Callable[..., Any]) -> Callable[..., Any]:
    """The same function; its first call is not carried out, and of its second the answer gets lost."""
    calls = 0

    def call(*arguments: Any, **more: Any) -> Any:
        nonlocal calls
        calls += 1
        found = whole(*arguments, **more) if calls > 1 else None
        if calls < 3:
            raise away()
        return found

    return call


def test_the_line_of_an_evaluation_names_the_class_that_f1_counts() -> None:
    scores = {"accuracy": 0.5, "f1": 0.25, "matthews": None}
    run = evaluate.EvaluatedRun("0" * 64, "add", "sst2", 0, "noisy", scores, {"f1": "spam"}, ("later",), is_new=True)
    assert str(run) == (
        "add (sst2, seed 0) on noisy: accuracy 50.0, f1 of 'spam' 25.0, matthews undefined; run 000000000000"
    )
