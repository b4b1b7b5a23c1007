"""Score against a size over powers of ten: embedding parameters at equal budgets, and tokens of pre-training.

`budgets` has a line for each family, through the budgets at which it was measured; `pretraining` one for each model,
through the steps from which it was fine-tuned.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence

from hashbench.common.showing import decimal_text
from hashbench.results.plots.base import Drawn, FigureData, NothingToDraw, Plot, drawn_score, score_column
from hashbench.results.plots.colours import distinct_looks
from hashbench.results.plots.sheet import (
    count_of,
    labelled,
    labelled_models,
    log_scores,
    marker_of,
    muted,
    on_grey,
    sheet,
    tip,
)
from hashbench.results.read.budgets import RecordedBudgets, recorded_budgets
from hashbench.results.read.measured import Measured
from hashbench.results.tables.table import Cell, Table, comparable

BUDGETS_HEIGHT = {"single": 3.0, "double": 3.6}  # inches
PRETRAINING_HEIGHT = {"single": 2.1, "double": 2.8}
LEAST = 4.0  # percent that the vertical axis spans
ASIDE = 0.16  # powers of ten over which the families of one budget are drawn side by side
ROOM = 0.2  # powers of ten between two ticks
SEVERAL = 2  # points of at least one family; else there is no line
FamilyLine = list[tuple[float, Cell]]  # embedding parameters and score, by size
TokenLine = dict[int, Cell]  # the score by the tokens that were read before


def draw_budgets(data: FigureData) -> list[Drawn]:
    """One picture of score against embedding parameters, with a line for each family of models."""
    table = data.table
    budgets = recorded_budgets(data.measured.experiment.config)
    lines = family_lines(table, budgets)
    if max(map(len, lines.values()), default=0) < SEVERAL:
        raise NothingToDraw("no model was measured at two budgets; give budget: {embedding_parameters: [SIZE, SIZE]}")
    column, words = drawn_score(table)
    labels = labelled({family: max(cell.value or 0.0 for _, cell in line) for family, line in lines.items()})
    with distinct_looks(labels):  # by family: its sizes look the same
        drawn = sheet(
            data, "budgets", "score and embedding parameters", height=BUDGETS_HEIGHT[data.width], models=labels,
            also=[words, "bars: 95 % intervals over examples", "families of one budget side by side",
                  *on_grey(list(lines), labels)],
        )  # fmt: skip
        axes = drawn.panels[0]
        for family, line in lines.items():
            scores = [cell.value or 0.0 for _, cell in line]
            is_labelled = family in labels
            mark, _, _ = axes.errorbar(
                [aside(family, size, lines) for size, _ in line], scores, yerr=spreads(line) if is_labelled else None,
                lw=0.9, elinewidth=0.4, capsize=1.5, **(marker_of(family) if is_labelled else muted()),
            )  # fmt: skip
            tip(mark, *(_words(family, size, cell) for size, cell in line))
    axes.margins(x=0.05, y=0.08)
    log_scores(axes, table, column, ticks(budgets.sizes, lines), along="embedding parameters", least=LEAST)
    return [drawn]


def family_lines(table: Table, budgets: RecordedBudgets) -> Mapping[str, FamilyLine]:
    """Sizes and scores of each family of the experiment's own table, by size."""
    score = score_column(table)
    lines: dict[str, FamilyLine] = {}
    for row in table.rows:
        size = comparable(row.cells["emb_params"]) if "emb_params" in row.cells else None
        if row.kind == "model" and size and row.cells[score].value is not None:
            lines.setdefault(budgets.of(row.model)[0], []).append((size, row.cells[score]))
    return {family: sorted(line, key=lambda point: point[0]) for family, line in lines.items()}


