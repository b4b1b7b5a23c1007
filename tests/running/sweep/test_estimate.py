"""running/sweep/dry_run.py: how long a sweep still takes, by its finished runs."""

from __future__ import annotations

from hashbench.running.sweep.dry_run import seconds_left
from hashbench.store.planning import Run


def runs_of(kind: str, number: int) -> list[Run]:
    return [Run(f"{kind}{n}", kind, f"m{n}", "tiny", {"kind": kind}) for n in range(number)]


def test_each_kind_has_the_mean_of_its_finished_runs() -> None:
    runs = runs_of("pretrain", 2) + runs_of("finetune", 5)
    taken = {"pretrain0": 600.0, "finetune0": 10.0, "finetune1": 30.0}
    assert seconds_left(runs, taken, 1) == 600 + 3 * 20
    assert seconds_left(runs, taken, 2) == (600 + 3 * 20) / 2


def test_nothing_is_known_before_a_run_of_each_kind_is_finished() -> None:
    runs = runs_of("pretrain", 1) + runs_of("finetune", 2)
    assert seconds_left(runs, {}, 1) is None and seconds_left(runs, {"pretrain0": 600.0}, 1) is None
    assert seconds_left(runs, {"finetune0": 9.0}, 1) is None


def test_timings_run_alone_and_nothing_is_left_when_all_is_done() -> None:
    runs = runs_of("efficiency", 3)
    assert seconds_left(runs, {"efficiency0": 30.0}, 4) == 60
    assert seconds_left(runs, {run.id: 9.0 for run in runs}, 4) == 0


def test_two_labels_of_a_run_are_one() -> None:
    first, second = runs_of("finetune", 2)
    assert seconds_left([first, second, second], {first.id: 8.0}, 1) == 8
