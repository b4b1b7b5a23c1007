"""The data of figures, their pictures as files and as parts of a page, and the registry of all figures."""

from __future__ import annotations

import io
import json
import math
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal
from xml.etree import ElementTree

import matplotlib
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from hashbench.common.errors import InputError, near_match
from hashbench.common.registry import registered, unreadable
from hashbench.results.papers.paper import Column
from hashbench.results.read.runs import MeasuredRun
from hashbench.results.tables.report import tables_of
from hashbench.results.tables.request import ReportRequest, ReportSource
from hashbench.results.tables.table import Row, Table

Width = Literal["single", "double"]
ImageFormat = Literal["png", "svg", "pdf"]
SVG = "http://www.w3.org/2000/svg"
BEGINS = {"png": b"\x89PNG", "pdf": b"%PDF", "svg": b"<?xml"}  # first bytes of files
DPI = 300  # of PNG
LEAST_SPAN = 4.0  # percent that an axis of scores spans at least, so that noise does not fill a panel
TITLE, TEXT, SMALL = 8.0, 7.0, 6.0  # points
# Font type 42 is one that a publisher can embed; the salt makes an SVG the same every time.
STYLE: Any = {
    "font.family": "sans-serif", "font.sans-serif": ["DejaVu Sans"], "font.size": TEXT, "axes.titlesize": TEXT,
    "axes.titleweight": "bold", "axes.labelsize": TEXT, "xtick.labelsize": SMALL, "ytick.labelsize": SMALL,
    "legend.fontsize": SMALL, "axes.spines.top": False, "axes.spines.right": False, "axes.linewidth": 0.6,
    "xtick.major.width": 0.6, "ytick.major.width": 0.6, "axes.axisbelow": True, "grid.color": "#d9d9d9",
    "grid.linewidth": 0.5, "lines.linewidth": 0.9, "pdf.fonttype": 42, "svg.hashsalt": "hashbench",
}  # fmt: skip
# Eight colours that the colour-blind can distinguish: Okabe and Ito 2008, with indigo and wine of Tol 2021 in the place
# of yellow and black, which vanish on light and on dark ground
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#332288", "#882255")
OTHERS = "#555555"  # embeddings after the last colour
LABELLED_MODELS = 7  # models that a figure labels; lines and points of further ones are grey
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "p", "h", "*", "d")


class NothingToDraw(Exception):
    """Raised where an experiment has no data for a figure. The message names what is missing and what to do."""


@dataclass(frozen=True)
class FigureData(ReportSource):
    """The source of an experiment's results for figures, and the width of a figure.

    `alone`: the figure has its title, warnings and small print on it; on a page they are text beside it.
    """

    request: ReportRequest = ReportRequest(examples=True)
    width: Width = "double"
    alone: bool = True

    @cached_property
    def tables(self) -> list[Table]:
        """The experiment's own tables."""
        return tables_of(self.under(replace(self.request, paper=None, table=None, all_metrics=False)))

    @property
    def table(self) -> Table:
        """The first of the experiment's own tables."""
        return self.tables[0]

    @cached_property
    def best_first(self) -> list[str]:
        """The models of the experiment: the baseline, then by falling score, then those without a score."""
        column = score_column(self.table)
        scores: dict[str, float] = {}
        for row in self.table.rows:
            if column and row.kind == "model" and (value := row.cells[column].value) is not None:
                scores.setdefault(row.model, value)
        ranked = sorted(self._embeddings, key=lambda of: -scores.get(of, -math.inf))
        return [model for model in dict.fromkeys([self.measured.experiment.baseline, *ranked]) if model in ranked]

    @cached_property
    def _embeddings(self) -> dict[str, str]:
        """The embedding and code of each model, in the order of the experiment."""
        runs = {run.model: run for run in reversed(self.measured.runs) if not run.is_baseline}
        return {run.model: _embedding(runs[run.model]) for run in self.measured.runs if run.model in runs}

    @property
    def of_colours(self) -> list[str]:
        """A sentence of small print on what a colour means; none where each model has its own."""
        shared = 1 < len(set(self._embeddings.values())) < len(self._embeddings)
        return ["a colour: an embedding with its code"] if shared else []

    @cached_property
    def looks(self) -> dict[str, tuple[str, str]]:
        """(colour, marker) of each model of the experiment, the same in all of its figures.

        A colour is an embedding with its code, and models of one colour have different markers. Where all models have
        one embedding, a colour is a model. Embeddings of the models that figures label get their colours first; those
        for which no colour is left are dark grey.
        """
        families = self._embeddings
        if len(set(families.values())) == 1:
            families = {model: model for model in families}
        labelled = {families[model] for model in self.best_first[:LABELLED_MODELS]}
        ordered = sorted(dict.fromkeys(families.values()), key=lambda of: of not in labelled)
        colours = dict(zip(ordered, COLOURS, strict=False))
        looks: dict[str, tuple[str, str]] = {}
        for model in self.best_first:  # so that the labelled ones have the plainest markers
            pairs = [(colours.get(families[model], OTHERS), marker) for marker in MARKERS]
            looks[model] = next((pair for pair in pairs if pair not in looks.values()), pairs[0])
        return looks


