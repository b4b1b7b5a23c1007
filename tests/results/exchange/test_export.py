"""The example database: the numbers are all there, the place where they were made is not."""

from __future__ import annotations

import dataclasses
import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hashbench.common.errors import InputError
from hashbench.common.measured import MetricRow
from hashbench.results.exchange.checking import find_damage
from hashbench.results.exchange.export import (
    CURVE_POINTS,
    LEFT_OUT,
    PLACES,
    _thinned,
    export_example,
    scrub,
    scrub_text,
)
from hashbench.results.exchange.merge import CURVES, merge
from hashbench.running.experiment.identity import run_id
from hashbench.store import views
from hashbench.store.engine import Store, open_store
from hashbench.store.environment import Environment
from hashbench.store.planning import add_experiment
from hashbench.store.queue import claim, fail
from hashbench.store.result import Artifact, Predictions, Result, finish
from hashbench.store.status import counts, find_experiment, predictions, run_spec

if TYPE_CHECKING:
    from tests.store.conftest import Lab

SECRETS = "box7.lab", "/home/anna", "anna", "mysecretfolder", "secret diff", "secret log", "sweep --data", "a sentence"


def fill(store: Store, lab: Lab) -> None:
    config = {
        "data": ["/home/anna/data", "mysecretfolder", "hub"],
        "tasks": [{"name": "subj", "path": "mysecretfolder/subj"}],
        "models": [{"use": "mysecretfolder/mine.py:Mine"}],
        "seeds": [0],
    }
    runs = [lab.run("p", kind="pretrain", task=None), lab.run("a", needs=["p"]), lab.run("b"), lab.run("c")]
    experiment_id = add_experiment(store, "glue", config, runs, baseline="bert-mlm", command="sweep --data /home/anna")
    place = Environment("box7.lab", "abc123", "secret diff", {"torch": "2.13.0"}, {"root": "/home/anna"}, "EPYC")
    result = Result(
        metrics=[*lab.score("matthews", 0.5), MetricRow("pearson", None, reason="see /home/anna/x.txt")],
        predictions=[Predictions("validation", "best", np.zeros(3), np.zeros(3), "x")],
        artifacts=[Artifact("weights", "mysecretfolder/a", 1, "ab")],
        log="secret log: a sentence",
        notes={"data": "built-in", "origin": "read from /home/anna/data on box7.lab", "sample": "2 of 9 rows"},
    )
    for _ in range(3):
        held = claim(store, experiment_id, worker="box7.lab:7", lease_s=60, max_attempts=2, environment=place)
        finish(store, held, result)
    held = claim(store, experiment_id, worker="box7.lab:7", lease_s=60, max_attempts=2, environment=place)
    fail(store, held, "no file /home/anna/x", log="secret log")


@pytest.fixture
def example(store: Store, lab: Lab, tmp_path: Path) -> Path:
    fill(store, lab)
    export_example(store, tmp_path / "results.db.example")
    return tmp_path / "results.db.example"


def test_nothing_private_is_in_the_file(example: Path) -> None:
    found = example.read_bytes()
    assert [secret for secret in SECRETS if secret.encode() in found] == []
    assert b"abc123" in found  # the check can fail


def test_every_view_shows_what_it_showed(example: Path, store: Store) -> None:
    copy = open_store(example, read_only=True)
    hidden = ("attempt_id", "notes", "reason")
    for name in views.VIEWS:
        rows = [each.query(f"SELECT * FROM {name}") for each in (store, copy)]
        here, there = (sorted(str({k: v for k, v in row.items() if k not in hidden}) for row in each) for each in rows)
        assert there == here, name
    notes = copy.query("SELECT notes FROM run_origins")[0]["notes"]
    assert notes == '{"data":"built-in","origin":"read from (left out) on (left out)","sample":"2 of 9 rows"}'
    found = find_experiment(copy)
    assert found.config["data"] == [LEFT_OUT, LEFT_OUT, "hub"]
    assert (found.name, found.command, counts(copy, found.id)["done"]) == ("glue", "", 3)
    copy.close()


