"""Embeddings by encoder: averages of each embedding under each encoder, pre-trained and from scratch."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from hashbench.common.errors import InputError
from hashbench.results.papers.paper import Column
from hashbench.results.read.budgets import recorded_budgets
from hashbench.results.read.measured import Measured
from hashbench.results.read.runs import Entry, encoder_and_start
from hashbench.results.tables.experiment import AVERAGE, SIZES, own_table
from hashbench.results.tables.measures import entry_row
from hashbench.results.tables.request import ReportSource, TableFile
from hashbench.results.tables.table import Cell, Table, comparable, floor_note, floor_of, mark_best

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
    columns = {place: _column(place, tasks) for place in dict.fromkeys(_place(entry) for entry in models)}
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
            rows=tuple(mark_best(rows, shown)), notes=(OF_TABLE, *floor_note(floor, AVERAGE)),
        )
    ]  # fmt: skip


def _models(measured: Measured) -> list[Entry]:
    return [entry for entry in measured.entries if not entry.is_baseline and entry.runs]


def _shares_embeddings(measured: Measured) -> bool:
    """True if an embedding has two models: under two encoders, or pre-trained and from scratch."""
    return any(len(by_place) > 1 for by_place in _embeddings(measured, _models(measured)))


def _place(entry: Entry) -> EncoderColumn:
    """The kind of a model's encoder, and its start in words."""
    kind, is_pretrained = encoder_and_start(entry.runs[0].spec)
    return kind, PRETRAINED if is_pretrained else SCRATCH


def _column(place: EncoderColumn, tasks: Sequence[str]) -> Column:
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
        while _place(model) in rows.setdefault((key, copy), {}):
            copy += 1
        rows[key, copy][_place(model)] = model
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


TABLE = TableFile(
    "encoders",
    "embeddings by encoder, pre-trained and from scratch: averages over all tasks",
    encoder_table,
    beside=_shares_embeddings,
)
