"""What is kept under noise: curves, areas, differences and their intervals, on a hand-made database."""

from __future__ import annotations

import csv
import io
import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.container import ErrorbarContainer

from hashbench.cli.app import main
from hashbench.common.errors import InputError
from hashbench.common.measured import MetricRow
from hashbench.results.exchange.export import export_example
from hashbench.results.papers.paper import load_paper
from hashbench.results.plots.base import FigureData
from hashbench.results.plots.robustness import draw
from hashbench.results.read.evidence import draw_seed
from hashbench.results.read.overview import listed_experiments
from hashbench.results.read.robustness import AVERAGE, measure_robustness
from hashbench.results.rendering.registry import render
from hashbench.results.tables.request import ReportRequest, ReportSource
from hashbench.results.tables.robustness import robustness_tables
from hashbench.scores.draws import draw_counts
from hashbench.store.engine import Store, open_store
from hashbench.store.planning import Run, add_experiment
from hashbench.store.queue import claim
from hashbench.store.result import Predictions, Result, finish

N = 200
RATES = (0.1, 0.2)
RECIPE = {**load_paper("hashformers").recipe.finetune, "learning_rate": 3e-5, "clip": 1.0, "pad_to_max": False}
# right answers of N in thousandths at rates 0, 0.1, 0.2, by model, under swap
RIGHT = {"strong": (0.9, 0.81, 0.72), "weak": (0.8, 0.4, 0.4)}
FLOOR = "bag-of-words"


