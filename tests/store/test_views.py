"""The views on hand-made databases with the answers worked out beside them, and on the published table 1."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from importlib.resources import files
from typing import TYPE_CHECKING

import pytest
import sqlalchemy as sa
from sqlalchemy.engine import RowMapping

from hashbench.common.errors import InputError
from hashbench.common.measured import MetricRow
from hashbench.store import views
from hashbench.store.deleting import planned_deletion
from hashbench.store.engine import Store
from hashbench.store.environment import Environment
from hashbench.store.planning import Run
from hashbench.store.queue import claim
from hashbench.store.result import Result, finish
from hashbench.store.status import find_experiment, versions
from hashbench.store.views import of_version

if TYPE_CHECKING:
    from tests.store.conftest import Lab

TASKS = ("mnli", "qnli", "qqp", "rte", "sst2", "mrpc", "cola", "stsb")
# Which metric and split HashFormers prints (section 4.3 and the released evaluation code).
READ = {
    "mnli": ("accuracy", "validation_matched"),
    "qqp": ("f1", "validation"),
    "cola": ("matthews", "validation"),
    "stsb": ("spearman", "validation"),
    **dict.fromkeys(("qnli", "rte", "sst2", "mrpc"), ("accuracy", "validation")),
}


def published(table: str) -> dict[tuple[str, str], float]:
    """(model, column) -> value as printed."""
    path = files("hashbench.results.papers") / "published" / "hashformers.csv"
    rows = csv.DictReader(path.read_text(encoding="utf-8").splitlines())
    return {(row["model"], row["column"]): float(row["value"]) for row in rows if row["table"] == table}


def by(rows: Sequence[RowMapping], *columns: str, value: str = "value") -> dict[object, float]:
    keys = [row[columns[0]] if len(columns) == 1 else tuple(row[name] for name in columns) for row in rows]
    assert len(set(keys)) == len(keys), "a cell comes twice"
    return dict(zip(keys, (row[value] for row in rows), strict=True))


def test_readings_are_those_of_the_paper() -> None:
    rows = views.readings()
    assert {row["task"]: (row["metric"], row["split"]) for row in rows if row["paper"] == "hashformers"} == READ


def measure(store: Store, lab: Lab, scores: dict[tuple[str, str], float], name: str = "paper") -> int:
    """An experiment whose single seed scored what is printed, beside metrics that the paper does not read."""
    runs: list[Run] = []
    results: dict[str, Result] = {}
    for (model, task), score in scores.items():
        metric, split = READ[task]
        run = lab.run(f"{model}-{task}", model=model, task=task, metric=metric, split=split, data_fingerprint=task)
        runs.append(run)
        metrics = lab.score(metric, score / 100, split) + lab.score("precision", 0.1, split)[:1]
        results[run.id] = Result([*metrics, MetricRow(metric, 0.01, split, step=1)])  # step 1 was neither best nor last
    experiment_id = lab.plan(store, *runs, name=name)
    assert lab.finish_all(store, experiment_id, results) == len(scores)
    return experiment_id


def test_the_108_prr_cells_of_table_2_follow_from_table_1(store: Store, lab: Lab) -> None:
    printed = published("1")
    scores = {key: value for key, value in printed.items() if key[1] in TASKS}
    assert len(scores) == 14 * 8
    experiment_id = measure(store, lab, scores)
    sql = "SELECT * FROM prr WHERE experiment_id = :id AND paper = 'hashformers' AND checkpoint = 'best'"
    ratios = by(store.query(sql, id=experiment_id), "model", "task")
    cells = {key: value for key, value in published("2").items() if key[1].startswith("prr_")}
    assert len(cells) == 108
    shown = {(model, column): 100 * ratios[model, column.removeprefix("prr_")] for model, column in cells}
    for key, value in cells.items():
        assert shown[key] == pytest.approx(value, abs=0.1), key
    rounded = {key: round(value, 1) for key, value in shown.items()}
    assert sum(rounded[key] == value for key, value in cells.items()) >= 105  # the rest is on the edge of rounding


def test_average_prr_is_the_ratio_of_the_averages_not_the_mean_of_the_ratios(store: Store, lab: Lab) -> None:
    printed = published("1")
    scores = {(model, task): printed[model, task] for model in ("bert-mlm", "hashformer-lsh-proj") for task in TASKS}
    experiment_id = measure(store, lab, scores)
    sql = "SELECT task, value, n_tasks FROM prr WHERE experiment_id = :id AND checkpoint = 'best' AND paper = 'own'"
    rows = store.query(sql + " AND model = 'hashformer-lsh-proj'", id=experiment_id)
    found = by(rows, "task")
    assert round(100 * found["average"], 1) == 99.5  # HashFormers, table 2
    assert round(100 * sum(found[task] for task in TASKS) / 8, 1) == 99.9  # what the mean of the eight would be
    assert by(rows, "task", value="n_tasks")["average"] == 8


@pytest.mark.parametrize(("table", "n_models"), [("1", 14), ("6", 8)])
def test_averages_of_a_table(store: Store, lab: Lab, table: str, n_models: int) -> None:
    printed = {key: value for key, value in published(table).items() if key[1] in (*TASKS, "average")}
    experiment_id = measure(store, lab, {key: value for key, value in printed.items() if key[1] in TASKS})
    which = "WHERE experiment_id = :id AND paper = 'hashformers' AND checkpoint = 'last'"
    rows = store.query(f"SELECT * FROM paper_averages {which}", id=experiment_id)
    scores = by(store.query(f"SELECT * FROM paper_scores {which}", id=experiment_id), "model", "task")
    shown = scores | {(model, "average"): value for model, value in by(rows, "model").items()}
    assert len(shown) == n_models * 9
    for key, value in printed.items():
        assert 100 * shown[key] == pytest.approx(value, abs=0.051), key  # MD-Add is 75.75, printed 75.7
    assert {row["n_tasks"] for row in rows} == {8}


@pytest.mark.parametrize("baseline", [0.0, -0.1])
def test_a_baseline_of_zero_or_less_gives_no_ratio(store: Store, lab: Lab, baseline: float) -> None:
    scores = {("bert-mlm", "cola"): 100 * baseline, ("mine", "cola"): 20.0}
    experiment_id = measure(store, lab, scores)
    rows = store.query("SELECT * FROM prr WHERE experiment_id = :id AND paper = 'own'", id=experiment_id)
    assert len(rows) == 2 * 2 * 2  # model, checkpoint, task or average
    assert {row["value"] for row in rows} == {None}
    assert {row["score"] for row in rows if row["model"] == "mine"} == {0.2}


def test_a_negative_score_is_not_clipped(store: Store, lab: Lab) -> None:
    experiment_id = measure(store, lab, {("bert-mlm", "cola"): 50.0, ("mine", "cola"): -5.0})
    sql = "SELECT value FROM prr WHERE experiment_id = :id AND model = 'mine' AND task = 'cola'"
    found = [row["value"] for row in store.query(sql, id=experiment_id)]
    assert found == [pytest.approx(-0.1)] * 6  # own and two papers, best and last


def test_the_average_ratio_uses_the_tasks_that_both_have(store: Store, lab: Lab) -> None:
    scores = {("bert-mlm", "cola"): 50.0, ("bert-mlm", "rte"): 80.0, ("mine", "rte"): 60.0, ("mine", "qqp"): 90.0}
    experiment_id = measure(store, lab, scores)
    sql = "SELECT value, n_tasks FROM prr WHERE experiment_id = :id AND model = 'mine' AND task = 'average'"
    rows = [(row["value"], row["n_tasks"]) for row in store.query(sql, id=experiment_id)]
    assert rows == [(pytest.approx(0.75), 1)] * 6  # own and two papers, best and last


def test_means_over_seeds_and_what_is_missing(store: Store, lab: Lab) -> None:
    values = {0: 0.5, 1: 0.7, 2: None}
    runs = {seed: lab.run(f"s{seed}", seed=seed) for seed in values}
    experiment_id = lab.plan(store, *runs.values())
    results = {
        runs[seed].id: Result(lab.score("matthews", value, reason="constant predictions" if value is None else None))
        for seed, value in values.items()
    }
    lab.finish_all(store, experiment_id, results)
    rows = store.query("SELECT * FROM scores_by_model WHERE checkpoint = 'best'")
    assert len(rows) == 1
    assert rows[0]["value"] == pytest.approx(0.6)  # (0.5 + 0.7) / 2
    assert (rows[0]["n"], rows[0]["n_missing"], rows[0]["own"]) == (2, 1, 1)
    sql = "SELECT seed, value, reason FROM scores WHERE checkpoint = 'best' AND value IS NULL"
    assert [tuple(row.values()) for row in store.query(sql)] == [(2, None, "constant predictions")]


def test_best_and_last_are_read_at_their_own_step(store: Store, lab: Lab) -> None:
    curve = [MetricRow("matthews", value, "validation", step) for step, value in ((10, 0.3), (20, 0.6), (30, 0.4))]
    steps = [MetricRow("best_step", 20), MetricRow("last_step", 30)]
    noise = [MetricRow("loss", 1.0, "train", 20), MetricRow("matthews", 0.9, "validation", 20, condition="typos")]
    run = lab.run("a")
    lab.finish_all(store, lab.plan(store, run), {run.id: Result([*curve, *steps, *noise])})
    rows = store.query("SELECT checkpoint, step, value FROM scores")
    assert {tuple(row.values()) for row in rows} == {("best", 20, 0.6), ("last", 30, 0.4)}


def test_a_score_of_other_data_is_not_averaged_in(store: Store, lab: Lab) -> None:
    runs = [lab.run(f"s{seed}", seed=seed, data_fingerprint=f"data{seed}") for seed in range(2)]
    lab.finish_all(store, lab.plan(store, *runs))
    rows = store.query("SELECT data_fingerprint, n FROM scores_by_model WHERE checkpoint = 'best'")
    assert {tuple(row.values()) for row in rows} == {("data0", 1), ("data1", 1)}


def test_an_own_task_is_read_by_its_own_metric(store: Store, lab: Lab) -> None:
    run = lab.run("a", task="subj", metric="accuracy", split="test")
    metrics = lab.score("accuracy", 0.9, "test") + lab.score("f1", 0.8, "test")[:1]
    lab.finish_all(store, lab.plan(store, run), {run.id: Result(metrics)})
    rows = store.query("SELECT paper, task, metric, value FROM paper_scores WHERE checkpoint = 'best'")
    assert [tuple(row.values()) for row in rows] == [("own", "subj", "accuracy", 0.9)]


def test_unfinished_runs_are_in_no_view(store: Store, lab: Lab) -> None:
    lab.claim(store, lab.plan(store, lab.run("a"), lab.run("b")))
    for name in views.VIEWS:
        assert not store.query(f"SELECT * FROM {name}"), name


def test_two_experiments_that_share_a_run_keep_their_labels(store: Store, lab: Lab) -> None:
    lab.finish_all(store, lab.plan(store, lab.run("a", model="mine"), name="one"))
    second = lab.plan(store, lab.run("a", model="renamed"), name="two")
    assert lab.claim(store, second) is None  # nothing is done twice
    rows = store.query("SELECT experiment, model FROM scores WHERE checkpoint = 'best' ORDER BY experiment")
    assert [tuple(row.values()) for row in rows] == [("one", "mine"), ("two", "renamed")]


# HashFormers, section 4.4 and table 2: exact counts of BERT, MD-Proj; the times are made up.
SIZES = {
    "bert-mlm": {"total_params": 124_647_170, "emb_params": 38_603_520},
    "mine": {"total_params": 86_146_562, "emb_params": 99_072},
}
TIMES = {"pretrain_ms": 10.0, "baseline_pretrain_ms": 25.0}
INFER = {"cola": (2.0, 4.0), "rte": (4.0, 4.0)}  # task: (model, baseline) -> speed-up 2.0 and 1.0


def efficiency(store: Store, lab: Lab, **more: float) -> int:
    runs, results = [], {}
    for model, sizes in SIZES.items():
        run = lab.run(f"eff-{model}", kind="efficiency", model=model, task=None, seed=None, metric=None, split=None)
        metrics = [MetricRow(name, value) for name, value in (sizes | TIMES | more).items()]
        for task, (ours, baseline) in INFER.items():
            metrics += [MetricRow("infer_ms", ours, task), MetricRow("baseline_infer_ms", baseline, task)]
        runs.append(run)
        results[run.id] = Result(metrics)
    experiment_id = lab.plan(store, *runs)
    lab.finish_all(store, experiment_id, results)
    return experiment_id


def test_compression_and_share_of_the_embedding(store: Store, lab: Lab) -> None:
    experiment_id = efficiency(store, lab)
    sql = "SELECT name, value FROM costs WHERE experiment_id = :id AND model = 'mine'"
    found = by(store.query(sql, id=experiment_id), "name")
    assert (found["total_params"], found["emb_params"]) == (86_146_562, 99_072)
    assert round(100 * found["pcr_all"], 1) == 30.9  # table 2, MD-Proj
    assert round(100 * found["pcr_emb"], 1) == 99.7
    assert round(100 * found["poep"], 1) == 0.1
    own = store.query("SELECT pcr_all, pcr_emb FROM pcr WHERE model = 'bert-mlm'")[0]
    assert (own["pcr_all"], own["pcr_emb"]) == (0.0, 0.0)


def test_every_printed_compression_ratio_follows_from_the_exact_counts(store: Store, lab: Lab) -> None:
    printed = published("2")
    models = {model for model, column in printed if column == "pcr_all"} - {"canine-c"}  # its frame is its own
    models |= {"bert-mlm"}
    names = ("total_params", "emb_params")
    runs = {model: lab.run(model, kind="efficiency", model=model, task=None, metric=None) for model in models}
    counted = {m: [MetricRow(name, printed[m, f"{name}_exact"]) for name in names] for m in models}
    experiment_id = lab.plan(store, *runs.values())
    lab.finish_all(store, experiment_id, {runs[model].id: Result(counted[model]) for model in models})
    found = by(store.query("SELECT * FROM costs"), "model", "name")
    slips = {f"hashformer-{h}-{kind}" for h in ("md", "lsh") for kind in ("emb-1k", "pool")}  # PoEP printed 1.0
    ratios = {
        (model, column): value
        for (model, column), value in printed.items()
        if column in ("pcr_all", "pcr_emb", "poep") and model != "canine-c"
    }
    assert len(ratios) >= 3 * (len(models) - 1)
    for (model, column), value in ratios.items():
        slack = 0.1 if column == "poep" and model in slips else 0.051
        assert 100 * found[model, column] == pytest.approx(value, abs=slack), (model, column)


def test_speed_up_is_formed_within_one_run_and_ranges_over_tasks(store: Store, lab: Lab) -> None:
    experiment_id = efficiency(store, lab, pretrain_optimizer_ms=5.0)
    sql = "SELECT name, value, value_high FROM costs WHERE experiment_id = :id AND model = 'mine'"
    found = {row["name"]: (row["value"], row["value_high"]) for row in store.query(sql, id=experiment_id)}
    assert {name: value for name, value in found.items() if name.endswith(("_ms", "_speedup"))} == {
        "pt_ms": (10.0, None),
        "pt_speedup": (2.5, None),
        "infer_ms": (2.0, 4.0),
        "infer_speedup": (1.0, 2.0),
    }
    rows = store.query("SELECT name, task, value FROM speed_up WHERE model = 'mine'")
    # No pair, no ratio: pretrain_optimizer_ms has no baseline here, and parameters are no time.
    assert by(rows, "name", "task") == {("pretrain_ms", ""): 2.5, ("infer_ms", "cola"): 2.0, ("infer_ms", "rte"): 1.0}


def test_intervals_of_speed_ups_stand_beside_them_the_widest_over_tasks(store: Store, lab: Lab) -> None:
    run = lab.run("eff", kind="efficiency", model="mine", task=None, seed=None, metric=None, split=None)
    ends = {"cola": (1.9, 2.1), "rte": (0.95, 1.2)}
    metrics = [MetricRow(name, value) for name, value in TIMES.items()]
    for task, (ours, baseline) in INFER.items():
        metrics += [MetricRow("infer_ms", ours, task), MetricRow("baseline_infer_ms", baseline, task)]
        metrics += [MetricRow(f"infer_ms_speedup_{end}", ends[task][i], task) for i, end in enumerate(("low", "high"))]
    lab.finish_all(store, lab.plan(store, run), {run.id: Result(metrics)})
    rows = store.query("SELECT name, task, value, low, high FROM speed_up")
    assert {(row["name"], row["task"]): (row["value"], row["low"], row["high"]) for row in rows} == {
        ("pretrain_ms", ""): (2.5, None, None),  # as it was stored before there were intervals
        ("infer_ms", "cola"): (2.0, 1.9, 2.1),
        ("infer_ms", "rte"): (1.0, 0.95, 1.2),
    }
    costs = {row["name"]: (row["low"], row["high"]) for row in store.query("SELECT name, low, high FROM costs")}
    assert costs["infer_speedup"] == (0.95, 2.1)
    assert {costs[name] for name in costs if name != "infer_speedup"} == {(None, None)}


def test_parameters_of_a_pre_training_stand_in_where_no_efficiency_run_is(store: Store, lab: Lab) -> None:
    pretrain = lab.run("p", kind="pretrain", model="mine", task=None, metric=None)
    metrics = [MetricRow("total_params", 5.0), MetricRow("emb_params", 2.0)]
    lab.finish_all(store, lab.plan(store, pretrain), {pretrain.id: Result(metrics)})
    row = store.query("SELECT * FROM efficiency")[0]
    assert (row["total_params"], row["emb_params"], row["pretrain_ms"]) == (5.0, 2.0, None)
    assert store.query("SELECT poep FROM poep")[0]["poep"] == 0.4
    assert not store.query("SELECT * FROM pcr")  # no baseline, no ratio


def test_sizes_are_measured_else_noted_by_pre_training_else_by_a_training(store: Store, lab: Lab) -> None:
    sources = {
        "tuned": lab.run("t", model="mine"),
        "pretrained": lab.run("p", kind="pretrain", model="mine", task=None, metric=None),
        "measured": lab.run("m", kind="toy", model="mine", task=None, seed=None, metric=None),
    }
    experiment_id = lab.plan(store, *sources.values())
    best = [MetricRow("best_step", 0)]
    seen = []
    for size, name in enumerate(sources):
        held = lab.claim(store, experiment_id)
        assert held is not None and held.run_id == sources[name].id
        finish(store, held, Result([MetricRow("total_params", float(size)), *(best if name == "tuned" else [])]))
        seen.append(store.query("SELECT total_params FROM efficiency")[0]["total_params"])
    assert seen == [0.0, 1.0, 2.0]


def test_a_run_of_any_kind_that_names_its_best_step_has_scores(store: Store, lab: Lab) -> None:
    toy, noisy = lab.run("t", kind="toy"), lab.run("n", kind="robustness")
    noise = [MetricRow("matthews", 0.5, "validation"), MetricRow("matthews", 0.25, "validation", condition="swap=0.1")]
    results = {toy.id: Result(lab.score("matthews", 0.75)), noisy.id: Result([*noise, MetricRow("words", 7.0)])}
    lab.finish_all(store, lab.plan(store, toy, noisy), results)
    rows = store.query("SELECT kind, checkpoint, value, own FROM scores ORDER BY checkpoint")
    assert [tuple(row.values()) for row in rows] == [("toy", "best", 0.75, 1), ("toy", "last", 0.75, 1)]
    assert [row["value"] for row in store.query("SELECT value FROM scores_by_model")] == [0.75, 0.75]
    assert not store.query("SELECT * FROM scores_by_condition")
    rows = store.query("SELECT condition, value FROM robustness ORDER BY condition")
    assert [tuple(row.values()) for row in rows] == [("", 0.5), ("swap=0.1", 0.25)]
    assert {row["name"] for row in store.query("SELECT name FROM facts")} == {"best_step", "last_step"}
    assert [row["name"] for row in store.query("SELECT name FROM robustness_facts")] == ["words"]


def test_run_origins_name_the_place_but_not_the_host(store: Store, lab: Lab) -> None:
    place = Environment("box7", "abc123", "- old\n+ new", {"torch": "2.13.0"}, {}, "AMD EPYC, 2 cores")
    experiment_id = lab.plan(store, lab.run("a"))
    held = claim(store, experiment_id, worker="w", lease_s=60, max_attempts=1, environment=place)
    finish(store, held, Result(lab.score("matthews", 0.5), notes={"data": "built-in"}))
    row = store.query("SELECT * FROM run_origins")[0]
    assert (row["git_commit"], row["has_diff"], row["hardware_name"]) == ("abc123", 1, "AMD EPYC, 2 cores")
    assert (row["packages"], row["notes"]) == ('{"torch":"2.13.0"}', '{"data":"built-in"}')
    assert "box7" not in str(row)


def test_every_view_is_commented_and_has_the_columns_to_filter_by(store: Store) -> None:
    for name, text in views.VIEWS.items():
        assert text.startswith("-- ") and ";" not in text.splitlines()[-1], name
        with store.read() as connection:
            columns = {column["name"] for column in sa.inspect(connection).get_columns(name)}
        assert columns >= {"experiment_id", "experiment", "encoder", "model", "position"}, name


def test_creating_views_twice_changes_nothing(store: Store, lab: Lab) -> None:
    efficiency(store, lab)
    before = {name: sorted(map(str, store.query(f"SELECT * FROM {name}"))) for name in views.VIEWS}
    with store.write() as connection:
        views.create(connection)
        views.create(connection)
    assert {name: sorted(map(str, store.query(f"SELECT * FROM {name}"))) for name in views.VIEWS} == before
    assert store.query("SELECT COUNT(*) AS n FROM reading")[0]["n"] == len(views.readings())


def versions_of_one_name(store: Store, lab: Lab) -> tuple[int, int]:
    """Two versions of one experiment, of which the later has a further run; both are finished."""
    runs = [lab.run("a"), lab.run("b", seed=1)]
    first = lab.plan(store, runs[0], name="one")
    lab.finish_all(store, first)
    second = lab.plan(store, *runs, name="one")
    lab.finish_all(store, second)
    return first, second


def test_of_the_versions_of_a_name_the_newest_is_in_every_view(store: Store, lab: Lab) -> None:
    first, second = versions_of_one_name(store, lab)
    for name in views.VIEWS:
        found = {row["experiment_id"] for row in store.query(f"SELECT experiment_id FROM {name}")}
        assert found <= ({first, second} if name == "finished_versions" else {second}), name
    rows = store.query("SELECT run_id, COUNT(*) AS n FROM scores WHERE checkpoint = 'best' GROUP BY run_id")
    assert len(rows) == 2 and {row["n"] for row in rows} == {1}
    assert len(store.query("SELECT * FROM finished_versions")) == 3


def test_an_earlier_version_that_is_swept_again_is_the_newest(store: Store, lab: Lab) -> None:
    first, _ = versions_of_one_name(store, lab)
    lab.plan(store, lab.run("a"), name="one")
    assert {row["experiment_id"] for row in store.query("SELECT experiment_id FROM scores")} == {first}
    assert find_experiment(store, "one").id == first  # `list`, `report` and the views have one rule


def test_an_earlier_version_is_found_by_its_fingerprint(store: Store, lab: Lab) -> None:
    first, second = versions_of_one_name(store, lab)
    marks = {of.id: mark for of, mark in versions(store)}
    assert find_experiment(store, "one").id == second
    assert [find_experiment(store, f"one@{marks[place][:8]}").id for place in (first, second)] == [first, second]
    for wrong in ("one@", "one@zzzz", f"one@{marks[first][:3]}"):
        with pytest.raises(InputError, match=f"'{wrong}' is no version of it .there is: one@{marks[second][:8]}, one@"):
            find_experiment(store, wrong)
    assert find_experiment(store, f"one@{marks[first]}").name == f"one@{marks[first]}"  # others read on by it
    with pytest.raises(InputError, match="no experiment 'one@"):
        planned_deletion(store, f"one@{marks[first]}")  # all versions are deleted, by the plain name
    with pytest.raises(InputError, match="no experiment 'two@"):
        find_experiment(store, f"two@{marks[first][:8]}")


def test_queries_of_a_version_read_it_be_it_the_newest_or_not(store: Store, lab: Lab) -> None:
    first, second = versions_of_one_name(store, lab)
    for place, n in ((first, 1), (second, 2)):
        sql = of_version("SELECT run_id FROM scores WHERE checkpoint = 'best'", "evaluated", "scores")
        assert len(store.query(sql, experiment=place)) == n
