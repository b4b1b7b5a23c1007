"""What is said under a table, and what is said loudly."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import sqlalchemy as sa

from hashbench.common.measured import TEXTS_NOTE, MetricRow, TextCounts, TextsRead
from hashbench.results.claims.report import claim_sections
from hashbench.results.papers.paper import Column
from hashbench.results.read.runs import MeasuredRun, RunOrigin
from hashbench.results.tables.links import _with_interval
from hashbench.results.tables.notes import _different_code, brief
from hashbench.results.tables.recipes import _deviations, learned_vocabularies, settings
from hashbench.results.tables.report import draw_notes, tables
from hashbench.results.tables.request import ReportRequest
from hashbench.results.tables.robustness import estimate_cell
from hashbench.results.tables.table import Cell, Row, Table
from hashbench.scores.draws import Estimate
from hashbench.store.engine import Store
from hashbench.store.planning import add_experiment
from hashbench.store.result import Predictions, Result
from hashbench.store.schema import metric, run
from tests.databases.empty import new_store
from tests.databases.hand_made import STEP
from tests.databases.made_up import World, build, model_block, specs
from tests.results.claims.world import Answers, claims_file
from tests.results.claims.world import build as build_answers


def _facts(table: Table) -> dict[str, str]:
    return dict(table.provenance)


def _table(folder: Path, world: World, number: str | None = "1") -> Table:
    return tables(build(folder / "results.db", world), ReportRequest(table=number))[0]


def test_a_run_at_the_papers_recipe_deviates_in_nothing_but_its_seeds(paper_store: Store) -> None:
    table = tables(paper_store, ReportRequest(table="1"))[0]
    assert _facts(table)["deviations"] == "fine-tuning seeds 1 (paper: 3)"
    assert table.warnings == ()


def test_everything_that_a_table_stands_on_is_named(small_store: Store) -> None:
    facts = _facts(tables(small_store, ReportRequest(table="1"))[0])
    assert facts["encoder"] == "tiny"
    assert facts["pre-training"].startswith("steps 1,000; batch_size 128; sequence_length 512")
    assert "on wikipedia and bookcorpus; seeds 0" in facts["pre-training"]
    assert "learning_rate 0.0001, 0.0005; " in facts["fine-tuning"] and facts["fine-tuning"].endswith("seeds 0, 1, 2")
    assert facts["checkpoint"].startswith("best evaluation")
    assert facts["code"] == "01234567"
    assert facts["software"] == "torch 2.13.0, numpy 2.4.6"
    assert facts["machines"] == "2 x CPU"
    metrics = "matthews on validation: cola; accuracy on validation: sst2"
    assert facts["metrics"] == f"{metrics}; what is reported on validation is selected there too"
    assert "sst2 (872 examples of validation, data-sst)" in facts["data"]
    assert "sample: train 1,000 of 67,349 rows on sst2" in facts["about the data"]
    assert "38 of 39 runs finished" in facts["experiment"]


def test_six_short_lines_are_printed_unless_all_are_asked_for(small_store: Store) -> None:
    (table,) = tables(small_store, ReportRequest(table="1", provenance=False))
    labels = [label for label, _ in table.provenance]
    assert labels == ["experiment", "data", "deviations", "code", "machines", "more"]
    assert max(len(text) for _, text in table.provenance) <= 84
    (full,) = tables(small_store, ReportRequest(table="1"))
    notes = len(full.details) + bool(full.missing)
    assert dict(table.provenance)["more"].startswith(f"--provenance prints all facts and {notes} note")
    long = brief(replace(full, provenance=(("data", "word " * 50),), details=(), missing=()))
    assert long.provenance[0][1].endswith("word ...")
    assert long.provenance[1:] == (("more", "--provenance prints all facts"),)


def test_the_class_whose_f1_it_is_stands_under_every_table(tmp_path: Path) -> None:
    """Of runs stored before they noted it, the class of GLUE's tasks."""
    world = World(tasks=("qqp", "sst2"))
    assert "f1 is of class duplicate (qqp)." in _table(tmp_path, world).details
    noted = replace(world, notes={"qqp": {"class of f1": "same"}})
    for folder, number in (("own", "own"), ("paper", "1")):
        (tmp_path / folder).mkdir()
        assert "f1 is of class same (qqp)." in _table(tmp_path / folder, noted, number).details
    (tmp_path / "none").mkdir()
    assert not any("f1" in note for note in _table(tmp_path / "none", World(tasks=("sst2",))).notes)


