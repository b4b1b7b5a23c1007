"""Sweeps on page-link sets, as a user calls them: floors and models, tables, neighbours, resuming, wrong input."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from hashbench.results.read.scores import results
from hashbench.results.rendering.registry import render
from hashbench.results.tables.report import tables
from hashbench.results.tables.request import ReportRequest
from hashbench.scores.base import find_metric
from hashbench.scores.rankings import PAGE
from hashbench.store.engine import open_store
from hashbench.store.status import artifacts, counts, experiments, predictions, runs
from tests.commands import call, finish, start

SHAPE = "encoder: {layers: 1, heads: 2, dim: 32, feed_forward: 64, dropout: 0, attention_dropout: 0}"
EXPERIMENT = f"""\
name: links
data: DATA
encoder: tiny
models:
  - {{name: hashed, like: superbloom-a50, coder: {{alpha: 4}}, {SHAPE}}}
  - {{name: sampled, like: superbloom-baseline, objective: {{negatives: 12}}, {SHAPE}}}
baseline: hashed
tasks: [entities]
seeds: [0]
entities: {{segment_items: 6, validation_cases: 40, beams: [1, 12]}}
finetune: {{steps: 240, batch_size: 16, learning_rate: 1e-2, warmup_fraction: 0.05, evaluation_steps: 40}}
threads: 1
"""


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory, page_links: Path) -> tuple[Path, str]:
    folder = tmp_path_factory.mktemp("swept")
    (folder / "links.yaml").write_text(EXPERIMENT.replace("DATA", str(page_links)))
    done = finish("sweep", "links.yaml", "--db", "r.db", cwd=folder)
    assert done.code == 0, done.err
    return folder, done.out


def test_every_run_is_done_and_the_table_has_models_and_floors(swept: tuple[Path, str]) -> None:
    folder, out = swept
    store = open_store(folder / "r.db")
    assert counts(store, experiments(store)[0].id)["done"] == 4
    for word in ("hashed", "sampled", "popularity", "co-occurrence", "rec@20", "MRR", "beam width", "decile"):
        assert word in out


def test_stored_ranks_give_the_stored_scores(swept: tuple[Path, str]) -> None:
    store = open_store(swept[0] / "r.db")
    table = results(store, everything=True)
    runs_of = runs(store, experiments(store)[0].id)
    assert len(runs_of) == 4
    for run in runs_of:
        stored = predictions(store, run.run_id, "test", "best")
        assert stored is not None
        rows = table[(table.run_id == run.run_id) & (table.split == "test") & (table.checkpoint == "best")]
        found = dict(zip(rows.metric, rows.value, strict=True))
        for metric in ("rec@1", "rec@10", "rec@20", "mrr"):
            assert found[metric] == pytest.approx(find_metric(metric).score(stored.targets, stored.outputs))


def test_all_models_have_the_same_cases(swept: tuple[Path, str]) -> None:
    store = open_store(swept[0] / "r.db")
    found = [predictions(store, run.run_id, "test", "best") for run in runs(store, experiments(store)[0].id)]
    stored = [one for one in found if one is not None]
    assert len({one.index_fingerprint for one in stored}) == 1 and len(stored) == 4
    pages = [one.outputs[:, PAGE] for one in stored]
    assert all((other == pages[0]).all() for other in pages)


def test_intervals_over_pages_and_tidy_rows(swept: tuple[Path, str]) -> None:
    text = render(tables(open_store(swept[0] / "r.db"), ReportRequest(examples=True)), "csv")
    lines = [line for line in text.splitlines() if ",hashed,rec@1" in line]
    assert any("_over_examples" in line for line in lines) and len(lines) >= 2


def test_a_training_leaves_what_predictions_need(swept: tuple[Path, str]) -> None:
    folder = swept[0]
    store = open_store(folder / "r.db")
    trained = [run for run in runs(store, experiments(store)[0].id) if run.kind == "entities"]
    assert {run.model for run in trained} == {"hashed", "sampled"}
    for run in trained:
        kept = {each.kind: folder / "cache" / "artifacts" / each.url for each in artifacts(store, run.run_id)}
        assert set(kept) == {"weights", "head", "coder"} and all(path.is_file() for path in kept.values())


def test_neighbours_are_of_the_topic(swept: tuple[Path, str]) -> None:
    folder = swept[0]
    store = open_store(folder / "r.db")
    hashed = next(run for run in runs(store, experiments(store)[0].id) if run.model == "hashed")
    context = [f"topic 2 item {i}" for i in range(4)]
    ask = ("neighbours", "--db", "r.db", "--run", hashed.run_id[:10])
    found = call(*ask, "--top", 5, "--format", "csv", *context, cwd=folder)
    assert found.code == 0, found.err
    items = [line.split(",")[1] for line in found.out.splitlines()[1:]]
    assert len(items) == 5 and sum(item.startswith("topic 2") for item in items) >= 3
    every = call(*ask, "--top", 100, "--format", "csv", *context, cwd=folder).out.splitlines()[1:]
    assert len(every) == len({line.split(",")[1] for line in every}) == 48  # the first item of all is one of them
    unknown = call(*ask, "topic 2 itm 1", cwd=folder)
    message = "hashbench: item 'topic 2 itm 1': not in the vocabulary; did you mean 'topic"
    assert unknown.code == 2 and unknown.err.startswith(message)
    floor = next(run for run in runs(store, experiments(store)[0].id) if run.kind == "floor")
    refused = call("neighbours", "--db", "r.db", "--run", floor.run_id[:10], "x", cwd=folder)
    assert refused.code == 2
    assert "predicts no hidden items; name a training on a page-link set or on phrases" in refused.err


def test_a_second_sweep_does_nothing(swept: tuple[Path, str]) -> None:
    folder, first = swept
    done = finish("sweep", "links.yaml", "--db", "r.db", cwd=folder)
    assert done.code == 0 and "all 4 runs are done already" in done.err and done.out == first


@pytest.mark.slow
def test_a_killed_sweep_goes_on_to_the_same_scores(swept: tuple[Path, str], page_links: Path, tmp_path: Path) -> None:
    (tmp_path / "links.yaml").write_text((swept[0] / "links.yaml").read_text() + "checkpoint_minutes: 0.0001\n")
    process = start("sweep", "links.yaml", "--db", "r.db", cwd=tmp_path)
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline and not list((tmp_path / "cache").rglob("resume-*.ckpt")):
        time.sleep(0.2)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    done = finish("sweep", "links.yaml", "--db", "r.db", cwd=tmp_path)
    assert done.code == 0, done.err
    keys = ["model", "seed", "metric", "split", "checkpoint"]
    whole, again = (
        results(open_store(folder / "r.db"), everything=True).sort_values(keys).reset_index(drop=True)
        for folder in (swept[0], tmp_path)
    )
    assert whole[[*keys, "value", "run_id"]].equals(again[[*keys, "value", "run_id"]])


WRONG = {
    "alpha larger than the vocabulary": (
        "coder: {alpha: 4}",
        "coder: {alpha: 400}",
        "model 'hashed': coder bloom: alpha 400 is larger than the vocabulary of 48 items; take less",
    ),
    "a model of texts": ("[entities]", "[cola]", "model 'hashed' reads items and task 'cola' is a task of texts"),
    "efficiency": ("threads: 1", "efficiency: true", "efficiency times models of texts; leave it out"),
    "a grid": ("1e-2", "[1e-3, 1e-2]", "a grid of learning rates needs a task of texts; give 'hashed' one rate"),
    "another coder": ("coder: {alpha: 4}", "coder: {kind: md5-rows}", "objective entities needs coder bloom"),
    "an unknown choice": ("{negatives: 12}", "{negatves: 12}", "unknown argument 'negatves'; did you mean 'negatives'"),
    "an unknown metric": ("evaluation_steps: 40", "select_metric: rec@2", "metric 'rec@2' does not fit task"),
    "negative dropout": ("layers: 1", "dropout: -1", "dropout"),
}


@pytest.mark.parametrize(("old", "new", "message"), WRONG.values(), ids=WRONG)
def test_wrong_input_is_one_line(
    page_links: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, old: str, new: str, message: str
) -> None:
    from hashbench.common.errors import InputError
    from hashbench.running.experiment.load import load_experiment
    from hashbench.running.sweep.plan import check_data, plan

    monkeypatch.setenv("HASHBENCH_CACHE", str(tmp_path / "cache"))
    text = EXPERIMENT.replace("DATA", f"[builtin, {page_links}]").replace(old, new, 1)
    (tmp_path / "links.yaml").write_text(text)
    with pytest.raises(InputError) as error:
        planned = plan(load_experiment(tmp_path / "links.yaml"))
        check_data(planned)
    assert message in str(error.value) and "\n" not in str(error.value)
    assert str(error.value).startswith(str(tmp_path / "links.yaml") + ":")
