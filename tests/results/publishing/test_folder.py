"""`hashbench db publish`: records that hold to the schema, the same twice, and read back by a program of its own."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import jsonschema
import numpy as np
import pytest

from hashbench.common.errors import InputError
from hashbench.common.measured import MetricRow
from hashbench.results.publishing.records import Publication, publish
from hashbench.results.rendering.formats.tidy import tidy
from hashbench.results.tables.report import tables
from hashbench.results.tables.request import ReportRequest
from hashbench.store.engine import Store, open_results, open_store
from hashbench.store.planning import Run, add_experiment
from hashbench.store.queue import claim
from hashbench.store.result import Predictions, Result, finish

ROOT = Path(__file__).resolve().parents[3]
SCHEMAS = Path(__file__).parent / "schemas"
CLASSES = ("no", "yes")
TARGETS = np.array([0, 1, 1, 0, 1])
OUTPUTS = {0: np.array([0, 1, 0, 0, 1]), 1: np.array([0, 1, 1, 0, 1])}


def validator(name: str) -> jsonschema.Draft7Validator:
    return jsonschema.Draft7Validator(json.loads((SCHEMAS / f"{name}.schema.json").read_text()))


def records(folder: Path) -> dict[str, dict[str, object]]:
    """The aggregate records by their place."""
    files = sorted(folder.glob("data/*/*/*/*.json"))
    return {str(file.relative_to(folder)): json.loads(file.read_text()) for file in files}


@pytest.fixture
def own_store(tmp_path: Path) -> Store:
    """An experiment of a model with two seeds on data of the hub, and outputs in the order of the data."""
    store = open_store(tmp_path / "own.db")
    runs = [
        Run(
            id=f"{seed}" * 64, kind="finetune", model="a:b", task="cola", seed=seed, encoder="tiny",
            spec={"kind": "finetune", "seed": seed}, metric="accuracy", split="validation", data_fingerprint="d" * 64,
        )
        for seed in OUTPUTS
    ]  # fmt: skip
    number = add_experiment(store, "mine", {"name": "mine"}, runs, baseline="a:b")
    for seed in OUTPUTS:
        held = claim(store, number, worker="w", lease_s=60, max_attempts=1)
        assert held is not None
        outputs = OUTPUTS[seed]
        share = float((outputs == TARGETS).mean())
        metrics = [
            MetricRow("best_step", 1.0), MetricRow("last_step", 1.0),
            MetricRow("accuracy", share, split="validation", step=1),
        ]  # fmt: skip
        stored = Predictions("validation", "best", outputs, TARGETS, "rows")
        finish(store, held, Result(metrics, [stored], notes={"origin": "hub nyu-mll/glue@bcdcba79d07b", "data": ""}))
    return store


def test_records_of_a_store(own_store: Store, tmp_path: Path) -> None:
    done = publish(own_store, tmp_path / "out", "my-lab")
    assert (done.records, done.notes) == (1, [])
    [(place, record)] = records(tmp_path / "out").items()
    assert list(validator("eval").iter_errors(record)) == []
    assert place.startswith("data/hashbench_mine/my-lab/a_b/") and record["model_info"]["id"] == "my-lab/a_b"
    [result] = record["evaluation_results"]
    assert result["score_details"]["score"] == pytest.approx((4 / 5 + 1) / 2)
    assert result["score_details"]["uncertainty"]["standard_error"]["value"] == pytest.approx(0.1)
    assert result["source_data"]["hf_repo"] == "nyu-mll/glue"
    assert result["source_data"]["additional_details"]["revision"] == "bcdcba79d07b"


def test_twice_is_the_same_and_older_files_are_named(own_store: Store, tmp_path: Path) -> None:
    def files(folder: Path) -> dict[str, bytes]:
        return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}

    publish(own_store, tmp_path / "a", "my-lab")
    publish(own_store, tmp_path / "b", "my-lab")
    assert files(tmp_path / "a") == files(tmp_path / "b") and len(files(tmp_path / "a")) == 1
    assert publish(own_store, tmp_path / "a", "my-lab").notes == []
    [note] = publish(own_store, tmp_path / "a", "other").notes
    assert note.startswith("1 files of other results are in")


def test_a_folder_with_other_files_is_refused(own_store: Store, tmp_path: Path) -> None:
    thesis = tmp_path / "thesis"
    (thesis / "data" / "glue").mkdir(parents=True)
    (thesis / "data" / "glue" / "train.csv").write_text("a")
    with pytest.raises(InputError, match="thesis: has other files, as data, and no results; name a new or an empty"):
        publish(own_store, thesis, "my-lab")
    assert [path.name for path in thesis.rglob("*") if path.is_file()] == ["train.csv"]
    (tmp_path / "git" / ".git").mkdir(parents=True)
    assert publish(own_store, tmp_path / "git", "my-lab").records == 1
    (tmp_path / "git" / "README.md").write_text("ours")  # beside an earlier publication
    assert publish(own_store, tmp_path / "git", "my-lab").records == 1


def test_wrong_input(own_store: Store, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no experiment 'mina'; did you mean 'mine'?"):
        publish(own_store, tmp_path, "my-lab", ["mina"])
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be written"):
        publish(own_store, tmp_path / "file", "my-lab")


def test_an_empty_store_has_no_record(tmp_path: Path) -> None:
    store = open_store(tmp_path / "empty.db")
    assert publish(store, tmp_path / "out", "my-lab").notes == ["no experiment has a score yet, so there is no record"]


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Publication]:
    """The example database as published, with few draws."""
    folder = tmp_path_factory.mktemp("published")
    store = open_results("example")
    return folder, publish(store, folder, "my-lab", draws=50)


@pytest.mark.e2e
def test_all_records_of_the_example_hold_to_the_schema(example: tuple[Path, Publication]) -> None:
    folder, done = example
    of_schema, published = validator("eval"), records(folder)
    assert len(published) == done.records > 150
    assert [(place, error.message) for place, of in published.items() for error in of_schema.iter_errors(of)] == []


@pytest.mark.e2e
def test_a_program_of_its_own_reads_score_and_interval_of_the_report(tmp_path: Path) -> None:
    publish(open_results("example"), tmp_path, "my-lab", ["canine_tiny"])
    table = tidy(tables(open_results("example"), ReportRequest(experiment="canine_tiny", examples=True)))
    cells = {(row["model"], row["column"]): row for row in table}
    program = ROOT / "tests" / "oracles" / "published_scores.py"
    call = [sys.executable, "-I", "-S", str(program), str(tmp_path), "canine-c-scratch", "sst2"]
    read = json.loads(subprocess.run(call, check=True, capture_output=True, text=True).stdout)
    score, over = cells["canine-c-scratch", "sst2"], cells["canine-c-scratch", "sst2_over_examples"]
    assert [100 * number for number in read] == pytest.approx(
        [score["value"], over["value"], over["value_high"]], abs=1e-9
    )


@pytest.mark.services
def test_the_validator_of_the_schema_passes(
    example: tuple[Path, Publication], own_store: Store, tmp_path: Path
) -> None:
    """Its package needs Python 3.12 and is no dependency: EVERY_EVAL_EVER names an environment's python that has it."""
    import os

    python = os.environ.get("EVERY_EVAL_EVER") or shutil.which("every_eval_ever")
    if python is None:
        pytest.skip("EVERY_EVAL_EVER names no Python (3.12) with every-eval-ever 0.3.0")
    publish(own_store, tmp_path / "out", "my-lab")
    for folder in (example[0], tmp_path / "out"):
        pattern = f"{folder}/data/*/*/*/*.json*"
        called = [python, "-m", "every_eval_ever", "validate", "--format", "json", pattern]
        outcome = subprocess.run(called, capture_output=True, text=True)
        assert outcome.returncode == 0, outcome.stdout[-2000:]