def test_predictions_are_classes_in_the_order_of_their_targets(store: Store, lab: Lab, tmp_path: Path) -> None:
    runs = [lab.run("a"), lab.run("b")]
    experiment_id = add_experiment(store, "glue", {"seeds": [0]}, runs, baseline="a", command="")
    logits = np.array([[0.2, 0.1], [0.3, 0.9], [0.5, 0.4], [0.1, 0.2]], np.float32)
    for outputs in (logits, logits[[1, 0, 2, 3]]):
        held = claim(store, experiment_id, worker="w", lease_s=60, max_attempts=2)
        kept = [
            Predictions(split, checkpoint, outputs, np.array([1, 0, 1, 0]), "x")
            for split, checkpoint in (("validation", "best"), ("test", "best"), ("test", "last"))
        ]
        finish(store, held, Result(metrics=lab.score("accuracy", 0.5), predictions=kept))
    export_example(store, tmp_path / "copy.db")
    copy = open_store(tmp_path / "copy.db", read_only=True)
    found = [predictions(copy, row["run_id"], "test", "best") for row in copy.query("SELECT id AS run_id FROM run")]
    assert sorted(one.outputs.tolist() for one in found) == [[0, 1, 1, 0], [1, 1, 0, 0]]
    assert {(one.outputs.dtype.name, one.index_fingerprint, *one.targets.tolist()) for one in found} == {
        ("uint8", "by target: x", 0, 0, 1, 1)
    }
    assert {(row["split"], row["checkpoint"]) for row in copy.query("SELECT * FROM predictions")} == {("test", "best")}
    copy.close()


@given(n=st.integers(0, 300))
def test_a_curve_keeps_its_ends_and_at_most_25_points_evenly(n: int) -> None:
    rows = [
        {"split": CURVES, "name": "loss", "condition": "", "step": step, "value": 1 / step} for step in range(1, n + 1)
    ]
    others = [
        {"split": "validation", "name": "loss", "condition": "", "step": step, "value": 0.5} for step in range(40)
    ]
    kept = [row for row in _thinned([*rows[::-1], *others]) if row["split"] == CURVES]
    assert [row for row in _thinned([*rows, *others]) if row["split"] != CURVES] == others
    assert all(row in rows for row in kept) and list(_thinned(kept)) == kept
    steps = [row["step"] for row in kept]
    assert len(steps) == min(n, CURVE_POINTS)
    assert not n or (steps[0], steps[-1]) == (1, n)
    gaps = {after - before for before, after in zip(steps, steps[1:], strict=False)}
    assert not gaps or max(gaps) - min(gaps) <= 1


def test_two_curves_of_a_training_are_thinned_each_by_itself(store: Store, lab: Lab, tmp_path: Path) -> None:
    experiment_id = add_experiment(store, "glue", {"seeds": [0]}, [lab.run("a")], baseline="a", command="")
    curves = [MetricRow(name, 0.5, CURVES, step) for name in ("loss", "rate") for step in range(1, 101)]
    held = claim(store, experiment_id, worker="w", lease_s=60, max_attempts=2)
    finish(store, held, Result(metrics=[*lab.score("accuracy", 0.5), *curves]))
    export_example(store, tmp_path / "copy.db")
    copy = open_store(tmp_path / "copy.db", read_only=True)
    steps = [(row["name"], row["step"]) for row in copy.query("SELECT * FROM metric WHERE split = 'train'")]
    assert {name: sum(of == name for of, _ in steps) for name, _ in steps} == {
        "loss": CURVE_POINTS,
        "rate": CURVE_POINTS,
    }
    assert {("loss", 1), ("loss", 100), ("rate", 1), ("rate", 100)} <= set(steps)
    copy.close()
    assert merge(store, tmp_path / "copy.db").differences == []  # curves are compared nowhere


def test_it_is_one_file_that_opens_where_nothing_can_be_written(example: Path) -> None:
    folder = example.parent / "shelf"
    folder.mkdir()
    shelf = folder / "results.db.example"
    shelf.write_bytes(example.read_bytes())
    shelf.chmod(stat.S_IRUSR)
    folder.chmod(stat.S_IRUSR | stat.S_IXUSR)
    copy = open_store(shelf, read_only=True)
    assert copy.query("SELECT COUNT(*) AS n FROM scores")[0]["n"] == 4  # two fine-tunings, best and last
    copy.close()
    assert os.listdir(folder) == ["results.db.example"]
    folder.chmod(stat.S_IRWXU)


def test_it_can_be_merged_back_without_a_difference(example: Path, store: Store) -> None:
    report = merge(store, example)
    assert (report.runs, report.attempts, report.experiments, report.differences) == (0, 0, 0, [])


def test_only_the_experiments_that_are_named(store: Store, lab: Lab, tmp_path: Path) -> None:
    fill(store, lab)
    lab.finish_all(store, lab.plan(store, lab.run("z"), name="other"))
    export_example(store, tmp_path / "out.db", ["other"])
    copy = open_store(tmp_path / "out.db", read_only=True)
    assert [row["id"] for row in copy.query("SELECT id FROM run")] == [lab.id("z")]
    copy.close()
    with pytest.raises(InputError, match="out.db: is there already; name a new file, or add --replace"):
        export_example(store, tmp_path / "out.db", ["glue"])
    export_example(store, tmp_path / "out.db", ["glue"], replace=True)
    copy = open_store(tmp_path / "out.db", read_only=True)
    assert [row["name"] for row in copy.query("SELECT name FROM experiment")] == ["glue"]
    copy.close()
    with pytest.raises(InputError, match="no experiment 'no' to export"):
        export_example(store, tmp_path / "none.db", ["no"])
    assert not (tmp_path / "none.db").exists()


