"""Which share of a model's parameters is in its embedding: EELBERT's figure 1, for the models of an experiment."""

from __future__ import annotations

from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.patches import Patch

from hashbench.plots.base import Drawn, FigureData, NothingToDraw, Plot
from hashbench.plots.colours import COLOURS
from hashbench.plots.sheet import GREY, QUIET, SMALL, name_rows, sheet, tip
from hashbench.results.measured import Measured
from hashbench.tables.numbers import number
from hashbench.tables.table import scaled

EMBEDDING, REST = COLOURS[0], GREY
BAR = 0.15  # inches of height
AROUND = 0.42  # inches for the axis
HATCH = "////"  # so that a print without colours shows which part is which


@dataclass(frozen=True)
class EmbeddingShare:
    """The parameters of a model."""

    model: str
    embedding: float
    total: float

    @property
    def percent(self) -> float:
        """Of the embedding in the whole."""
        return 100 * self.embedding / self.total


def shares(measured: Measured) -> list[EmbeddingShare]:
    """Every model of which both counts are stored, in the experiment's order."""
    counts: dict[str, dict[str, float]] = {}
    for (model, _, name), fact in measured.facts.items():
        if fact.value is not None:
            counts.setdefault(model, {}).setdefault(name, fact.value)
    known = {entry.model: counts.get(entry.model, {}) for entry in measured.entries if entry.kind == "model"}
    return [
        EmbeddingShare(model, count["emb_params"], count["total_params"])
        for model, count in known.items()
        if "emb_params" in count and count.get("total_params")
    ]


def draw(data: FigureData) -> list[Drawn]:
    """One picture: a bar of the whole for each model."""
    found = shares(data.measured)
    if not found:
        raise NothingToDraw("no model's parameters are stored; finish its sweep")
    drawn = sheet(
        data,
        "shares",
        "share of the embedding in all parameters",
        height=len(found) * BAR + AROUND,
        handles=[
            Patch(facecolor=EMBEDDING, edgecolor="white", hatch=HATCH, lw=0, label="embedding"),
            Patch(facecolor=REST, lw=0, label="encoder and the rest"),
        ],
        also=["at the right: share, and all parameters"],
        warnings=(),  # parameters do not depend on data
    )
    _bars(drawn.panels[0], found)
    return [drawn]


def _bars(axes: Axes, shares: list[EmbeddingShare]) -> None:
    for place, share in enumerate(shares):
        value, unit = scaled(share.total)
        text = f"{share.percent:.1f} %  of {number(value, unit)}"
        embedding = axes.barh(
            place, share.percent, height=0.7, color=EMBEDDING, edgecolor="white", hatch=HATCH, linewidth=0
        )
        rest = axes.barh(place, 100 - share.percent, left=share.percent, height=0.7, color=REST, linewidth=0)
        for bar in (*embedding, *rest):
            tip(bar, f"{share.model}\nembedding: {text}")
        axes.annotate(text, (100, place), xytext=(4, 0), textcoords="offset points", va="center", fontsize=SMALL)
    axes.set_xlim(0, 100)
    axes.set_xlabel("percent of the parameters", color=QUIET)
    name_rows(axes, [share.model for share in shares])
    axes.spines["bottom"].set_visible(False)


PLOT = Plot("shares", "share of embedding parameters: EELBERT's figure 1", draw)
