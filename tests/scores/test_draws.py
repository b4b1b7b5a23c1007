"""Drawn metrics against the same draws written out and scored in plain Python."""

from __future__ import annotations

import numpy as np
import pytest

from hashbench.common.errors import InputError
from hashbench.scores import base, correlations, draws
from hashbench.scores.base import find_metric, metrics
from hashbench.scores.draws import Scored, draw_counts, drawn, drawn_together
from hashbench.scores.rankings import PAGE, deciles
from tests.oracles import bootstrap

RANDOM = np.random.default_rng(7)
N, DRAWS, SEED = 25, 30, 11
CLASSES = [(RANDOM.integers(0, k, N), [RANDOM.integers(0, k, N), RANDOM.integers(0, k, N)]) for k in (2, 3)]
VALUES = (RANDOM.integers(0, 6, N) / 2, [RANDOM.integers(0, 9, N) / 10, RANDOM.standard_normal(N)])
OUTPUTS = np.stack([np.repeat(np.arange(10), 3)[:N], RANDOM.integers(0, 15, N), *RANDOM.integers(0, 2, (3, N))], axis=1)
RANKED = RANDOM.integers(0, 40, N)  # items, numbered by frequency


def _counts(n: int = N) -> np.ndarray:
    return np.concatenate(list(draw_counts(n, DRAWS, SEED)))


@pytest.mark.parametrize("metric", ["accuracy", "f1", "f1_macro", "matthews"])
@pytest.mark.parametrize("data", CLASSES)
def test_class_metrics_equal_the_oracle_in_every_draw(metric: str, data: tuple) -> None:
    targets, outputs = data
    found = drawn(metric, targets, outputs, draws=DRAWS, seed=SEED)
    for row, one in zip(found, outputs, strict=True):
        slow = [bootstrap.draw(bootstrap.METRICS[metric], targets, one, counts) for counts in _counts()]
        assert row == pytest.approx(np.array(slow, float), abs=1e-12, nan_ok=True)


def test_macro_f1_of_draws_that_lack_a_class_is_the_mean_over_the_others() -> None:
    """Class 2 has one example, so a third of the draws lack it. These have a score too."""
    targets, outputs = np.array([0] * 6 + [1] * 6 + [2]), np.array([0, 1] * 6 + [2])
    counts = _counts(len(targets))
    assert 5 < (counts[:, -1] == 0).sum() < DRAWS - 5
    found = drawn("f1_macro", targets, [outputs], draws=DRAWS, seed=SEED)[0]
    slow = [bootstrap.draw(bootstrap.METRICS["f1_macro"], targets, outputs, of_draw) for of_draw in counts]
    assert found == pytest.approx(np.array(slow), abs=1e-12)


@pytest.mark.parametrize("metric", ["pearson", "spearman"])
def test_correlations_equal_the_oracle_in_every_draw(metric: str) -> None:
    targets, outputs = VALUES
    found = drawn(metric, targets, outputs, draws=DRAWS, seed=SEED)
    for row, one in zip(found, outputs, strict=True):
        slow = [bootstrap.draw(bootstrap.METRICS[metric], targets, one, counts) for counts in _counts()]
        assert row == pytest.approx(np.array(slow, float), abs=1e-12)


@pytest.mark.parametrize("metric", list(metrics("classes", "values")))
def test_the_oracle_agrees_with_the_scores_of_the_suite(metric: str) -> None:
    targets, outputs = VALUES if metric in ("pearson", "spearman") else CLASSES[1]
    score = find_metric(metric).score(targets, outputs[0])
    assert bootstrap.METRICS[metric](targets, outputs[0]) == pytest.approx(score)


@pytest.mark.parametrize("metric", ["rec@1", "rec@10", "mrr", "token_rec@1", "certified"])
def test_metrics_of_rankings_draw_pages_with_all_their_cases(metric: str) -> None:
    pages = OUTPUTS[:, PAGE]
    found = drawn(metric, RANKED, [OUTPUTS], draws=DRAWS, seed=SEED, units=pages)[0]
    names = np.unique(pages)
    for value, counts in zip(found, _counts(len(names)), strict=True):
        rows = np.concatenate([np.flatnonzero(pages == page) for page in np.repeat(names, counts)])
        assert value == pytest.approx(find_metric(metric).score(RANKED[rows], OUTPUTS[rows]))


def test_a_decile_of_the_cases_is_missing_in_draws_without_one() -> None:
    found = drawn("rec@10 tenth=3", RANKED, [OUTPUTS], draws=DRAWS, seed=SEED)[0]
    chosen = deciles(RANKED) == 2
    right = (OUTPUTS[:, 1] > 0) & (OUTPUTS[:, 1] <= 10)
    slow = [(counts * chosen * right).sum() / n if (n := (counts * chosen).sum()) else np.nan for counts in _counts()]
    assert np.isnan(slow).any()
    assert found == pytest.approx(np.array(slow), nan_ok=True)


def test_pages_and_not_cases_are_drawn() -> None:
    """One page of 1,000 cases that are right and one of a single case that is not: whole pages come or do not."""
    pages = np.array([0] * 1000 + [1])
    outputs = np.stack([pages, np.where(pages == 0, 1, 30), pages, pages], axis=1)
    found = drawn("rec@1", pages, [outputs], draws=DRAWS, seed=SEED, units=pages)[0]
    assert set(found) == {0.0, 1000 / 1001, 1.0}