def arrays(share: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Predictions of which exactly that share is right, and the targets."""
    targets = np.arange(N) % 2
    wrong = np.random.default_rng(seed).permutation(N) >= round(share * N)
    return np.where(wrong, 1 - targets, targets), targets


def result(model: str, seed: int, *, keep: bool, nothing: bool = False) -> Result:
    """A robustness run whose scores are those of its predictions."""
    right = (RIGHT | {FLOOR: (0.7, 0.63, 0.56)})[model]
    shares = dict(zip(("", *(f"swap={rate:g}" for rate in RATES)), right, strict=True))
    metrics = [MetricRow("accuracy", share, split="validation", condition=label) for label, share in shares.items()]
    metrics += [MetricRow("unseen_tokens", 0.25), MetricRow("unseen_tokens", 0.5, condition="swap=0.2")]
    metrics += [MetricRow("types_per_bucket", 1.5), MetricRow("misspelling_agreement", None, reason="no word")]
    if nothing:
        metrics = [MetricRow(m.name, 0.0 if m.split else m.value, m.split, 0, m.condition, m.reason) for m in metrics]
    kept = [Predictions("validation", "best", *arrays(share, seed), "x", label) for label, share in shares.items()]
    return Result(metrics, predictions=kept if keep else ())


def build(
    path: Path,
    *,
    seeds: tuple[int, ...] = (0,),
    keep: bool = True,
    tasks: tuple[str, ...] = ("sst2",),
    floor: bool = False,
    also: tuple[str, ...] = (),
) -> Store:
    """Two models on the tasks, and a trivial baseline."""
    store = open_store(path)
    rows = []
    for task in (*tasks, *also) if floor else ():
        about = {"model": FLOOR, "encoder": "tiny", "task": task, "seed": None, "data_fingerprint": f"d-{task}"}
        spec = {"kind": "robustness", "baseline_run": f"b-{task}"}
        rows.append(Run(f"b-{task}", "robustness", spec=spec, metric="accuracy", split="validation", **about))
    for seed in seeds:
        for task in tasks:
            for model in RIGHT:
                name = f"{model}-{task}-{seed}"
                about = {"model": model, "encoder": "tiny", "task": task, "seed": seed, "data_fingerprint": f"d-{task}"}
                spec = {"kind": "finetune", "finetune": RECIPE, "pretrain": None}
                spec |= {"model": {"weights": None}, "seed": seed}
                rows.append(Run(f"f-{name}", "finetune", spec=spec, metric="accuracy", split="validation", **about))
                spec = {"kind": "robustness"}
                need = {"needs": (f"f-{name}",), "metric": "accuracy", "split": "validation"}
                rows.append(Run(f"r-{name}", "robustness", spec=spec, **need, **about))
    experiment = add_experiment(store, "noisy", {}, rows, baseline="weak")
    while held := claim(store, experiment, worker="w", lease_s=60, max_attempts=1):
        if held.kind == "robustness":
            nothing = held.task == "cola" and held.model in ("weak", FLOOR) and not (floor and held.model == "weak")
            finish(store, held, result(held.model, int(held.seed or 0), keep=keep, nothing=nothing))
        else:
            share = RIGHT[held.model][0]
            own = Predictions("validation", "best", *arrays(share, int(held.seed or 0)), "x")
            steps = [MetricRow("best_step", 1), MetricRow("last_step", 1)]
            steps += [MetricRow("accuracy", share, "validation", 1)]
            finish(store, held, Result(steps, predictions=[own]))
    return store


def test_kept_and_areas_by_hand(tmp_path: Path) -> None:
    found = measure_robustness(build(tmp_path / "r.db"), draws=100)
    strong, weak = found.curve("strong", "sst2", "swap"), found.curve("weak", "sst2", "swap")
    assert strong is not None and weak is not None
    assert strong.rates == (0.0, 0.1, 0.2)
    assert [strong.score(at).value for at in range(3)] == [0.9, 0.81, 0.72]
    assert [strong.retention(at).value for at in range(3)] == pytest.approx([1, 0.9, 0.8])
    assert strong.score().value == pytest.approx((0.9 / 2 + 0.81 + 0.72 / 2) / 2)  # two trapezoids of width 1/2
    assert strong.retention().value == pytest.approx(0.9)
    assert strong.less(weak, 2).value == pytest.approx(0.8 - 0.5)
    assert strong.less(weak).value == pytest.approx(0.9 - (0.5 + 0.5 + 0.25) / 2)
    assert found.notes == ()


def test_a_trivial_baseline_is_compared_with_every_seed_and_ranked_with_none(tmp_path: Path) -> None:
    store = build(tmp_path / "r.db", seeds=(0, 1), floor=True)
    found = measure_robustness(store, draws=100)
    floor, weak = (found.curve(name, "sst2", "swap") for name in (FLOOR, "weak"))
    assert floor is not None and weak is not None and floor.is_baseline and not weak.is_baseline
    assert weak.less(floor).value == pytest.approx((0.5 + 0.5 + 0.25) / 2 - 0.9)
    assert floor.less(weak).value == pytest.approx(0.9 - (0.5 + 0.5 + 0.25) / 2)
    assert weak.less(floor).low == pytest.approx(-floor.less(weak).high)
    assert weak.less(floor).low < weak.less(floor).value < weak.less(floor).high
    with_floor, without = (
        robustness_tables(ReportSource(of, ReportRequest("noisy", full=True)))
        for of in (store, build(tmp_path / "models.db", seeds=(0, 1)))
    )
    cells = {row.model: row.cells["swap"] for row in with_floor[0].rows}
    assert {row.model: row.cells["swap"].rating for row in without[0].rows} == {
        model: cell.rating for model, cell in cells.items() if model != FLOOR
    }
    assert cells["strong"].value == pytest.approx(90) and cells[FLOOR].value == pytest.approx(90)
    assert [row.model for row in with_floor[0].rows if row.is_baseline] == [FLOOR]
    assert set(listed_experiments(store)[0].models) == set(RIGHT)


def test_a_task_that_a_trivial_baseline_alone_has_is_in_no_average(tmp_path: Path) -> None:
    store = build(tmp_path / "r.db", seeds=(0, 1), tasks=("sst2", "rte"), floor=True, also=("mrpc",))
    found = measure_robustness(store, draws=100)
    assert found.averaged == ("sst2", "rte") and found.curve("weak", AVERAGE, "swap") is not None
    assert found.curve(FLOOR, "mrpc", "swap") is not None


def test_an_interval_ends_where_scores_do(tmp_path: Path) -> None:
    store = build(tmp_path / "r.db", seeds=(0, 1), tasks=("sst2", "rte"))
    found = measure_robustness(store, draws=100)
    for task in ("sst2", "rte", AVERAGE):
        curve = found.curve("strong", task, "swap")
        assert curve is not None and curve.bounds == (0, 1)
        for at in (0, 1, 2, None):
            # two seeds say little of a third
            apart = replace(curve, scores=(curve.scores[0] + [[0.1], [-0.7]], curve.scores[1]))
            assert (apart.score(at).low, apart.score(at).high) == (0, 1)


def test_a_trivial_baseline_at_chance_takes_no_task_from_the_average_of_models(tmp_path: Path) -> None:
    tasks = ("sst2", "rte", "cola")
    found = measure_robustness(build(tmp_path / "r.db", seeds=(0, 1), tasks=tasks, floor=True), draws=100)
    assert found.averaged == tasks and found.curve("weak", AVERAGE, "swap") is not None


def by_target(outputs: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """Which rows are right, in the order of their targets, in which examples are drawn."""
    return (outputs == targets)[np.argsort(targets, kind="stable")]


def test_an_export_gives_the_same_intervals_and_no_note(tmp_path: Path) -> None:
    store = build(tmp_path / "r.db")
    export_example(store, tmp_path / "example.db", ("noisy",))
    exported = open_store(str(tmp_path / "example.db"), create=False, read_only=True)
    ours, theirs = (measure_robustness(one, draws=300) for one in (store, exported))
    assert theirs.notes == ()
    for one in ours.curves:
        other = theirs.curve(one.model, one.task, one.kind)
        assert other is not None
        assert [one.score(at) for at in range(3)] == [other.score(at) for at in range(3)]


def test_intervals_are_those_of_a_plain_loop_over_the_same_draws(tmp_path: Path) -> None:
    found = measure_robustness(build(tmp_path / "r.db"), draws=300)
    strong, weak = found.curve("strong", "sst2", "swap"), found.curve("weak", "sst2", "swap")
    assert strong is not None and weak is not None
    differences = []
    right = {model: [by_target(*arrays(share, 0)) for share in RIGHT[model]] for model in RIGHT}
    for counts in draw_counts(N, 300, draw_seed("sst2")):
        for one in counts:
            rows = np.repeat(np.arange(N), np.asarray(one, int))
            kept = {model: right[model][2][rows].mean() / right[model][0][rows].mean() for model in RIGHT}
            differences.append(kept["strong"] - kept["weak"])
    estimate = strong.less(weak, 2)
    assert estimate.high - estimate.value == pytest.approx(1.959964 * np.std(differences), rel=1e-6)
    assert estimate.value - estimate.low == pytest.approx(1.959964 * np.std(differences), rel=1e-6)
    assert estimate.spread == "examples"


def test_several_seeds_widen_the_interval_and_are_matched(tmp_path: Path) -> None:
    found = measure_robustness(build(tmp_path / "r.db", seeds=(0, 1, 2)), draws=100)
    strong = found.curve("strong", "sst2", "swap")
    assert strong is not None and strong.seeds == (0, 1, 2)
    assert strong.score(1).spread == "seeds and examples"
    some = measure_robustness(build(tmp_path / "s.db", seeds=(1, 2)), draws=100).curve("weak", "sst2", "swap")
    assert some is not None
    matched = strong.less(some, 2)  # over the seeds that both have
    assert (matched.n_seeds, matched.spread) == (2, "seeds and examples")
    assert matched.value == pytest.approx(0.8 - 0.5)


def test_the_average_is_over_tasks(tmp_path: Path) -> None:
    found = measure_robustness(build(tmp_path / "r.db", tasks=("sst2", "mrpc")), draws=100)
    assert found.tasks() == ["sst2", "mrpc", AVERAGE]
    average = found.curve("strong", AVERAGE, "swap")
    assert average is not None and average.retention(2).value == pytest.approx(0.8) and average.n_examples == 2 * N


def test_a_model_that_has_nothing_to_keep_on_a_task_has_no_average_and_takes_none_from_others(tmp_path: Path) -> None:
    store = build(tmp_path / "r.db", tasks=("sst2", "cola", "mrpc"), keep=False)
    found = measure_robustness(store)
    cola, average = found.curve("weak", "cola", "swap"), found.curve("strong", AVERAGE, "swap")
    assert cola is not None and math.isnan(cola.retention(1).value)
    assert average is not None and average.n_examples == 0
    weak = found.curve("weak", AVERAGE, "swap")
    assert weak is None or math.isnan(weak.retention(2).value)
    (summary,) = robustness_tables(ReportSource(store, ReportRequest()))
    assert "average of 3 tasks" in summary.title


def test_without_predictions_there_are_scores_and_no_intervals(tmp_path: Path) -> None:
    found = measure_robustness(build(tmp_path / "r.db", keep=False))
    strong = found.curve("strong", "sst2", "swap")
    assert strong is not None and math.isnan(strong.retention(2).low)
    assert strong.retention(2).value == pytest.approx(0.8)
    assert "80.0" in render(
        robustness_tables(ReportSource(build(tmp_path / "s.db", keep=False), ReportRequest(full=True)))
    )


def test_other_outputs_at_rate_0_than_the_fine_tunings_are_said(tmp_path: Path) -> None:
    store = build(tmp_path / "r.db")
    other = "(SELECT outputs FROM predictions WHERE condition = 'swap=0.2' LIMIT 1)"
    attempt = "(SELECT finished_attempt FROM run WHERE id = 'r-weak-sst2-0')"
    with store.write() as connection:
        change = f"UPDATE predictions SET outputs = {other} WHERE condition = '' AND attempt_id = {attempt}"
        connection.exec_driver_sql(change)
    assert "weak on sst2 seed 0" in measure_robustness(store, draws=10).notes[0]


@pytest.mark.e2e
@pytest.mark.parametrize("style", ["text", "md", "csv", "json", "latex"])
def test_every_format(style: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    build(tmp_path / "r.db", tasks=("sst2", "mrpc")).close()
    with pytest.raises(SystemExit) as ended:
        main(["report", "robustness", "--full", "--db", str(tmp_path / "r.db"), "--format", style])
    out = capsys.readouterr().out
    assert not ended.value.code
    if style in ("csv", "json"):
        rows = list(csv.DictReader(io.StringIO(out))) if style == "csv" else json.loads(out)
        wanted = ("weak", "mrpc", "kept", "0.2")
        kept = [r for r in rows if (r["model"], r["task"], r["measure"], str(r["rate"])) == wanted]
        assert len(kept) == 1 and float(kept[0]["value"]) == pytest.approx(50)
        against = [r for r in rows if r["measure"] == "kept_area_difference" and r["task"] == "mrpc"]
        assert [(r["model"], r["versus"]) for r in against] == [("strong", "weak")]
        assert any(r["measure"] == "types_per_bucket" and float(r["value"]) == 1.5 for r in rows)
    else:
        assert "strong" in out and "adjacent characters swapped" in out and "50.0" in out


def test_models_whose_retention_is_not_separable_from_the_best_are_marked(tmp_path: Path) -> None:
    store = build(tmp_path / "r.db", seeds=(0, 1, 2))
    (summary,) = robustness_tables(ReportSource(store, ReportRequest()))
    assert {row.model: row.cells["swap"].rating for row in summary.rows} == {"strong": "best", "weak": "below"}
    (kept_none,) = robustness_tables(ReportSource(build(tmp_path / "s.db", seeds=(0, 1), keep=False), ReportRequest()))
    assert "No group of the best, no stored predictions: swap at sst2." in kept_none.notes


def test_a_summary_comes_first_and_what_is_named_in_full(tmp_path: Path) -> None:
    store = build(tmp_path / "r.db", tasks=("sst2", "mrpc"))

    def titles(**options: Any) -> list[str]:
        return [table.number for table in robustness_tables(ReportSource(store, ReportRequest(**options)))]

    (summary,) = robustness_tables(ReportSource(store, ReportRequest()))
    assert {row.model: row.cells["swap"].value for row in summary.rows} == {
        "strong": pytest.approx(90), "weak": pytest.approx(62.5)
    }  # fmt: skip
    assert not any(row.cells["swap"].best for row in summary.rows)  # one seed
    assert "No group of the best, fewer than two seeds: swap." in summary.notes
    assert {column.subtitle for column in summary.columns} == {"retention, %"}
    assert "average of 2 tasks" in summary.title and "--full" in summary.notes[-1]
    wanted = ("summary", "sst2", "mrpc", "average")
    assert titles(full=True) == [f"robustness {name}" for name in wanted]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--task", "sst3"], "report robustness --task is gone: --full prints each task"),
        (["--format", "html"], "--format: no format 'html'; there are: text, md, csv, json, latex"),
        (["--table", "1"], "No such option: --table"),
    ],
)
def test_wrong_input(options: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    build(tmp_path / "r.db").close()
    with pytest.raises(SystemExit) as ended:
        main(["report", "robustness", *options, "--db", str(tmp_path / "r.db")])
    error = capsys.readouterr().err.strip()
    assert ended.value.code == 2 and message in error and "\n" not in error


def test_an_experiment_without_robustness(tmp_path: Path) -> None:
    store = open_store(tmp_path / "r.db")
    add_experiment(store, "plain", {}, [], baseline="weak")
    with pytest.raises(InputError, match="experiment 'plain' has no finished robustness run; write robustness: true"):
        measure_robustness(store)


def test_the_figure_has_a_line_a_model_with_its_interval(tmp_path: Path) -> None:
    store = build(tmp_path / "r.db", tasks=("sst2", "mrpc"))
    axes = draw(FigureData(store))[0].figure.axes[0]
    assert axes.get_title() == "sst2: swap"
    lines = [container for container in axes.containers if isinstance(container, ErrorbarContainer)]
    assert [list(line[0].get_ydata()) for line in lines] == [pytest.approx([90, 81, 72]), pytest.approx([80, 40, 40])]
    # A bar of each point reaches over it on both sides.
    for line, scores in zip(lines, ([90, 81, 72], [80, 40, 40]), strict=True):
        ends = [(bar[0][1], bar[1][1]) for bar in line[2][0].get_segments()]
        assert all(low < score < high for (low, high), score in zip(ends, scores, strict=True))


def test_what_noise_leaves_as_it_is_is_called_no_finding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(RIGHT, "strong", (0.9, 0.9, 0.9))
    notes = " ".join(robustness_tables(ReportSource(build(tmp_path / "r.db")))[0].notes)
    assert "Adjacent characters swapped: the scores of strong are the same at every rate." in notes
    assert "follows by construction and is no finding" in notes
    monkeypatch.setitem(RIGHT, "strong", (0.9, 0.81, 0.72))
    assert "no finding" not in " ".join(robustness_tables(ReportSource(build(tmp_path / "s.db")))[0].notes)


def test_differences_are_counted_and_said_to_be_uncorrected(tmp_path: Path) -> None:
    source = ReportSource(build(tmp_path / "r.db"), ReportRequest())
    assert "such differences" not in " ".join(robustness_tables(source)[0].notes)  # the summary shows none
    source = ReportSource(source.store, ReportRequest(full=True))
    notes = " ".join(robustness_tables(source)[0].notes)
    assert "All tables together have 1 such differences at 95 %, not corrected for their number" in notes


def test_the_line_of_a_trivial_baseline_is_inside_the_figure(tmp_path: Path) -> None:
    store = build(tmp_path / "r.db", floor=True, also=("mrpc",))  # on mrpc it is alone
    for axes in draw(FigureData(store))[0].figure.axes:
        (line,) = [line for line in axes.lines if line.get_linestyle() == "--"]
        low, high = axes.get_ylim()
        assert list(line.get_ydata()) == pytest.approx([70, 63, 56]) and low <= 56 and 70 <= high
