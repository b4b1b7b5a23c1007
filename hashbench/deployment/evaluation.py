"""Forms of one exported model (float32, int8) compared on the dev set of its task: bytes, score, time of one text."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from hashbench.common.errors import InputError
from hashbench.common.measured import MetricRow
from hashbench.data.tasks.base import SplitOutputs
from hashbench.data.tasks.text import text_kind
from hashbench.data.tasks.text_data import TaskData
from hashbench.deployment.graph import graph_inputs
from hashbench.deployment.loading import Predictor
from hashbench.deployment.onnx_graph import GraphFile, outputs_of

TIMED = 200  # texts, one at a time


@dataclass(frozen=True)
class Form:
    """The measurements of one form. `milliseconds`: median over texts, from ready inputs to logits, on one thread."""

    form: str
    bytes: int
    metric: str
    split: str
    score: float | None
    milliseconds: float


def evaluated(
    predictor: Predictor, graphs: Mapping[str, GraphFile], task: TaskData | None, note: Callable[[str], None]
) -> list[Form]:
    """The measurements of each graph on the task's dev set. Raises InputError for a model without a task."""
    if task is None:
        raise InputError(f"{predictor.config.name}: a pre-trained model has no task; leave --evaluate out")
    split = task.task.select_splits[0]
    part = task.splits[split]
    columns = [list(column) for column in part.texts]
    metric = task.task.select_metric
    forms = []
    for name, graph in graphs.items():
        note(f"evaluating {name} on {len(part):,} rows of {split}")
        # One text at a time, as it is timed: int8 scales activations over a whole batch
        outputs = outputs_of(graph, predictor, columns, rows=1)
        scores = text_kind(task.task).scores(task.task, SplitOutputs(_answers(outputs), part.labels))
        score = next(row.value for row in scores if row.name == metric)
        size, median = graph.path.stat().st_size, _milliseconds(graph, predictor, columns)
        forms.append(Form(name, size, metric, split, score, median))
    return forms


def _answers(outputs: np.ndarray) -> np.ndarray:
    """Logits (n, C) as scorers take them: the values (n,) of a regression, else the logits."""
    return outputs[:, 0] if outputs.shape[1] == 1 else outputs


def _milliseconds(graph: GraphFile, predictor: Predictor, columns: Sequence[Sequence[str]]) -> float:
    """The median time of one text in ms."""
    inputs = [
        graph_inputs(predictor, next(predictor.batches([[column[i]] for column in columns], 1)))
        for i in range(min(TIMED, len(columns[0])))
    ]
    graph.run(inputs[0])
    times = []
    for batch in inputs:
        began = time.perf_counter()
        graph.run(batch)
        times.append(1000.0 * (time.perf_counter() - began))
    return statistics.median(times)


def fact_rows(forms: Sequence[Form]) -> list[MetricRow]:
    """The measurements of forms as rows of metrics, which the experiment's table shows as columns."""
    rows = []
    for form in forms:
        values = {"bytes": form.bytes, "score": form.score, "latency": form.milliseconds}
        rows += [MetricRow(f"{form.form}_{name}", value, reason="undefined") for name, value in values.items()]
    return rows


def table_of(forms: Sequence[Form]) -> list[str]:
    """The lines of a markdown table of forms, with scores in percent."""
    first = forms[0]
    rows = [f"| form | bytes | {first.metric} on {first.split} | ms a text |", "|---|---:|---:|---:|"]
    for form in forms:
        score = "undefined" if form.score is None else f"{100 * form.score:.2f}"
        rows.append(f"| {form.form} | {form.bytes:,} | {score} | {form.milliseconds:.3f} |")
    return rows
