"""The files must hold the database's numbers, and be the same set of runs however often they are written."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from hashbench.common.errors import InputError
from hashbench.results.dashboard.runs import shown
from hashbench.results.dashboard.writing import MANIFEST, write_runs
from tests.results.dashboard.wandb_files import read_all

wandb = pytest.importorskip("wandb", reason="wandb is an extra")

POINTS = """
SELECT r.id, r.kind, m.split, m.name, m.step, m.value FROM run r JOIN metric m ON m.attempt_id = r.finished_attempt
WHERE r.state = 'done' AND m.value IS NOT NULL AND m.condition = ''
"""


def test_history_and_summary_equal_the_databases_numbers(store, written) -> None:
    read = read_all(written.path)
    curves = {key: {row["step"]: row for row in run.history if "step" in row} for key, run in read.items()}
    n_points = 0
    best = {row["id"]: row["value"] for row in store.query(POINTS) if row["name"] == "best_step"}
    for row in store.query(POINTS):
        key, name = row["id"][:32], f"{row['split']}/{row['name']}" if row["split"] else row["name"]
        if row["split"] and row["step"]:
            assert curves[key][row["step"]][name] == row["value"]  # to the last bit
            n_points += 1
        if row["split"] != "train" and row["step"] in (0, best.get(row["id"])):
            assert read[key].summary[name] == row["value"]
    points = [row for key, rows in curves.items() if read[key].kind != "experiment" for row in rows.values()]
    assert n_points == sum(len(row) - 1 for row in points) > 40  # and there are no others
    assert all(run.ended for run in read.values())


def test_the_files_hold_every_run_once_with_name_group_kind_and_config(store, written) -> None:
    read, found = read_all(written.path), shown(store)
    assert set(read) == {run.id for run in found.runs} == set(written.runs)
    for run in found.runs:
        one = read[run.id]
        assert (one.project, one.name, one.group, one.kind) == ("p", run.name, "made-up", run.kind)
        assert {key: one.config[key] for key in run.config} == json.loads(json.dumps(run.config))


def test_tables_are_files_beside_the_runs(written) -> None:
    files = written.path.rglob("media/table/*.json")
    tables = {path.name.split("_")[0]: json.loads(path.read_text()) for path in files}
    assert set(tables) == {"scores", "sizes"}
    assert tables["sizes"]["columns"][:3] == ["model", "encoder", "total_params"] and len(tables["sizes"]["data"]) == 2
    staged = list((written.path / "data").rglob("tmp*"))
    assert len(staged) >= 2  # wandb's copies, which are in the user's home otherwise


def test_again_writes_nothing_and_without_its_memory_the_same_set(store, tmp_path) -> None:
    runs = [run for run in shown(store).runs if run.kind in ("pretrain", "experiment")]
    first = write_runs(runs, tmp_path, project="p", entity=None)
    again = write_runs(runs, tmp_path, project="p", entity=None)
    assert (first.n_new, again.n_new) == (3, 0) and first.run_folders() == again.run_folders()
    (tmp_path / MANIFEST).unlink()
    anew = write_runs(runs, tmp_path, project="p", entity=None)
    assert anew.n_new == 3
    assert set(read_all(tmp_path)) == {run.id for run in runs}


def test_a_changed_run_replaces_its_files_and_one_that_is_gone_goes(store, tmp_path) -> None:
    one, two = [run for run in shown(store).runs if run.kind == "pretrain"]
    write_runs([one, two], tmp_path, project="p", entity=None)
    (tmp_path / "wandb" / "mine.txt").write_text("a user's own")
    changed = write_runs([replace(one, summary={"loss": 0.5})], tmp_path, project="p", entity=None)
    assert changed.n_new == 1
    assert {key: run.summary["loss"] for key, run in read_all(tmp_path).items()} == {one.id: 0.5}
    assert (tmp_path / "wandb" / "mine.txt").exists()


@pytest.mark.parametrize("text", ["[1]", "{", '{"a": {"name": 1}}'])
def test_a_folder_of_someone_else_is_left_alone(tmp_path, text) -> None:
    (tmp_path / MANIFEST).write_text(text)
    with pytest.raises(InputError, match=r"runs.json: not written by hashbench dashboard; give another folder with -o"):
        write_runs([], tmp_path, project="p", entity=None)
    assert (tmp_path / MANIFEST).read_text() == text


def test_a_folder_that_cannot_be_made(tmp_path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"--output .*file/x: Not a directory; give another folder"):
        write_runs([], tmp_path / "file" / "x", project="p", entity=None)
