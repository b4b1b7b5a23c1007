"""Costs of every model: the share of its embedding in the parameters (EELBERT's figure 1), and its time per sample."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.patches import Patch

from hashbench.common.showing import decimal_text
from hashbench.results.plots.base import COLOURS, SMALL, Drawn, FigureData, NothingToDraw, Plot, tip
from hashbench.results.plots.sheet import GREY, QUIET, look_of, name_rows, sheet, show_log_ticks
from hashbench.results.read import queries
from hashbench.results.read.measured import Measured
from hashbench.results.tables.numbers import number, span
from hashbench.results.tables.table import scaled

ROW = 0.15  # inches of a model
EMBEDDING, REST = COLOURS[0], GREY
HATCH = "////"  # so that a print without colours shows which part is which
PANELS = {"infer_ms": "inference", "pretrain_ms": "pre-training, forward and backward"}
SHARES_AROUND, LATENCY_AROUND = 0.42, 0.6  # inches for title and axis

# Model -> (ms, speed-up) of each task; both times are of one run.
Timed = Mapping[str, Sequence[tuple[float, float]]]


def draw_shares(data: FigureData) -> list[Drawn]:
    """A picture with one bar a model, divided into the embedding's share of the parameters and the rest."""
    counts = counts_of(data.measured)
    if not counts:
        raise NothingToDraw("no model's parameters are stored; finish its sweep")
    parts = [
        Patch(facecolor=EMBEDDING, edgecolor="white", hatch=HATCH, lw=0, label="embedding"),
        Patch(facecolor=REST, lw=0, label="encoder and the rest"),
    ]
    drawn = sheet(
        data, "shares", "share of the embedding in all parameters", height=len(counts) * ROW + SHARES_AROUND,
        handles=parts, also=["at the right: share, and all parameters"],
        warnings=(),  # parameters do not depend on data
    )  # fmt: skip
    axes = drawn.panels[0]
    for place, (model, (embedding, total)) in enumerate(counts.items()):
        percent = 100 * embedding / total
        text = f"{decimal_text(percent, 1)} %  of {number(*scaled(total))}"
        first = axes.barh(place, percent, height=0.7, color=EMBEDDING, edgecolor="white", hatch=HATCH, linewidth=0)
        rest = axes.barh(place, 100 - percent, left=percent, height=0.7, color=REST, linewidth=0)
        for bar in (*first, *rest):
            tip(bar, f"{model}\nembedding: {text}")
        axes.annotate(text, (100, place), xytext=(4, 0), textcoords="offset points", va="center", fontsize=SMALL)
    axes.set_xlim(0, 100)
    axes.set_xlabel("percent of the parameters", color=QUIET)
    name_rows(axes, list(counts))
    axes.spines["bottom"].set_visible(False)
    return [drawn]


def counts_of(measured: Measured) -> dict[str, tuple[float, float]]:
    """(embedding parameters, all parameters) by model, in the experiment's order, where both are stored."""
    stored: dict[str, dict[str, float]] = {entry.model: {} for entry in measured.entries if not entry.is_baseline}
    for (model, _, name), fact in measured.facts.items():
        if model in stored and fact.value is not None:
            stored[model].setdefault(name, fact.value)
    return {
        model: (counts["emb_params"], counts["total_params"])
        for model, counts in stored.items()
        if {"emb_params", "total_params"} <= counts.keys() and counts["total_params"]
    }


def draw_latency(data: FigureData) -> list[Drawn]:
    """A picture of times per sample with speed-ups: a panel for inference (a point a task) and one for pre-training."""
    timed: dict[str, dict[str, list[tuple[float, float]]]] = {name: defaultdict(list) for name in PANELS}
    for row in data.measured.query(queries.SPEED_UPS, experiment=data.measured.experiment.id):
        timed[row["name"]][row["model"]].append((row["model_ms"], row["value"]))
    names = [name for name in PANELS if timed[name]]
    if not names:
        raise NothingToDraw("nothing was timed; set `efficiency: true` and sweep again")
    models = list(dict.fromkeys(model for name in names for model in timed[name]))
    beside = data.width == "double"
    speed_ups = (
        f"at the right: speed-up over {data.measured.experiment.baseline}, measured in turn with it; "
        "inference: a point a task"
    )
    timing = [f"{what}: {value}" for what, value in data.table.provenance if what == "timing"]
    drawn = sheet(
        data, "latency", "time per sample", height=len(models) * ROW + LATENCY_AROUND, panels=len(names),
        columns=2 if beside else 1, also=[speed_ups, *timing, *data.of_colours], share_y=beside,
        warnings=(),  # times do not depend on which texts were sampled
    )  # fmt: skip
    for axes, name in zip(drawn.panels, names, strict=True):
        _times(data, axes, models, timed[name])
        axes.set_title(PANELS[name])
    return [drawn]


def _times(data: FigureData, axes: Axes, models: Sequence[str], timed: Timed) -> None:
    for place, model in enumerate(models):
        if model not in timed:
            continue
        times, ratios = zip(*timed[model], strict=True)
        axes.plot([min(times), max(times)], [place, place], color=look_of(data, model)["color"], lw=1.0, zorder=2)
        (marks,) = axes.plot(times, [place] * len(times), ls="none", zorder=3, **look_of(data, model, 3.4))
        tip(
            marks, *(f"{model}\n{ms:.3g} ms a sample, speed-up {decimal_text(ratio, 2)}x" for ms, ratio in timed[model])
        )
        axes.annotate(
            span(min(ratios), max(ratios), "x"), (1, place), xycoords=("axes fraction", "data"), xytext=(3, 0),
            textcoords="offset points", va="center", fontsize=SMALL, color=QUIET,
        )  # fmt: skip
    show_log_ticks(axes, lambda value: f"{value:g}")
    axes.set_xlabel("ms per sample")
    name_rows(axes, models)


PLOT = (
    Plot("shares", "share of embedding parameters: EELBERT's figure 1", draw_shares),
    Plot("latency", "time per sample in inference and pre-training, with speed-ups", draw_latency),
)
