"""The rule of what has learned something: which side must be above a constant prediction, and what is said if not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from hashbench.results.claims.claim import csv_rows, read_rows
from hashbench.results.claims.columns import claims_of
from hashbench.results.claims.decide import decide
from hashbench.results.claims.grammar import ColumnName, Missing, column_names, slugs
from hashbench.results.claims.report import claim_sections
from hashbench.results.claims.results import Results, TimedRuns
from hashbench.results.claims.verdicts import Decided
from hashbench.results.papers.paper import load_paper, papers
from hashbench.results.read.evidence import Evidence, Matched
from hashbench.results.read.measured import measure
from hashbench.results.tables.request import ReportRequest
from hashbench.store.engine import open_store
from hashbench.store.status import experiments
from tests.results.claims.world import Answers, build, claims_file

DRAWS = 500
SEEDS = (0, 1, 2)
MODELS = {"strong": 0.9, "weak": 0.75, "low": 0.6}
EXAMPLES = Path(__file__).parents[3] / "results.db.example"


def _decide(folder: Path, runs: list[Answers], **row: str) -> Decided:
    models = [Answers(model, right, seed) for seed in SEEDS for model, right in MODELS.items()]
    whole = {"id": "own-1", "kind": "greater", "column": "sst2", "unit": "percent", **row}
    store = build(folder / "results.db", [*models, *runs])
    return claim_sections(store, ReportRequest(claims_file=claims_file(folder, [whole])), draws=DRAWS)[-1].decided[0]


MAJORITY, WORDS = Answers("majority", 0.5, None), Answers("bag-of-words", 0.7, None)


def test_a_claim_counts_where_the_better_side_is_above_a_constant_whatever_trivial_baselines_have(
    tmp_path: Path,
) -> None:
    found = []
    for number, floors in enumerate(
        ([], [MAJORITY], [Answers("bag-of-words", 0.6, None)], [Answers("bag-of-words", 0.95, None)])
    ):
        (tmp_path / str(number)).mkdir()
        found.append(_decide(tmp_path / str(number), floors, left="low", right="weak"))
    assert {(one.outcome, one.because) for one in found} == {("fails", "")}
    assert len({(one.shown.low, one.shown.high) for one in found}) == 1
    assert [one.shown.above_trivial for one in found] == ["", "yes", "yes", "no"]
    assert found[-1].marks[0].startswith("not above bag-of-words: on sst2 weak minus bag-of-words is -20.0 [")


def test_a_trivial_baseline_is_a_side_of_a_claim(tmp_path: Path) -> None:
    """It has no units: the interval is over those of the model, and over the examples."""
    outcomes = {}
    for name, right in (("above", 0.8), ("below", 0.4)):
        (tmp_path / name).mkdir()
        found = _decide(tmp_path / name, [Answers("bag-of-words", right, None)], left="bag-of-words", right="weak")
        outcomes[name] = found.outcome
        assert found.shown.seeds == SEEDS and found.shown.n_examples == 400
    assert outcomes == {"above": "holds", "below": "fails"}


def test_where_nothing_is_learned_nothing_is_decided(tmp_path: Path) -> None:
    """Both are below the half of the examples that one answer has right, and their difference is clear."""
    runs = [Answers(model, right, seed) for seed in SEEDS for model, right in (("poor", 0.48), ("worse", 0.3))]
    found = _decide(tmp_path, runs, left="poor", right="worse")
    assert (found.outcome, found.because) == ("undecided", "nothing learned")
    assert found.shown.low is not None and found.shown.low > 0
    assert found.marks[0].startswith("nothing learned: on sst2 poor minus the best constant is -2.0 [")


def test_the_other_side_may_have_learned_nothing_unless_equal_models_would_do(tmp_path: Path) -> None:
    runs = [Answers("poor", 0.5, seed) for seed in SEEDS]
    (tmp_path / "a").mkdir()
    assert _decide(tmp_path / "a", runs, left="strong", right="poor").outcome == "holds"
    near = _decide(tmp_path, runs, left="strong", right="poor", kind="equal_within", bound="60")
    assert near.because == "nothing learned" and "poor minus the best constant" in near.marks[0]


def test_a_constant_is_the_best_answer_of_the_examples_themselves(tmp_path: Path) -> None:
    """Without a trivial baseline it is known from the stored answers; without these from a constant baseline alone."""
    (tmp_path / "a").mkdir()
    assert _decide(tmp_path / "a", [], left="strong", right="low").outcome == "holds"
    bare = [Answers(model, right, seed, stored=False) for seed in SEEDS for model, right in (("a", 0.9), ("b", 0.6))]
    results = {}
    for name, floors in (
        ("none", []),
        ("words", [WORDS]),
        ("constant", [Answers("majority", 0.5, None, stored=False)]),
    ):
        (tmp_path / name).mkdir()
        claim = {"id": "own-1", "kind": "greater", "left": "a", "right": "b", "column": "sst2", "unit": "percent"}
        held = [replace(floor, stored=False) for floor in floors]
        store = build(tmp_path / name / "results.db", [*bare, *held])
        request = ReportRequest(claims_file=claims_file(tmp_path / name, [claim]))
        results[name] = claim_sections(store, request, draws=DRAWS)[-1].decided[0]
    assert results["constant"].marks[0] == "seeds only: no predictions to draw from"
    for name in ("none", "words"):
        assert results[name].because == "nothing learned"
        assert results[name].marks[0].endswith("for all that is known: no constant prediction is known of sst2")


@pytest.mark.e2e
def test_an_average_is_compared_with_the_average_of_the_constants(tmp_path: Path) -> None:
    """strong is at the constant on rte, and above it in the average."""
    rte = [Answers(model, right, seed, "rte") for seed in SEEDS for model, right in (("strong", 0.5), ("low", 0.45))]
    (tmp_path / "a").mkdir()
    both = _decide(tmp_path / "a", rte, left="strong", right="low", column="mean(sst2,rte)")
    assert both.outcome == "holds"
    (tmp_path / "b").mkdir()
    alone = _decide(tmp_path / "b", rte, left="strong", right="low", column="rte")
    assert alone.because == "nothing learned"


def test_the_floor_of_an_average_is_each_tasks_best_trivial_baseline(tmp_path: Path) -> None:
    """70 of the bag of words on sst2, 80 of that of pairs on rte: strong, 90 and 55, is at 72.5 below their mean."""
    floors = [MAJORITY, WORDS, Answers("majority", 0.4, None, "rte"), Answers("bag-of-words", 0.5, None, "rte")]
    rte = [Answers(model, right, seed, "rte") for seed in SEEDS for model, right in (("strong", 0.55), ("low", 0.5))]
    pairs = Answers("bag-of-pairs", 0.8, None, "rte")
    column = "mean(sst2,rte)"
    found = []
    for number, runs in enumerate((floors, [*floors, pairs])):
        (tmp_path / str(number)).mkdir()
        found.append(_decide(tmp_path / str(number), [*rte, *runs], left="strong", right="low", column=column))
    assert [one.outcome for one in found] == ["holds", "holds"]
    assert [one.shown.above_trivial for one in found] == ["yes", "no"]
    assert "strong minus each task's best trivial baseline is -2.5 [" in found[1].marks[0]


def test_a_task_of_which_only_baselines_are_finished_is_not_in_the_average(tmp_path: Path) -> None:
    floors = [WORDS, Answers("bag-of-words", 0.9, None, "rte")]
    found = _decide(tmp_path, floors, left="strong", right="low", column="average")
    assert (found.outcome, found.shown.tasks) == ("holds", ("sst2",))


def test_of_a_difference_of_differences_each_must_have_learned(tmp_path: Path) -> None:
    runs = [Answers(model, right, seed) for seed in SEEDS for model, right in (("poor", 0.5), ("worse", 0.4))]
    found = _decide(tmp_path, runs, left="strong - low", right="poor - worse", kind="interaction")
    assert found.because == "nothing learned" and "poor minus the best constant" in found.marks[0]


def test_a_seed_that_falls_to_the_constant_widens_the_interval(tmp_path: Path) -> None:
    runs = [Answers("shaky", right, seed) for seed, right in zip(SEEDS, (0.8, 0.8, 0.5), strict=True)]
    found = _decide(tmp_path, runs, left="shaky", right="low")
    assert found.because == "nothing learned" and "shaky minus the best constant is +20.0 [-2" in found.marks[0]


@pytest.mark.slow
@pytest.mark.skipif(not EXAMPLES.is_file(), reason="no example database in this checkout")
@pytest.mark.parametrize("one_seed", [False, True])
def test_in_the_example_database_every_verdict_on_scores_is_of_models_above_a_constant(one_seed: bool) -> None:
    """Whatever is decided there: by stored scores alone, the better side is above the best constant of its tasks."""
    store, n_checked = open_store(EXAMPLES, create=False, read_only=True), 0
    for stored in experiments(store):
        measured = measure(store, stored.name)
        evidence, times = Evidence(store, measured, draws=200), TimedRuns(measured)
        own = EXAMPLES.parent / "experiments" / f"{stored.name}.csv"
        groups = [(load_paper(name), claims_of(name)) for name in papers()]
        groups += [(None, read_rows(*csv_rows(own), measured.labels()))] if own.is_file() else []
        for paper, claims in groups:
            results = Results(measured, paper, evidence, times, one_seed=one_seed)
            for claim in claims:
                for part, made in zip(claim.parts, decide(claim, results).parts, strict=False):
                    if made.about == "scores" and made.outcome in ("holds", "fails"):
                        assert one_seed or len(made.seeds) > 1
                        _check_above(part, results)
                        n_checked += 1
    assert n_checked >= 20


def _check_above(part, results: Results) -> None:
    """The better model of a part has a higher score than the best constant, column by column."""
    samples = [of for slug, column in part.leaves for of in results.samples(slug, column)]
    results = replace(results, matched=Matched.of(samples))
    for column in column_names(part.column):
        names = [slug for side in (part.left, part.right) if side is not None for slug in slugs(side)]
        values = [results.leaf(slug, column).value for slug in names if not results.is_quoted(slug)]
        assert max(values) > results.constant("", column).value, (part, column)


def test_a_baseline_without_the_score_is_no_zero(tmp_path: Path) -> None:
    store = build(tmp_path / "results.db", [Answers("strong", 0.9), Answers("strong", 0.9, task="rte"), WORDS])
    measured = measure(store)
    results = Results(measured, None, Evidence(store, measured, draws=10), TimedRuns(measured))
    assert results.floor("", ColumnName("sst2")).value == pytest.approx(70.0)
    assert results.floor_name(ColumnName("sst2")) == "bag-of-words"
    with pytest.raises(Missing, match="no trivial baseline on rte"):
        results.floor("", ColumnName("rte"))
