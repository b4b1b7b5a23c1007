"""The rule of trivial baselines: which side must beat them, by which quantity, and what is said where none does."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from hashbench.results.claims.decide import decide
from hashbench.results.claims.grammar import ColumnName, column_names, read_file, slugs
from hashbench.results.claims.published import claims_of
from hashbench.results.claims.quantities import Missing
from hashbench.results.claims.report import claim_sections
from hashbench.results.claims.results import Results, TimedRuns
from hashbench.results.claims.verdicts import Decided
from hashbench.results.papers.paper import load_paper, papers
from hashbench.results.read.measured import measure
from hashbench.results.read.samples import Evidence
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


def test_every_baseline_must_be_beaten_by_the_better_side(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    alone = _decide(tmp_path / "a", [MAJORITY], left="low", right="weak")
    assert (alone.outcome, alone.because) == ("fails", "")
    higher = Answers("bag-of-words", 0.78, None)
    both = _decide(tmp_path, [MAJORITY, higher], left="low", right="weak")
    assert (both.outcome, both.because) == ("undecided", "at the baseline")
    assert both.marks[0].startswith("at the baseline: on sst2 weak minus bag-of-words is -3.0 [")


def test_the_other_side_may_be_below_unless_equal_models_would_do(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    assert _decide(tmp_path / "a", [MAJORITY, WORDS], left="strong", right="low").outcome == "holds"
    near = _decide(tmp_path, [MAJORITY, WORDS], left="strong", right="low", kind="equal_within", bound="60")
    assert near.because == "at the baseline" and "low minus bag-of-words" in near.marks[0]


def test_above_the_baseline_but_not_by_the_interval_is_not_above(tmp_path: Path) -> None:
    close = Answers("bag-of-words", 0.87, None)
    assert _decide(tmp_path, [close], left="strong", right="low").because == "at the baseline"


def test_without_a_baseline_nothing_is_known_to_be_learned(tmp_path: Path) -> None:
    found = _decide(tmp_path, [], left="strong", right="low")
    assert found.marks[0] == "at the baseline, for all that is known: no trivial baseline has sst2"


@pytest.mark.e2e
def test_an_average_is_compared_with_the_baselines_average(tmp_path: Path) -> None:
    """strong is below the bag of words on rte, and above its average."""
    rte = [Answers(model, right, seed, "rte") for seed in SEEDS for model, right in (("strong", 0.55), ("low", 0.5))]
    floors = [WORDS, Answers("bag-of-words", 0.6, None, "rte")]
    (tmp_path / "a").mkdir()
    both = _decide(tmp_path / "a", [*rte, *floors], left="strong", right="low", column="mean(sst2,rte)")
    assert both.outcome == "holds"
    (tmp_path / "b").mkdir()
    alone = _decide(tmp_path / "b", [*rte, *floors], left="strong", right="low", column="rte")
    assert alone.because == "at the baseline"
    (tmp_path / "c").mkdir()
    part = _decide(tmp_path / "c", [*rte, WORDS], left="strong", right="low", column="mean(sst2,rte)")
    assert part.marks[0].endswith("for all that is known: no bag-of-words on rte")


def test_a_baseline_of_some_tasks_counts_in_an_average_with_the_best_one_on_the_others(tmp_path: Path) -> None:
    """The pair floor has 80 on rte, and 70 of the bag of words on sst2: 75 in all, where the bag of words has 60."""
    floors = [MAJORITY, WORDS, Answers("majority", 0.4, None, "rte"), Answers("bag-of-words", 0.5, None, "rte")]
    rte = [Answers(model, right, seed, "rte") for seed in SEEDS for model, right in (("strong", 0.55), ("low", 0.5))]
    pair_floor = Answers("bag-of-pairs", 0.8, None, "rte")
    for number, (runs, outcome) in enumerate(((floors, "holds"), ([*floors, pair_floor], "undecided"))):
        (tmp_path / str(number)).mkdir()
        where = tmp_path / str(number)
        found = _decide(where, [*rte, *runs], left="strong", right="low", column="mean(sst2,rte)")
        assert found.outcome == outcome
    assert "strong minus bag-of-pairs is -2.5 [" in found.marks[0]


def test_a_task_of_which_only_baselines_are_finished_is_not_in_the_average(tmp_path: Path) -> None:
    floors = [WORDS, Answers("bag-of-words", 0.9, None, "rte")]
    found = _decide(tmp_path, floors, left="strong", right="low", column="average")
    assert (found.outcome, found.shown.tasks) == ("holds", ("sst2",))


def test_of_a_difference_of_differences_each_must_have_learned(tmp_path: Path) -> None:
    higher = Answers("bag-of-words", 0.8, None)
    found = _decide(tmp_path, [higher], left="strong - low", right="weak - low", kind="interaction")
    assert found.because == "at the baseline" and "weak minus bag-of-words" in found.marks[0]


def test_a_seed_that_falls_to_the_baseline_widens_the_interval(tmp_path: Path) -> None:
    runs = [Answers("shaky", right, seed) for seed, right in zip(SEEDS, (0.9, 0.9, 0.6), strict=True)]
    found = _decide(tmp_path, [*runs, WORDS], left="shaky", right="low")
    assert found.because == "at the baseline" and "shaky minus bag-of-words is +10.0 [-3" in found.marks[0]


@pytest.mark.slow
@pytest.mark.skipif(not EXAMPLES.is_file(), reason="no example database in this checkout")
@pytest.mark.parametrize("one_seed", [False, True])
def test_in_the_example_database_every_verdict_on_scores_is_above_every_trivial_baseline(one_seed: bool) -> None:
    """Whatever is decided there: by stored scores alone, the better side is above all baselines of its tasks."""
    store, n_checked = open_store(EXAMPLES, create=False, read_only=True), 0
    for stored in experiments(store):
        measured = measure(store, stored.name)
        evidence, times = Evidence(store, measured, draws=200), TimedRuns(measured)
        own = EXAMPLES.parent / "experiments" / f"{stored.name}.csv"
        groups = [(load_paper(name), claims_of(name)) for name in papers()]
        groups += [(None, read_file(own))] if own.is_file() else []
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
    """The better model of a part has a higher score than each trivial baseline has, column by column."""
    for column in column_names(part.column):
        names = [slug for side in (part.left, part.right) if side is not None for slug in slugs(side)]
        measured = [slug for slug in names if not results.is_quoted(slug)]
        seeds = {slug: results.seeds_of(slug, column) or frozenset() for slug in measured}
        values = [replace(results, seeds=seeds[slug]).leaf(slug, column).value for slug in measured]
        floors = results.baselines([column])
        assert floors
        for name in floors:
            # a column over the baseline is of these seeds
            floor = replace(results, seeds=frozenset.union(*seeds.values())).trivial(name, column)
            assert max(values) > floor.value, (part, column, name)


def test_a_baseline_without_the_score_is_no_zero(tmp_path: Path) -> None:
    store = build(tmp_path / "results.db", [Answers("strong", 0.9), WORDS])
    measured = measure(store)
    results = Results(measured, None, Evidence(store, measured, draws=10), TimedRuns(measured))
    column = ColumnName("sst2")
    assert results.trivial("bag-of-words", column).value == pytest.approx(70.0)
    assert results.baselines([column]) == ["bag-of-words"]
    with pytest.raises(Missing, match="no majority on sst2"):
        results.trivial("majority", column)
