"""The experiment's own table broken down: by budget of parameters, by encoder and start, and by script.

A model at one of several budgets is called NAME-0.23M. The record of the sweep decides whether a name of this form has
one.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hashbench.common.errors import InputError
from hashbench.common.showing import BUDGET_TOLERANCE, amount
from hashbench.results.papers.paper import Column
from hashbench.results.read.measured import Measured
from hashbench.results.read.runs import Entry, encoder_and_start
from hashbench.results.tables.experiment import AVERAGE, COSTS, SIZES, own_table, without_minutes
from hashbench.results.tables.measures import View, entry_row
from hashbench.results.tables.request import ReportSource, TableFile
from hashbench.results.tables.table import (
    Cell,
    Row,
    Table,
    comparable,
    floor_note,
    floor_of,
    mark_best,
    marked,
    missing_lines,
)


@dataclass(frozen=True)
class RecordedBudgets:
    """The parameter budgets of an experiment's embeddings, and the models to which its file gives other budgets."""

    sizes: tuple[int, ...]  # of the experiment or of one of its models
    named: Mapping[str, int | None]  # entry -> its own budget where that is a single one
    general: tuple[int, ...] = ()  # the experiment's, for all models

    @property
    def only(self) -> int | None:
        """The experiment's budget where it has a single one, which no name shows; else None."""
        return self.general[0] if len(self.general) == 1 else None

    def of(self, label: str, parameters: float | None = None) -> tuple[str, int | None]:
        """A model's name without the suffix of its budget, and the budget; None where it was made for none.

        Under a single budget of the experiment, models keep their names; a model is at the budget if `parameters` of
        its embedding differ from it by at most 2 %.
        """
        if self.named.get(label):
            return label, self.named[label]
        for size in self.sizes if label not in self.named else ():
            if label.endswith(end := f"-{amount(size)}"):
                return label.removesuffix(end), size
        if self.only and parameters and abs(parameters - self.only) <= BUDGET_TOLERANCE * self.only:
            return label, self.only
        return label, None


def recorded_budgets(config: Mapping[str, Any]) -> RecordedBudgets:
    """The budgets in an experiment's stored config.

    >>> budgets = recorded_budgets({"budget": {"embedding_parameters": [800_000, 2_000_000]}, "models": ["x-2M", "k2"]})
    >>> budgets.of("k2-2M"), budgets.of("x-2M"), budgets.of("x-2M-0.8M")
    (('k2', 2000000), ('x-2M', None), ('x-2M', 800000))
    """
    entries: list[Mapping[str, Any]] = [
        {"name": entry} if isinstance(entry, str) else entry for entry in config.get("models", ())
    ]
    own = {str(entry["name"]): _sizes(entry.get("budget")) for entry in entries}
    general = _sizes(config.get("budget"))
    sizes = {size for of in (general, *own.values()) for size in of}
    return RecordedBudgets(
        tuple(sorted(sizes)),
        {name: of_entry[0] if len(of_entry) == 1 else None for name, of_entry in own.items()},
        tuple(general),
    )


def _sizes(budget: Mapping[str, Any] | None) -> list[int]:
    """The numbers of parameters in a `budget` block, which has one number or a list."""
    numbers = budget["embedding_parameters"] if budget else []
    return list(numbers) if isinstance(numbers, list | tuple) else [numbers]


ONE_SIZE = "of one size"
OF_COSTS = (
    "Active a token: parameters that the vector of one token is computed from, of the word 'language'; bytes a token: "
    "the same in float32; multiply-adds: of matrix products, sums of rows count none."
)


def budget_table(source: ReportSource) -> list[Table]:
    """The experiment's own table with a section for each budget, and costs of embeddings in place of times."""
    own = own_table(source.measured, source.paper, evidence=source.evidence)
    scores = [column for column in own.columns if column.measure in ("score", "average")]
    columns = (*scores, *COSTS)
    budgets = recorded_budgets(source.measured.experiment.config)
    by_size: dict[float, list[Row]] = {}
    for row, entry in zip(own.rows, source.measured.entries, strict=False):  # behind them are imported rows
        if not row.is_baseline:
            fact = source.measured.fact(entry, COSTS[0].name)
            _, size = budgets.of(row.model, None if fact is None else fact.value)
            section = ONE_SIZE if size is None else amount(size)
            by_size.setdefault(size or math.inf, []).append(_costed(source.measured, row, entry, columns, section))
    rows = [row for _, models in sorted(by_size.items()) for row in mark_best(models, columns)]
    no_costs = {column.name: Cell(unit=column.unit) for column in COSTS}
    rows += [replace(row, cells={**row.cells, **no_costs}) for row in own.rows if row.is_baseline]
    return [
        replace(
            own, number="budgets", title=f"Experiment {own.experiment}: embeddings at equal parameters",
            columns=columns, rows=tuple(rows),
            notes=(*without_minutes(own.notes), OF_COSTS), details=without_minutes(own.details), compares_sections=True,
        )
    ]  # fmt: skip