def aside(family: str, size: float, lines: Mapping[str, FamilyLine]) -> float:
    """The horizontal position of a family's point, shifted so that points of about one size do not overlap.

    >>> lines = {"a": [(100.0, Cell(1.0))], "b": [(100.0, Cell(1.0)), (9_000.0, Cell(1.0))]}
    >>> aside("a", 100.0, lines) < 100.0 < aside("b", 100.0, lines), aside("b", 9_000.0, lines)
    (True, 9000.0)
    """
    beside = [
        name for name, line in lines.items() if any(abs(math.log10(size / other)) < ROOM / 2 for other, _ in line)
    ]
    return size * 10 ** (ASIDE / len(lines) * (beside.index(family) - (len(beside) - 1) / 2))


def ticks(budgets: Sequence[int], lines: Mapping[str, FamilyLine]) -> list[float]:
    """The positions of ticks: all budgets, and other points' sizes where their labels have room.

    >>> ticks([100_000, 400_000], {"a": [(100_001.0, Cell(1.0))], "b": [(16_500.0, Cell(1.0)), (17_000.0, Cell(1.0))]})
    [16500.0, 100000, 400000]
    """
    places: list[float] = list(budgets)
    for size in sorted(size for line in lines.values() for size, _ in line):
        if all(abs(math.log10(size / place)) > ROOM for place in places):
            places.append(size)
    return sorted(places)


def spreads(line: FamilyLine) -> tuple[list[float], list[float]]:
    """The distances from each point's score to the ends of its interval, below and above; 0 where it has none."""
    pairs = []
    for _, cell in line:
        low, high = cell.interval or (cell.value, cell.value)
        pairs.append(((cell.value or 0.0) - (low or 0.0), (high or 0.0) - (cell.value or 0.0)))
    return [max(0.0, below) for below, _ in pairs], [max(0.0, above) for _, above in pairs]


def _words(family: str, size: float, cell: Cell) -> str:
    low, high = cell.interval or (None, None)
    interval = f" [{decimal_text(low, 2)}, {decimal_text(high, 2)}]" if low is not None and high is not None else ""
    return f"{family}\n{count_of(size)} embedding parameters: {decimal_text(cell.value or 0.0, 2)}{interval}"


def draw_pretraining(data: FigureData) -> list[Drawn]:
    """One picture of score against pre-training tokens, for models fine-tuned from several steps of a pre-training."""
    table = data.table
    lines = token_lines(data.measured, table)
    if not lines:
        raise NothingToDraw("no model was fine-tuned from two steps of its pre-training; give pretrain.checkpoints")
    column, words = drawn_score(table)
    unit = "words" if by_words(data.measured) else "tokens"
    labels = labelled_models(data, lines)
    drawn = sheet(
        data, "pretraining", "score and pre-training", height=PRETRAINING_HEIGHT[data.width], models=labels,
        also=[words, "bars: sd over seeds", *on_grey(list(lines), labels)],
    )  # fmt: skip
    axes = drawn.panels[0]
    for model, line in lines.items():
        tokens = sorted(line)
        scores = [line[count].value or 0.0 for count in tokens]
        deviations = [line[count].std or 0.0 for count in tokens]
        look = marker_of(model) if model in labels else muted()
        mark, _, _ = axes.errorbar(tokens, scores, yerr=deviations, lw=0.9, capsize=2, elinewidth=0.7, **look)
        texts = [
            f"{model}\n{count_of(n)} {unit}: {decimal_text(score, 2)}"
            + (f" ± {decimal_text(deviation, 2)}" if deviation else "")
            for n, score, deviation in zip(tokens, scores, deviations, strict=True)
        ]
        tip(mark, *texts)
    axes.margins(y=0.12)
    places = (count for line in lines.values() for count in line)
    log_scores(axes, table, column, places, along=f"{unit} of pre-training", least=LEAST)
    return [drawn]


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


BUDGETS = "average score against embedding parameters, a line for each family at equal budgets"
PLOT = (
    Plot("budgets", BUDGETS, draw_budgets),
    Plot("pretraining", "score against tokens of pre-training", draw_pretraining),
)