def _embedding(run: MeasuredRun) -> str:
    """The embedding and the code of a model, or the first word of its name where its run does not store them."""
    model = run.spec.get("model")
    if not isinstance(model, dict) or not model.get("embedding"):
        return run.model.partition("-")[0]
    return json.dumps([model["embedding"], (model.get("coder") or {}).get("name")])


@dataclass(frozen=True)
class Drawn:
    """One drawn picture. `name` is its file name without suffix."""

    name: str
    title: str
    note: str  # small print: explanations, seeds, encoder and pre-training
    figure: Figure
    panels: tuple[Axes, ...]  # row by row

    @property
    def svg(self) -> str:
        """The picture as an `svg` element of a page, with the texts of `tip` under the pointer."""
        file = io.StringIO()
        with matplotlib.rc_context({**STYLE, "svg.fonttype": "none", "svg.hashsalt": self.name}):
            self.figure.savefig(file, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
        ElementTree.register_namespace("", SVG)
        ElementTree.register_namespace("xlink", "http://www.w3.org/1999/xlink")
        root = ElementTree.fromstring(file.getvalue())
        used = set(re.findall(r'(?:url\(|href=")#(\w+)', file.getvalue()))
        for element in list(root.iter()):
            name = element.get("id", "")
            if name and name not in used:
                del element.attrib["id"]  # several figures on a page would have the same
            if name.startswith("["):
                texts = json.loads(name)
                marks = element.findall(f".//{{{SVG}}}use") if len(texts) > 1 else [element]
                for mark, text in zip(marks, texts, strict=True):
                    title = ElementTree.Element(f"{{{SVG}}}title")
                    title.text = text
                    mark.insert(0, title)
        root.attrib = {"viewBox": root.attrib["viewBox"], "role": "img", "aria-label": self.title}
        return ElementTree.tostring(root, encoding="unicode")

    def save(self, folder: Path, format: ImageFormat) -> Path:
        """Writes the picture to a file of the folder. Raises InputError where a file that is no figure is there."""
        path = folder / f"{self.name}.{format}"
        if path.is_file() and (head := path.open("rb").read(8)) and not head.startswith(BEGINS[format]):
            raise InputError(f"--output {folder}: {path.name} is there already, and is no figure; name another folder")
        for artist in self.figure.findobj():
            artist.set_gid(None)  # tips are for pages
        dated = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {}}  # the same figure is the same file
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with matplotlib.rc_context(STYLE):
                self.figure.savefig(path, dpi=DPI, metadata=dated[format])
        except OSError as error:
            raise InputError(f"--output {folder}: {error.strerror}; give a folder that can be written") from error
        return path


def tip(artist: Artist, *texts: str) -> None:
    """Sets the text that a page shows when the pointer rests on an artist: one, or one for each of its markers."""
    artist.set_gid(json.dumps(texts))


@dataclass(frozen=True)
class Plot:
    """A named figure, of one picture or several. `draw` raises NothingToDraw where there is no data for any."""

    name: str
    what: str  # one line for a list of figures
    draw: Callable[[FigureData], list[Drawn]]


def plots() -> dict[str, Plot]:
    """All figures, by name in alphabetical order. Raises InputError that names both files of a double name."""
    return dict(sorted(registered("figure").items()))


def find_plot(name: str) -> Plot:
    """The figure of a name. Raises InputError with the nearest names."""
    figures = plots()
    if name not in figures:
        hint = f"{near_match(name, list(figures))}; there are: {', '.join(figures)}"
        raise InputError(f"plot: no figure {name!r}{hint}{unreadable()}")
    return figures[name]


def score_column(table: Table) -> str:
    """The name of the table's score column that figures draw: the average, else the first score, else ''."""
    names = [column.name for column in table.columns if column.measure in ("average", "score")]
    return "average" if "average" in names else next(iter(names), "")


def drawn_score(table: Table) -> tuple[Column, str]:
    """The column that `score_column` names, with a description: 'average over ...' or 'score: ...'."""
    name = score_column(table)
    column = next(column for column in table.columns if column.name == name)
    tasks = ", ".join(part if isinstance(part, str) else " and ".join(part) for part in column.tasks)
    return column, f"average over {tasks}" if tasks else f"score: {name}"


def label_of(row: Row) -> str:
    """The row's model, followed by the settings that tell it from other rows of the model."""
    return row.model + (f" ({row.settings})" if row.settings else "")