def _costed(measured: Measured, row: Row, entry: Entry, columns: Sequence[Column], section: str) -> Row:
    cells = {**row.cells, **View(measured=measured, columns={}).cells(entry, COSTS)}
    kept = {column.name: replace(cells[column.name], best=False) for column in columns}
    return replace(row, cells=kept, section=section)


TITLES = {"bert": "transformer", "qrnn": "QRNN", "prado": "PRADO", "average": "mean of words"}
PRETRAINED, SCRATCH = "pre-trained", "from scratch"
# Keys of a model in the file: models are one embedding if these are equal. Other keys change its encoder or recipe
OF_EMBEDDING = ("like", "use", "tokenizer", "coder", "embedding", "budget", "weights")
OF_TABLE = (
    "A row is one embedding: those models of the experiment's file that differ only in encoder, pooling, objective and "
    "recipe. A cell is the average of all tasks, marked as in the experiment's own table, which shows the tasks. "
    "Models are compared within a column."
)
EncoderColumn = tuple[str, str]  # kind of encoder, start in words


def encoder_table(source: ReportSource) -> list[Table]:
    """The table of averages by embedding and encoder. Raises InputError if no embedding has two models."""
    measured = source.measured
    own = own_table(measured, source.paper, evidence=source.evidence)
    tasks = tuple(task for task in measured.tasks() if task not in measured.further_sets())
    models = _models(measured)
    if not _shares_embeddings(measured):
        raise InputError(
            f"table encoders: no embedding of '{measured.experiment.name}' is used under two encoders, or both "
            "pre-trained and from scratch; leave --table away"
        )
    columns = {place: _encoder_column(place, tasks) for place in dict.fromkeys(_encoder_of(entry) for entry in models)}
    sizes = [column for column in SIZES if column.name == "emb_params" and column in own.columns]
    shown = [*columns.values(), *sizes]
    own_rows = {id(entry): row for entry, row in zip(measured.entries, own.rows, strict=False)}  # then imported rows
    rows = []
    for by_place in _embeddings(measured, models):
        of_models = {columns[place].name: own_rows[id(entry)] for place, entry in by_place.items()}
        cells = {column.name: Cell(unit=column.unit) for column in columns.values()}
        cells |= {name: row.cells[AVERAGE.name] for name, row in of_models.items()}
        cells |= {
            column.name: _range([replace(row.cells[column.name], best=False) for row in of_models.values()])
            for column in sizes
        }
        rows.append(entry_row(next(iter(by_place.values())), cells))
    for row in own.rows:
        if row.is_baseline:
            averages = dict.fromkeys((column.name for column in columns.values()), row.cells[AVERAGE.name])
            rows.append(replace(row, cells={**row.cells, **averages}))
    baselines = [row for row in own.rows if row.is_baseline]
    average = next(column for column in own.columns if column.name == AVERAGE.name)
    floor = floor_of(average, own.columns, baselines, own_rows[id(models[0])].cells)
    return [
        replace(
            own, number="encoders", title=f"Experiment {own.experiment}: embeddings by encoder", columns=tuple(shown),
            rows=tuple(mark_best(rows, shown)), notes=(OF_TABLE,), details=tuple(floor_note(floor, AVERAGE)),
        )
    ]  # fmt: skip


def _models(measured: Measured) -> list[Entry]:
    return [entry for entry in measured.entries if not entry.is_baseline and entry.runs]


def _shares_embeddings(measured: Measured) -> bool:
    """True if an embedding has two models: under two encoders, or pre-trained and from scratch."""
    return any(len(by_place) > 1 for by_place in _embeddings(measured, _models(measured)))


def _encoder_of(entry: Entry) -> EncoderColumn:
    """The kind of a model's encoder, and its start in words."""
    kind, is_pretrained = encoder_and_start(entry.runs[0].spec)
    return kind, PRETRAINED if is_pretrained else SCRATCH


