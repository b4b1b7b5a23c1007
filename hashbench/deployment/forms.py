"""Further forms of an exported model: ONNX, int8, files for transformers."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hashbench.common.atomic import replace_text
from hashbench.common.errors import InputError
from hashbench.data.tasks.text_data import TaskData
from hashbench.deployment.description import CARD
from hashbench.deployment.evaluation import Form, evaluated, fact_rows, table_of
from hashbench.deployment.library_check import checked_line, refuse_missing
from hashbench.deployment.library_folder import write_library_files
from hashbench.deployment.loading import Predictor, load
from hashbench.deployment.on_graph import required
from hashbench.deployment.onnx_graph import (
    FLOAT,
    INT8,
    TOLERANCE,
    GraphFile,
    is_near,
    largest_difference,
    write_graph,
    write_int8,
)
from hashbench.deployment.text_side import (
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