@dataclass(frozen=True)
class Rare(Answers):
    """A run on twenty rows, one of them of the class whose F1 is reported, which it never predicts elsewhere."""

    def run(self):  # noqa: ANN201
        return replace(super().run(), own=("f1", self.split))

    def result(self) -> Result:
        targets = (np.arange(20) == 0).astype(np.int64)
        metrics = [MetricRow("f1", 1.0, self.split, STEP), MetricRow("best_step", STEP), MetricRow("last_step", STEP)]
        return Result(metrics, [Predictions(self.split, "best", targets, targets, "rows")], notes={})


def test_draws_of_a_rare_class_without_a_value_are_counted(tmp_path: Path) -> None:
    """A draw of 20 rows lacks one of them with probability (19/20)^20, 36 %."""
    store = build_answers(tmp_path / "r.db", [Rare("a", 1.0), Rare("b", 1.0)])
    (table,) = tables(store, ReportRequest(examples=True))
    cells = [row.cells["sst2"] for row in table.rows if row.kind == "model"]
    assert len(cells) == 2 and all(32 < cell.undefined < 40 for cell in cells)
    (note,) = [note for note in table.notes if "draws without a value" in note]
    assert f"a on SST-2 {cells[0].undefined:.1f} %" in note
    assert "f1 is of class number 1 (sst2)." in table.details


def test_a_page_of_claims_says_whose_f1_it_counts(tmp_path: Path) -> None:
    store = build_answers(tmp_path / "r.db", [Rare("a", 1.0), Rare("b", 1.0)])
    rows = [{"id": "own-1", "kind": "greater", "left": "a", "right": "b", "unit": "percent", "column": "sst2"}]
    request = ReportRequest(claims_file=claims_file(tmp_path, rows))
    (section,) = [section for section in claim_sections(store, request, draws=20) if not section.paper]
    assert section.notes == ("f1 is of class number 1 (sst2).",)


def test_draws_without_a_value_are_counted_in_tables_of_robustness_and_of_links() -> None:
    assert estimate_cell(Estimate(0.5, 0.4, 0.6, undefined=0.25), "percent").undefined == 25
    sample = SimpleNamespace(missing=lambda: [], by_draw=lambda: np.array([0.2, np.nan, 0.4, 0.6]), n=4)
    evidence = SimpleNamespace(of_part=lambda part: sample)
    assert _with_interval(Cell(40.0, parts=(None,)), evidence).undefined == 25


def test_draws_without_a_value_are_counted_under_the_table() -> None:
    cells = {"a": Cell(1.0, undefined=12.34), "b": Cell(1.0)}
    columns = tuple(Column(name, "percent", "score", name.upper()) for name in cells)
    table = Table("", "own", "", "", columns, (Row("m", "m", cells),))
    assert draw_notes(table)[-1].endswith("share of the draws: m on A 12.3 %.")


@pytest.mark.parametrize(
    ("poolings", "told"),
    [
        ({}, ""),
        ({"bert-mlm": "mean"}, "pooling mean for bert-mlm; "),
        (dict.fromkeys(World.models, "max"), "pooling max; "),
    ],
)
def test_models_whose_head_reads_more_than_the_first_token_are_named(tmp_path, monkeypatch, poolings, told) -> None:
    def block(model: str, encoder: str) -> dict[str, object]:
        return {**model_block(model, encoder), "pooling": poolings.get(model, "first")}

    monkeypatch.setattr("tests.databases.made_up.model_block", block)
    assert _facts(_table(tmp_path, World(tasks=("cola",))))["fine-tuning"].endswith(
        f"precision 32; {told}seeds 0, 1, 2"
    )


@pytest.mark.parametrize(
    ("spreads", "told"),
    [
        ({}, ""),
        ({"bert-mlm": 0.05}, "initial_spread 0.05 for bert-mlm; "),
        (dict.fromkeys(World.models, "matched"), "initial_spread matched; "),
    ],
)
def test_spreads_that_an_experiment_sets_are_printed(tmp_path, monkeypatch, spreads, told) -> None:
    def block(model: str, encoder: str) -> dict[str, object]:
        return {**model_block(model, encoder), "initial_spread": spreads.get(model)}

    monkeypatch.setattr("tests.databases.made_up.model_block", block)
    assert _facts(_table(tmp_path, World(tasks=("cola",))))["fine-tuning"].endswith(
        f"precision 32; {told}seeds 0, 1, 2"
    )


