"""What the figures share: opening the store, colours, the lines that say what was measured, saving."""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Sequence
from pathlib import Path

import matplotlib

matplotlib.use("Agg")  # files only: no window, no display

from matplotlib import pyplot as plt  # noqa: E402  (the backend is chosen first)
from matplotlib.axes import Axes  # noqa: E402
from matplotlib.figure import Figure  # noqa: E402

from hashbench.errors import InputError  # noqa: E402
from hashbench.report.rows import Table  # noqa: E402
from hashbench.store.engine import Store, open_store  # noqa: E402

FORMATS = ("png", "pdf", "svg")
LOUD = "#b00020"
QUIET = "#555555"
CHARACTERS_PER_INCH = 16.5  # of the small print, font size 8
BOLD = 0.85  # bold letters are wider
COLOURS = (*plt.get_cmap("tab10").colors, *plt.get_cmap("Dark2").colors)  # type: ignore[attr-defined]
DASHES = ("-", "--", "-.", ":")


def parser(what: str) -> argparse.ArgumentParser:
    """The options that all figures share."""
    options = argparse.ArgumentParser(description=what)
    options.add_argument("--db", default="results.db", help="the results, a file or a URL")
    options.add_argument("--experiment", help="its name; default: the experiment that was swept last")
    options.add_argument("-o", "--output", type=Path, default=Path("figures"), metavar="DIR", help="made if needed")
    options.add_argument("--format", choices=FORMATS, default="png")
    return options


def open_results(db: str) -> Store:
    """The store, never written to."""
    return open_store(db, create=False, read_only=True)


def colour_of(index: int) -> tuple[float, float, float]:
    """The colour of the index-th model; with its dashes distinct for 72 of them."""
    return COLOURS[index % len(COLOURS)]


def dashes_of(index: int) -> str:
    """The dashes of the index-th model."""
    return DASHES[index // len(COLOURS) % len(DASHES)]


def head(figure: Figure, title: str, warnings: Sequence[str]) -> float:
    """Title and loud lines at the top of a figure; where the plots may begin, as a share of the height."""
    width, height = figure.get_size_inches()
    lines = [line for warning in warnings for line in textwrap.wrap(warning, int(width * CHARACTERS_PER_INCH * BOLD))]
    figure.text(0.01, 1 - 0.1 / height, title, va="top", fontsize=12, fontweight="bold")
    figure.text(0.01, 1 - 0.38 / height, "\n".join(lines), va="top", fontsize=8, color=LOUD, fontweight="bold")
    return 1 - (0.42 + 0.16 * len(lines)) / height


def foot(figure: Figure, table: Table, *, also: Sequence[str] = ()) -> float:
    """What the figure stands on, in small print; where the plots must end, as a share of the height."""
    width, height = figure.get_size_inches()
    keys = ("encoder", "pre-training", "fine-tuning", "machines")
    facts = [f"{what}: {value}" for what, value in table.provenance if what in keys]
    lines = textwrap.wrap("; ".join([*also, *facts]), int(width * CHARACTERS_PER_INCH))
    figure.text(0.01, 0.08 / height, "\n".join(lines), va="bottom", fontsize=8, color=QUIET)
    return (0.15 + 0.16 * len(lines)) / height


def widen(axes: Axes, least: float) -> None:
    """Make the vertical range at least `least`, so that noise in the last digit does not fill a plot."""
    low, high = axes.get_ylim()
    if high - low < least:
        middle = (low + high) / 2
        axes.set_ylim(middle - least / 2, middle + least / 2)


def save(figure: Figure, folder: Path, name: str, format: str) -> Path:
    """The file that was written."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"--output {folder}: {error.strerror}; give a folder that can be made") from error
    path = folder / f"{name}.{format}"
    figure.savefig(path, dpi=150)
    plt.close(figure)
    return path
