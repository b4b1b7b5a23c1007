"""Score against tokens of pre-training, a line for each model through the steps from which it was fine-tuned."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable

from hashbench.common.showing import decimal_text
from hashbench.results.plots.base import (
    LEAST_SPAN,
    Drawn,
    FigureData,
    NothingToDraw,
    Plot,
    drawn_score,
    score_column,
    tip,
)
from hashbench.results.plots.sheet import (
    baseline_lines,
    baseline_scores,
    count_of,
    draw_baselines,
    labelled_models,
    look_of,
    on_grey,
    score_axis,
    sheet,
    show_counts,
)
from hashbench.results.read.measured import Measured
from hashbench.results.tables.table import Cell, Table

HEIGHT = {"single": 2.1, "double": 2.8}  # inches
LABEL = 0.09  # of the axis: the width of a tick's label in the narrowest figure
TokenLine = dict[int, Cell]  # the score by the tokens that were read before


def draw(data: FigureData) -> list[Drawn]:
    """One picture of score against pre-training tokens, for models fine-tuned from several steps of a pre-training."""
    table = data.table
    lines = token_lines(data.measured, table)
    if not lines:
        raise NothingToDraw("no model was fine-tuned from two steps of its pre-training; give pretrain.checkpoints")
    column, words = drawn_score(table)
    unit = "words" if by_words(data.measured) else "tokens"
    labels = labelled_models(data, lines)
    baselines = baseline_scores(table, column.name)
    drawn = sheet(
        data, "pretraining", "score and pre-training", height=HEIGHT[data.width], models=labels,
        handles=baseline_lines(baselines),
        also=[words, "bars: sd over seeds", *on_grey(list(lines), labels)],
    )  # fmt: skip
    axes = drawn.panels[0]
    for model, line in lines.items():
        tokens = sorted(line)
        scores = [line[count].value or 0.0 for count in tokens]
        deviations = [line[count].std or 0.0 for count in tokens]
        mark, _, _ = axes.errorbar(
            tokens, scores, yerr=deviations, capsize=2, elinewidth=0.7, **look_of(data, model, labelled=labels)
        )
        texts = [
            f"{model}\n{count_of(n)} {unit}: {decimal_text(score, 2)}"
            + (f" ± {decimal_text(deviation, 2)}" if deviation else "")
            for n, score, deviation in zip(tokens, scores, deviations, strict=True)
        ]
        tip(mark, *texts)
    axes.margins(y=0.12)
    axes.set_xscale("log")
    axes.set_xticks(_apart({count for line in lines.values() for count in line}))
    show_counts(axes)
    axes.set_xlabel(f"{unit} of pre-training")
    score_axis(axes, column, LEAST_SPAN)
    draw_baselines(axes, baselines)
    return [drawn]


def _apart(counts: Iterable[int]) -> list[int]:
    """The counts whose labels do not touch on a logarithmic axis, the largest among them.

    >>> _apart([100, 1_000, 9_500, 10_000])
    [100, 1000, 10000]
    """
    ordered = sorted(counts, reverse=True)
    least = LABEL * math.log(ordered[0] / ordered[-1])
    kept = ordered[:1]
    for count in ordered[1:]:
        if math.log(kept[-1] / count) >= least:
            kept.append(count)
    return kept[::-1]


def by_words(measured: Measured) -> bool:
    """True where all pre-trainings have rows of words, whose number is then their length."""
    recipes = [run.spec["pretrain"] for run in measured.pretrainings()]
    return all("words_per_row" in of and of["words_per_row"] for of in recipes)


def token_lines(measured: Measured, table: Table) -> dict[str, TokenLine]:
    """The scores by pre-training tokens or words of models fine-tuned from two or more steps.

    By the name of the final model.
    """
    column = score_column(table)
    cells = {row.model: row.cells[column] for row in table.rows if row.kind == "model" and column in row.cells}
    lines: dict[str, TokenLine] = {}
    names: dict[str, str] = {}
    for run in measured.pretrainings():
        training = json.dumps({key: value for key, value in run.spec.items() if key != "checkpoint"}, sort_keys=True)
        recipe = run.spec["pretrain"]
        steps = run.spec["checkpoint"] if "checkpoint" in run.spec else recipe["steps"]
        if "checkpoint" not in run.spec:
            names[training] = run.model
        if run.model in cells and cells[run.model].value is not None:
            row = recipe["words_per_row" if by_words(measured) else "sequence_length"]
            lines.setdefault(training, {})[steps * recipe["batch_size"] * row] = cells[run.model]
    return {names[training]: line for training, line in lines.items() if len(line) > 1 and training in names}


PLOT = Plot("pretraining", "score against tokens of pre-training", draw)
