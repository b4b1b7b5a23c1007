"""Score against the bytes of exported models, and against the number of labelled texts, a panel for each task.

A line is one embedding or trivial baseline at several sizes. Over bytes, it is the models whose names differ in a last
part that is a size, as k2-16k and k2-262k, or hashed-words-16384. Over rows, it is a model on the numbers of rows that
`finetune.train_rows` names, and on all rows of train.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from hashbench.common.measured import DATA_BYTES, TRAIN_ROWS
from hashbench.common.showing import decimal_text
from hashbench.results.papers.paper import Column
from hashbench.results.plots.base import LEAST_SPAN, Drawn, FigureData, NothingToDraw, Plot, tip
from hashbench.results.plots.sheet import BESIDE, count_of, dashed, look_of, sheet, show_log_ticks, widen
from hashbench.results.read import queries
from hashbench.results.read.runs import Entry

HEIGHT = 2.2  # inches of a panel
LINES = 7  # of a panel; more bands lie on each other
NARROW = 3  # panels side by side, at most
SIZE = re.compile(r"-\d+(?:\.\d+)?[kM]?$")  # the last part of a name, as -262k, -0.23M or -16384


@dataclass(frozen=True)
class SizePoint:
    """A mean score in percent at a size, and how far its 95 % interval reaches to either side; nan without one."""

    size: float
    score: float
    reach: float


@dataclass(frozen=True)
class SizeLine:
    """The points of an embedding or of a trivial baseline on a task, by rising size."""

    name: str
    model: str  # whose colour it has; "" for a trivial baseline
    points: tuple[SizePoint, ...]


@dataclass(frozen=True)
class ScoresBySize:
    """The scores of an experiment's entries, and the sizes at which they were measured."""

    data: FigureData

    @property
    def columns(self) -> list[Column]:
        """The columns of scores of the experiment's own table, one a task."""
        return [column for column in self.data.table.columns if column.measure == "score" and column.task]

    def over_bytes(self, column: Column) -> list[SizeLine]:
        """Lines over bytes: the graph of an int8 export and the data beside it; of a baseline, its weights."""

        def size(entry: Entry) -> float | None:
            if entry.train_rows is not None:
                return None
            if entry.is_baseline:
                return self.data.measured.bytes_of(entry, str(column.task))
            fact = self.data.measured.fact(entry, DATA_BYTES)
            return None if fact is None else fact.value

        return self._lines(column, size, lambda entry: SIZE.sub("", entry.model))

    def over_rows(self, column: Column) -> list[SizeLine]:
        """Lines over the number of labelled texts, which has held-out ones in it."""

        def size(entry: Entry) -> float | None:
            return entry.train_rows if entry.train_rows is not None else self._all_rows.get(str(column.task))

        return self._lines(column, size, lambda entry: entry.model.partition("@")[0])

    @cached_property
    def _all_rows(self) -> dict[str, float]:
        """The labelled texts of train by task. A training notes those it learned from, which lack held-out ones."""
        measured = self.data.measured
        stored = measured.query(queries.FACTS_OF_RUNS, experiment=measured.experiment.id)
        noted = {row["run_id"]: row["value"] for row in stored if row["name"] == TRAIN_ROWS and row["value"]}
        shares: dict[
            str, tuple[int, float]
        ] = {}  # task -> the largest number drawn, and its share that is learned from
        learned: dict[str, float] = {}
        for run in measured.runs:
            if run.run_id in noted and run.task is not None:
                drawn, value = run.spec.get(TRAIN_ROWS), noted[run.run_id]
                if drawn is None:
                    learned[run.task] = value
                else:
                    shares[run.task] = max(shares.get(run.task, (0, 1.0)), (drawn, value / drawn))
        return {task: round(learned[task] / share) for task, (_, share) in shares.items() if task in learned}

    def _lines(
        self, column: Column, size: Callable[[Entry], float | None], family: Callable[[Entry], str]
    ) -> list[SizeLine]:
        """The lines of two points or more, models first."""
        reaches = {
            name: half for pairs in self.data.table.pairs if pairs.column == column.name
            for name, half in zip(pairs.rows, pairs.alone, strict=True)
        }  # fmt: skip
        cells = {(row.title, row.settings): row.cells[column.name] for row in self.data.table.rows}
        of_lines: dict[tuple[bool, str], list[tuple[SizePoint, Entry]]] = {}
        for entry in self.data.measured.entries:
            place, key = size(entry), (entry.title, entry.settings)
            if place and key in cells and (score := cells[key].value) is not None:
                point = SizePoint(place, score, reaches.get(key, math.nan))
                of_lines.setdefault((entry.is_baseline, family(entry)), []).append((point, entry))
        lines = []
        for (is_baseline, name), measured in of_lines.items():
            points = sorted((point for point, _ in measured), key=lambda point: point.size)
            if len({point.size for point in points}) > 1 and len({point.size for point in points}) == len(points):
                largest = max(measured, key=lambda of: (of[1].train_rows is None, of[0].size))[1]
                lines.append(SizeLine(name, "" if is_baseline else largest.model, tuple(points)))
        return _shown(lines)