@pytest.mark.parametrize("metric", ["f1", "spearman"])
def test_separate_calls_are_paired(metric: str) -> None:
    targets, outputs = VALUES if metric == "spearman" else CLASSES[0]
    both = drawn(metric, targets, outputs, draws=DRAWS, seed=SEED)
    apart = [drawn(metric, targets, [one], draws=DRAWS, seed=SEED)[0] for one in outputs]
    assert both == pytest.approx(np.array(apart), abs=1e-12)
    assert not np.allclose(both, drawn(metric, targets, outputs, draws=DRAWS, seed=SEED + 1))


@pytest.mark.parametrize("metric", ["matthews", "spearman"])
def test_blocks_bound_the_memory_not_the_result(metric: str, monkeypatch: pytest.MonkeyPatch) -> None:
    targets, outputs = VALUES if metric == "spearman" else CLASSES[1]
    whole = drawn(metric, targets, outputs, draws=DRAWS, seed=SEED)
    monkeypatch.setattr(base, "CELLS", 7 * N)
    monkeypatch.setattr(correlations, "RANK_CELLS", 7 * N)
    assert drawn(metric, targets, outputs, draws=DRAWS, seed=SEED) == pytest.approx(whole, abs=1e-12)


def test_metrics_of_the_same_examples_share_their_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is drawn is drawn once; the scores are those of each metric by itself, also where blocks differ in size."""
    monkeypatch.setattr(correlations, "RANK_CELLS", 7 * N)
    parts = [Scored(metric, *CLASSES[1]) for metric in ("accuracy", "matthews")]
    parts += [Scored(metric, *VALUES) for metric in ("spearman", "pearson")]
    parts += [Scored("accuracy", CLASSES[0][0], []), Scored("rec@10", RANKED, [OUTPUTS], OUTPUTS[:, PAGE])]
    alone = [drawn(part.metric, part.targets, part.outputs, draws=DRAWS, seed=SEED, units=part.units) for part in parts]
    calls: list[int] = []

    def counting(n: int, *rest: object) -> object:
        calls.append(n)
        return draw_counts(n, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(draws, "draw_counts", counting)
    for one, together in zip(alone, drawn_together(parts, draws=DRAWS, seed=SEED), strict=True):
        assert one.shape == together.shape and np.array_equal(one, together, equal_nan=True)
    assert calls == [N, len(np.unique(OUTPUTS[:, PAGE]))]  # examples, then pages


def test_counts_are_the_same_in_blocks_of_any_size_and_for_fewer_draws() -> None:
    whole = _counts()
    assert (whole.sum(axis=1) == N).all()
    assert (np.concatenate(list(draw_counts(N, DRAWS, SEED, cells=3 * N + 1))) == whole).all()
    assert (np.concatenate(list(draw_counts(N, 5, SEED))) == whole[:5]).all()


def test_every_example_is_drawn_as_often_as_any_other() -> None:
    counts = np.concatenate(list(draw_counts(20, 5_000, 3)))
    assert counts.mean(axis=0) == pytest.approx(np.ones(20), abs=0.06)  # four standard errors of a mean of 5,000
    assert counts.var() == pytest.approx(1 - 1 / 20, abs=0.02)  # of a binomial


def test_logits_count_as_their_first_maximum() -> None:
    logits = np.array([[0.1, 0.9], [0.8, 0.2], [0.5, 0.5]] * 20)
    ids, targets = np.array([1, 0, 0] * 20), np.array([1, 1, 0] * 20)
    found = drawn("accuracy", targets, [logits, ids], draws=20, seed=3)
    assert (found[0] == found[1]).all()


def test_what_is_constant_has_no_correlation_and_matthews_zero() -> None:
    constant, values = np.full(N, 0.1), VALUES[0]
    assert np.isnan(drawn("pearson", values, [constant], draws=5, seed=0)).all()
    assert np.isnan(drawn("spearman", values, [constant], draws=5, seed=0)).all()
    assert (drawn("matthews", CLASSES[0][0], [np.ones(N, int)], draws=5, seed=0) == 0).all()


@pytest.mark.parametrize("metric", ["pearson", "spearman"])
def test_draws_of_one_value_alone_are_undefined(metric: str) -> None:
    """Of four examples with two values many draws have only one of them."""
    targets, ours = np.array([1e6, 1e6, 1e6 + 3, 1e6 + 3]), np.array([0.1, 0.7, 0.3, 0.2])
    found = drawn(metric, targets, [ours], draws=DRAWS, seed=SEED)[0]
    slow = [bootstrap.draw(bootstrap.METRICS[metric], targets, ours, counts) for counts in _counts(4)]
    assert None in slow
    assert found == pytest.approx(np.array(slow, float), abs=1e-9, nan_ok=True)


def test_f1_is_undefined_where_class_1_is_absent() -> None:
    assert np.isnan(drawn("f1", np.zeros(4, int), [np.zeros(4, int)], draws=3, seed=0)).all()


def test_what_cannot_be_drawn() -> None:
    with pytest.raises(InputError, match="unknown metric 'bleu'"):
        drawn("bleu", *CLASSES[0], draws=2, seed=0)
    with pytest.raises(ValueError, match="spearman is not drawn by units"):
        drawn("spearman", *VALUES, draws=2, seed=0, units=np.arange(N))
    assert drawn("accuracy", CLASSES[0][0], [], draws=2, seed=0).shape == (0, 2)