def test_deviations_name_ours_and_the_papers(small_store: Store) -> None:
    deviations = _facts(tables(small_store, ReportRequest(table="1"))[0])["deviations"]
    assert "encoder tiny (paper: base)" in deviations
    assert "pre-training steps 1,000 (paper: 500,000)" in deviations
    assert "fine-tuning learning_rate 0.0001, 0.0005 (paper: 3e-05; tuned on held-out tenth of train)" in deviations


def test_the_own_table_names_the_metrics_of_own_tasks(small_store: Store) -> None:
    assert "accuracy on test: subj" in _facts(tables(small_store)[0])["metrics"]


def test_a_table_of_times_says_how_they_were_measured_and_nothing_of_fine_tuning(small_store: Store) -> None:
    facts = _facts(tables(small_store, ReportRequest(table="3"))[0])
    assert facts["timing"] == (
        "on one CPU (2 cores); threads 1; pairs 5; pretrain_length 512; pretrain_batch 8; infer_batch 32; model and "
        "baseline in turn in one process, medians; noise not measured"
    )
    assert "fine-tuning" not in facts and "checkpoint" not in facts


def test_times_name_the_precision_that_was_found(tmp_path: Path) -> None:
    world = World(tasks=("cola",), notes={"efficiency": {"precision_found": "32"}})
    assert "threads 1; precision 32; " in _facts(_table(tmp_path, world, "3"))["timing"]


def test_shares_of_a_baseline_that_a_trivial_one_reaches_are_warned_of(tmp_path: Path) -> None:
    class Flat(World):
        def score(self, model: str, task: str) -> float:
            return 0.1 if task == "cola" else 0.9

    warnings = _table(tmp_path, Flat(tasks=("cola", "sst2"), seeds=(1,)), "2").warnings
    said = [line for line in warnings if line.startswith("WEAK")]
    assert len(said) == 1 and "bert-mlm is not above the best trivial baseline on CoLA: PRR there" in said[0]


@pytest.mark.parametrize(
    "world",
    [
        World(tasks=("cola",), seeds=(0,), config={"data": "builtin"}),
        World(tasks=("cola",), seeds=(0,), notes={"cola": {"data": "built-in data: generated, seed 0"}}),
        World(tasks=("cola",), seeds=(0,), config={"data": ["builtin"]}),
    ],
)
def test_built_in_data_are_named_loudly(tmp_path: Path, world: World) -> None:
    warnings = _table(tmp_path, world).warnings
    assert warnings[0].startswith("BUILT-IN DATA: generated texts, these are not GLUE scores; the published values")


def test_only_the_generated_tasks_are_named_where_sources_are_mixed(tmp_path: Path) -> None:
    world = World(
        tasks=("cola", "rte"), seeds=(0,), notes={"rte": {"data": "built-in"}}, config={"data": ["x", "builtin"]}
    )
    assert _table(tmp_path, world, None).warnings == (
        "BUILT-IN DATA (rte): generated texts, these are not GLUE scores.",
    )


def test_a_sample_is_found_by_the_number_of_reported_examples(tmp_path: Path) -> None:
    world = World(models=("bert-mlm",), tasks=("qnli",), seeds=(0,), examples={"qnli": 1_000})
    assert "SAMPLED DATA: qnli (validation 1,000 of 5,463 rows)" in _table(tmp_path, world).warnings[0]


def test_a_whole_dev_set_is_no_sample(tmp_path: Path) -> None:
    world = World(models=("bert-mlm",), tasks=("rte",), seeds=(0,), examples={"rte": 277})
    assert _table(tmp_path, world).warnings == ()


def test_another_scale_than_the_papers_is_said_where_published_values_stand(tmp_path: Path) -> None:
    store = build(tmp_path / "results.db", World(tasks=("cola",), seeds=(0,), encoder="tiny", steps=1_000))
    warnings = tables(store, ReportRequest(table="1"))[0].warnings
    assert len(warnings) == 1
    assert warnings[0].startswith("NOT THE PAPER'S SCALE: encoder tiny (paper: base); steps 1,000 (paper: 500,000): ")
    assert tables(store, ReportRequest(table="1", published=False))[0].warnings == ()


