"""A paper's table of hyper-parameters beside the values of an experiment's runs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hashbench.results.papers.paper import Column, Hyperparameter, Paper
from hashbench.results.read.measured import Measured
from hashbench.results.read.runs import MeasuredRun
from hashbench.results.tables.measures import value_at
from hashbench.results.tables.recipes import by_place, plain, value_of_objective
from hashbench.results.tables.request import ReportSource
from hashbench.results.tables.table import Cell, Row, Table

NOT_STORED = "not stored"  # an encoder's own default
DIFFERS = "≠"  # behind a value that is not the paper's
PUBLISHED, VALUE = Column("published", "", "setting"), Column("value", "", "setting")


def hyperparameter_table(source: ReportSource, number: str) -> Table:
    """The table with a row for each hyper-parameter: the paper's value, and the experiment's with their models."""
    measured, paper = source.measured, source.paper
    layout, experiment = paper.hyperparameters[number], measured.experiment.name
    columns = (replace(PUBLISHED, title=paper.name), replace(VALUE, title=experiment))
    rows, records = [], []
    for setting in layout.rows:
        words = plain(paper.value_of(setting)) if setting.printed == "" else setting.printed
        values = _values(measured, paper, number, setting)
        cells = {PUBLISHED.name: Cell(text=words), VALUE.name: Cell(text=_text(values, DIFFERS) or "none")}
        rows.append(Row(setting.title, setting.title, cells, kind="setting"))
        differs = any(value != wanted for value, wanted in values.values())
        records.append({
            "paper": paper.name, "table": number, "hyperparameter": setting.title, "published": words,
            "value": _text(values, ""), "differs": differs, "experiment": experiment,
        })  # fmt: skip
    return Table(
        paper=paper.name, number=number, title=f"{paper.name} table {number}: {layout.title}", experiment=experiment,
        columns=columns if source.request.published else columns[1:], rows=tuple(rows),
        notes=(f"{DIFFERS}: not the paper's value.", *layout.notes), published=False, records=tuple(records),
    )  # fmt: skip


def _runs(measured: Measured, block: str) -> list[MeasuredRun]:
    runs = [*measured.pretrainings(), *measured.trainings()]
    return [run for run in runs if isinstance(run.spec.get(block), dict)]  # a training names its pre-training by its id


def _values(
    measured: Measured, paper: Paper, number: str, setting: Hyperparameter
) -> dict[tuple[str, str | None], tuple[Any, Any]]:
    """(the experiment's value, the paper's) of a hyper-parameter, by model and task."""
    block, published = paper.hyperparameters[number].block, paper.value_of(setting)
    values = {}
    for run in _runs(measured, block):
        value = value_at({**run.spec, block: run.block(block)}, setting.path)
        if value is None:
            is_known = not setting.encoders or value_at(run.spec, "model.encoder.kind") in setting.encoders
            value = setting.unset if is_known else NOT_STORED
        wanted = value if value == NOT_STORED else value_of_objective(run, published)
        values[run.model, run.task] = (value, wanted)
    return values


def _text(values: dict[tuple[str, str | None], tuple[Any, Any]], sign: str) -> str:
    """The distinct values as text, each with its models and tasks where it does not hold for all."""
    texts = [
        ((plain(value), f" {sign}" if sign and value != wanted else ""), place)
        for place, (value, wanted) in values.items()
    ]
    return "; ".join(by_place(texts, values))
