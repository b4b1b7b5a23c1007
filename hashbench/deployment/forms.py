"""Further forms of an exported model: ONNX, int8, files for transformers; compared on the dev set of its task.

Measured are bytes, the score, and the time of one text.
"""

from __future__ import annotations

import json
import shutil
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import Any

import numpy as np

from hashbench.common.atomic import replace_text
from hashbench.common.errors import InputError
from hashbench.common.extras import required
from hashbench.common.measured import MetricRow
from hashbench.common.showing import percent_text
from hashbench.data.tasks.base import SplitOutputs
from hashbench.data.tasks.text import text_kind
from hashbench.data.tasks.text_data import TaskData
from hashbench.deployment.description import CARD
from hashbench.deployment.library_folder import checked_line, refuse_missing, write_library_files
from hashbench.deployment.loading import Predictor, load
from hashbench.deployment.onnx_graph import (
    FLOAT,
    INT8,
    TOLERANCE,
    GraphFile,
    graph_inputs,
    is_near,
    largest_difference,
    outputs_of,
    write_graph,
    write_int8,
)
from hashbench.deployment.text_side import (
    LANGUAGES,
    PYTHON,
    VALUES,
    VECTORS,
    size_of,
    texts_compared,
    write_text_side,
    write_vectors,
)
from hashbench.results.rendering.rows import json_text
from hashbench.store.engine import open_store
from hashbench.store.result import add_metrics
from hashbench.store.status import find_run

TIMED = 200  # texts, one at a time


@dataclass(frozen=True)
class Form:
    """The measurements of one form. Times are medians over texts, one at a time, on one thread.

    `milliseconds`: from ready inputs to logits. `folder`, `data` and `text_milliseconds`, None without a text side:
    bytes of all that is shipped, those without code, and the time from a text, whose words are all new to the text
    side, to its logits.
    """

    form: str
    bytes: int
    metric: str
    split: str
    score: float | None
    milliseconds: float
    folder: int | None = None
    text_milliseconds: float | None = None
    data: int | None = None


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
            code = sum(path.stat().st_size for path in text_side if path.name in LANGUAGES)
            time = _text_milliseconds(graph, side, rows)
            form = replace(form, folder=shipped, text_milliseconds=time, data=shipped - code)
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
            values |= {"folder": form.folder, "data": form.data, "text_latency": form.text_milliseconds}
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


DEVICE, FACTS = "onnx", "deployment.json"  # the folder that is shipped, and what was measured of it
LABELS = "labels.json"  # of a folder without a text side: names of the classes
CARD_TITLE = "## On a device"
INT8_NOTE = (
    "The int8 graph scales activations over a whole batch, so the answer for a text depends a little on the other "
    "texts of its batch. Give it one text at a time for answers that repeat; scores here are measured so."
)
PACKAGES = ("onnx", "onnxscript", "onnxruntime")  # that a graph needs


@dataclass(frozen=True)
class Wishes:
    """The forms to add to an export. `int8` is in place of float32; `evaluate` compares both on the dev set."""

    onnx: bool = False
    int8: bool = False
    transformers: bool = False
    evaluate: bool = False

    def checked(self) -> Wishes:
        """The object itself. Raises InputError for a form that needs another one, and for a missing package."""
        for name in ("int8", "evaluate"):
            if getattr(self, name) and not self.onnx:
                raise InputError(f"export --{name}: needs --onnx; add it")
        for package in PACKAGES if self.onnx else ():
            required(package)
        if self.transformers:
            refuse_missing()
        return self


def deploy(folder: Path, wishes: Wishes, task: TaskData | None, note: Callable[[str], None]) -> list[str]:
    """Adds the requested forms to a folder that this process has just exported; returns lines that describe them.

    `task`: whose dev set is evaluated. Raises InputError where a package is missing or the model cannot be deployed;
    the folder is removed then, so that the same command without what cannot be made finds its place free.
    """
    try:
        # A user-defined embedding has already run to write the folder: its code is trusted.
        return _added(folder, wishes, task, note, load(folder, trust_code=True))
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _added(
    folder: Path, wishes: Wishes, task: TaskData | None, note: Callable[[str], None], predictor: Predictor
) -> list[str]:
    lines: list[str] = []
    if wishes.onnx:
        device = folder / DEVICE
        device.mkdir()
        lines, facts = _write_device(predictor, device, wishes, task, note)
        replace_text(folder / FACTS, json_text(facts))
    if wishes.transformers:
        others = write_library_files(predictor, folder)
        note("loading the folder in a new process")
        lines += [checked_line(predictor, folder), *others]
    return lines


