"""Score against the tokens of pre-training: a line a model, through the steps from which it was fine-tuned."""

from __future__ import annotations

import json

from hashbench.results.plots.base import Drawn, FigureData, NothingToDraw, Plot
from hashbench.results.plots.fronts import drawn_score, score_column
from hashbench.results.plots.sheet import count_of, log_scores, marker_of, sheet, tip
from hashbench.results.read.measured import Measured
from hashbench.results.tables.table import Cell, Table

HEIGHT = {"single": 2.1, "double": 2.8}  # inches
LEAST = 4.0  # percent that the vertical axis spans
Line = dict[int, Cell]  # the score by the tokens that were read before


def draw(data: FigureData) -> list[Drawn]:
    """One picture of all models that were fine-tuned from several steps."""
    table = data.table
    lines = lines_of(data.measured, table)
    if not lines:
        raise NothingToDraw("no model was fine-tuned from two steps of its pre-training; give pretrain.checkpoints")
    column, words = drawn_score(table)
    drawn = sheet(
        data,
        "pretraining",
        "score and pre-training",
        height=HEIGHT[data.width],
        models=lines,
        also=[words, "bars: sd over seeds"],
    )
    axes = drawn.panels[0]
    for model, line in lines.items():
        tokens = sorted(line)
        scores = [line[count].value or 0.0 for count in tokens]
        spreads = [line[count].std or 0.0 for count in tokens]
        mark, _, _ = axes.errorbar(tokens, scores, yerr=spreads, lw=0.9, capsize=2, elinewidth=0.7, **marker_of(model))
        texts = [
            f"{model}\n{count_of(n)} tokens: {score:.2f}" + (f" ± {spread:.2f}" if spread else "")
            for n, score, spread in zip(tokens, scores, spreads, strict=True)
        ]
        tip(mark, *texts)
    axes.margins(y=0.12)
    places = (count for line in lines.values() for count in line)
    log_scores(axes, table, column, places, along="tokens of pre-training", least=LEAST)
    return [drawn]


def lines_of(measured: Measured, table: Table) -> dict[str, Line]:
    """The scores of each model that has two or more, by the name of the model at the end of its pre-training."""
    column = score_column(table)
    cells = {row.model: row.cells[column] for row in table.rows if row.kind == "model" and column in row.cells}
    lines: dict[str, Line] = {}
    names: dict[str, str] = {}
    for run in measured.pretrainings():
        training = json.dumps({key: value for key, value in run.spec.items() if key != "checkpoint"}, sort_keys=True)
        recipe = run.spec["pretrain"]
        steps = run.spec["checkpoint"] if "checkpoint" in run.spec else recipe["steps"]
        if "checkpoint" not in run.spec:
            names[training] = run.model
        if run.model in cells and cells[run.model].value is not None:
            tokens = steps * recipe["batch_size"] * recipe["sequence_length"]
            lines.setdefault(training, {})[tokens] = cells[run.model]
    return {names[training]: line for training, line in lines.items() if len(line) > 1 and training in names}


PLOT = Plot("pretraining", "score against tokens of pre-training", draw)
