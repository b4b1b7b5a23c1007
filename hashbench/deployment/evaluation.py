"""Forms of one exported model (float32, int8) compared on the dev set of its task: bytes, score, time of one text."""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from hashbench.common.errors import InputError
from hashbench.common.measured import MetricRow
from hashbench.common.showing import percent_text
from hashbench.data.tasks.base import SplitOutputs
from hashbench.data.tasks.text import text_kind
from hashbench.data.tasks.text_data import TaskData
from hashbench.deployment.graph import graph_inputs
from hashbench.deployment.loading import Predictor
from hashbench.deployment.onnx_graph import GraphFile, outputs_of

TIMED = 200  # texts, one at a time


@dataclass(frozen=True)
class Form:
    """The measurements of one form. Times are medians over texts, one at a time, on one thread.

    `milliseconds`: from ready inputs to logits. `folder` and `text_milliseconds`, None without a text side: bytes of
    all that is shipped, and the time from a text, whose words are all new to the text side, to its logits.
    """

    form: str
    bytes: int
    metric: str
    split: str
    score: float | None
    milliseconds: float
    folder: int | None = None
    text_milliseconds: float | None = None


def evaluated(
    predictor: Predictor,
    graphs: Mapping[str, GraphFile],
    task: TaskData | None,
    note: Callable[[str], None],
    text_side: Sequence[Path] = (),
) -> list[Form]:
    """The measurements of each graph on the task's dev set. Raises InputError for a model without a task.

    `text_side`: its files, the Python one first, where there is one.
    """
    if task is None:
        raise InputError(f"{predictor.config.name}: a pre-trained model has no task; leave --evaluate out")
    split = task.task.select_splits[0]
    part = task.splits[split]
    columns = [list(column) for column in part.texts]
    rows = list(zip(*columns, strict=True))[:TIMED]
    side = None if not text_side else imported(text_side[0]).load(text_side[0].parent)
    forms = []
    for name, graph in graphs.items():
        note(f"evaluating {name} on {len(part):,} rows of {split}")
        # One text at a time, as it is timed: int8 scales activations over a whole batch
        outputs = outputs_of(graph, predictor, columns, rows=1)
        size, median = graph.path.stat().st_size, _milliseconds(graph, predictor, columns)
        form = Form(name, size, *scored(task, _answers(outputs)), median)
        if side is not None:
            shipped = size + sum(path.stat().st_size for path in text_side)
            form = replace(form, folder=shipped, text_milliseconds=_text_milliseconds(graph, side, rows))
        forms.append(form)
    return forms


def scored(task: TaskData, answers: np.ndarray) -> tuple[str, str, float | None]:
    """(metric, split, score) of answers (n,) or (n, C) for the rows of the split that selects."""
    split, metric = task.task.select_splits[0], task.task.select_metric
    rows = text_kind(task.task).scores(task.task, SplitOutputs(answers, task.splits[split].labels))
    return metric, split, next(row.value for row in rows if row.name == metric)


def imported(path: Path) -> ModuleType:
    """A generated file as an application imports it, without the bytecode that an import leaves in the folder."""
    module = ModuleType(path.stem)
    module.__file__ = str(path)
    sys.modules[path.stem] = module  # its dataclasses look themselves up there
    exec(compile(path.read_text("utf-8"), str(path), "exec"), module.__dict__)
    return module


def _answers(outputs: np.ndarray) -> np.ndarray:
    """Logits (n, C) as scorers take them: the values (n,) of a regression, else the logits."""
    return outputs[:, 0] if outputs.shape[1] == 1 else outputs


def _milliseconds(graph: GraphFile, predictor: Predictor, columns: Sequence[Sequence[str]]) -> float:
    """The median time of one text in ms."""
    inputs = [
        graph_inputs(predictor, next(predictor.batches([[column[i]] for column in columns], 1)))
        for i in range(min(TIMED, len(columns[0])))
    ]
    return median_milliseconds(graph.run, [(batch,) for batch in inputs])


def _text_milliseconds(graph: GraphFile, side: Any, rows: Sequence[tuple[str, ...]]) -> float:
    """The median time in ms from a text, or a pair, to its logits: the generated text side, then the graph."""

    def answer(*texts: str) -> None:
        side._known.clear()  # as on_device.py does: each word is met for the first time
        side._packed.clear()
        buffers = side.buffers([texts[0] if len(texts) == 1 else texts])
        graph.session.run(
            None,
            {name: np.frombuffer(content, kind).reshape(shape) for name, (content, kind, shape) in buffers.items()},
        )

    return median_milliseconds(answer, rows)


def median_milliseconds(work: Callable[..., object], inputs: Sequence[tuple[Any, ...]]) -> float:
    """The median time in ms of `work` on each of the inputs, after one unmeasured call."""
    work(*inputs[0])
    times = []
    for arguments in inputs:
        began = time.perf_counter()
        work(*arguments)
        times.append(1000.0 * (time.perf_counter() - began))
    return statistics.median(times)


def fact_rows(forms: Sequence[Form]) -> list[MetricRow]:
    """The measurements of forms as rows of metrics, which the experiment's table shows as columns."""
    rows = []
    for form in forms:
        values = {"bytes": form.bytes, "score": form.score, "latency": form.milliseconds}
        if form.text_milliseconds is not None:
            values |= {"folder": form.folder, "text_latency": form.text_milliseconds}
        rows += [MetricRow(f"{form.form}_{name}", value, reason="undefined") for name, value in values.items()]
    return rows


def table_of(forms: Sequence[Form]) -> list[str]:
    """The lines of a markdown table of forms, with scores in percent."""
    first = forms[0]
    has_side = first.text_milliseconds is not None
    rows = [
        f"| form | bytes | {first.metric} on {first.split} | ms a text |" + " folder | ms from text |" * has_side,
        "|---|---:|---:|---:|" + "---:|---:|" * has_side,
    ]
    for form in forms:
        score = "undefined" if form.score is None else percent_text(form.score, 2)
        whole = f" {form.folder:,} | {form.text_milliseconds:.3f} |" if has_side else ""
        rows.append(f"| {form.form} | {form.bytes:,} | {score} | {form.milliseconds:.3f} |{whole}")
    return rows
