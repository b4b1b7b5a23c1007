"""The experiment's own table."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
import sqlalchemy as sa

from hashbench.results.tables.experiment import MINUTES
from hashbench.results.tables.measures import View
from hashbench.results.tables.report import tables
from hashbench.results.tables.request import ReportRequest
from hashbench.results.tables.table import Row, Table
from hashbench.store.engine import Store
from hashbench.store.schema import attempt, environment
from tests.databases.hand_made import HandRun
from tests.databases.hand_made import build as build_by_hand
from tests.databases.made_up import World, build


@pytest.fixture(scope="module")
def own(small_store: Store) -> Table:
    return tables(small_store)[0]


def _row(table: Table, model: str) -> Row:
    return next(row for row in table.rows if row.model == model)


def test_every_model_by_every_task_with_average_sizes_and_time(own: Table) -> None:
    names = [column.name for column in own.columns]
    assert names[:4] == ["sst2", "cola", "subj", "average"]  # the paper's order, then the user's own
    assert names[4:] == ["total_params", "emb_params", "pt_ms", "infer_ms", "run_minutes"]
    models = ["bert-mlm", "hashformer-md-emb-50k", "hashformer-lsh-proj", "majority", "bag-of-words"]
    assert [row.model for row in own.rows] == models


def test_columns_are_headed_by_the_metric_that_is_read(own: Table) -> None:
    assert [column.subtitle for column in own.columns][:3] == ["accuracy", "matthews", "accuracy"]


def test_the_average_is_over_the_tasks_of_the_file_and_missing_where_one_is(own: Table) -> None:
    assert own.columns[3].tasks == ("sst2", "cola", "subj")
    cells = {row.model: row.cells["average"] for row in own.rows}
    assert cells["bert-mlm"].value == pytest.approx((92.0 + 54.5 + own.rows[0].cells["subj"].value) / 3)
    assert (cells["hashformer-md-emb-50k"].value, cells["hashformer-md-emb-50k"].reason) == (None, "without subj")


def test_further_averages_are_columns_that_are_marked_and_compared_like_that_of_all_tasks(tmp_path: Path) -> None:
    averages = {"averages": {"pairs": ["cola", "rte"], "all_again": ["rte", "cola", "sst2"]}}
    world = World(models=("bert-mlm", "bert-sr"), tasks=("cola", "rte", "sst2"), config=averages)
    table = tables(build(tmp_path / "r.db", world))[0]
    names = [column.name for column in table.columns]
    place = names.index("average")
    assert names[place : place + 3] == ["average", "average_all_again", "average_pairs"]
    assert [(column.title, column.subtitle) for column in table.columns[place + 1 : place + 3]] == [
        ("all_again", "3 tasks"),
        ("pairs", "2 tasks"),
    ]
    assert "Averages over some tasks: all_again of rte, cola, sst2; pairs of cola, rte." in table.details
    for row in table.rows:
        cells = row.cells
        assert cells["average_all_again"].value == pytest.approx(cells["average"].value)
        assert (cells["average_all_again"].under, cells["average_all_again"].rating) == (
            cells["average"].under,
            cells["average"].rating,
        )
        mean = (cells["cola"].value + cells["rte"].value) / 2
        assert cells["average_pairs"].value == pytest.approx(mean)


def test_minutes_are_those_of_pre_training_and_fine_tunings(own: Table) -> None:
    # 600 s of pre-training, 9 fine-tunings of 60 s; of lsh-proj one failed
    assert _row(own, "bert-mlm").cells["run_minutes"].value == pytest.approx(19.0)
    assert _row(own, "hashformer-lsh-proj").cells["run_minutes"].value == pytest.approx(18.0)


def test_a_pre_training_at_another_size_of_the_encoder_is_not_counted() -> None:
    def a_run(encoder: str, seconds: float) -> SimpleNamespace:
        return SimpleNamespace(model="m", encoder=encoder, state="done", origin=SimpleNamespace(seconds=seconds))

    measured = SimpleNamespace(pretrainings=lambda: [a_run("tiny", 60.0), a_run("base", 6000.0)])
    entry = SimpleNamespace(model="m", encoder="tiny", runs=(a_run("tiny", 120.0),), is_imported=False)
    assert View(measured=measured, columns={}).measure(entry, MINUTES).value == 3.0  # type: ignore[arg-type]


def test_minutes_of_several_kinds_of_machine_are_not_comparable(own: Table, tmp_path: Path) -> None:
    assert "Training minutes: all finished runs of a model, pre-training and evaluations included." in own.details
    runs = [HandRun(model, "sst2", scores={("accuracy", "validation", ""): 0.5}) for model in ("a", "b")]
    store = build_by_hand(tmp_path / "r.db", runs)
    with store.write() as connection:
        first = connection.execute(sa.select(environment)).mappings().one()
        connection.execute(sa.insert(environment).values({**first, "id": 77, "hardware_name": "card"}))
        connection.execute(sa.update(environment).where(environment.c.id == first["id"]).values(hardware_name="chip"))
        attempts = connection.execute(sa.select(attempt.c.id)).scalars().all()
        connection.execute(sa.update(attempt).where(attempt.c.id == attempts[0]).values(environment_id=77))
    (table,) = tables(store, ReportRequest())
    assert any(note.endswith("on 2 kinds of machine, so rows are not comparable.") for note in table.notes)


def test_without_sizes_and_times_there_are_no_such_columns(tmp_path: Path) -> None:
    store = build(tmp_path / "results.db", World(models=("bert-mlm",), tasks=("cola",), seeds=(0,), efficiency=False))
    assert [column.name for column in tables(store)[0].columns] == ["cola", "average", "run_minutes"]


def test_an_experiment_without_a_finished_run_is_all_missing(tmp_path: Path) -> None:
    world = World(models=("bert-mlm",), tasks=("cola",), seeds=(0,), efficiency=False, floors=False)
    world.failed = {("bert-mlm", None, 0)}  # type: ignore[arg-type]  # the pre-training
    table = tables(build(tmp_path / "results.db", world))[0]
    assert _row(table, "bert-mlm").cells["cola"].reason == "planned, not finished"
    assert _row(table, "bert-mlm").cells["average"].reason == "without cola"


def test_tasks_and_models_named_like_columns_and_baselines_are_printed_under_other_headings(tmp_path: Path) -> None:
    scores = {"average": 0.25, "total_params": 0.5, "mine": 0.75, "mine_f1": 1.0}
    runs = [
        HandRun("majority", task, scores={("accuracy", "test", ""): score, ("f1", "test", ""): 0.125})
        for task, score in scores.items()
    ]
    runs += [HandRun("majority", "mine", kind="floor", scores={("accuracy", "test", ""): 0.625})]
    store = build_by_hand(tmp_path / "r.db", runs)
    (table,) = tables(store, ReportRequest(all_metrics=True))
    values = {
        column.name: cell.value
        for column in table.columns
        if (cell := _row(table, "majority (model)").cells[column.name]).value is not None
    }
    assert values.pop("run_minutes") is not None
    assert values == {
        "average (accuracy of task average)": 25.0, "average_f1": 12.5,
        "total_params (accuracy of task total_params)": 50.0, "total_params_f1": 12.5, "mine": 75.0, "mine_f1": 12.5,
        "mine_f1 (accuracy of task mine_f1)": 100.0, "mine_f1_f1": 12.5, "average": 62.5,
    }  # fmt: skip
    heading = next(column for column in table.columns if column.name.startswith("average ("))
    assert (heading.title, heading.subtitle) == ("average (task)", "accuracy")
    assert _row(table, "majority").cells["mine"].value == 62.5


def test_a_further_set_that_a_model_was_not_evaluated_on_is_said_to_be_that(tmp_path: Path) -> None:
    scores = {("accuracy", "test", ""): 0.5}
    runs = [HandRun(model, "mine", scores=scores) for model in ("bert-mlm", "proformer")]
    runs += [HandRun("bert-mlm", "noisy", scores=scores, kind="evaluation")]
    runs += [HandRun("majority", "mine", scores=scores, kind="floor")]
    (table,) = tables(build_by_hand(tmp_path / "r.db", runs), ReportRequest())
    reason = "not evaluated on the set (hashbench evaluate MODEL --on FILE --name noisy)"
    cells = _row(table, "proformer").cells
    assert cells["noisy"].reason == reason
    assert table.missing == (f"{reason}: proformer (noisy)", "no such baseline of the set: majority (noisy)")


DEV, MATCHED, MISMATCHED = "validation", "validation_matched", "validation_mismatched"


@pytest.fixture(scope="module")
def several(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """Tasks of several metrics and splits, one of them a page-link set."""
    runs = [
        HandRun("proformer", "stsb", 0, {("spearman", DEV, ""): 0.7, ("pearson", DEV, ""): 0.8}, own=("spearman", DEV)),
        HandRun(
            "proformer",
            "mnli",
            0,
            {("accuracy", MATCHED, ""): 0.6, ("accuracy", MISMATCHED, ""): 0.5},
            own=("accuracy", MATCHED),
        ),
        HandRun("proformer", "links", 0, {("rec@1", "test", ""): 0.1, ("mrr", "test", ""): 0.2}, own=("rec@1", "test")),
    ]
    more = {("rec@1", "test", "beam=1"): 0.05}
    runs.append(HandRun("popularity", "links", None, {("rec@1", "test", ""): 0.02, **more}, kind="floor"))
    return build_by_hand(tmp_path_factory.mktemp("several") / "results.db", runs)


def test_each_task_is_read_by_the_metric_that_selects(several: Store) -> None:
    table = tables(several)[0]
    scores = [column for column in table.columns if column.measure == "score"]
    assert [(column.name, column.subtitle) for column in scores] == [
        ("stsb", "spearman"),
        ("mnli", "accuracy"),
        ("links", "rec@1"),
    ]
    assert [_row(table, "proformer").cells[column.name].value for column in scores] == [
        pytest.approx(70.0),
        pytest.approx(60.0),
        pytest.approx(10.0),
    ]
    assert dict(table.provenance)["metrics"] == (
        "spearman on validation: stsb; accuracy on validation_matched: mnli; rec@1 on test: links"
        "; what is reported on validation is selected there too"
    )


def test_all_metrics_are_shown_on_request(several: Store) -> None:
    table = tables(several, ReportRequest(all_metrics=True))[0]
    scores = [column for column in table.columns if column.measure == "score"]
    assert [(column.name, column.subtitle) for column in scores] == [
        ("stsb", "spearman"),
        ("stsb_pearson", "pearson"),
        ("mnli", "accuracy"),
        ("mnli_accuracy_validation_mismatched", "accuracy mismatched"),
        ("links", "rec@1"),
        ("links_mrr", "mrr"),
    ]
    cells = _row(table, "proformer").cells
    assert cells["stsb_pearson"].value == pytest.approx(80.0)
    assert cells["mnli_accuracy_validation_mismatched"].value == pytest.approx(50.0)
    assert cells["links_mrr"].value == pytest.approx(20.0)
    assert table.columns[6].tasks == ("stsb", "mnli", "links")  # the average is that of the selecting metrics
    assert cells["average"].value == pytest.approx((70 + 60 + 10) / 3)
    assert _row(table, "popularity").cells["links"].value == pytest.approx(2.0)
