"""running/sweep/estimate.py: how long a sweep will take by its finished runs, and the order of cheap runs first."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Sequence
from dataclasses import replace

import pytest

from hashbench.running.runs import durations
from hashbench.running.runs.base import kinds
from hashbench.running.sweep import estimate
from hashbench.running.sweep.estimate import TimeEstimate, cheap_first
from hashbench.store.planning import Run
from hashbench.store.status import Duration

ENCODER = {"encoder": {"kind": "bert", "size": "tiny"}}
RECIPE = {"steps": 100, "batch_size": 32, "sequence_length": 128}


def a_run(kind: str, number: int, task: str | None = None) -> Run:
    spec = {
        "kind": kind,
        "model": ENCODER,
        "pretrain": RECIPE,
        "finetune": {"epochs": 3, "steps": None},
        "floor": "majority",
    }
    return Run(id=f"{kind}{number}{task}", kind=kind, model=f"m{number}", encoder="tiny", spec=spec, task=task)


def estimated(
    monkeypatch: pytest.MonkeyPatch, runs: list[Run], done: dict[str, float], earlier: Sequence[Duration] = ()
) -> TimeEstimate:
    """An estimate where the runs in `done` took so many seconds."""
    monkeypatch.setattr(durations, "operations_per_second", lambda: 1e11)
    monkeypatch.setattr(estimate, "seconds_of", lambda store, ids: done)
    monkeypatch.setattr(estimate, "durations", lambda store, most: list(earlier))
    return TimeEstimate(object(), runs, 2, {"cola": 8_551, "sst2": 67_349})  # type: ignore[arg-type]


def test_a_guess_is_the_arithmetic_of_training(monkeypatch):
    monkeypatch.setattr(durations, "operations_per_second", lambda: 1e11)
    weights = 2 * (4 * 128**2 + 2 * 128 * 512)
    pretraining, finetuning = a_run("pretrain", 0), a_run("finetune", 0, "cola")
    assert kinds()["pretrain"].seconds(pretraining, 0) == pytest.approx(2 * 6 * weights * 100 * 32 * 128 / 2e10)
    assert kinds()["finetune"].seconds(finetuning, 1000) == pytest.approx(6 * weights * 3 * 1000 * 40 / 2e10)


def test_a_finished_run_tells_of_its_like(monkeypatch):
    runs = [a_run("finetune", n, "cola") for n in range(4)]
    found = estimated(monkeypatch, runs, {run.id: 70.0 for run in runs[:3]})
    assert found.total() == pytest.approx(70, rel=0.15)  # one of two workers


def test_the_fixed_cost_of_a_small_pretraining_is_no_rate(monkeypatch):
    """20 steps that took 20 seconds, nearly all of them to begin: hours were foretold for minutes."""
    runs = [a_run("pretrain", 0), *(a_run("finetune", n, "sst2") for n in range(8))]
    runs[0].spec["pretrain"] = {"steps": 20, "batch_size": 2, "sequence_length": 16}
    arithmetic = sum(guess_of(monkeypatch, run, 67_349) for run in runs[1:])
    assert guess_of(monkeypatch, runs[0], 0) < 0.2
    found = estimated(monkeypatch, runs, {runs[0].id: 20.0})
    assert found.total() < (2 * arithmetic + 8 * 25) / 2
    assert found.seconds(a_run("pretrain", 1)) > 10  # another will not be quicker


def test_long_pretraining_corrects_the_guess_for_fine_tuning(monkeypatch):
    runs = [a_run("pretrain", 0), a_run("finetune", 0, "cola")]
    runs[0].spec["pretrain"] = RECIPE | {"steps": 10_000}
    rough, like = guess_of(monkeypatch, runs[0], 0), guess_of(monkeypatch, runs[1], 8_551)
    found = estimated(monkeypatch, runs, {runs[0].id: 5 * rough})
    assert 3 * like < found.seconds(runs[1]) < 6 * like + 10


def test_runs_of_other_sweeps_count_and_those_of_other_kinds_and_sizes_do_not(monkeypatch):
    run = a_run("finetune", 0, "cola")
    known = Duration("other", "finetune", "m7", "tiny", "cola", dict(run.spec), 200.0)
    unlike = [replace(known, encoder="base", seconds=9e5), replace(known, kind="unheard-of", seconds=9e5)]
    found = estimated(monkeypatch, [run], {}, [replace(known, run_id=str(n)) for n in range(3)] + unlike)
    assert found.seconds(run) == pytest.approx(200, rel=0.2)


def test_timings_run_alone_and_nothing_is_left_when_all_is_done(monkeypatch):
    runs = [a_run("pretrain", 0), a_run("efficiency", 0), a_run("efficiency", 1)]
    left = estimated(monkeypatch, runs, {runs[0].id: 9.0, runs[1].id: 30.0}).seconds_left()
    assert left is not None and 20 < left < 70  # between what the other took and what such a run takes at most
    assert estimated(monkeypatch, runs, {run.id: 9.0 for run in runs}).seconds_left() == 0.0


def test_workers_wait_for_a_long_run_and_for_what_others_need(monkeypatch):
    pretraining, *others = (a_run("pretrain", n) for n in range(4))
    known = [Duration(str(n), "pretrain", "m7", "tiny", None, dict(pretraining.spec), 600.0) for n in range(3)]
    assert estimated(monkeypatch, [pretraining], {}, known).total() == pytest.approx(600, rel=0.2)  # not half of it
    assert estimated(monkeypatch, [pretraining, *others], {}, known).total() == pytest.approx(1200, rel=0.2)
    chain = [pretraining, replace(others[0], needs=(pretraining.id,)), replace(others[1], needs=(others[0].id,))]
    assert estimated(monkeypatch, chain, {}, known).total() == pytest.approx(1800, rel=0.2)
    assert estimated(monkeypatch, chain, {pretraining.id: 600.0}, known).total() == pytest.approx(1200, rel=0.2)


def test_a_few_seconds_tell_nothing(monkeypatch):
    runs = [a_run("floor", 0, "cola"), *(a_run("pretrain", n) for n in range(4))]
    few, enough = ({run.id: seconds for run in runs[:4]} for seconds in (1.0, 5.0))
    assert estimated(monkeypatch, runs, {}).seconds_left() is None
    assert estimated(monkeypatch, runs, {runs[0].id: 400.0}).seconds_left() is None  # no training among them
    assert estimated(monkeypatch, runs, few).seconds_left() is None
    assert estimated(monkeypatch, runs, enough).seconds_left() is not None


def test_nothing_is_said_before_a_tenth_of_the_work_nor_of_tasks_and_work_far_from_what_is_finished(monkeypatch):
    alike = [a_run("finetune", n, "cola") for n in range(40)]
    assert estimated(monkeypatch, alike, {run.id: 60.0 for run in alike[:2]}).seconds_left() is None
    assert estimated(monkeypatch, alike, {run.id: 60.0 for run in alike[:8]}).seconds_left() is not None
    other_task = [*alike[:4], *(a_run("finetune", n, "sst2") for n in range(4))]
    assert estimated(monkeypatch, other_task, {run.id: 60.0 for run in alike[:4]}).seconds_left() is None
    pretrainings = [a_run("pretrain", n) for n in range(8)]
    for run in pretrainings[:4]:
        run.spec["pretrain"] = RECIPE | {"steps": 4}  # were they slow to start or slow in their steps?
    assert estimated(monkeypatch, pretrainings, {run.id: 60.0 for run in pretrainings[:4]}).seconds_left() is None


FIXED_S, STEP_S = 25.0, 0.2  # of a process (imports, the first compilation), and of a step of a model of speed 1


@pytest.mark.parametrize("fixed", [0.0, FIXED_S])
@pytest.mark.parametrize("speeds", [(1.0,) * 6, (1.0, 0.5, 2.0, 0.7, 3.0, 1.5), (2.0, 0.7, 1.5, 1.0, 0.5, 3.0)])
@pytest.mark.parametrize("machine", [0.2, 1.0, 5.0])
def test_a_time_left_is_within_a_factor_of_two(monkeypatch, fixed: float, speeds: tuple[float, ...], machine: float):
    """Sweeps played run by run: each takes a fixed time and one by its steps; models and machines differ in speed."""
    runs, taken = [], {}
    for steps in (4, 100, 400):
        for number, speed in enumerate(speeds):
            run = replace(a_run("pretrain", number), id=f"{number} {steps}")
            run.spec["pretrain"] = RECIPE | {"steps": steps}
            runs.append(run)
            taken[run.id] = fixed + steps * STEP_S * speed * machine
    said = 0
    for n in range(1, len(runs)):
        left = estimated(monkeypatch, runs, {run.id: taken[run.id] for run in runs[:n]}).seconds_left()
        remaining = [taken[run.id] for run in runs[n:]]
        truth = max(sum(remaining) / 2, max(remaining))  # two workers, and a run is one worker's
        said += left is not None
        if truth > sum(taken.values()) / 2 / 20:  # of the very last run its model alone decides
            assert left is None or truth / 2 <= left <= 2 * truth, f"after {n} runs"
    assert said >= len(speeds)  # at the latest when runs of each length are finished


@pytest.mark.parametrize("noise", [0.0, 0.1])
def test_of_the_ranges_that_are_printed_three_of_four_hold_the_truth_at_least(monkeypatch, noise: float):
    held, width = [], []
    for shuffled, machine, speeds in itertools.product(
        (False, True), (0.2, 5.0), ((1.0,) * 5, (1.0, 0.5, 2.0, 0.7, 3.0))
    ):
        rng, runs, taken = random.Random(1), [], {}
        for steps, (number, speed) in itertools.product((4, 100, 400), enumerate(speeds)):
            run = replace(a_run("pretrain", number), id=f"{number} {steps}")
            run.spec["pretrain"] = RECIPE | {"steps": steps}
            runs.append(run)
            taken[run.id] = (FIXED_S + steps * STEP_S * speed * machine) * math.exp(rng.gauss(0, noise))
        if shuffled:
            rng.shuffle(runs)
        for n in range(1, len(runs)):
            ends = estimated(monkeypatch, runs, {run.id: taken[run.id] for run in runs[:n]}).range_left()
            remaining = [taken[run.id] for run in runs[n:]]
            truth = max(sum(remaining) / 2, max(remaining))  # two workers, and a run is one worker's
            if ends is not None and truth > sum(taken.values()) / 40:
                held.append(ends[0] <= truth <= ends[1])
                width.append(ends[1] / ends[0])
    assert len(held) > 50 and sum(held) >= 0.75 * len(held)
    assert 1.2 < min(width) and max(width) < 4.5  # 1.7 times 2.5 at most


def test_nothing_is_left_of_a_sweep_that_is_done(monkeypatch):
    runs = [a_run("finetune", n, "cola") for n in range(3)]
    assert estimated(monkeypatch, runs, {run.id: 60.0 for run in runs}).range_left() == (0.0, 0.0)


def guess_of(monkeypatch: pytest.MonkeyPatch, run: Run, rows: int | None) -> float:
    monkeypatch.setattr(durations, "operations_per_second", lambda: 1e11)
    return kinds()[run.kind].seconds(run, rows or 0)


COSTS = {"long": 100.0, "of long": 1.0, "of both": 1.0, "short": 5.0, "of short": 1.0, "alone": 20.0, "floor": 0.1}
NEEDS = {"of long": ("long",), "of both": ("long", "of short"), "of short": ("short",)}


def order(*names: str, costs: dict[str, float] = COSTS) -> list[str]:
    runs = [Run(name, "finetune", "m", "tiny", {}, needs=NEEDS.get(name, ())) for name in names]
    return cheap_first(runs, lambda run: costs[run.id])


def test_cheap_runs_come_first_each_after_what_it_needs():
    assert order(*COSTS) == ["floor", "short", "of short", "alone", "long", "of long", "of both"]


def test_equal_runs_keep_the_order_in_which_they_were_planned():
    assert order("z", "x", "y", costs={"x": 3.0, "y": 3.0, "z": 3.0}) == ["z", "x", "y"]


def test_a_need_that_is_planned_elsewhere_costs_nothing_here():
    assert order("alone", "of long") == ["of long", "alone"]


def test_two_labels_of_a_run_are_one():
    assert order("short", "floor", "short") == ["floor", "short"]
