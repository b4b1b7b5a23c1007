"""The unit of a run: the pre-training that it needs, where its model has two or more, else its seed."""

from __future__ import annotations

from hashbench.results.read import queries
from hashbench.results.read.units import Units, read_units


def units(runs: dict[str, tuple[str, str, int | None]], needs: dict[str, list[str]]) -> Units:
    """The units of runs by id: (label, kind, seed); `needs`: the runs that a run needs."""
    rows = {
        queries.LABELLED_RUNS: [
            {"id": run_id, "model": model, "kind": kind, "seed": seed} for run_id, (model, kind, seed) in runs.items()
        ],
        queries.NEEDS: [
            {"run_id": run_id, "needs_run_id": need} for run_id, of_run in needs.items() for need in of_run
        ],
    }
    return read_units(lambda sql, **key: rows[sql], 1)


def test_fine_tunings_of_two_pretrainings_have_their_seeds() -> None:
    runs = {"p3": ("m", "pretrain", 3), "p5": ("m", "pretrain", 5)}
    runs |= {f"f{seed}": ("m", "finetune", seed) for seed in range(4)}
    found = units(runs, {"f0": ["p3"], "f1": ["p5"], "f2": ["p3"], "f3": ["p5"]})
    assert [found.of("m", f"f{seed}") for seed in range(4)] == [3, 5, 3, 5]
    assert found.pretrainings == {"m": 2}


def test_of_one_pretraining_or_none_each_seed_is_a_unit() -> None:
    runs = {"p": ("m", "pretrain", 7), "s0": ("scratch", "finetune", 0), "s1": ("scratch", "finetune", 1)}
    runs |= {f"f{seed}": ("m", "finetune", seed) for seed in range(2)}
    found = units(runs, {"f0": ["p"], "f1": ["p"]})
    assert (
        [found.of("m", "f0"), found.of("m", "f1")] == [found.of("scratch", "s0"), found.of("scratch", "s1")] == [0, 1]
    )
    assert found.pretrainings == {"m": 1, "scratch": 0}


def test_a_run_that_needs_a_fine_tuning_is_of_its_pretraining() -> None:
    """An evaluation, and a pre-training that goes on from another is the nearest."""
    runs = {"old": ("m", "pretrain", 0), "a": ("m", "pretrain", 1), "b": ("m", "pretrain", 2)}
    runs |= {"fa": ("m", "finetune", 0), "fb": ("m", "finetune", 1), "e": ("m", "evaluate", 1)}
    found = units(runs, {"a": ["old"], "b": ["old"], "fa": ["a"], "fb": ["b"], "e": ["fb"]})
    assert [found.of("m", run) for run in ("fa", "fb", "e")] == [1, 2, 2]


def test_pretrainings_of_one_seed_are_told_apart_by_their_ids() -> None:
    runs = {"a" * 64: ("m", "pretrain", 0), "b" * 64: ("m", "pretrain", 0)}
    runs |= {"f0": ("m", "finetune", 0), "f1": ("m", "finetune", 1)}
    found = units(runs, {"f0": ["a" * 64], "f1": ["b" * 64]})
    assert found.of("m", "f0") != found.of("m", "f1")


def test_one_pretraining_under_two_labels_is_a_unit_of_each() -> None:
    runs = {"p0": ("m", "pretrain", 0), "p1": ("m", "pretrain", 1)}
    runs |= {f"{label}{seed}": (label, "finetune", seed) for label in ("x", "y") for seed in range(2)}
    found = units(runs, {f"{label}{seed}": [f"p{seed}"] for label in ("x", "y") for seed in range(2)})
    assert found.pretrainings == {"x": 2, "y": 2}
    assert [found.of("y", f"y{seed}") for seed in range(2)] == [0, 1]
