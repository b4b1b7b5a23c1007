"""`hashbench plot`: which figures are drawn, what stands in them, and what is wrong input."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from itertools import combinations
from pathlib import Path

import pytest
from matplotlib.figure import Figure

from hashbench.common.errors import InputError
from hashbench.results.plots import robustness
from hashbench.results.plots.base import (
    COLOURS,
    LABELLED_MODELS,
    LEAST_SPAN,
    MARKERS,
    OTHERS,
    FigureData,
    plots,
)
from hashbench.results.plots.main import draw, plot
from hashbench.results.plots.sheet import (
    WIDTHS,
    _legend_columns,
    baseline_lines,
    count_of,
    draw_baselines,
    log_ticks,
    look_of,
)
from hashbench.results.read.robustness import measure_robustness
from hashbench.results.tables.report import tables
from hashbench.results.tables.request import ReportRequest
from hashbench.store.engine import Store, open_store
from tests.databases.made_up import World, build

EXAMPLE = Path(__file__).parents[3] / "results.db.example"
SWAPPED = """
SELECT m.value AS value FROM finished f JOIN metric m ON m.attempt_id = f.attempt_id
WHERE f.kind = 'robustness' AND f.model = 'bert-mlm' AND f.task = 'sst2' AND m.name = 'accuracy'
  AND m.condition = 'swap=0.2'