def _shown(lines: Sequence[SizeLine]) -> list[SizeLine]:
    """The lines of a panel: models, then trivial baselines that learn, of each the largest size, as far as they fit."""
    of_baselines: dict[str, SizeLine] = {}
    for line in lines:
        if not line.model and len({point.score for point in line.points}) > 1:
            of_baselines[SIZE.sub("", line.name)] = line  # the list has sizes in ascending order
    return [*(line for line in lines if line.model), *of_baselines.values()][:LINES]


def draw(data: FigureData) -> list[Drawn]:
    """Up to two pictures: over bytes, and over labelled texts."""
    sizes = ScoresBySize(data)
    of_bytes = "bytes: int8 graph and data of the text side, without its code; of a trivial baseline, its weights"
    pictures: Sequence[tuple[str, str, Callable[[Column], list[SizeLine]], str, Sequence[str]]] = (
        ("score_bytes", "score and bytes", sizes.over_bytes, "bytes without code", (of_bytes,)),
        ("score_rows", "score and labelled texts", sizes.over_rows, "labelled texts", ()),
    )
    drawn = []
    for name, title, lines_of, label, also in pictures:
        panels = {column.name: (column, lines) for column in sizes.columns if (lines := lines_of(column))}
        if any(line.model for _, lines in panels.values() for line in lines):
            drawn.append(_picture(data, name, title, label, list(panels.values()), also))
    if not drawn:
        raise NothingToDraw(
            "no model at two sizes; give several budgets and export each with `--onnx --int8 --evaluate`, or name "
            "`finetune.train_rows`"
        )
    return drawn


def _picture(
    data: FigureData, name: str, title: str, label: str, panels: Sequence[tuple[Column, Sequence[SizeLine]]],
    also: Sequence[str],
) -> Drawn:  # fmt: skip
    """A panel for each task, with a line and a band for each embedding and a dashed line for each baseline."""
    models = dict.fromkeys((line.name, line.model) for _, lines in panels for line in lines if line.model)
    looks = {line: look_of(data, model, 3.0) for line, model in models}
    looks |= dashed(line.name for _, lines in panels for line in lines if not line.model)
    drawn = sheet(
        data, name, title, height=HEIGHT, panels=len(panels), columns=min(NARROW, BESIDE[data.width]),
        handles=[Line2D([], [], label=of, **{"lw": 1.0, **look}) for of, look in looks.items()],
        also=["line: mean over seeds, band: 95 % interval over seeds and examples", *also],
    )  # fmt: skip
    for axes, (column, lines) in zip(drawn.panels, panels, strict=True):
        for line in lines:
            _draw_line(axes, line, looks[line.name])
        show_log_ticks(axes, count_of)
        axes.set_title(str(column.title or column.name))
        axes.set_xlabel(label)
        axes.set_ylabel(f"{column.metric}, percent")
        widen(axes, LEAST_SPAN)
        axes.grid(True)
    return drawn


def _draw_line(axes: Axes, line: SizeLine, look: Mapping[str, Any]) -> None:
    sizes, scores, reaches = np.array([(point.size, point.score, point.reach) for point in line.points]).T
    if line.model and np.isfinite(reaches).all():
        axes.fill_between(sizes, scores - reaches, scores + reaches, alpha=0.15, lw=0, color=look["color"])
    (drawn,) = axes.plot(sizes, scores, **look)
    ends = [f" ± {decimal_text(reach, 2)}" if math.isfinite(reach) else "" for reach in reaches]
    texts = [
        f"{count_of(size)}: {decimal_text(score, 2)}{end}" for size, score, end in zip(sizes, scores, ends, strict=True)
    ]
    if line.model:
        tip(drawn, *(f"{line.name}\n{text}" for text in texts))
    else:  # dashed, without markers
        tip(drawn, "\n".join([line.name, *texts]))


WHAT = "score against bytes of exported models, and against the number of labelled texts"
PLOT = Plot("sizes", WHAT, draw)
