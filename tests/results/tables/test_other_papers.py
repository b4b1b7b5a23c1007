"""Tables of EELBERT, ProFormer and Superbloom on runs written down by hand, with the answers worked out beside them."""

from __future__ import annotations

from pathlib import Path

import pytest

from hashbench.results.rendering.formats.tidy import tidy
from hashbench.results.rendering.registry import render
from hashbench.results.tables.report import tables
from hashbench.results.tables.request import ReportRequest
from hashbench.results.tables.table import Cell, Row, Table
from tests.databases.hand_made import HandRun, build

DEV, TEST = "validation", "test"
# (task, metric, split) -> a score of bert-tiny; eelbert-tiny has 0.01 less, seeds differ by their place in SPREAD
GLUE = {
    ("cola", "matthews", DEV): 0.20,
    ("sst2", "accuracy", DEV): 0.80,
    ("mrpc", "accuracy", DEV): 0.70,
    ("stsb", "pearson", DEV): 0.60,
    ("qqp", "accuracy", DEV): 0.75,
    ("mnli", "accuracy", "validation_matched"): 0.60,
    ("mnli", "accuracy", "validation_mismatched"): 0.64,
    ("qnli", "accuracy", DEV): 0.78,
    ("rte", "accuracy", DEV): 0.55,
}
NOT_READ = {"mrpc": ("f1", 0.99), "qqp": ("f1", 0.98), "stsb": ("spearman", 0.58)}  # stored beside what is averaged
SPREAD = (0.0, 0.01, 0.30)  # of three seeds: the median is the second, the mean is far above


def _row(table: Table, title: str, settings: str = "") -> Row:
    return next(row for row in table.rows if (row.title, row.settings) == (title, settings))


def _eelbert(path: Path) -> list[Table]:
    runs = []
    for model, less, params in (("bert-tiny", 0.0, 4_416_698), ("eelbert-tiny", 0.01, 509_882)):
        runs.append(HandRun(model, kind="efficiency", seed=None, facts={"total_params": params, "emb_params": 0}))
        for seed, more in enumerate(SPREAD):
            for task in dict.fromkeys(task for task, _, _ in GLUE):
                scores = {
                    (metric, split, ""): value + more - less
                    for (name, metric, split), value in GLUE.items()
                    if name == task
                }
                if task in NOT_READ:
                    scores[NOT_READ[task][0], DEV, ""] = NOT_READ[task][1]
                runs.append(HandRun(model, task, seed, scores, own=next(iter(scores))[:2]))
    return tables(build(path / "results.db", runs), ReportRequest(table="1,2"))


@pytest.fixture(scope="module")
def eelbert(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Table]:
    return {table.number: table for table in _eelbert(tmp_path_factory.mktemp("eelbert"))}


def test_the_paper_follows_from_the_models(eelbert: dict[str, Table]) -> None:
    assert {table.paper for table in eelbert.values()} == {"eelbert"}


def test_eelbert_takes_medians_over_seeds_first(eelbert: dict[str, Table]) -> None:
    cell = _row(eelbert["2"], "bert-tiny").cells["sst2"]
    assert (cell.value, cell.n) == (pytest.approx(81.0), 3)  # 80, 81, 110
    assert cell.std == pytest.approx(17.0392, abs=1e-4)
    assert eelbert["2"].statistic == "median"


def test_the_small_average_counts_mnli_once_and_leaves_out_cola_and_stsb(eelbert: dict[str, Table]) -> None:
    # sst2 81, mrpc 71, qqp 76, mnli (61 + 65) / 2 = 63, qnli 79, rte 56
    assert _row(eelbert["2"], "bert-tiny").cells["glue_small"].value == pytest.approx(426 / 6)


