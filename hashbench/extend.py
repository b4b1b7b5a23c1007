"""The one module that a plug-in or a user-defined file imports from: `from hashbench.extend import Embedding`.

`docs/extend.md` has an example of each kind. A name is imported when it is first used: a metric needs no torch.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # for editors and type checkers
    from hashbench.common.errors import InputError
    from hashbench.common.measured import MetricRow
    from hashbench.common.progress import progress
    from hashbench.data.perturbations.base import Perturbation
    from hashbench.data.tasks.base import Task, TaskKind
    from hashbench.data.tasks.blocks import Strict
    from hashbench.data.tasks.kinds.classification import KIND as CLASSIFICATION
    from hashbench.data.tasks.kinds.regression import KIND as REGRESSION
    from hashbench.data.tasks.kinds.tagging import KIND as TAGGING
    from hashbench.data.tasks.text import TextKind
    from hashbench.models.coders.base import Coder
    from hashbench.models.embeddings.base import (
        SPECIALS,
        Batch,
        CodeSpec,
        Embedding,
        EmbeddingSpec,
        EncoderSpec,
        FreeSize,
        HeadSpec,
        ModelSpec,
        OriginSpec,
        Template,
        TextSpec,
        TrainingSpec,
    )
    from hashbench.models.embeddings.neighbours import OverNeighbours
    from hashbench.models.encoders.base import Architecture, Encoder
    from hashbench.models.objectives.base import Head, Objective, TaskHead
    from hashbench.models.text.base import PortablePart, Tokenizer
    from hashbench.models.text.types import DictInterner, Interner
    from hashbench.models.text.unicode import split
    from hashbench.results.papers.paper import Column
    from hashbench.results.plots.base import Plot
    from hashbench.results.plots.sheet import sheet, tip
    from hashbench.results.rendering.registry import Renderer
    from hashbench.results.tables.request import TableFile
    from hashbench.results.tables.table import Cell, Row, Table
    from hashbench.running.runs.base import RunKind
    from hashbench.running.sweep.executors.base import Executor
    from hashbench.running.sweep.executors.registry import ExecutorSpec
    from hashbench.scores.base import Metric, SummedMetric
    from hashbench.store.result import Result

PLACES = {  # name -> module below `hashbench`, and the object's name there where it is another one
    "InputError": "common.errors",
    "MetricRow": "common.measured",
    "progress": "common.progress",
    "Perturbation": "data.perturbations.base",
    "Task": "data.tasks.base",
    "TaskKind": "data.tasks.base",
    "Strict": "data.tasks.blocks",
    "CLASSIFICATION": "data.tasks.kinds.classification:KIND",
    "REGRESSION": "data.tasks.kinds.regression:KIND",
    "TAGGING": "data.tasks.kinds.tagging:KIND",
    "TextKind": "data.tasks.text",
    "Coder": "models.coders.base",
    "SPECIALS": "models.embeddings.base",
    "Batch": "models.embeddings.base",
    "CodeSpec": "models.embeddings.base",
    "Embedding": "models.embeddings.base",
    "EmbeddingSpec": "models.embeddings.base",
    "EncoderSpec": "models.embeddings.base",
    "FreeSize": "models.embeddings.base",
    "HeadSpec": "models.embeddings.base",
    "ModelSpec": "models.embeddings.base",
    "OriginSpec": "models.embeddings.base",
    "Template": "models.embeddings.base",
    "TextSpec": "models.embeddings.base",
    "TrainingSpec": "models.embeddings.base",
    "OverNeighbours": "models.embeddings.neighbours",
    "Architecture": "models.encoders.base",
    "Encoder": "models.encoders.base",
    "Head": "models.objectives.base",
    "Objective": "models.objectives.base",
    "TaskHead": "models.objectives.base",
    "PortablePart": "models.text.base",
    "Tokenizer": "models.text.base",
    "DictInterner": "models.text.types",
    "Interner": "models.text.types",
    "split": "models.text.unicode",
    "Column": "results.papers.paper",
    "Plot": "results.plots.base",
    "sheet": "results.plots.sheet",
    "tip": "results.plots.sheet",
    "Renderer": "results.rendering.registry",
    "TableFile": "results.tables.request",
    "Cell": "results.tables.table",
    "Row": "results.tables.table",
    "Table": "results.tables.table",
    "RunKind": "running.runs.base",
    "Executor": "running.sweep.executors.base",
    "ExecutorSpec": "running.sweep.executors.registry",
    "Metric": "scores.base",
    "SummedMetric": "scores.base",
    "Result": "store.result",
}
__all__ = [
    "Architecture",
    "Batch",
    "CLASSIFICATION",
    "Cell",
    "CodeSpec",
    "Coder",
    "Column",
    "DictInterner",
    "Embedding",
    "EmbeddingSpec",
    "Encoder",
    "EncoderSpec",
    "Executor",
    "ExecutorSpec",
    "FreeSize",
    "Head",
    "HeadSpec",
    "InputError",
    "Interner",
    "Metric",
    "MetricRow",
    "ModelSpec",
    "Objective",
    "OriginSpec",
    "OverNeighbours",
    "Perturbation",
    "Plot",
    "PortablePart",
    "REGRESSION",
    "Renderer",
    "Result",
    "Row",
    "RunKind",
    "SPECIALS",
    "Strict",
    "SummedMetric",
    "TAGGING",
    "Table",
    "TableFile",
    "Task",
    "TaskHead",
    "TaskKind",
    "Template",
    "TextKind",
    "TextSpec",
    "Tokenizer",
    "TrainingSpec",
    "progress",
    "sheet",
    "split",
    "tip",
]


def __getattr__(name: str) -> object:
    if name not in PLACES:
        raise AttributeError(f"module 'hashbench.extend' has no attribute {name!r}")
    module, _, other = PLACES[name].partition(":")
    return getattr(importlib.import_module(f"hashbench.{module}"), other or name)