def test_an_older_version_stays_only_where_it_has_a_finished_run_of_its_own(
    store: Store, lab: Lab, tmp_path: Path
) -> None:
    for names in ("ax", "a", "ab"):  # the second has no run that the third lacks
        lab.finish_all(store, lab.plan(store, *map(lab.run, names)))
    lab.plan(store, *map(lab.run, "bc"), name="other")
    export_example(store, tmp_path / "out.db")
    copy = open_store(tmp_path / "out.db", read_only=True)
    rows = copy.query("SELECT experiment_id, experiment, run_id FROM finished_versions ORDER BY experiment_id, run_id")
    assert [(row["experiment"], row["run_id"][0]) for row in rows] == [
        *[("exp", name) for name in "axab"],
        ("other", "b"),
    ]
    newest = copy.query("SELECT run_id FROM finished WHERE experiment = 'exp' ORDER BY run_id")
    assert [row["run_id"][0] for row in newest] == ["a", "b"]
    copy.close()


def test_nothing_but_a_store_is_replaced(store: Store, lab: Lab, tmp_path: Path) -> None:
    fill(store, lab)
    (tmp_path / "notes.txt").write_text("keep me")
    with pytest.raises(InputError, match="notes.txt"):
        export_example(store, tmp_path / "notes.txt", replace=True)
    assert (tmp_path / "notes.txt").read_text() == "keep me"
    with pytest.raises(InputError, match="no folder '.*nowhere'; make it"):
        export_example(store, tmp_path / "nowhere" / "out.db")
    for folder in (Path("."), Path("/"), Path(".."), tmp_path):
        with pytest.raises(InputError, match="is a folder; name a file in it"):
            export_example(store, folder, replace=True)


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("/home/x y", f"{LEFT_OUT} y"),
        ("in ../a/b.csv, line 3", f"in {LEFT_OUT}, line 3"),
        ("~/data", LEFT_OUT),
        ("~anna/data", LEFT_OUT),
        (r"C:\Users\anna\x", LEFT_OUT),
        ("'/tmp/a'", f"'{LEFT_OUT}'"),
        ("host box-1 ended", f"host {LEFT_OUT} ended"),
        ("boxes and box-12 stay", "boxes and box-12 stay"),
        ("x.yaml:/home/anna", f"x.yaml:{LEFT_OUT}"),
        *((kept, kept) for kept in ("nyu-mll/glue", "at https://hub.example/x", "3/4 and and/or, 1 / 2", "<s> A </s>")),
        *((kept, kept) for kept in (r"\w+|[^\w\s]+", "a.b", "...", "~5 %", "20:30")),
    ],
)
def test_paths_and_hosts_go_and_names_stay(text: str, clean: str) -> None:
    assert scrub_text(text, frozenset({"box-1"})) == clean


def test_under_the_keys_of_places_every_text_goes() -> None:
    value = {"data": "hub", "path": "subj", "steps": 3, "x": [{"data": "corpora"}, None, 0.5]}
    clean = {"data": "hub", "path": LEFT_OUT, "steps": 3, "x": [{"data": LEFT_OUT}, None, 0.5]}
    assert scrub(value, frozenset(), places=PLACES) == clean
    assert scrub(value, frozenset()) == value  # a run's spec: its `data` is a fingerprint


def test_a_run_keeps_the_spec_that_its_id_is_made_of(store: Store, lab: Lab, tmp_path: Path) -> None:
    spec = {"data": "5f3a", "template": ["<s>", "A", "</s>"], "pattern": r"\w+|[^\w\s]+", "bpe": "owner/name"}
    lab.finish_all(store, lab.plan(store, lab.run("a", spec=spec)))
    export_example(store, tmp_path / "out.db")
    copy = open_store(tmp_path / "out.db", read_only=True)
    assert run_spec(copy, lab.id("a")) == spec
    copy.close()


def finished(store: Store, lab: Lab, specs: dict[str, dict[str, object]], needs: dict[str, str] | None = None) -> dict:
    """Finishes a run for each spec; returns the ids, which are those of the specs, by name."""
    whole = {name: {"kind": "finetune", "seed": 0, "task": {"name": "cola"}, **spec} for name, spec in specs.items()}
    ids = {name: run_id(spec) for name, spec in whole.items()}
    runs = [
        dataclasses.replace(
            lab.run("x", spec=spec), id=ids[name], needs=tuple(ids[n] for n in (needs or {}).get(name, ""))
        )
        for name, spec in whole.items()
    ]
    lab.finish_all(store, lab.plan(store, *runs))
    return ids