def stored_forms(db: str, prefix: str, folder: Path) -> str:
    """Stores the measurements of an export's forms in the database; returns a line that says so."""
    facts = json.loads((folder / FACTS).read_text(encoding="utf-8"))
    try:
        store = open_store(db, create=False)
        add_metrics(store, find_run(store, prefix), fact_rows([Form(**form) for form in facts["evaluated"]]))
    except InputError as error:  # the folder is made: a database that cannot be written is no reason to lose it
        return f"bytes, scores and times stand in {folder / FACTS} alone: {error}"
    return f"{db}: bytes, scores and times of the forms are columns of hashbench report"


def _write_device(
    predictor: Predictor, device: Path, wishes: Wishes, task: TaskData | None, note: Callable[[str], None]
) -> tuple[list[str], dict[str, Any]]:
    """Writes the ONNX graph and the text side to `device`; returns lines that describe them, and facts for programs."""
    with TemporaryDirectory() as scratch:
        float32, int8 = Path(scratch) / FLOAT, Path(scratch) / INT8
        note("tracing the model")
        write_graph(predictor, float32)
        graphs = {"float32": GraphFile.open(float32)}
        difference = checked_difference(graphs["float32"], predictor)
        if wishes.int8:
            write_int8(float32, int8)
            graphs["int8"] = GraphFile.open(int8)
        side, refused = _text_side(predictor, device)
        forms = evaluated(predictor, graphs, task, note, side) if wishes.evaluate else []
        kept = int8 if wishes.int8 else float32
        (device / kept.name).write_bytes(kept.read_bytes())
        sizes = {kind: graph.path.stat().st_size for kind, graph in graphs.items()}
    write_vectors(predictor, device.parent / VECTORS)
    if refused:  # else the settings of the text side have them
        (device / LABELS).write_text(json_text({"labels": list(predictor.labels)}), encoding="utf-8")
    shipped = [device / kept.name, *(side or [device / LABELS])]
    files = ", ".join(f"{path.name} {path.stat().st_size:,}" for path in shipped)
    lines = [
        f"ship {device}: {size_of(shipped):,} bytes in all: {files}",
        f"label names: {LABELS if refused else VALUES}; float32 logits within {difference:.1e} of torch's",
        *([refused] if refused else []),
    ]
    lines += table_of(forms) if forms else []
    if forms or wishes.int8:
        _add_to_card(device.parent, [*table_of(forms), ""] if forms else [], wishes)
    facts = {"difference": difference, "bytes": sizes, "shipped_bytes": size_of(shipped)}
    return lines, {**facts, "evaluated": [vars(form) for form in forms]}


def _text_side(predictor: Predictor, device: Path) -> tuple[list[Path], str]:
    """The files of the text side, the Python one first, or none and why there is none."""
    try:
        written = write_text_side(predictor, device)
    except InputError as error:
        return [], str(error)
    return sorted(written, key=lambda path: path.name != PYTHON), ""


def checked_difference(graph: GraphFile, predictor: Predictor) -> float:
    """The graph's largest difference from torch's logits on test texts. Raises InputError if it is above TOLERANCE."""
    texts = texts_compared(predictor)
    difference = largest_difference(graph, predictor, texts)
    if not is_near(difference, predictor, texts):
        raise InputError(
            f"{predictor.config.name}: not exported: the graph's logits are {difference:.1e} from torch's, more than "
            f"{TOLERANCE}; take another model, or report it"
        )
    return difference


def _add_to_card(folder: Path, table: Sequence[str], wishes: Wishes) -> None:
    """Appends the comparison of forms, if there is one, and what to know of int8 to the model card."""
    card = folder / CARD
    text = card.read_text(encoding="utf-8") if card.is_file() else ""
    lines = [*table, *([INT8_NOTE] if wishes.int8 else [])]
    card.write_text(f"{text}\n{CARD_TITLE}\n\n" + "\n".join(lines).rstrip("\n") + "\n", encoding="utf-8")