def _encoder_column(place: EncoderColumn, tasks: Sequence[str]) -> Column:
    kind, start = place
    name = f"encoder_{kind}_{'scratch' if start == SCRATCH else 'pretrained'}"
    return Column(name, "percent", "average", TITLES.get(kind, kind), better="high", subtitle=start, tasks=tuple(tasks))


def _embeddings(measured: Measured, models: Sequence[Entry]) -> list[dict[EncoderColumn, Entry]]:
    """The models of each embedding by encoder and start; a second one with both equal is a row by itself."""
    config = measured.experiment.config
    budgets = recorded_budgets(config)
    written = {entry["name"]: entry for entry in config.get("models", ()) if isinstance(entry, Mapping)}
    rows: dict[tuple[str, int], dict[EncoderColumn, Entry]] = {}
    for model in models:
        name, size = budgets.of(model.model)
        key = json.dumps([size, model.settings, *_embedding(written.get(name, {"name": name}))], sort_keys=True)
        copy = 0
        while _encoder_of(model) in rows.setdefault((key, copy), {}):
            copy += 1
        rows[key, copy][_encoder_of(model)] = model
    return list(rows.values())


def _embedding(entry: Mapping[str, Any]) -> list[Any]:
    """The keys of an embedding as the file has them; a model that is only named is `like` itself."""
    of_itself = {} if entry.get("like") or entry.get("use") else {"like": entry["name"]}
    return [{**entry, **of_itself}.get(key) for key in OF_EMBEDDING]


def _range(cells: Sequence[Cell]) -> Cell:
    """A cell with the size of several models: a number, or a range if they differ."""
    counts = sorted((cell for cell in cells if cell.value is not None), key=lambda cell: comparable(cell) or 0.0)
    if not counts:
        return cells[0]
    low, high = counts[0], counts[-1]
    return replace(low, value_high=high.value) if comparable(low) != comparable(high) and low.unit == high.unit else low


OF_SCRIPTS = "A column is the unweighted mean of the languages that are written in a script, the last one that of all."


def script_table(source: ReportSource) -> list[Table]:
    """The table of mean scores by script (Latin, Devanagari, ...). Raises InputError where no task is of a language."""
    measured = source.measured
    own = own_table(measured, source.paper, evidence=source.evidence)
    traits = measured.traits()
    languages = {task: traits[task]["language"] for task in measured.tasks() if "script" in traits[task]}
    by_script: dict[str, list[str]] = {}
    for task in languages:
        by_script.setdefault(traits[task]["script"], []).append(task)
    if not by_script:
        name = measured.experiment.name
        raise InputError(f"table scripts: '{name}' has no task of a language, such as sib200:hin_Deva; choose another")
    shown = {column.name for column in own.columns}
    columns = [
        *(_average(f"script_{script}", script, tasks, languages) for script, tasks in by_script.items()),
        _average("average", "Average", list(languages), languages),
        *(column for column in SIZES if column.name in shown),
    ]
    tasks = [column for column in own.columns if column.measure == "score"]
    view = View(measured=measured, columns={column.name: column for column in tasks}, evidence=source.evidence)
    rows = [
        replace(row, cells={**row.cells, **view.cells(entry, columns)})
        for row, entry in zip(own.rows, measured.entries, strict=False)  # behind them are imported rows
    ]
    rows = marked(rows, [*columns, *tasks])
    return [
        replace(
            own, number="scripts", title=f"Experiment {own.experiment}: scripts", columns=tuple(columns),
            rows=tuple(rows), notes=(*without_minutes(own.notes), OF_SCRIPTS), details=without_minutes(own.details),
            missing=tuple(missing_lines(rows, [column for column in columns if column.measure == "average"])),
        )
    ]  # fmt: skip


def _average(name: str, title: str, tasks: Sequence[str], languages: Mapping[str, str]) -> Column:
    """The column of a mean over tasks, with the number of languages, or the only one's name, as its subtitle."""
    shown = languages[tasks[0]] if len(tasks) == 1 else f"{len(tasks)} languages"
    return Column(name, "percent", "average", title, better="high", subtitle=shown, tasks=tuple(tasks))


TABLE = (
    TableFile(
        "budgets",
        "families of embeddings at equal numbers of parameters, by budget, and what a token costs",
        budget_table,
        beside=lambda measured: bool(recorded_budgets(measured.experiment.config).sizes),
    ),
    TableFile(
        "encoders",
        "embeddings by encoder, pre-trained and from scratch: averages over all tasks",
        encoder_table,
        beside=_shares_embeddings,
    ),
    TableFile(
        "scripts",
        "models by script: the mean over the languages that are written in it",
        script_table,
    ),
)