def test_a_built_in_corpus_is_named(tmp_path: Path) -> None:
    world = World(tasks=("cola",), seeds=(0,), corpora=("builtin",))
    assert "BUILT-IN CORPUS: pre-trained on generated texts." in _table(tmp_path, world).warnings


def test_a_precision_that_was_found_is_the_deviation_not_the_one_asked_for(tmp_path: Path) -> None:
    world = World(tasks=("cola",), notes={"cola": {"precision_found": "bf16"}})
    assert "fine-tuning precision bf16 (paper: 32)" in _facts(_table(tmp_path, world))["deviations"]
    (tmp_path / "plain").mkdir()
    plain = _facts(_table(tmp_path / "plain", World(tasks=("cola",), seeds=(0,))))
    assert "precision" not in plain["deviations"]


def test_deviations_of_some_models_name_them(tmp_path: Path) -> None:
    rates = {("a", "rte"): (1e-4, 1e-4), ("b", "rte"): (3e-4, 1e-4), ("c", "rte"): (1e-4, 1e-4)}
    assert _deviations("learning_rate", rates) == ["learning_rate 0.0003 for b (paper: 0.0001)"]


def test_what_the_runs_noted_counts_more_than_the_experiment_file(tmp_path: Path) -> None:
    world = World(
        tasks=("cola",), seeds=(0,), config={"data": "builtin"}, notes={"cola": {"origin": "folder data", "data": ""}}
    )
    assert _table(tmp_path, world, None).warnings == ()


def test_several_notes_of_one_run_are_read_one_by_one(tmp_path: Path) -> None:
    notes = {"cola": {"origin": "folder data", "data": "no validation split; sample: train 10 of 8,551 rows"}}
    table = _table(tmp_path, World(tasks=("cola", "rte"), seeds=(0,), notes=notes), None)
    assert "SAMPLED DATA: cola (train 10 of 8,551 rows)" in table.warnings[0]
    about = _facts(table)["about the data"]
    assert all(f"{note} on cola" in about for note in ("no validation split", "sample: train 10 of 8,551 rows"))


def test_the_record_of_the_sweep_is_read_too(tmp_path: Path) -> None:
    record = {"sources": ["builtin"], "tasks": {"cola": {"origin": "built-in", "notes": ["built-in data: generated"]}}}
    world = World(tasks=("cola",), seeds=(0,), config={"data": "hub", "provenance": record})
    assert _table(tmp_path, world, None).warnings[0].startswith("BUILT-IN DATA")


def test_a_release_is_named_in_full_and_a_commit_with_its_tree() -> None:
    assert RunOrigin("release 0.1.0").code(8) == "release 0.1.0"
    assert RunOrigin("0123456789abcdef").code(8) == "01234567"
    assert RunOrigin().code(8) == "unknown"
    assert RunOrigin("0123456789abcdef", "fedcba9876543210", has_diff=True).code(8) == (
        "01234567 (tree fedcba98) with uncommitted changes"
    )


def test_what_all_tasks_share_is_said_once(tmp_path: Path) -> None:
    notes = {task: {"origin": "built-in data", "data": "built-in data: generated"} for task in ("cola", "rte")}
    table = _table(tmp_path, World(tasks=("cola", "rte"), seeds=(0,), notes=notes), None)
    assert _facts(table)["about the data"] == "built-in data: generated"
    assert _facts(table)["data"] == "cola (data-col); rte (data-rte)"