def test_the_drop_is_taken_from_the_partner(eelbert: dict[str, Table]) -> None:
    row = _row(eelbert["2"], "eelbert-tiny")
    assert row.cells["glue_drop"].value == pytest.approx(1.0)
    published = row.cells["glue_drop"].published
    assert published is not None and published.value == 0.5
    alone = _row(eelbert["2"], "bert-tiny").cells["glue_drop"]
    assert (alone.value, alone.reason) == (None, "")  # it has no partner, so that nothing is missing


def test_sizes_are_compared_in_the_papers_frame(eelbert: dict[str, Table]) -> None:
    cells = _row(eelbert["2"], "eelbert-tiny").cells
    assert cells["size_ratio_vs_bert-tiny"].value == pytest.approx(8.66, abs=0.005)  # the paper: about 9
    assert (cells["size"].value, cells["size"].unit) == (pytest.approx(2.04, abs=0.005), "MB")


def test_the_base_average_has_eight_tasks(tmp_path: Path) -> None:
    runs = [
        HandRun("bert-base", task, 0, {(metric, split, ""): value}, own=(metric, split))
        for (task, metric, split), value in GLUE.items()
        if split != "validation_mismatched"
    ]
    mnli = next(run for run in runs if run.task == "mnli")
    scores = {**mnli.scores, ("accuracy", "validation_mismatched", ""): 0.64}
    runs[runs.index(mnli)] = HandRun("bert-base", "mnli", 0, scores, own=mnli.own)
    table = tables(build(tmp_path / "results.db", runs), ReportRequest(paper="eelbert", table="1"))[0]
    # 20 + 80 + 70 + 60 + 75 + 62 + 78 + 55
    assert _row(table, "bert-base").cells["glue_base"].value == pytest.approx(500 / 8)


def test_what_eelbert_printed_is_said_not_to_be_available(eelbert: dict[str, Table], tmp_path: Path) -> None:
    assert _row(eelbert["2"], "bert-tiny").cells["sst2"].unavailable
    assert not _row(eelbert["2"], "bert-tiny").cells["glue_drop"].unavailable
    runs = [HandRun("bert-tiny", "sst2", 0, {("accuracy", DEV, ""): 0.8}, own=("accuracy", DEV))]
    store = build(tmp_path / "results.db", runs)
    for style in ("text", "md", "latex"):
        text = render(tables(store, ReportRequest(table="2")), style, width=100)
        assert "[n/a" in text and "the paper's number is not available to us" in " ".join(text.split())
    assert "n/a" not in render(tables(store, ReportRequest(table="2")), "csv")


def test_a_model_of_the_text_alone_is_not_said_to_stand_in_the_table(eelbert: dict[str, Table], tmp_path: Path) -> None:
    store = build(tmp_path / "r.db", [HandRun("bert-base", "sst2", 0, {("accuracy", DEV, ""): 0.8})])
    table = tables(store, ReportRequest(paper="eelbert", table="4"))[0]
    assert _row(table, "bert-base-hash-init").cells["cola"].unavailable
    cells = _row(table, "bert-mini-hash-init").cells
    assert not cells["cola"].unavailable
    gain = cells["glue_gain_vs_random_init"].published
    assert gain is not None and gain.value == 1.6


def test_sizes_of_ours_have_rows_only_where_they_were_run(tmp_path: Path) -> None:
    runs = [HandRun("bert-tiny", "sst2", 0, {("accuracy", DEV, ""): 0.8}, own=("accuracy", DEV))]
    table = tables(build(tmp_path / "r.db", runs), ReportRequest(paper="eelbert", table="4"))[0]
    titles = [row.title for row in table.rows]
    assert "bert-tiny" in titles and "bert-tiny-hash-init" not in titles


