"""Time per sample of every model, in inference (a point a task) and in pre-training, with its speed-up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from hashbench.plots.base import Drawn, FigureData, NothingToDraw, Plot
from hashbench.plots.sheet import QUIET, SMALL, colour_of, marker_of, plain_axes, sheet, tip
from hashbench.results import queries
from hashbench.results.measured import Measured
from hashbench.tables.numbers import span

PANELS = {"infer_ms": "inference", "pretrain_ms": "pre-training, forward and backward"}
ROW, AROUND = 0.15, 0.6  # inches of a model, and for title and axis

Times = dict[str, dict[str, list[tuple[float, float]]]]  # panel -> model -> (ms, speed-up) of each task


def times(measured: Measured) -> Times:
    """What was timed, by stored name and model; a ratio is of two times of one run."""
    found: Times = {}
    for row in measured.query(queries.SPEED_UPS, experiment=measured.experiment.id):
        models = found.setdefault(row["name"], {})
        models.setdefault(row["model"], []).append((row["model_ms"], row["value"]))
    return found


def draw(data: FigureData) -> list[Drawn]:
    """One picture with a panel for inference and one for pre-training."""
    found = times(data.measured)
    names = [name for name in PANELS if name in found]
    if not names:
        raise NothingToDraw("nothing was timed; set `efficiency: true` and sweep again")
    models = list(dict.fromkeys(model for name in names for model in found[name]))
    beside = data.width == "double"
    drawn = sheet(
        data,
        "latency",
        "time per sample",
        body=(len(models) * ROW + AROUND) * (1 if beside else len(names)),
        shape=(1, len(names)) if beside else (len(names), 1),
        also=[
            f"at the right: speed-up over {data.measured.experiment.baseline}, measured in turn with it; "
            "inference: a point a task",
            *(f"{what}: {value}" for what, value in data.table.provenance if what == "timing"),
        ],
        warnings=(),  # times do not depend on which texts were sampled
        share="y" if beside else "none",
    )
    for axes, name in zip(drawn.panels, names, strict=True):
        _panel(axes, models, found[name], PANELS[name])
    return [drawn]


def _panel(axes: Axes, models: Sequence[str], timed: Mapping[str, Sequence[tuple[float, float]]], title: str) -> None:
    for place, model in enumerate(models):
        if model not in timed:
            continue
        ms, ratios = [one[0] for one in timed[model]], [one[1] for one in timed[model]]
        axes.plot([min(ms), max(ms)], [place, place], color=colour_of(model), lw=1.0, zorder=2)
        (marks,) = axes.plot(ms, [place] * len(ms), ls="none", zorder=3, **{**marker_of(model), "markersize": 3.4})
        tip(marks, *(f"{model}\n{one:.3g} ms a sample, speed-up {ratio:.2f}x" for one, ratio in timed[model]))
        axes.annotate(
            span(min(ratios), max(ratios), "x"), (1, place), xycoords=("axes fraction", "data"), xytext=(3, 0),
            textcoords="offset points", va="center", fontsize=SMALL, color=QUIET,
        )  # fmt: skip
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 3.0, 5.0, 7.0)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_yticks(range(len(models)), models)
    axes.set_ylim(len(models) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.set_title(title, fontweight="bold")
    axes.set_xlabel("ms per sample")
    plain_axes(axes, grid="x")


PLOT = Plot("latency", "time per sample in inference and pre-training, with speed-ups", draw)
