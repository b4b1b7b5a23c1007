"""The common part of the scripts of figures: their options, and the drawing of one figure."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

import matplotlib

from hashbench.common.errors import InputError
from hashbench.results.plots.base import STYLE, Drawn, FigureData, ImageFormat, NothingToDraw
from hashbench.results.tables.request import ReportRequest
from hashbench.store.engine import Store, open_store

FORMATS: tuple[ImageFormat, ...] = ("png", "pdf", "svg")


def parser(what: str) -> argparse.ArgumentParser:
    """The parser of the options that all scripts share."""
    options = argparse.ArgumentParser(description=what)
    options.add_argument("--db", default="results.db", help="the results, a file or a URL")
    options.add_argument("--experiment", help="its name; default: the experiment that was swept last")
    options.add_argument("-o", "--output", type=Path, default=Path("figures"), metavar="DIR", help="made if needed")
    options.add_argument("--format", choices=FORMATS, default="png")
    return options


def written(
    store: Store,
    draw: Callable[[FigureData], list[Drawn]],
    *,
    experiment: str | None,
    output: Path,
    format: ImageFormat = "png",
) -> list[Path]:
    """Draws a figure of an experiment and returns its files. Raises InputError where there is nothing to draw."""
    data = FigureData(store, ReportRequest(experiment, examples=True))
    try:
        with matplotlib.rc_context(STYLE):
            pictures = draw(data)
    except NothingToDraw as reason:
        name = data.measured.experiment.name
        raise InputError(f"{store.name}: experiment {name!r}: {reason}") from reason
    return [picture.save(output, format) for picture in pictures]


def main(chosen: argparse.Namespace, draw: Callable[[FigureData], list[Drawn]]) -> int:
    """Draws a figure with the options `chosen` and prints its files; returns the exit code."""
    try:
        store = open_store(chosen.db, create=False, read_only=True)
        paths = written(store, draw, experiment=chosen.experiment, output=chosen.output, format=chosen.format)
        for path in paths:
            print(path)
    except InputError as error:
        print(error, file=sys.stderr)
        return 2
    return 0