@pytest.fixture(scope="module")
def proformer(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Table]:
    runs = [
        HandRun("proformer", "atis", seed, {("accuracy", TEST, ""): value, ("f1_macro", TEST, ""): 0.5})
        for seed, value in enumerate((0.95, 0.96))
    ]
    runs.append(HandRun("bag-of-words", "atis", None, {("accuracy", TEST, ""): 0.915}, kind="floor"))
    runs.append(HandRun("proformer-k4", "atis", 0, {("accuracy", TEST, ""): 0.93}, spec={"encoder": {"group": 4}}))
    record = {"provenance": {"sources": ["folder"], "tasks": {"atis": {"rows": {"train": 4478, "test": 893}}}}}
    store = build(tmp_path_factory.mktemp("proformer") / "results.db", runs, record)
    return {table.number: table for table in tables(store, ReportRequest(table="1,2,3,4"))}


def test_accuracy_on_test_beside_the_published_one(proformer: dict[str, Table]) -> None:
    cell = _row(proformer["3"], "proformer").cells["atis"]
    assert (cell.value, cell.n, cell.published and cell.published.value) == (pytest.approx(95.5), 2, 98.2)
    assert _row(proformer["3"], "bag-of-words").cells["atis"].value == pytest.approx(91.5)
    facts = dict(proformer["3"].provenance)
    assert facts["metrics"] == "accuracy on test: atis"


def test_quoted_systems_are_printed_as_published_and_not_missing(proformer: dict[str, Table]) -> None:
    row = _row(proformer["3"], "proseqo")
    assert row.kind == "quoted" and row.cells["mrda"].published is not None
    assert not any("proseqo" in line for line in proformer["3"].missing)
    assert "not in this experiment: bert-base, bert-2l-560, bert-2l-840, sgnn" in proformer["3"].missing


def test_data_sets_are_rows_with_what_the_sweep_found(proformer: dict[str, Table]) -> None:
    row = next(row for row in proformer["2"].rows if row.model == "atis")
    assert row.cells["train"] == Cell(4478.0, unit="count", published=row.cells["train"].published)
    assert row.cells["train"].published is not None and row.cells["train"].published.value == 4400
    assert next(row for row in proformer["2"].rows if row.model == "mrda").cells["train"].value is None


def test_attention_scores_that_groups_of_words_save(proformer: dict[str, Table]) -> None:
    assert _row(proformer["1"], "proformer-k4").cells["computation_reduction"].value == 16.0


SHAPE = {"coder": {"name": "bloom", "alpha": 5, "coherent": 1}, "encoder": {"layers": 2, "dim": 64, "heads": 4}}


def _entities(model: str, task: str, seed: int, at_1: float, **more: object) -> HandRun:
    scores = {
        ("rec@1", TEST, ""): at_1, ("rec@10", TEST, ""): 0.3, ("rec@20", TEST, ""): 0.4,
        ("token_rec@1", TEST, ""): 0.2, ("rec@1", TEST, "beam=1"): 0.05, ("rec@1", TEST, "beam=10"): at_1,
        ("rec@1", TEST, "tenth=1"): 0.5, ("token_rec@1", TEST, "map=1"): 0.9,
    }  # fmt: skip
    facts = {"total_params": 212_284, "emb_params": 106_368, "rec@1_ceiling": 0.98}
    return HandRun(model, task, seed, scores, facts, spec=SHAPE, own=("rec@1", TEST))


@pytest.fixture(scope="module")
def superbloom(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Table]:
    runs = [_entities("superbloom-a50", "wikispeedia", seed, 0.06 + 0.01 * seed) for seed in (0, 1)]
    runs.append(_entities("wide", "wikispeedia", 0, 0.1))
    runs.append(HandRun("popularity", "wikispeedia", None, {("rec@1", TEST, ""): 0.019}, kind="floor"))
    store = build(tmp_path_factory.mktemp("superbloom") / "results.db", runs)
    return {table.number: table for table in tables(store, ReportRequest(table="1,2,6,7,figure-3"))}


