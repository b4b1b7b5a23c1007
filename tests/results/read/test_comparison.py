"""Comparisons on databases made by hand: differences, intervals, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from hashbench.common.errors import InputError
from hashbench.results.read.comparison import Comparison, compare
from hashbench.results.read.evidence import Evidence, draw_seed, draw_together
from hashbench.results.read.measured import measure
from hashbench.scores.draws import drawn
from tests.databases.compared import TARGETS, N, Trained, build

DRAWS = 2_000
DEV = "validation"
# wrong on 4 and 8 of 40 examples, 2 of them in common
A = Trained("bert-mlm", {DEV: range(0, 4)})
B = Trained("bert-sr", {DEV: range(2, 10)})


def _compare(path: Path, runs: list[Trained], first: str = "bert-mlm", second: str = "bert-sr", **how) -> Comparison:
    return compare([build(path / "results.db", {"one": runs})], first, second, draws=DRAWS, **how)


def test_one_seed_by_hand(tmp_path: Path) -> None:
    found = _compare(tmp_path, [A, B])
    (line,) = found.lines
    assert (line.first, line.second) == pytest.approx((36 / 40, 32 / 40))
    assert (line.only_first, line.only_second) == pytest.approx((6 / 40, 2 / 40))
    assert (line.difference.spread, line.difference.n_seeds, line.difference.n_examples) == ("examples", 1, N)
    # d is +1 for six examples and -1 for two: its standard error is sqrt((8/40 - 0.1**2) / 40)
    half = 1.96 * ((0.2 - 0.01) / 40) ** 0.5
    assert (line.difference.low, line.difference.high) == pytest.approx((0.1 - half, 0.1 + half), abs=0.03)


def test_matched_seeds_alone_count(tmp_path: Path) -> None:
    """Seed 7 stands on one side only; the others differ by 4, 3 and 2 of 40 examples."""
    runs = [replace(A, seed=seed, wrong={DEV: range(seed, 4)}) for seed in (0, 1, 2)]
    runs += [replace(B, seed=seed, wrong={DEV: range(0, 8 - 2 * seed)}) for seed in (0, 1, 2)]
    (line,) = _compare(tmp_path, [*runs, replace(A, seed=7, wrong={DEV: range(30)})]).lines
    assert line.seeds == (0, 1, 2)
    assert line.difference.value == pytest.approx(3 / 40)
    assert line.difference.spread == "seeds and examples"
    right = {
        "a": np.stack([np.arange(N) >= 4] * 3) | np.array([np.arange(N) < seed for seed in range(3)]),
        "b": np.stack([np.arange(N) >= 8 - 2 * seed for seed in range(3)]),
    }
    values = {model: of.mean(axis=1) for model, of in right.items()}
    welch = stats.ttest_ind(values["a"], values["b"], equal_var=False).confidence_interval()
    # The variance over examples, without what each model's seeds and the examples vary only together
    examples = (right["a"].mean(axis=0) - right["b"].mean(axis=0)).var() / N
    examples -= sum(float((of - of.mean(axis=0)).var(axis=1).sum()) / N / 2 / 3 for of in right.values())
    half = np.hypot(line.difference.value - welch.low, 1.959964 * examples**0.5)
    assert line.difference.value - line.difference.low == pytest.approx(half, rel=0.02)


def test_the_metric_is_computed_anew_in_each_draw(tmp_path: Path) -> None:
    a, b = (replace(one, metric="matthews", task="cola") for one in (A, B))
    (line,) = _compare(tmp_path, [a, b]).lines
    order = np.argsort(TARGETS, kind="stable")  # in which examples are drawn
    outputs = [one.splits()[DEV][order] for one in (a, b)]
    both = drawn("matthews", TARGETS[order], outputs, draws=DRAWS, seed=draw_seed("cola"))
    half = 1.959964 * (both[0] - both[1]).std()
    assert line.difference.high - line.difference.value == pytest.approx(half)
    assert line.difference.value - line.difference.low == pytest.approx(half)


def test_regression_has_no_right_and_wrong(tmp_path: Path) -> None:
    values = np.arange(N) / 4.0
    made = [
        Trained(model, {}, task="stsb", metric="spearman", targets=values, outputs={DEV: values + noise})
        for model, noise in (("bert-mlm", 0.0), ("bert-sr", np.arange(N) % 3))
    ]
    (line,) = _compare(tmp_path, made).lines
    assert line.difference.low > 0 and line.first == pytest.approx(1.0)
    assert (line.only_first, line.only_second) == (None, None)


def test_matched_and_mismatched_are_two_lines_and_count_once(tmp_path: Path) -> None:
    def mnli(one: Trained, matched: int, mismatched: int) -> Trained:
        wrong = {"validation_matched": range(matched), "validation_mismatched": range(mismatched)}
        return replace(one, task="mnli", wrong=wrong)

    found = _compare(tmp_path, [mnli(A, 2, 20), mnli(B, 4, 4), A, B])
    assert [(line.task, line.split) for line in found.lines] == [
        ("mnli", "validation_matched"), ("mnli", "validation_mismatched"), ("sst2", DEV), ("average", ""),
    ]  # fmt: skip
    assert found.lines[1].difference.value == pytest.approx(-16 / 40)
    assert found.lines[-1].difference.value == pytest.approx((2 / 40 + 4 / 40) / 2)
    assert found.lines[-1].difference.n_examples == 2 * N


def test_a_floor_stands_against_every_seed(tmp_path: Path) -> None:
    floor = Trained("majority", {DEV: range(0, N, 2)}, seed=None)
    (line,) = _compare(tmp_path, [A, replace(A, seed=1), floor], second="majority").lines
    assert line.seeds == (0, 1) and line.second == pytest.approx(0.5)


def test_two_experiments_compare_the_models_they_share(tmp_path: Path) -> None:
    store = build(
        tmp_path / "results.db",
        {"one": [A, B], "two": [replace(A, wrong={DEV: range(10)}), Trained("eelbert-tiny", {DEV: []})]},
    )
    found = compare([store], "one", "two", draws=DRAWS)
    assert [(line.model, line.task) for line in found.lines] == [("bert-mlm", "sst2")]
    assert found.lines[0].difference.value == pytest.approx(6 / 40)


@pytest.mark.parametrize("names", [("bert-mlm", "two"), ("two", "bert-mlm")])
def test_an_experiment_with_the_name_of_a_model_beside_another_experiment(tmp_path: Path, names) -> None:
    experiments = {"bert-mlm": [A], "two": [replace(A, wrong={DEV: range(10)})]}
    found = compare([build(tmp_path / "results.db", experiments)], *names, draws=DRAWS)
    assert (found.first.model, found.second.model) == (None, None)
    assert abs(found.lines[0].difference.value) == pytest.approx(6 / 40)


def test_one_name_in_two_databases(tmp_path: Path) -> None:
    stores = [
        build(tmp_path / "one.db", {"one": [A]}),
        build(tmp_path / "two.db", {"other": [replace(A, wrong={DEV: range(8)})]}),
    ]
    (line,) = compare(stores, "bert-mlm", "bert-mlm", draws=DRAWS).lines
    assert line.difference.value == pytest.approx(4 / 40)


@pytest.mark.parametrize(
    ("second", "why"),
    [
        (replace(B, rows="other"), "bert-mlm and bert-sr on sst2: not measured on the same examples"),
        (replace(B, data="elsewhere"), r"measured on other data \(fingerprints data and elsewher\)"),
        (replace(B, encoder="mini"), "bert-mlm and bert-sr have other encoders, tiny and mini"),
        (replace(B, task="cola"), "bert-mlm and bert-sr have no common task"),
        (replace(B, seed=5), r"no common seed \(0 and 5\)"),
        (replace(B, kept=False), "bert-sr on sst2: no stored predictions on validation"),
        (replace(B, metric="f1"), "bert-sr on sst2: no score of accuracy on validation"),
    ],
)
def test_what_is_refused_and_why(tmp_path: Path, second: Trained, why: str) -> None:
    with pytest.raises(InputError, match=why):
        _compare(tmp_path, [A, second])


@pytest.mark.parametrize(
    ("names", "why"),
    [
        (("bert-mln", "bert-sr"), "'bert-mln' is neither a model of experiment 'one' nor an experiment; did you mean"),
        (("bert-mlm", "bert-mlm"), "'bert-mlm' on both sides"),
        (("bert-mlm", "one"), "are a model and an experiment; name two of one kind"),
    ],
)
def test_names_that_cannot_be_compared(tmp_path: Path, names: tuple[str, str], why: str) -> None:
    with pytest.raises(InputError, match=why):
        _compare(tmp_path, [A, B], *names)


def test_the_same_runs_are_not_compared_with_themselves(tmp_path: Path) -> None:
    stores = [build(tmp_path / f"{name}.db", {name: [A]}) for name in ("one", "two")]
    with pytest.raises(InputError, match="the same runs stand on both sides"):
        compare(stores, "bert-mlm", "bert-mlm", draws=DRAWS)


@pytest.mark.e2e
def test_a_task_that_cannot_be_compared_is_named_beside_the_others(tmp_path: Path) -> None:
    found = _compare(tmp_path, [A, B, replace(A, task="cola"), replace(B, task="cola", rows="other")])
    assert [line.task for line in found.lines] == ["sst2"]
    assert len(found.skipped) == 1 and "on cola: not measured on the same examples" in found.skipped[0]


def test_evidence_drawn_together_or_apart_is_the_same(tmp_path: Path) -> None:
    store = build(tmp_path / "results.db", {"one": [A, B, replace(A, seed=1)]})
    measured = measure(store)
    together, apart = (Evidence(store, measured, draws=50) for _ in range(2))
    samples = [together.own(entry, "sst2") for entry in measured.entries]
    draw_together([sample for sample in samples if sample is not None])
    for entry, sample in zip(measured.entries, samples, strict=True):
        other = apart.own(entry, "sst2")
        assert sample is not None and other is not None
        assert (sample.by_draw() == other.by_draw()).all() and sample.by_draw([0]).shape == (50,)
    assert samples[0] is together.own(measured.entries[0], "sst2")
    assert samples[0].by_seed() == {0: 0.9, 1: 0.9} and samples[0].n == N
