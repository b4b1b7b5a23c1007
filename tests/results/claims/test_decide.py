"""Verdicts on a database made by hand, in which each can be told beforehand."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from hashbench.common.errors import InputError
from hashbench.results.claims.decide import NO_DIFFERENCE, NO_SPREAD, ONE_RUN, ONE_SEED, SEEDS_ONLY, decide
from hashbench.results.claims.report import claim_sections
from hashbench.results.claims.results import Results, TimedRuns
from hashbench.results.claims.table import tally
from hashbench.results.claims.verdicts import NOTHING_LEARNED, Decided
from hashbench.results.papers.paper import load_paper
from hashbench.results.read.comparison import compare
from hashbench.results.read.evidence import Evidence
from hashbench.results.read.measured import measure
from hashbench.results.tables.request import ReportRequest
from hashbench.store.engine import Store
from tests.databases.hand_made import HandRun
from tests.results.claims.world import Answers, build, claims_file

DRAWS = 500
SEEDS = (0, 1, 2)
RUNS: list[Answers | HandRun] = [
    *(Answers(model, right + 0.005 * seed, seed) for seed in SEEDS
      for model, right in {"strong": 0.9, "good": 0.9, "weak": 0.6, "chance": 0.5, "coin": 0.5}.items()),
    Answers("single", 0.75),
    *(Answers("strong", 0.8, seed, "rte") for seed in SEEDS),
    Answers("majority", 0.5, None),
    Answers("majority", 0.5, None, "rte"),
]  # fmt: skip
Ask = Callable[..., Decided]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return build(tmp_path_factory.mktemp("claims") / "results.db", RUNS)


def _decide(store: Store, folder: Path, *, one_seed: bool = False, **row: str) -> Decided:
    whole = {"id": "own-1", "kind": "greater", "right": "weak", "column": "sst2", "unit": "percent", **row}
    request = ReportRequest(claims_file=claims_file(folder, [whole]), one_seed=one_seed)
    sections = claim_sections(store, request, draws=DRAWS)
    (decided,) = (one for section in sections for one in section.decided if one.claim.id == "own-1")
    return decided


@pytest.fixture
def ask(store: Store, tmp_path: Path) -> Ask:
    """A function from the fields of one claim to its verdict."""
    return lambda **row: _decide(store, tmp_path, **row)


def test_holds_fails_undecided(ask: Ask) -> None:
    better = ask(left="strong")
    assert (better.outcome, better.shown.value) == ("holds", pytest.approx(30.0))
    assert (better.shown.seeds, better.shown.n_examples, better.shown.tasks) == ((0, 1, 2), 400, ("sst2",))
    assert better.shown.low is not None and better.shown.high is not None
    assert 20 < better.shown.low < 30 < better.shown.high < 40
    assert ask(left="weak", right="strong").outcome == "fails"
    assert ask(left="strong", right="good").outcome == "undecided"


def test_retention_is_of_the_baselines_score(tmp_path: Path) -> None:
    baseline = [Answers("bert-mlm", 0.8, seed) for seed in SEEDS]
    decided = _decide(build(tmp_path / "r.db", [*RUNS, *baseline]), tmp_path, left="strong", column="prr_sst2")
    assert (decided.outcome, decided.shown.value) == ("holds", pytest.approx(30 / 0.8))
    assert decided.shown.low is not None and 20 / 0.8 < decided.shown.low < 30 / 0.8


def test_the_interval_is_that_of_compare(ask: Ask, store: Store) -> None:
    """Of one task, and of a mean of models: both count once what seeds and examples vary only together."""
    for right in ("weak", "good"):
        claimed, line = ask(left="strong", right=right).shown, compare([store], "strong", right, draws=DRAWS).lines[0]
        compared = (line.difference.value, line.difference.low, line.difference.high)
        assert line.task == "sst2"
        assert (claimed.value, claimed.low, claimed.high) == pytest.approx([100 * each for each in compared])
    over_mean = ask(left="strong", right="mean(weak,good)").shown
    assert over_mean.low is not None and over_mean.high is not None
    assert over_mean.low < over_mean.value < over_mean.high


def test_a_bound_is_met_by_the_whole_interval_or_not(ask: Ask) -> None:
    assert ask(left="strong", kind="difference_at_least", bound="10").outcome == "holds"
    assert ask(left="strong", kind="difference_at_least", bound="30").outcome == "undecided"
    assert ask(left="strong", kind="difference_at_least", bound="50").outcome == "fails"
    assert ask(left="strong", right="good", kind="equal_within", bound="10").outcome == "holds"
    ratio = ask(left="strong", kind="ratio_at_least", bound="1.2", unit="x")
    assert (ratio.outcome, ratio.shown.value) == ("holds", pytest.approx(0.905 / 0.605, abs=1e-3))


def test_all_parts_must_hold_and_one_that_fails_decides(ask: Ask) -> None:
    assert ask(left="min(strong,good)").outcome == "holds"
    assert ask(left="min(strong,chance)").outcome == "fails"
    assert ask(left="strong > weak > good", right="", kind="ordering").outcome == "fails"
    assert ask(left="strong > weak > coin", right="", kind="ordering").outcome == "holds"


def test_a_mean_is_taken_inside_each_draw_and_seed(ask: Ask) -> None:
    found = ask(left="mean(strong,weak)", right="mean(good,weak)", kind="equal_within", bound="5")
    assert found.outcome == "holds" and found.shown.value == pytest.approx(0.0)


def test_alike_in_every_draw_is_no_verdict(tmp_path: Path) -> None:
    """Both always wrong: what is drawn has no spread, and says nothing of further examples."""
    store = build(tmp_path / "results.db", [Answers("weak", 0.0, seed) for seed in SEEDS]
                  + [Answers("strong", 0.0, seed) for seed in SEEDS])  # fmt: skip
    found = _decide(store, tmp_path, left="strong")
    assert (found.outcome, found.shown.low) == ("undecided", 0.0)
    assert NO_DIFFERENCE in found.marks


def test_two_models_at_the_baseline_are_not_called_equal(ask: Ask) -> None:
    found = ask(left="chance", right="coin", kind="equal_within", bound="20")
    assert found.outcome == "undecided" and found.marks[0].startswith(f"{NOTHING_LEARNED}: on sst2 c")
    assert found.because == "nothing learned"
    assert ask(left="chance", right="coin", kind="difference_at_least", bound="-20").outcome == "undecided"
    above = ask(left="strong", right="coin", kind="difference_at_least", bound="-20")
    assert above.outcome == "undecided" and "coin" in above.marks[0]  # both sides must beat it
    assert ask(left="strong", right="coin", kind="greater").outcome == "holds"  # does not come free


def test_one_seed_is_undecided_with_its_direction(ask: Ask) -> None:
    found = ask(left="single", needs="seeds=3")
    assert (found.outcome, found.because, found.shown.seeds) == ("undecided", "one seed", (0,))
    assert found.marks == (f"{ONE_SEED}; on its examples alone it holds",)
    assert found.shown.value == pytest.approx(15.0)  # against seed 0 of weak: 75 - 60
    assert ask(left="weak", right="single").marks == (f"{ONE_SEED}; on its examples alone it fails",)


def test_one_seed_decides_on_its_examples_where_that_is_asked_for(store: Store, tmp_path: Path) -> None:
    found = _decide(store, tmp_path, one_seed=True, left="single")
    assert (found.outcome, found.because, found.marks) == ("holds", "one seed", (ONE_SEED,))
    several = _decide(store, tmp_path, one_seed=True, left="strong")
    assert (several.outcome, several.because, several.marks) == ("holds", "", ())
    low = _decide(store, tmp_path, one_seed=True, left="chance", right="coin")
    assert (low.outcome, low.because) == ("undecided", "nothing learned")


def test_other_precisions_are_not_compared(tmp_path: Path) -> None:
    runs = [Answers("weak", 0.5, seed) for seed in SEEDS]
    runs += [Answers("strong", 0.9, seed, precision="bf16") for seed in SEEDS]
    found = _decide(build(tmp_path / "results.db", runs), tmp_path, left="strong")
    assert found.missing == ("weak and strong were measured in other precisions on sst2",)


def test_a_trivial_baseline_has_no_precision_on_drawn_rows_too(tmp_path: Path) -> None:
    runs = [Answers("weak", 0.5, seed, is_floor=True) for seed in SEEDS]
    runs += [Answers("strong", 0.9, seed, precision="bf16") for seed in SEEDS]
    found = _decide(build(tmp_path / "results.db", runs), tmp_path, left="strong")
    assert (found.outcome, found.missing) == ("holds", ())


def test_what_is_missing_is_named_and_nothing_is_averaged_without_it(ask: Ask) -> None:
    task = ask(left="strong", column="rte")
    assert (task.outcome, task.missing) == ("not measured", ("weak on rte: not in this experiment",))
    average = ask(left="strong", column="average")
    assert (average.outcome, average.missing) == ("not measured", ("weak on rte: not in this experiment",))
    model = ask(left="strong", right="canine-c")
    assert (model.outcome, model.missing) == ("not measured", ("model canine-c: not in this experiment",))
    assert ask(left="min(weak,canine-c)", right="strong").outcome == "not measured"  # a part fails, another is missing
    unit = ask(left="strong", unit="K")
    assert unit.outcome == "not measured" and "is in percent" in unit.missing[0]


def test_seeds_alone_give_students_interval(tmp_path: Path) -> None:
    """d of the seeds: 1, 2, 3 points; 2 -+ 4.3027 / sqrt(3)."""
    runs = [Answers("weak", 0.6, seed, stored=False) for seed in SEEDS]
    runs += [Answers("strong", 0.61 + 0.01 * seed, seed, stored=False) for seed in SEEDS]
    runs += [Answers("majority", 0.3, None)]
    found = _decide(build(tmp_path / "results.db", runs), tmp_path, left="strong")
    assert (found.outcome, found.because, found.marks) == ("undecided", "", (SEEDS_ONLY,))
    assert (found.shown.low, found.shown.high) == (pytest.approx(-0.4841, abs=1e-3), pytest.approx(4.4841, abs=1e-3))


def test_only_matched_seeds_count(tmp_path: Path) -> None:
    runs = [Answers("weak", 0.5, seed) for seed in (0, 1)] + [Answers("strong", 0.9, seed) for seed in (1, 2)]
    assert _decide(build(tmp_path / "results.db", runs), tmp_path, left="strong").shown.seeds == (1,)
    apart = [Answers("weak", 0.5, 0), Answers("strong", 0.9, 1)]
    found = _decide(build(tmp_path / "other.db", apart), tmp_path, left="strong")
    assert (found.outcome, found.missing) == ("not measured", ("no seed in common: strong, weak",))


def test_other_examples_are_not_compared(tmp_path: Path) -> None:
    store = build(tmp_path / "results.db", [Answers("weak", 0.5), Answers("strong", 0.9, n=300)])
    found = _decide(store, tmp_path, left="strong")
    assert found.outcome == "not measured" and "were measured on other data of sst2" in found.missing[0]


def _timed(model: str, run: int, own: float, baseline: float) -> HandRun:
    facts = {"pretrain_ms": own, "baseline_pretrain_ms": baseline, "total_params": 100.0 + run * 0}
    return HandRun(model, None, run, facts=facts, kind="efficiency")


@pytest.mark.parametrize(("n", "outcome"), [(1, "undecided"), (3, "holds")])
def test_repeated_timed_runs_decide_and_one_does_not(tmp_path: Path, n: int, outcome: str) -> None:
    """The machine is twice as slow in the second run, for model and baseline alike: the ratio stays."""
    pace = (1.0, 2.0, 1.1)
    runs = [_timed("bert-mlm", run, 25.0 * pace[run], 25.0 * pace[run]) for run in range(n)]
    runs += [_timed("bert-sr", run, (10.0 + 0.01 * run) * pace[run], 25.0 * pace[run]) for run in range(n)]
    store = build(tmp_path / "results.db", runs)
    sections = claim_sections(store, ReportRequest(paper="hashformers"), draws=DRAWS)
    found = next(one for one in sections[0].decided if one.claim.id == "hashformers-10a")
    assert (found.outcome, found.shown.value) == (outcome, pytest.approx(2.5, abs=0.01))
    assert (ONE_RUN in found.marks) == (n == 1)
    assert (found.shown.low is None, found.shown.high is None) == (n == 1, n == 1)  # one run has no interval


def test_counts_need_no_run_and_are_exact(store: Store) -> None:
    sections = claim_sections(store, ReportRequest(paper="hashformers"), draws=DRAWS)
    verdicts = {one.claim.id: one for section in sections for one in section.decided}
    assert (verdicts["hashformers-04d"].outcome, verdicts["hashformers-04d"].shown.exact) == ("holds", True)
    assert verdicts["hashformers-09d"].outcome == "fails"
    assert verdicts["hashformers-02a"].outcome == "not measured"


def test_a_size_is_decided_if_the_decimal_and_the_binary_unit_agree(store: Store) -> None:
    """UNO has 312,506 parameters of 4 bytes: 1.250 MB or 1.192 MiB, and the paper prints 1.2 MB."""
    sections = claim_sections(store, ReportRequest(paper="eelbert"), draws=DRAWS)
    found = next(one for one in sections[-1].decided if one.claim.id == "eelbert-04f")
    assert (found.outcome, found.about) == ("undecided", "counts")
    assert found.marks == ("read as MB it is 1.250 and fails; read as MiB it is 1.192 and holds",)
    other = replace(found.claim, bound=0.06)
    results = Results(measure(store), load_paper("eelbert"), Evidence(store, measure(store)), TimedRuns(measure(store)))
    assert decide(other, results.for_claim(other, of_paper=True)).outcome == "holds"


@pytest.mark.parametrize(("n", "outcome"), [(893, "holds"), (500, "not measured")])
def test_a_quoted_score_counts_on_the_same_test_set_only(tmp_path: Path, n: int, outcome: str) -> None:
    """The best quoted score on ATIS is 94.1 (joint-bilstm ...); the published test set has 893 rows."""
    runs = [Answers("proformer", 0.99, seed, "atis", n, split="test") for seed in SEEDS]
    runs += [Answers("majority", 0.7, None, "atis", n, split="test")]
    sections = claim_sections(build(tmp_path / "results.db", runs), ReportRequest(paper="proformer"), draws=DRAWS)
    found = next(one for one in sections[0].decided if one.claim.id == "proformer-08b")
    assert found.outcome == outcome
    assert any("[quoted]" in mark for mark in found.marks) == (outcome == "holds")


def test_without_a_spread_nothing_can_be_decided_and_that_is_an_error(tmp_path: Path) -> None:
    store = build(tmp_path / "results.db", [Answers("weak", 0.5, stored=False), Answers("strong", 0.9, stored=False)])
    with pytest.raises(InputError, match="one seed and no stored predictions"):
        _decide(store, tmp_path, left="strong")
    several = [{"id": f"own-{i}", "kind": "greater", "left": "strong", "right": "weak", "unit": "percent",
                "column": column} for i, column in enumerate(("sst2", "total_params"))]  # fmt: skip
    with pytest.raises(InputError, match="no claim can be decided"):
        claim_sections(store, ReportRequest(claims_file=claims_file(tmp_path, several)), draws=DRAWS)
    assert NO_SPREAD.startswith("one seed")


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"left": "stronk"}, "own.csv:2: claim 'own-1': unknown model 'stronk'; did you mean 'strong'"),
        ({"left": "strong", "column": "sst3"}, "own.csv:2: claim 'own-1': unknown column 'sst3'; did you mean 'sst2'"),
        ({"left": "strong", "paper": "hashformer"}, "no paper 'hashformer'; there are: hashformers"),
    ],
)
def test_unknown_names_are_one_line(ask: Ask, row: dict[str, str], said: str) -> None:
    with pytest.raises(InputError) as error:
        ask(**row)
    assert said in str(error.value) and "\n" not in str(error.value)


def test_the_experiments_own_claims_are_decided_without_a_paper(tmp_path: Path) -> None:
    own = {"id": "mine-1", "kind": "greater", "left": "strong", "right": "weak", "column": "sst2", "unit": "percent"}
    store = build(tmp_path / "results.db", RUNS[:6], claims=[own])
    sections = claim_sections(store, draws=DRAWS)
    assert [(section.paper, [one.claim.id for one in section.decided]) for section in sections] == [("", ["mine-1"])]


def test_a_whole_paper_has_the_same_tally_as_the_claims_about_the_experiment(tmp_path: Path) -> None:
    """Claims about models that the experiment does not have are shown, and counted in neither."""
    runs = [Answers(model, 0.6 + 0.01 * seed, seed) for seed in SEEDS for model in ("bert-mlm", "hashformer-md-proj")]
    store = build(tmp_path / "results.db", [*runs, Answers("majority", 0.5, None)])
    chosen = [section for section in claim_sections(store, draws=DRAWS) if section.paper == "hashformers"]
    whole = claim_sections(store, ReportRequest(paper="hashformers"), draws=DRAWS)
    assert len(whole[0].decided) > len(chosen[0].decided)
    assert tally(whole[0].decided) == tally(chosen[0].decided)
    others = [one for section in whole for one in section.decided if one.of_other_models]
    assert others and all(one.names_absent_model for one in others)
    (sizes,) = (section for section in whole if section.counted)  # of the paper's models, whichever are here
    assert not any(one.names_absent_model for one in sizes.decided)


def test_claims_on_a_papers_own_sizes_are_shown_where_the_paper_is_named_alone(tmp_path: Path) -> None:
    runs = [Answers(model, 0.6 + 0.01 * seed, seed) for seed in SEEDS for model in ("bert-mlm", "hashformer-lsh-proj")]
    store = build(tmp_path / "results.db", [*runs, Answers("majority", 0.5, None)])
    (own,) = (section for section in claim_sections(store, draws=DRAWS) if section.paper == "hashformers")
    assert not any(one.claim.counts_only for one in own.decided) and not own.counted
    assert any("--paper hashformers" in note for note in own.notes)
    scores, sizes = claim_sections(store, ReportRequest(paper="hashformers"), draws=DRAWS)
    assert not any(one.claim.counts_only for one in scores.decided)
    assert sizes.counted and all(one.claim.counts_only for one in sizes.decided)
    assert "counted here" in sizes.title and not sizes.warnings and not sizes.provenance


@pytest.mark.parametrize(("encoder", "parameters", "shown"), [
    ("base", 38_603_520, True), ("tiny", 38_603_520, False), ("base", 199_936, False),
])  # fmt: skip
def test_a_papers_own_models_have_its_claims_on_sizes(
    tmp_path: Path, encoder: str, parameters: int, shown: bool
) -> None:
    counted = HandRun(
        "bert-mlm",
        None,
        0,
        facts={"emb_params": parameters, "total_params": 124_647_170},
        kind="params",
        encoder=encoder,
    )
    runs = [HandRun("bert-mlm", "sst2", seed, {("accuracy", "validation", ""): 0.6 + 0.01 * seed},
                    own=("accuracy", "validation"), encoder=encoder) for seed in SEEDS]  # fmt: skip
    store = build(tmp_path / "results.db", [counted, *runs])
    sections = claim_sections(store, draws=DRAWS)
    assert any(section.counted and section.paper == "hashformers" for section in sections) == shown


def _pretrained(own: Mapping[str, Sequence[float]], each: int = 2) -> list[Answers]:
    """Each pre-training of a model, by its share of right answers, with some fine-tunings."""
    return [
        Answers(model, right, each * start + at, n=2000, start=start)
        for model, of_model in own.items()
        for start, right in enumerate(of_model)
        for at in range(each)
    ]


def test_the_unit_of_a_fine_tuning_is_its_pretraining(tmp_path: Path) -> None:
    """Three pre-trainings with two fine-tunings each: three numbers a model, and Welch's interval over them."""
    own = {"a": (0.80, 0.82, 0.87), "b": (0.70, 0.71, 0.69)}
    store = build(tmp_path / "r.db", [*_pretrained(own), Answers("majority", 0.5, None, n=2000)])
    decided = _decide(store, tmp_path, left="a", right="b").shown
    assert (decided.seeds, decided.n_trainings) == ((0, 1, 2), 6)
    welch = stats.ttest_ind(*own.values(), equal_var=False).confidence_interval()
    assert decided.low is not None and decided.low < 100 * welch.low < decided.low + 0.5  # and the examples
    line = compare([store], "a", "b", draws=DRAWS).lines[0].difference
    assert (100 * line.low, 100 * line.high) == pytest.approx((decided.low, decided.high))