"""
NAMES = [
    "curves",
    "differences",
    "latency",
    "pareto",
    "pretraining",
    "robustness",
    "shares",
    "sizes",
]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    world = World(tasks=("cola", "sst2"), seeds=(0, 1), examples={"sst2": 100})
    return build(tmp_path_factory.mktemp("plots") / "results.db", world)


def drawn(store: Store, name: str, width: str = "double") -> Figure:
    """The first picture of a figure."""
    return draw(name, FigureData(store, width=width))[0].figure  # type: ignore[arg-type]


def test_every_file_of_the_folder_that_ends_in_a_plot_is_a_figure() -> None:
    assert list(plots()) == NAMES


def test_without_names_all_that_have_data_are_written_and_the_others_are_named(store: Store, tmp_path: Path) -> None:
    done = plot(store, folder=tmp_path)
    stems = {path.stem for path in done.files}
    assert {"differences", "shares", "latency", "pareto_parameters", "curves_finetuning"} <= stems
    assert all(path.is_file() for path in done.files)
    assert set(done.left_out) == {"pretraining", "robustness", "sizes"}
    assert "pretrain.checkpoints" in done.left_out["pretraining"]


@pytest.mark.parametrize(("format", "begin"), [("png", b"\x89PNG"), ("pdf", b"%PDF"), ("svg", b"<?xml")])
def test_formats_and_the_same_file_every_time(store: Store, tmp_path: Path, format: str, begin: bytes) -> None:
    files = [plot(store, ["shares"], folder=tmp_path / n, format=format).files[0] for n in "ab"]  # type: ignore[arg-type]
    assert files[0].name == f"shares.{format}"
    assert files[0].read_bytes().startswith(begin)
    assert files[0].read_bytes() == files[1].read_bytes()


@pytest.mark.parametrize("format", ["png", "pdf", "svg"])
def test_a_figure_replaces_a_figure_alone(store: Store, tmp_path: Path, format: str) -> None:
    other = tmp_path / "data.csv"
    other.write_text("text,label\n")
    file = tmp_path / f"shares.{format}"
    file.symlink_to(other)
    with pytest.raises(InputError, match=rf"shares.{format} is there already, and is no figure; name another folder"):
        plot(store, ["shares"], folder=tmp_path, format=format)  # type: ignore[arg-type]
    assert other.read_text() == "text,label\n"
    file.unlink()
    for _ in range(2):
        assert plot(store, ["shares"], folder=tmp_path, format=format).files == (file,)  # type: ignore[arg-type]


@pytest.mark.parametrize("width", ["single", "double"])
def test_a_figure_has_the_width_of_a_paper_whatever_its_height(store: Store, width: str) -> None:
    assert drawn(store, "curves", width).get_figwidth() == WIDTHS[width]


def test_a_models_colour_and_marker_are_the_same_in_every_figure(store: Store) -> None:
    looks = FigureData(store).looks
    for name in ("pareto", "curves", "latency"):
        lines = [line for axes in drawn(store, name).axes for line in axes.lines]
        seen = {(line.get_color(), line.get_marker()) for line in lines if line.get_marker() in MARKERS}
        assert looks["hashformer-lsh-proj"] in seen <= set(looks.values()), name


def test_models_of_one_embedding_share_a_colour_and_no_two_models_look_the_same() -> None:
    data = FigureData(open_store(EXAMPLE, create=False, read_only=True), ReportRequest("glue_tiny"))
    looks = data.looks
    assert len(looks) == len(set(looks.values())) == 14
    assert looks["bert-mlm"][0] == looks["bert-sr"][0] != looks["hashformer-md-emb-1k"][0]
    assert looks["hashformer-md-emb-50k"][0] == looks["hashformer-md-emb-1k"][0] != looks["hashformer-lsh-emb-50k"][0]
    assert {colour for colour, _ in looks.values()} == {*COLOURS, OTHERS}  # eleven embeddings with their codes
    assert {looks[name][0] for name in data.best_first[:LABELLED_MODELS]} <= set(COLOURS)
    assert data.of_colours == ["a colour: an embedding with its code"]


def test_of_a_colour_one_model_has_filled_markers_and_the_others_hollow_ones() -> None:
    data = FigureData(open_store(EXAMPLE, create=False, read_only=True), ReportRequest("glue_tiny"))
    filled = [model for model in data.looks if look_of(data, model)["markerfacecolor"] == data.looks[model][0]]
    assert [data.looks[model][0] for model in filled].count(data.looks["bert-mlm"][0]) == 1
    assert {data.looks[model][0] for model in filled} == {colour for colour, _ in data.looks.values()}


def test_where_all_models_have_one_embedding_a_colour_is_a_model() -> None:
    data = FigureData(open_store(EXAMPLE, create=False, read_only=True), ReportRequest("superbloom_entities_tiny"))
    colours = [colour for colour, _ in data.looks.values()]
    assert len(set(colours[:LABELLED_MODELS])) == LABELLED_MODELS and data.of_colours == []


def test_at_most_seven_lines_have_a_colour_and_bars_and_the_axis_follows_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(robustness, "measure_robustness", partial(measure_robustness, draws=20))
    data = FigureData(open_store(EXAMPLE, create=False, read_only=True), ReportRequest("embeddings_tiny_common"))
    drawn = plots()["robustness"].draw(data)[0]
    assert "grey: 27 further" in drawn.note
    assert len({axes.get_position().y0 for axes in drawn.panels}) == 1  # of one kind of noise: tasks side by side
    for axes in drawn.panels:
        coloured = [line for line in axes.lines if line.get_color() in COLOURS]
        assert len(coloured) == LABELLED_MODELS == len(axes.collections)  # each with its bars, and no other line
        ends = [part.get_segments() for part in axes.collections]  # type: ignore[attr-defined]
        values = [value for line in axes.lines for value in line.get_ydata()]
        values += [value for segments in ends for segment in segments for value in segment[:, 1]]
        low, high = axes.get_ylim()
        assert high - low <= max(LEAST_SPAN, 1.2 * (max(values) - min(values)))
        assert axes.get_xticks().tolist() == [0, 10]


@pytest.mark.parametrize(("n_kinds", "beside", "columns"), [(1, 4, 4), (2, 4, 4), (3, 4, 3), (7, 4, 4), (1, 2, 2)])
def test_panels_of_a_task_are_in_one_row_where_they_fit(n_kinds: int, beside: int, columns: int) -> None:
    assert robustness._columns(n_kinds, beside) == columns


@pytest.mark.parametrize(
    ("low", "high"), [(1, 1e9), (240e3, 1.06e6), (158e3, 9e5), (0.18, 6.2), (38, 88), (39, 41), (5e6, 5.2e6)]
)
def test_a_logarithmic_axis_has_at_least_three_labels_and_few_enough_to_read(low: float, high: float) -> None:
    ticks = log_ticks(low, high)
    assert 3 <= len(ticks) <= 6 and low <= min(ticks) and max(ticks) <= high
    assert len({count_of(tick) for tick in ticks}) == len(ticks)


def test_the_lines_of_a_legend_are_equally_long() -> None:
    assert _legend_columns(["a"] * 7, WIDTHS["double"]) == 4  # and not six and one
    assert _legend_columns(["a" * 60] * 7, WIDTHS["double"]) == 2
    assert _legend_columns(["a" * 60] * 7, WIDTHS["single"]) == 1


def test_a_trivial_baseline_is_on_the_axis_if_it_is_near_and_else_the_legend_says_that_it_is_not() -> None:
    scores = {"bag-of-words": 84.0, "majority": 25.0}
    figure = Figure()
    axes = figure.subplots()
    axes.set_ylim(60, 80)
    figure.legend(handles=baseline_lines(scores))
    draw_baselines(axes, scores)
    assert [line.get_ydata()[0] for line in axes.lines] == [84.0]  # type: ignore[index]
    assert axes.get_ylim() == (60, pytest.approx(84.8))
    said = [text.get_text() for text in figure.legends[0].get_texts()]
    assert said == ["bag-of-words 84.0", "majority 25.0, off the axis"]


def test_colours_stay_apart_for_those_who_see_no_red_or_green() -> None:
    for matrix in (PROTANOPE, DEUTERANOPE):
        seen = [_seen(colour, matrix) for colour in COLOURS]
        closest = min(math.dist(one, other) for one, other in combinations(seen, 2))
        assert closest > 0.06  # in linear light from 0 to 1


# Viénot, Brettel and Mollon (1999), in linear RGB.
PROTANOPE = ((0.11238, 0.88762, 0.0), (0.11238, 0.88762, 0.0), (0.00401, -0.00401, 1.0))
DEUTERANOPE = ((0.29275, 0.70725, 0.0), (0.29275, 0.70725, 0.0), (-0.02234, 0.02234, 1.0))


def _seen(colour: str, matrix: tuple[tuple[float, ...], ...]) -> list[float]:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return [sum(weight * one for weight, one in zip(row, linear, strict=True)) for row in matrix]


def test_what_must_be_said_loudly_is_said_in_the_figure(tmp_path: Path) -> None:
    world = World(models=("bert-mlm",), tasks=("sst2",), seeds=(0,), notes={"sst2": {"origin": "builtin"}})
    figure = drawn(build(tmp_path / "r.db", world), "curves")
    assert any("BUILT-IN DATA" in text.get_text() for text in figure.texts)


def test_robustness_is_drawn_from_scores_under_rates(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(robustness, "measure_robustness", partial(measure_robustness, draws=20))
    store = open_store(EXAMPLE, create=False, read_only=True)
    axes = plots()["robustness"].draw(FigureData(store, ReportRequest("robustness_tiny")))[0].figure.axes
    panel = next(one for one in axes if one.get_title() == "sst2: swap")
    rows = store.query(SWAPPED)
    line = next(line for line in panel.lines if line.get_color() == COLOURS[0])  # the first model, bert-mlm
    assert line.get_ydata()[-1] == pytest.approx(100 * rows[0]["value"])
    assert list(line.get_xdata()) == [0, 5, 10, 20]  # no point lies left of 0, whichever the model
    assert {tuple(line.get_xdata()) for line in panel.lines} == {(0, 5, 10, 20)} and panel.get_xlim()[0] == 0


@pytest.mark.parametrize(
    ("experiment", "seeds", "said"),
    [
        ("robustness_tiny", 1, "95 % interval over examples;"),
        ("pqrnn_tiny", 2, "95 % interval over seeds and examples;"),
    ],
)
def test_small_print_of_robustness_follows_its_curves(
    experiment: str, seeds: int, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = open_store(EXAMPLE, create=False, read_only=True)
    measured = measure_robustness(store, experiment, draws=20)
    few = [curve for curve in measured.curves if curve.model in measured.models()[:2]]
    curves = tuple(
        replace(curve, seeds=curve.seeds[:seeds], units=curve.units[:seeds]) for curve in few if curve.task == "sst2"
    )
    monkeypatch.setattr(robustness, "measure_robustness", lambda *_: replace(measured, curves=curves))
    figure = plots()["robustness"].draw(FigureData(store, ReportRequest(experiment)))[0].figure
    assert said in " ".join(figure.texts[-1].get_text().split())


def test_a_legend_has_as_many_columns_as_fit(store: Store) -> None:
    legends = {width: drawn(store, "curves", width).legends[0] for width in WIDTHS}
    columns = {width: legend._ncols for width, legend in legends.items()}
    assert columns["double"] > columns["single"] >= 1
    for width, legend in legends.items():
        assert legend.get_window_extent().width <= WIDTHS[width] * legend.figure.dpi


def test_times_stand_with_the_machine_that_they_were_taken_on(store: Store) -> None:
    (timing,) = [text for what, text in tables(store)[0].provenance if what == "timing"]
    note = " ".join(plots()["latency"].draw(FigureData(store))[0].note.split())
    assert f"timing: {timing}" in note and "experiment:" not in note


def test_shares_are_those_of_the_embedding(store: Store) -> None:
    texts = [text.get_text() for text in drawn(store, "shares").axes[0].texts]
    assert texts[0] == "31.0 %  of 124.6M"  # 38,603,520 of 124,645,632: bert-mlm at base


def test_a_file_is_no_folder_for_figures(store: Store, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    with pytest.raises(InputError, match="taken: is a file; name a folder"):
        plot(store, folder=tmp_path / "taken")


def test_a_named_figure_without_data_is_wrong_input(store: Store, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="experiment 'made-up': robustness: no score on perturbed texts"):
        plot(store, ["shares", "robustness"], folder=tmp_path)
