"""Which share of a model's parameters is in its embedding: EELBERT's figure 1, for the models of an experiment."""

from __future__ import annotations

from collections.abc import Mapping

from matplotlib.axes import Axes
from matplotlib.patches import Patch

from hashbench.results.plots.base import Drawn, FigureData, NothingToDraw, Plot
from hashbench.results.plots.colours import COLOURS
from hashbench.results.plots.sheet import GREY, QUIET, SMALL, name_rows, sheet, tip
from hashbench.results.read.measured import Measured
from hashbench.results.tables.numbers import number
from hashbench.results.tables.table import scaled

EMBEDDING, REST = COLOURS[0], GREY
BAR = 0.15  # inches of height
AROUND = 0.42  # inches for the axis
HATCH = "////"  # so that a print without colours shows which part is which


def counts_of(measured: Measured) -> dict[str, tuple[float, float]]:
    """Parameters of the embedding and of the whole, by model in the experiment's order, where both are stored."""
    stored: dict[str, dict[str, float]] = {entry.model: {} for entry in measured.entries if not entry.is_baseline}
    for (model, _, name), fact in measured.facts.items():
        if model in stored and fact.value is not None:
            stored[model].setdefault(name, fact.value)
    return {
        model: (counts["emb_params"], counts["total_params"])
        for model, counts in stored.items()
        if {"emb_params", "total_params"} <= counts.keys() and counts["total_params"]
    }


def draw(data: FigureData) -> list[Drawn]:
    """One picture: a bar of the whole for each model."""
    counts = counts_of(data.measured)
    if not counts:
        raise NothingToDraw("no model's parameters are stored; finish its sweep")
    drawn = sheet(
        data,
        "shares",
        "share of the embedding in all parameters",
        height=len(counts) * BAR + AROUND,
        handles=[
            Patch(facecolor=EMBEDDING, edgecolor="white", hatch=HATCH, lw=0, label="embedding"),
            Patch(facecolor=REST, lw=0, label="encoder and the rest"),
        ],
        also=["at the right: share, and all parameters"],
        warnings=(),  # parameters do not depend on data
    )
    _bars(drawn.panels[0], counts)
    return [drawn]


def _bars(axes: Axes, counts: Mapping[str, tuple[float, float]]) -> None:
    for place, (model, (embedding, total)) in enumerate(counts.items()):
        percent = 100 * embedding / total
        text = f"{percent:.1f} %  of {number(*scaled(total))}"
        first = axes.barh(place, percent, height=0.7, color=EMBEDDING, edgecolor="white", hatch=HATCH, linewidth=0)
        rest = axes.barh(place, 100 - percent, left=percent, height=0.7, color=REST, linewidth=0)
        for bar in (*first, *rest):
            tip(bar, f"{model}\nembedding: {text}")
        axes.annotate(text, (100, place), xytext=(4, 0), textcoords="offset points", va="center", fontsize=SMALL)
    axes.set_xlim(0, 100)
    axes.set_xlabel("percent of the parameters", color=QUIET)
    name_rows(axes, list(counts))
    axes.spines["bottom"].set_visible(False)


PLOT = Plot("shares", "share of embedding parameters: EELBERT's figure 1", draw)