def test_fine_tunings_of_one_pretraining_say_that_they_are_of_it(tmp_path: Path) -> None:
    runs = [Answers(model, right + 0.01 * seed, seed, n=2000, start=0) for seed in SEEDS for model, right in
            {"a": 0.8, "b": 0.7}.items()]  # fmt: skip
    decided = _decide(build(tmp_path / "r.db", runs), tmp_path, left="a", right="b")
    assert (decided.outcome, decided.shown.seeds) == ("holds", SEEDS)
    assert "of one pre-training each: a, b" in decided.marks


def test_other_models_change_nothing(tmp_path: Path) -> None:
    """Steady and unsteady ones, with more and fewer pre-trainings and on other tasks: equal to the last bit."""
    rng = np.random.default_rng(0)
    runs = [*_pretrained({"a": (0.80, 0.82, 0.87), "b": (0.70, 0.71)}), Answers("majority", 0.5, None, n=2000)]
    others = [
        *_pretrained({name: 0.6 + 0.1 * rng.random(3) for name in "uv"}),
        *(Answers("w", 0.6, seed, n=2000) for seed in range(2)),
        *(replace(run, task="rte") for run in runs),
    ]
    stores = [build(tmp_path / f"{len(held)}.db", held) for held in (runs, [*others, *runs])]
    first, second = (_decide(store, tmp_path, left="a", right="b").shown for store in stores)
    assert first == second
    lines = [compare([store], "a", "b", draws=DRAWS).lines for store in stores]
    assert lines[0][0] == next(line for line in lines[1] if line.task == "sst2")