def test_rounds_and_the_noise_are_told(tmp_path: Path) -> None:
    """What newer runs store: how long was measured, the batches that were found, the baseline against itself."""
    store = build(tmp_path / "results.db", World(tasks=("cola",), seeds=(0,)))
    block = {"pairs": 12, "width": 0.05, "limit_s": 10.0, "pretrain_batch_size": None, "pretrain_length": 512,
             "infer_batch_size": None, "infer_samples": None}  # fmt: skip
    facts = {"pretrain_batch": 64, "pretrain_ms_speedup_low": 0.98, "pretrain_ms_speedup_high": 1.021}
    with store.write() as connection:
        for row in store.query("SELECT id, spec, finished_attempt FROM run WHERE kind = 'efficiency'"):
            spec = json.dumps(json.loads(row["spec"]) | {"efficiency": block})
            connection.execute(sa.update(run).where(run.c.id == row["id"]).values(spec=spec))
            for name, value in facts.items():
                connection.execute(
                    sa.insert(metric).values(
                        attempt_id=row["finished_attempt"], split="", name=name, step=0, condition="", value=value
                    )
                )
    table = tables(store, ReportRequest(table="3"))[0]
    timing = _facts(table)["timing"]
    assert "pairs 12; width 0.05; limit_s 10; pretrain_length 512; pretrain_batch 64; " in timing
    assert timing.endswith("noise, the baseline against itself: pre-training 0.98 to 1.02")
    cells = next(row for row in table.rows if row.model == "bert-mlm").cells
    assert cells["pt_speedup"].interval == (0.98, 1.021) and cells["pt_ms"].interval is None


MANY = "40 of 100 tokens of validation (40.0 %)"


@dataclass(frozen=True)
class OneClassOfFewTokens(Answers):
    """Says the first class of every example, and does not know four tokens of ten."""

    def result(self) -> Result:
        result = super().result()
        kept = [replace(each, outputs=np.tile([0.7, 0.3], (self.n, 1))) for each in result.predictions]
        return replace(result, predictions=kept, notes={**result.notes, "unknown_tokens": MANY})


def test_unknown_tokens_are_noted_with_their_model(tmp_path: Path) -> None:
    runs = [Answers("bert-mlm", 0.8), OneClassOfFewTokens("bert-sr", 0.5), Answers("majority", 0.5, None)]
    facts = dict(tables(build_answers(tmp_path / "r.db", runs))[0].provenance)
    assert facts["unknown tokens"] == f"{MANY} for bert-sr"


def test_nothing_is_said_where_nothing_is_odd(tmp_path: Path) -> None:
    facts = dict(tables(build_answers(tmp_path / "r.db", [Answers("bert-mlm", 0.8)]))[0].provenance)
    assert "unknown tokens" not in facts


def _limited(model: str, limit: object, used: int | None = None, lost: int = 0) -> MeasuredRun:
    """A finished training with this limit, which found `used` tokens and lost this many of 100 tokens of train."""
    read = TextsRead(used or 0, {"train": TextCounts(10, 1, 100, lost, 400, 0)})
    origin = RunOrigin(notes=((TEXTS_NOTE, read.note()),) if used else ())
    spec = {"finetune": {"max_length": limit}}
    return MeasuredRun(model, "finetune", model, "sst2", 0, "tiny", spec, "done", "", "", "accuracy", origin)


def test_lengths_that_were_found_in_the_data_are_told_by_model() -> None:
    limit = {"keep": 0.9, "at_most": 128}
    found = [_limited("hf", limit, 53, lost=9), _limited("old", limit), _limited("sr", 64)]
    assert settings(found, "finetune", ["max_length"]) == [
        "max_length 53 for hf; max_length 128 for old; max_length 64 for sr"
    ]
    assert settings([_limited("sr", 64), _limited("mlm", 64)], "finetune", ["max_length"]) == ["max_length 64"]


def test_kinds_of_encoder_are_named_where_there_are_several(tmp_path, monkeypatch) -> None:
    def block(model: str, encoder: str) -> dict[str, object]:
        of_model = model_block(model, encoder)
        return {**of_model, "encoder": {"kind": "average" if model == "bert-mlm" else "bert", "size": encoder}}

    monkeypatch.setattr("tests.databases.made_up.model_block", block)
    facts = _facts(_table(tmp_path, World(tasks=("cola",))))
    assert facts["encoder"].startswith("base; ") and "average for bert-mlm" in facts["encoder"]


@pytest.mark.parametrize(
    ("learn_on", "names", "told"),
    [
        (["corpus", "tasks"], ["sst2", "rte"], "learned on wikipedia and the training texts of sst2, rte"),
        (["tasks"], ["rte"], "learned on the training texts of rte"),
        (["corpus"], [], None),
    ],
)
def test_the_tasks_on_whose_texts_a_vocabulary_was_learned(tmp_path, monkeypatch, learn_on, names, told) -> None:
    def block(model: str, encoder: str) -> dict[str, object]:
        of_model = model_block(model, encoder)
        return {**of_model, "tokenizer": {**of_model["tokenizer"], "learn_on": learn_on}}

    monkeypatch.setattr("tests.databases.made_up.model_block", block)
    tasks = [{"name": name, "fingerprint": f"data-{name}"} for name in names]
    world = World(tasks=("cola",), corpora=("wikipedia",), learned=tasks)
    assert _facts(_table(tmp_path, world)).get("vocabulary") == told


