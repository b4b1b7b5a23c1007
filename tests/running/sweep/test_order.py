"""The order of a sweep that begins with what is cheap."""

from hashbench.running.runs.base import Run
from hashbench.running.sweep.order import cheap_first

COSTS = {"long": 100.0, "of long": 1.0, "of both": 1.0, "short": 5.0, "of short": 1.0, "alone": 20.0, "floor": 0.1}
NEEDS = {"of long": ("long",), "of both": ("long", "of short"), "of short": ("short",)}


def order(*names: str) -> list[str]:
    runs = [Run(name, "finetune", "m", "tiny", {}, needs=NEEDS.get(name, ())) for name in names]
    return cheap_first(runs, lambda run: COSTS[run.id])


def test_cheap_runs_come_first_each_after_what_it_needs():
    assert order(*COSTS) == ["floor", "short", "of short", "alone", "long", "of long", "of both"]


def test_equal_runs_keep_the_order_in_which_they_were_planned():
    COSTS.update(x=3.0, y=3.0, z=3.0)
    assert order("z", "x", "y") == ["z", "x", "y"]


def test_a_need_that_is_planned_elsewhere_costs_nothing_here():
    assert order("alone", "of long") == ["of long", "alone"]


def test_two_labels_of_a_run_are_one():
    assert order("short", "floor", "short") == ["floor", "short"]
