"""The files hold the database's numbers and are the same set of runs however often they are written."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from hashbench.common.errors import InputError
from hashbench.results.dashboard import main as folder_module
from hashbench.results.dashboard.main import MANIFEST, write_runs
from hashbench.results.dashboard.runs import shown
from tests.results.dashboard.wandb_files import read_all

wandb = pytest.importorskip("wandb", reason="wandb is an extra")

POINTS = """
SELECT r.id, r.kind, m.split, m.name, m.step, m.value FROM run r JOIN metric m ON m.attempt_id = r.finished_attempt
WHERE r.state = 'done' AND m.value IS NOT NULL AND m.condition = ''
"""


def test_history_and_summary_equal_the_databases_numbers(store, written) -> None:
    read = read_all(written)
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
    points = [row for key, rows in curves.items() for row in rows.values()]
    assert n_points == sum(len(row) - 1 for row in points) > 40  # and there are no others
    assert all(run.ended for run in read.values())


def test_the_files_hold_every_run_once_with_name_group_kind_and_config(store, written) -> None:
    read, found = read_all(written), shown(store)
    assert set(read) == {run.id for run in found.runs}
    for run in found.runs:
        one = read[run.id]
        assert (one.project, one.name, one.group, one.kind) == ("p", run.name, "made-up", run.kind)
        assert {key: one.config[key] for key in run.config} == json.loads(json.dumps(run.config))


def test_again_writes_nothing_and_without_its_memory_the_same_set(store, tmp_path) -> None:
    runs = [run for run in shown(store).runs if run.kind in ("pretrain", "model")]
    first = write_runs(runs, tmp_path, project="p", entity=None)
    again = write_runs(runs, tmp_path, project="p", entity=None)
    assert (first, again) == (len(runs), 0)
    (tmp_path / MANIFEST).unlink()
    anew = write_runs(runs, tmp_path, project="p", entity=None)
    assert anew == len(runs)
    assert set(read_all(tmp_path)) == {run.id for run in runs}


def test_a_changed_run_replaces_its_files_and_one_that_is_gone_goes(store, tmp_path) -> None:
    one, two = [run for run in shown(store).runs if run.kind == "pretrain"]
    write_runs([one, two], tmp_path, project="p", entity=None)
    (tmp_path / "wandb" / "mine.txt").write_text("a user's own")
    changed = write_runs([replace(one, summary={"loss": 0.5})], tmp_path, project="p", entity=None)
    assert changed == 1
    assert {key: run.summary["loss"] for key, run in read_all(tmp_path).items()} == {one.id: 0.5}
    assert (tmp_path / "wandb" / "mine.txt").exists()


def test_an_interrupted_call_goes_on_behind_the_files_that_are_whole(store, tmp_path, monkeypatch) -> None:
    runs = [run for run in shown(store).runs if run.kind == "pretrain"]
    write = folder_module._write
    monkeypatch.setattr(folder_module, "WRITTEN_AT_ONCE", 1)

    def interrupted(run, *arguments, **options):
        if run is runs[1]:
            raise KeyboardInterrupt
        return write(run, *arguments, **options)

    monkeypatch.setattr(folder_module, "_write", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_runs(runs, tmp_path, project="p", entity=None)
    assert set(json.loads((tmp_path / MANIFEST).read_text())) == {runs[0].id}
    monkeypatch.undo()
    assert write_runs(runs, tmp_path, project="p", entity=None) == len(runs) - 1
    assert all(run.ended for run in read_all(tmp_path).values())


ID = "a1" * 16


@pytest.mark.parametrize("text", ["[1]", "{", '{"a": "f"}', '{"*": "f"}', '{"*/../../mine": "f"}'])
def test_a_folder_of_someone_else_is_left_alone(tmp_path, text) -> None:
    (tmp_path / MANIFEST).write_text(text)
    with pytest.raises(InputError, match=r"runs.json: not written by hashbench dashboard; give another folder with -o"):
        write_runs([], tmp_path, project="p", entity=None)
    assert (tmp_path / MANIFEST).read_text() == text


@pytest.mark.parametrize("run_id", ["*", "../../mine", f"x/../../mine-{ID}", "", ID[:-1], f"{ID}\n"])
def test_the_id_of_a_run_is_no_pattern_and_no_path(store, tmp_path, run_id) -> None:
    """A database from elsewhere may hold any text in its place."""
    own = tmp_path / "out" / "wandb" / f"offline-run-20260101_000000-{'b2' * 16}"
    own.mkdir(parents=True)
    run = replace(shown(store).runs[0], id=run_id)
    with pytest.raises(InputError, match="no id of a run; see hashbench db check"):
        write_runs([run], tmp_path / "out", project="p", entity=None)
    assert own.exists()


def test_nothing_is_removed_behind_a_link(tmp_path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "out" / "wandb").mkdir(parents=True)
    (tmp_path / "out" / "wandb" / f"offline-run-20260101_000000-{ID}").symlink_to(tmp_path / "mine")
    (tmp_path / "out" / MANIFEST).write_text(json.dumps({ID: "f"}))
    assert write_runs([], tmp_path / "out", project="p", entity=None) == 0
    assert (tmp_path / "mine").exists()


def test_a_folder_that_cannot_be_made(tmp_path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"--output .*file/x: Not a directory; give another folder"):
        write_runs([], tmp_path / "file" / "x", project="p", entity=None)