def test_a_vocabulary_of_some_models_names_them() -> None:
    tokenizer = {"kind": "bpe", "learn_on": ["tasks"]}
    corpora = {"a": {"corpora": [], "tasks": [{"name": "rte"}]}, "b": {"corpora": []}, "c": None}
    runs = [
        SimpleNamespace(model=model, spec={"model": {"tokenizer": tokenizer}, "corpus": corpus})
        for model, corpus in corpora.items()
    ]
    told = learned_vocabularies(SimpleNamespace(apart=[*runs, SimpleNamespace(model="majority", spec={})]))
    assert told == "learned on the training texts of rte for a"


def test_noise_in_training_texts_names_its_models() -> None:
    noise = {"kind": "distortion", "rate": 0.25}
    blocks = {"a": {"noise": noise}, "b": {"noise": None}, "c": {}}  # c is of a version without the key
    runs = [
        SimpleNamespace(
            model=model, task="sst2", origin=RunOrigin(), spec={"finetune": block}, block=lambda _, block=block: block
        )
        for model, block in blocks.items()
    ]
    assert settings(runs, "finetune", ["noise"]) == ["noise distortion, 0.25 for a"]
    assert settings(runs[1:], "finetune", ["noise"]) == []


def test_different_code_is_one_line_with_a_count() -> None:
    def measured(*codes: tuple[str, str, str]) -> SimpleNamespace:
        runs = [
            SimpleNamespace(
                state="done", kind="finetune", task=task, model=model, origin=SimpleNamespace(notes={"sources": code})
            )
            for task, model, code in codes
        ]
        return SimpleNamespace(runs=runs, experiment=SimpleNamespace(name="x"))

    equal = (("cola", "a", "1f 2e"), ("cola", "b", "1f 2e"))
    assert _different_code(measured(*equal)) == ""
    one = _different_code(measured(*equal, ("cola", "c", "9d 2e")))
    assert one == "1 groups of runs; which: hashbench status x"
    two = _different_code(measured(*equal, ("cola", "c", "9d 2e"), ("rte", "a", "1f 2e"), ("rte", "b", "9d 2e")))
    assert two.startswith("2 groups of runs")


@pytest.mark.parametrize(("own", "deviates"), [("mine", False), ("bert-sr", True)])
def test_no_paper_is_named_under_the_table_of_models_of_ones_own(tmp_path: Path, own: str, deviates: bool) -> None:
    """A variation of a paper's model is no model of the paper."""
    world = World(models=("bert-mlm",), tasks=("cola",), seeds=(0,), efficiency=False, floors=False)
    rows = [replace(row, model=own) for row in specs(world)]
    store = new_store(tmp_path / "results.db")
    config = {"name": "made-up", "models": [{"name": own, "like": "bert-mlm"}]}
    add_experiment(store, "made-up", config, rows, baseline=own)
    facts = _facts(tables(store, ReportRequest())[0])
    assert ("deviations" in facts) == deviates == any("(paper: " in text for text in facts.values())


def test_a_run_that_could_compare_no_evaluation_has_no_best_one(tmp_path: Path) -> None:
    notes = {"cola": {"unselected": "matthews has no value on validation: the targets are constant"}}
    facts = _facts(_table(tmp_path, World(tasks=("cola",), seeds=(0,), notes=notes), None))
    line = facts["last evaluation, as none could be compared"]
    assert line == "matthews has no value on validation: the targets are constant"


def test_the_rows_that_values_are_searched_on_are_described(tmp_path: Path) -> None:
    notes = {"cola": {"searched_on": "searched on a seeded tenth of train (9 rows), of which 0 (0.0 %) lie in rows"}}
    facts = _facts(_table(tmp_path, World(tasks=("cola",), seeds=(0,), notes=notes), None))
    assert "searched on a seeded tenth of train (9 rows), of which 0 (0.0 %)" in facts["rows searched on"]
