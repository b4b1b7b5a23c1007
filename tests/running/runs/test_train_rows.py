"""`finetune.train_rows`: models and trivial baselines on fewer rows of train, as runs and rows of their own."""

import csv
import io
import json
import sqlite3
from pathlib import Path

import pytest

from hashbench.common.errors import InputError
from hashbench.results.read.trained import chosen_run
from hashbench.running.experiment.stored_models import model_of_run
from hashbench.store.engine import open_store
from tests.commands import call, finish

FILE = """
name: rows
data: builtin
encoder: tiny
models: [{name: k2, like: hash-emb-k2-sum, objective: none, encoder: {kind: average, dim: 8}}]
baseline: k2
tasks: [cola, rte]
seeds: [0, 1]
floors: [majority, {name: hashed-words, bytes: 1024}]
pretrain: {corpora: [builtin]}
finetune:
  {steps: 2, batch_size: 8, max_length: 16, evaluations: 1, train_rows: [20, 40], per_task: {rte: {train_rows: []}}}
robustness: {perturbations: [keyboard], rates: [0.3]}
threads: 1
efficiency: false
"""


@pytest.fixture(scope="module")
def swept(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("rows")
    (folder / "e.yaml").write_text(FILE)
    assert finish("sweep", "e.yaml", "--db", "r.db", cwd=folder).code == 0
    return folder


def planned(folder: Path) -> list[tuple[str, str, str, int | None, str, dict]]:
    """Kind, label, task, seed, id and spec of the runs."""
    with sqlite3.connect(folder / "r.db") as connection:
        rows = connection.execute("SELECT kind, model, task, seed, id, spec FROM run").fetchall()
    return [(*row[:5], json.loads(row[5])) for row in rows]


def test_each_number_is_a_model_and_a_baseline_with_a_run_for_each_seed(swept):
    runs = {(kind, label, task, seed) for kind, label, task, seed, _, _ in planned(swept) if kind != "robustness"}
    rows = ("@20rows", "@40rows")
    assert runs == {
        *(("finetune", "k2", task, seed) for task in ("cola", "rte") for seed in (0, 1)),
        *(("finetune", f"k2{of}", "cola", seed) for of in rows for seed in (0, 1)),
        *(("floor", name, task, None) for name in ("majority", "hashed-words") for task in ("cola", "rte")),
        *(("floor", f"majority{of}", "cola", seed) for of in rows for seed in (0, 1)),
        *(("floor", f"hashed-words{of}", "cola", seed) for of in rows for seed in (0, 1)),
    }  # fmt: skip
    numbers = {spec.get("train_rows") for _, label, _, _, _, spec in planned(swept) if label.endswith("@20rows")}
    assert numbers - {None} == {20}  # a robustness run has the id of its training


def test_runs_on_all_rows_are_those_of_an_experiment_without_the_key(swept, tmp_path):
    text = FILE.replace(", train_rows: [20, 40], per_task: {rte: {train_rows: []}}", "")
    (tmp_path / "e.yaml").write_text(text)
    assert finish("sweep", "e.yaml", "--db", "r.db", cwd=tmp_path).code == 0
    assert {run[4] for run in planned(tmp_path)} == {run[4] for run in planned(swept) if "@" not in run[1]}


def test_tables_compare_within_a_number_of_rows_and_with_its_baselines(swept):
    read = list(csv.DictReader(io.StringIO(call("report", "--db", "r.db", "--format", "csv", cwd=swept).out)))
    cola = {row["model"]: row for row in read if row["column"] == "cola"}
    assert (cola["k2@20rows"]["n"], cola["hashed-words@20rows"]["n"], cola["hashed-words"]["n"]) == ("2", "2", "")
    text = call("report", "--db", "r.db", cwd=swept).out
    assert text.index("Models on 20 rows") < text.index("Models on 40 rows") < text.index("Trivial baselines\n")


def test_baselines_are_drawn_by_seeds_and_compared_over_them(swept):
    done = call("compare", "--db", "r.db", "rows", "k2@20rows", "hashed-words@20rows", cwd=swept)
    assert done.code == 0 and "0, 1, which both have" in done.out


def test_the_stored_model_of_a_run_has_its_number(swept):
    (run_id,) = (run[4] for run in planned(swept) if run[:4] == ("finetune", "k2@20rows", "cola", 1))
    store = open_store(swept / "r.db")
    assert model_of_run(store, run_id).model.train_rows == 20
    store.close()


def test_noisy_texts_are_read_by_what_learned_from_these_rows(swept):
    labels = {label for kind, label, task, *_ in planned(swept) if kind == "robustness" and task == "cola"}
    assert {"k2", "k2@20rows", "hashed-words", "hashed-words@40rows"} <= labels


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("[20, 40]", "[40, 20]", "train_rows: give each number once, in ascending order"),
        ("[20, 40]", "[20, 20]", "train_rows: give each number once, in ascending order"),
        ("[20, 40]", "[5]", "10"),
        ("rte: {train_rows: []}", "rte: {train_rows: 20}", "train_rows: 20 is no list of whole numbers from 10 on"),
        ("rte: {train_rows: []}", "rte: {train_rows: [20, x]}", "train_rows: [20, 'x'] is no list"),
        ("rte: {train_rows: []}", "rte: {train_rows: [40, 20]}", "give each number once, in ascending order"),
    ],
)
def test_wrong_numbers_are_refused_with_their_line(tmp_path, old, new, told):
    (tmp_path / "e.yaml").write_text(FILE.replace(old, new))
    done = call("check", "e.yaml", cwd=tmp_path)
    assert done.code == 2 and told in done.err and "e.yaml:1" in done.err