def intact(copy: Path, into: Path) -> list[str]:
    """Specs of a copy that its own `db check` finds no damage in, and that an empty store takes over."""
    store = open_store(copy, read_only=True)
    assert list(find_damage(store, identify=run_id)) == []
    rows = store.query("SELECT id, spec FROM run ORDER BY id")
    store.close()
    target = open_store(into)
    assert merge(target, copy, identify=run_id).runs == len(rows)
    target.close()
    return [row["spec"] for row in rows]


def test_a_spec_with_a_path_is_refused_with_its_run_and_key(store: Store, lab: Lab, tmp_path: Path) -> None:
    path = {"model": {"tokenizer": {"kind": "words", "pattern": '[a-z]+|"/usr/[a-z]+"'}}}
    ids = finished(store, lab, {"p": path, "q": {}, "r": {"of": "p"}, "s": {"of": "r"}}, {"r": "p", "s": "r"})
    short = ids["p"][:12]
    message = (
        rf": run {short}: model.tokenizer.pattern of its spec names a path; a spec is never changed, since its hash is "
        rf"the run's id: leave them out, with the runs that need them: --leave-out {short}$"
    )
    with pytest.raises(InputError, match=message):
        export_example(store, tmp_path / "out.db")
    assert not (tmp_path / "out.db").exists()
    left_out = export_example(store, tmp_path / "out.db", leave_out=[ids["p"]])
    assert left_out == sorted([ids["p"], ids["r"], ids["s"]])
    (spec,) = intact(tmp_path / "out.db", tmp_path / "into.db")
    assert spec == store.query("SELECT spec FROM run WHERE id = :id", id=ids["q"])[0]["spec"]


@pytest.mark.parametrize(
    ("value", "what"),
    [
        ("read on box7.lab", "a host"),
        ({"labels": [["0", "~/x"]]}, "a path"),
        ({"/home/anna": 1}, "a path"),
        ("file:///home/anna/x", "a path"),
        ("postgresql://me:pw@server/results", "an address with a user"),
        ("s3://key@bucket/x", "an address with a user"),
    ],
)
def test_private_parts_of_a_spec(store: Store, lab: Lab, tmp_path: Path, value: object, what: str) -> None:
    fill(store, lab)
    ids = finished(store, lab, {"p": {"x": value}, "q": {"x": ["https://hub.example/x", "<s>", r"\w+|[^/]", 0.5]}})
    with pytest.raises(InputError, match=rf"run {ids['p'][:12]}: x\S* of its spec names {what};"):
        export_example(store, tmp_path / "out.db", ["exp"])
    assert export_example(store, tmp_path / "out.db", ["exp"], leave_out=[ids["p"]]) == [ids["p"]]
    assert len(intact(tmp_path / "out.db", tmp_path / "into.db")) == 1


PIECES = ["/", "a", " ", '"', ".", "~", "\\", ":", "@", "|", "box7", "//", "..", "[", "\u0000", "é"]
TEXTS = st.lists(st.sampled_from(PIECES), max_size=8).map("".join)
VALUES = st.recursive(
    TEXTS | st.integers(-5, 5) | st.none() | st.booleans(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)


@given(VALUES)
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_spec_is_copied_whole_or_refused(lab: Lab, tmp_path_factory: pytest.TempPathFactory, value: object) -> None:
    folder = tmp_path_factory.mktemp("specs")
    store = open_store(folder / "own.db")
    ids = finished(store, lab, {"p": {"x": value}, "q": {}})
    try:
        export_example(store, folder / "out.db")
    except InputError as error:
        assert f"run {ids['p'][:12]}: x" in str(error)
        export_example(store, folder / "out.db", leave_out=[ids["p"]])
        assert len(intact(folder / "out.db", folder / "into.db")) == 1
    else:
        assert intact(folder / "out.db", folder / "into.db") == [
            row["spec"] for row in store.query("SELECT spec FROM run ORDER BY id")
        ]
        assert scrub(value, frozenset()) == value
    store.close()


def test_a_failed_export_leaves_nothing_beside_the_file(
    store: Store, lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(store, lab)

    def fail(*_: object, **__: object) -> None:
        raise OSError("no space left")

    folder = tmp_path / "shelf"
    folder.mkdir()
    monkeypatch.setattr("hashbench.results.exchange.export.copy_attempt", fail)
    with pytest.raises(OSError, match="no space left"):
        export_example(store, folder / "out.db")
    assert list(folder.iterdir()) == []
