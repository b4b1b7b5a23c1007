"""Time per sample of every model, in inference (a point a task) and in pre-training, with its speed-up."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from hashbench.results.plots.base import Drawn, FigureData, NothingToDraw, Plot
from hashbench.results.plots.sheet import QUIET, SMALL, colour_of, marker_of, name_rows, sheet, tip
from hashbench.results.read import queries
from hashbench.results.tables.numbers import span

PANELS = {"infer_ms": "inference", "pretrain_ms": "pre-training, forward and backward"}
ROW, AROUND = 0.15, 0.6  # inches of a model, and for title and axis

# Model -> (ms, speed-up) of each task; both times are of one run.
Timed = Mapping[str, Sequence[tuple[float, float]]]


def draw(data: FigureData) -> list[Drawn]:
    """One picture with a panel for inference and one for pre-training."""
    timed: dict[str, dict[str, list[tuple[float, float]]]] = {name: defaultdict(list) for name in PANELS}
    for row in data.measured.query(queries.SPEED_UPS, experiment=data.measured.experiment.id):
        timed[row["name"]][row["model"]].append((row["model_ms"], row["value"]))
    names = [name for name in PANELS if timed[name]]
    if not names:
        raise NothingToDraw("nothing was timed; set `efficiency: true` and sweep again")
    models = list(dict.fromkeys(model for name in names for model in timed[name]))
    beside = data.width == "double"
    drawn = sheet(
        data,
        "latency",
        "time per sample",
        height=len(models) * ROW + AROUND,
        panels=len(names),
        columns=2 if beside else 1,
        also=[
            f"at the right: speed-up over {data.measured.experiment.baseline}, measured in turn with it; "
            "inference: a point a task",
            *(f"{what}: {value}" for what, value in data.table.provenance if what == "timing"),
        ],
        warnings=(),  # times do not depend on which texts were sampled
        share_y=beside,
    )
    for axes, name in zip(drawn.panels, names, strict=True):
        _panel(axes, models, timed[name], title=PANELS[name])
    return [drawn]


def _panel(axes: Axes, models: Sequence[str], timed: Timed, *, title: str) -> None:
    for place, model in enumerate(models):
        if model not in timed:
            continue
        times, ratios = zip(*timed[model], strict=True)
        axes.plot([min(times), max(times)], [place, place], color=colour_of(model), lw=1.0, zorder=2)
        (marks,) = axes.plot(times, [place] * len(times), ls="none", zorder=3, **marker_of(model, 3.4))
        tip(marks, *(f"{model}\n{ms:.3g} ms a sample, speed-up {ratio:.2f}x" for ms, ratio in timed[model]))
        axes.annotate(
            span(min(ratios), max(ratios), "x"), (1, place), xycoords=("axes fraction", "data"), xytext=(3, 0),
            textcoords="offset points", va="center", fontsize=SMALL, color=QUIET,
        )  # fmt: skip
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 3.0, 5.0, 7.0)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_title(title, fontweight="bold")
    axes.set_xlabel("ms per sample")
    name_rows(axes, models)


PLOT = Plot("latency", "time per sample in inference and pre-training, with speed-ups", draw)