def test_more_rows_than_train_has_are_refused_before_the_first_run(tmp_path):
    (tmp_path / "e.yaml").write_text(FILE.replace("[20, 40]", "[20, 900_000]").replace("[0, 1]", "[0]"))
    done = finish("sweep", "e.yaml", "--db", "r.db", cwd=tmp_path)
    assert done.code == 2 and "train_rows asks for 900,000" in done.err


def test_check_lists_sizes_of_the_models_on_all_rows_alone(tmp_path):
    (tmp_path / "e.yaml").write_text(FILE)
    done = call("check", "e.yaml", cwd=tmp_path)
    assert done.code == 0, done.err
    sizes = done.out.partition("sizes,")[2]
    assert "k2 " in sizes and "@20rows" not in sizes


def test_what_held_out_other_rows_is_not_chosen_as_the_best(swept, tmp_path):
    """A tenth of 20 rows has few values, so that some run on it is often the best by chance."""
    rows = [(text, label) for text, label in (("good film", 1), ("bad film", 0)) for _ in range(60)]
    (tmp_path / "mine").mkdir()
    for split in ("train", "test"):
        lines = [f"{text} {number},{label}" for number, (text, label) in enumerate(rows)]
        (tmp_path / "mine" / f"{split}.csv").write_text("\n".join(["text,label", *lines]) + "\n")
    task = "tasks: [{name: mine, path: mine, text: text, label: label}]\nkeep_weights: best"
    text = FILE.replace("tasks: [cola, rte]", task).replace(", per_task: {rte: {train_rows: []}}", "")
    (tmp_path / "e.yaml").write_text(text.replace("\nrobustness: {perturbations: [keyboard], rates: [0.3]}", ""))
    done = finish("sweep", "e.yaml", "--db", "r.db", cwd=tmp_path)
    assert done.code == 0, done.err
    best = [line for line in (done.out + done.err).splitlines() if line.startswith(("best on", "equal on"))]
    assert best and not any("rows" in line for line in best)
    store = open_store(tmp_path / "r.db")
    with pytest.raises(InputError, match="held-out rows of their own; name one with --seed"):
        chosen_run(store, "rows", "mine", "k2@20rows", None)
    assert chosen_run(store, "rows", "mine", "k2@20rows", 1).run.seed == 1
    assert chosen_run(store, "rows", "mine", None, None).run.model == "k2"
    store.close()
