"""The one module that a plug-in or a user-defined file imports from: `from hashbench.extend import Embedding`.

`docs/extend.md` has an example of each kind. A name is imported when it is first used: a metric needs no torch.
"""

from __future__ import annotations

import ast
import inspect
import sys
from typing import TYPE_CHECKING

from hashbench.common.extras import required

if TYPE_CHECKING:  # the one list of names: type checkers read it, and so does `_places`
    from hashbench.common.errors import InputError as InputError
    from hashbench.common.measured import MetricRow as MetricRow
    from hashbench.common.progress import progress as progress
    from hashbench.data.perturbations.base import Perturbation as Perturbation
    from hashbench.data.tasks.base import Task as Task
    from hashbench.data.tasks.base import TaskKind as TaskKind
    from hashbench.data.tasks.blocks import Strict as Strict
    from hashbench.data.tasks.kinds.classification import KIND as CLASSIFICATION  # noqa: F401
    from hashbench.data.tasks.kinds.labels import KIND as LABELS  # noqa: F401
    from hashbench.data.tasks.kinds.regression import KIND as REGRESSION  # noqa: F401
    from hashbench.data.tasks.kinds.tagging import KIND as TAGGING  # noqa: F401
    from hashbench.data.tasks.text import TextKind as TextKind
    from hashbench.models.coders.base import Coder as Coder
    from hashbench.models.embeddings.base import SPECIALS as SPECIALS
    from hashbench.models.embeddings.base import Batch as Batch
    from hashbench.models.embeddings.base import CodeSpec as CodeSpec
    from hashbench.models.embeddings.base import Embedding as Embedding
    from hashbench.models.embeddings.base import EmbeddingSpec as EmbeddingSpec
    from hashbench.models.embeddings.base import EncoderSpec as EncoderSpec
    from hashbench.models.embeddings.base import FreeSize as FreeSize
    from hashbench.models.embeddings.base import HeadSpec as HeadSpec
    from hashbench.models.embeddings.base import ModelSpec as ModelSpec
    from hashbench.models.embeddings.base import OriginSpec as OriginSpec
    from hashbench.models.embeddings.base import Template as Template
    from hashbench.models.embeddings.base import TextSpec as TextSpec
    from hashbench.models.embeddings.base import TrainingSpec as TrainingSpec
    from hashbench.models.embeddings.neighbours import OverNeighbours as OverNeighbours
    from hashbench.models.encoders.base import Architecture as Architecture
    from hashbench.models.encoders.base import Encoder as Encoder
    from hashbench.models.objectives.base import Head as Head
    from hashbench.models.objectives.base import Objective as Objective
    from hashbench.models.objectives.base import TaskHead as TaskHead
    from hashbench.models.text.base import PortablePart as PortablePart
    from hashbench.models.text.base import Tokenizer as Tokenizer
    from hashbench.models.text.types import DictInterner as DictInterner
    from hashbench.models.text.types import Interner as Interner
    from hashbench.models.text.unicode import split as split
    from hashbench.results.papers.paper import Column as Column
    from hashbench.results.plots.base import Plot as Plot
    from hashbench.results.plots.base import tip as tip
    from hashbench.results.plots.sheet import sheet as sheet
    from hashbench.results.rendering.registry import Renderer as Renderer
    from hashbench.results.tables.request import TableFile as TableFile
    from hashbench.results.tables.table import Cell as Cell
    from hashbench.results.tables.table import Row as Row
    from hashbench.results.tables.table import Table as Table
    from hashbench.running.runs.base import RunKind as RunKind
    from hashbench.running.sweep.executors import Executor as Executor
    from hashbench.running.sweep.executors import ExecutorSpec as ExecutorSpec
    from hashbench.running.sweep.local import LocalExecutor as LocalExecutor
    from hashbench.scores.base import Metric as Metric
    from hashbench.scores.base import SummedMetric as SummedMetric
    from hashbench.store.result import Result as Result


def _places() -> dict[str, tuple[str, str]]:
    """Name -> the module that has it, and its name there, as the imports above list them."""
    statements = ast.parse(inspect.getsource(sys.modules[__name__])).body
    imports = next(node.body for node in statements if isinstance(node, ast.If))
    return {
        alias.asname or alias.name: (str(node.module), alias.name)
        for node in imports
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


PLACES = _places()
__all__ = [*PLACES]


def __getattr__(name: str) -> object:
    if name not in PLACES:
        raise AttributeError(f"module 'hashbench.extend' has no attribute {name!r}")
    module, place = PLACES[name]
    return getattr(required(module), place)
