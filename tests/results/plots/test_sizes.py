"""Lines over bytes and over labelled texts, from a small sweep."""

import re
from pathlib import Path

import pytest

from hashbench.common.measured import DATA_BYTES, MetricRow
from hashbench.results.plots.base import FigureData, NothingToDraw
from hashbench.results.plots.sizes import LINES, ScoresBySize, SizeLine, SizePoint, _shown, draw
from hashbench.results.tables.report import tables
from hashbench.store.engine import Store, open_store
from hashbench.store.result import add_metrics
from tests.commands import finish
from tests.databases.made_up import World, build

FILE = """
name: sizes
data: builtin
encoder: tiny
models:
  - {name: k2, like: hash-emb-k2-sum, objective: none, encoder: &mean {kind: average, dim: 8}, budget: {embedding_parameters: [800, 1_600]}, finetune: {train_rows: []}}
  - {name: k2-3.2k, like: hash-emb-k2-sum, objective: none, encoder: *mean, budget: {embedding_parameters: 3_200}}
  - {name: other, like: hash-emb-k2-sum, objective: none, encoder: *mean}
baseline: k2-3.2k
tasks: [cola, mrpc]
seeds: [0, 1, 2]
floors: [majority, {name: hashed-words, bytes: [1_024, 2_048]}]
finetune: {steps: 2, batch_size: 8, max_length: 16, evaluations: 1, train_rows: [20, 40], per_task: {mrpc: {train_rows: []}}}
threads: 1
efficiency: false
"""  # noqa: E501


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """Swept; of the models k2 of each size one run was exported."""
    folder = tmp_path_factory.mktemp("sizes")
    (folder / "e.yaml").write_text(FILE)
    assert finish("sweep", "e.yaml", "--db", "r.db", cwd=folder).code == 0
    store = open_store(str(folder / "r.db"), create=False)
    for size, model in ((1_000, "k2-0.8k"), (1_900, "k2-1.6k"), (3_500, "k2-3.2k")):
        add_metrics(store, run_of(store, model), [MetricRow(DATA_BYTES, size)])
    return store


def run_of(store: Store, model: str) -> str:
    measured = FigureData(store).measured
    return next(run.run_id for run in measured.runs if (run.model, run.task, run.seed) == (model, "cola", 0))


def printed(store: Store, model: str, column: str) -> float:
    return next(row.cells[column].value for row in tables(store)[0].rows if row.title == model)


def column_of(sizes: ScoresBySize, name: str):
    return next(column for column in sizes.columns if column.name == name)


def test_over_bytes_a_line_is_the_models_of_one_name_at_their_exported_bytes(store: Store) -> None:
    sizes = ScoresBySize(FigureData(store))
    lines = {line.name: line for line in sizes.over_bytes(column_of(sizes, "cola"))}
    assert set(lines) == {"k2", "hashed-words"}  # `other` has no size in its name and no export
    assert [point.size for point in lines["k2"].points] == [1_000, 1_900, 3_500]
    of_names = [printed(store, model, "cola") for model in ("k2-0.8k", "k2-1.6k", "k2-3.2k")]
    assert [point.score for point in lines["k2"].points] == of_names
    assert lines["k2"].model == "k2-3.2k"
    assert [point.size for point in lines["hashed-words"].points] == [1_024, 2_048]
    assert lines["hashed-words"].model == ""


def test_over_rows_a_line_is_a_model_by_labelled_texts_where_a_task_has_them(store: Store) -> None:
    sizes = ScoresBySize(FigureData(store))
    lines = {line.name: line for line in sizes.over_rows(column_of(sizes, "cola"))}
    assert {name for name, line in lines.items() if line.model} == {"k2-3.2k", "other"}
    assert [point.size for point in lines["other"].points][:2] == [20, 40]
    assert lines["other"].points[-1].size > 40
    assert lines["other"].points[0].score == printed(store, "other@20rows", "cola")
    assert sizes.over_rows(column_of(sizes, "mrpc")) == []


def test_a_picture_has_a_panel_for_each_task_and_names_each_line(store: Store) -> None:
    drawn = {picture.name: picture for picture in draw(FigureData(store))}
    assert {name: len(picture.panels) for name, picture in drawn.items()} == {"score_bytes": 2, "score_rows": 1}
    titles = re.findall(r"<title>([^<]+)</title>", drawn["score_bytes"].svg)  # under the pointer on a page
    assert {title.partition("\n")[0] for title in titles} == {"k2", "hashed-words"}
    assert {title.count("\n") for title in titles} == {1, 2}  # a text for each marker; a dashed line has none
    named = {text.get_text() for text in drawn["score_bytes"].figure.legends[0].get_texts()}
    assert named == {"k2", "hashed-words"}


def test_of_baselines_those_that_learn_are_shown_the_largest_of_each_and_no_more_lines_than_fit() -> None:
    points = (SizePoint(1, 50, 1), SizePoint(2, 60, 1))
    models = [SizeLine(f"m{n}", f"m{n}", points) for n in range(LINES - 1)]
    floors = [SizeLine(name, "", points) for name in ("hashed-words-1024", "hashed-words-2048", "bag")]
    same = SizeLine("majority", "", (SizePoint(1, 50, 1), SizePoint(2, 50, 1)))
    shown = _shown([same, *floors, *models])
    assert [line.name for line in shown] == [*(line.name for line in models), "hashed-words-2048"]


def test_an_experiment_without_two_sizes_says_what_is_missing(tmp_path: Path) -> None:
    store = build(tmp_path / "r.db", World(models=("bert-sr", "hashformer-lsh-proj"), tasks=("cola",)))
    with pytest.raises(NothingToDraw, match=r"train_rows"):
        draw(FigureData(store))