def test_a_model_with_a_number_for_a_name_is_compared_by_its_scores(tmp_path: Path) -> None:
    runs = [Answers(name, right, seed) for name, right in (("128", 0.9), ("256", 0.6)) for seed in SEEDS]
    store = build(tmp_path / "results.db", [*runs, Answers("majority", 0.5, None)])
    found = _decide(store, tmp_path, left="256", right="128")
    assert (found.outcome, found.shown.exact) == ("fails", False)
    assert found.shown.value == pytest.approx(-30, abs=1)
    with pytest.raises(InputError, match=r"own.csv:2: claim 'own-1': no model '512'; where a model's name is a number"):
        _decide(store, tmp_path, left="512", right="128")


def test_a_stored_claim_on_a_number_that_is_no_model_is_an_error(tmp_path: Path) -> None:
    rows = [{"id": "c1", "kind": "greater", "left": "512", "right": "128", "column": "sst2", "unit": "percent"}]
    runs = [Answers("128", 0.9, seed) for seed in SEEDS]
    store = build(tmp_path / "results.db", [*runs, Answers("majority", 0.5, None)], claims=rows)
    with pytest.raises(InputError, match="by-hand: claims, entry 1: claim 'c1': no model '512'"):
        claim_sections(store, ReportRequest(), draws=DRAWS)


def test_a_claim_reads_the_task_whatever_other_column_has_its_name(tmp_path: Path) -> None:
    runs = [Answers(model, right, seed, task) for seed in SEEDS
            for task, model, right in (("total_params", "strong", 0.9), ("total_params", "weak", 0.6),
                                       ("sst2", "strong", 0.5), ("sst2", "weak", 0.9))]  # fmt: skip
    found = _decide(build(tmp_path / "r.db", [*runs, Answers("majority", 0.5, None, "total_params")]), tmp_path,
                    left="strong", column="total_params")  # fmt: skip
    assert (found.outcome, found.shown.tasks) == ("holds", ("total_params",))