def test_recall_is_read_from_whatever_task_has_it(superbloom: dict[str, Table]) -> None:
    cells = _row(superbloom["2"], "superbloom-a50").cells
    assert (cells["rec@1"].value, cells["rec@1"].n) == (pytest.approx(6.5), 2)
    assert cells["rec@1_ceiling"].value == pytest.approx(98.0)
    assert _row(superbloom["2"], "popularity").cells["rec@1"].value == pytest.approx(1.9)
    assert _row(superbloom["2"], "wide").section == "Also in this experiment"
    assert any(line.startswith("NOT THE PAPER'S DATA: measured on wikispeedia") for line in superbloom["2"].warnings)


def test_two_link_sets_make_two_rows_of_a_model(tmp_path: Path) -> None:
    runs = [_entities("superbloom-a50", task, 0, value) for task, value in (("wikispeedia", 0.06), ("mine", 0.2))]
    table = tables(build(tmp_path / "results.db", runs), ReportRequest(paper="superbloom", table="2"))[0]
    found = {row.settings: row.cells["rec@1"].value for row in table.rows if row.model == "superbloom-a50"}
    assert found == {"wikispeedia": pytest.approx(6.0), "mine": pytest.approx(20.0)}


def test_counts_are_binary_beside_the_papers(superbloom: dict[str, Table]) -> None:
    cell = _row(superbloom["1"], "superbloom-a50").cells["total_params"]
    assert (cell.value, cell.unit) == (pytest.approx(212_284 / 1024), "Ki")
    rows = {(row["model"], row["column"]): row for row in tidy([superbloom["1"]])}
    row = rows["superbloom-a50", "total_params"]  # in the unit of the published number
    assert (row["value"], row["unit"], row["published"]) == (pytest.approx(212_284 / 2**20), "Mi", 229.0)


def test_settings_come_from_what_was_asked_of_the_runs(superbloom: dict[str, Table]) -> None:
    cells = _row(superbloom["7"], "wide").cells
    assert [cells[name].value for name in ("alpha", "coherent_hashes", "d", "n_heads", "layers")] == [5, 1, 64, 4, 2]
    assert cells["d_ff"].value is None and cells["d_ff"].reason == ""


def test_each_beam_width_is_a_row_under_its_key_in_the_reference_data(superbloom: dict[str, Table]) -> None:
    rows = [row for row in superbloom["6"].rows if row.model == "superbloom-a50"]
    assert [row.key for row in rows] == [f"superbloom-a50-beam{width}" for width in (1, 10, 20, 100)]
    assert rows[0].cells["rec@1"].value == pytest.approx(5.0)
    assert rows[1].cells["rec@1"].value == pytest.approx(6.5)
    assert rows[3].cells["rec@1"].published is not None and rows[3].cells["rec@1"].published.value == 53.2


def test_tenths_of_the_cases(superbloom: dict[str, Table]) -> None:
    assert _row(superbloom["figure-3"], "wide").cells["rec@1_f1"].value == pytest.approx(50.0)


def test_a_model_without_a_run_of_the_tables_tasks_is_left_out(tmp_path: Path) -> None:
    runs = [_entities("wide", "wikispeedia", 0, 0.1)]
    runs.append(HandRun("bert-mlm", "sst2", 0, {("accuracy", DEV, ""): 0.8}, own=("accuracy", DEV)))
    store = build(tmp_path / "results.db", runs)
    titles = [row.title for row in tables(store, ReportRequest(paper="superbloom", table="2"))[0].rows]
    assert "wide" in titles and "bert-mlm" not in titles


@pytest.mark.parametrize(("paper", "number"), [("eelbert", "2"), ("proformer", "3"), ("superbloom", "6")])
def test_no_line_is_wider_than_the_terminal_and_no_cell_is_cut(tmp_path: Path, paper: str, number: str) -> None:
    runs = [_entities("superbloom-a50", "wikispeedia", 0, 0.1)]
    made = tables(build(tmp_path / "results.db", runs), ReportRequest(paper=paper, table=number))
    for width in (60, 100):
        text = render(made, width=width)
        assert max(len(line) for line in text.splitlines()) <= width and "…" not in text, width
