"""Built-in data: eight toy tasks shaped like GLUE's, and a corpus of the same language; a first sweep needs no others.

They were generated once. In every task words decide, with noise: sentiment words in sst2, stray particles in cola, and
in the tasks with pairs the overlap of the two texts together with words of contrast, doubt or answer. Such scores say
that the machinery works, and nothing else.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from types import MappingProxyType
from typing import Any

from hashbench.data.sources.files import Cells
from hashbench.data.sources.fingerprints import digest

CORPUS = "builtin"
NOTE = "built-in data: a generated toy language; these are not GLUE scores"
TASKS_FILE, CORPUS_FILE = "builtin_tasks.json.gz", "builtin_corpus.json.gz"  # task -> split -> column -> cells; texts


@dataclass(frozen=True)
class BuiltinTable:
    """One split of a built-in task."""

    task: str
    split: str

    @property
    def where(self) -> str:
        """Task and split, as messages name them."""
        return f"built-in {self.task} {self.split}"

    def fingerprint(self) -> str:
        """SHA-256 (hex) of the cells."""
        return digest("builtin", self.task, self.split, json.dumps(dict(task_table(self.task, self.split))))

    def n_rows(self) -> int:
        """The number of rows."""
        return len(task_table(self.task, self.split)["idx"])

    def read(self, columns: Sequence[str], notes: list[str] | None = None) -> dict[str, Cells]:
        """The cells of the requested columns by name; nothing is odd in them."""
        table = task_table(self.task, self.split)
        return {name: list(table[name]) for name in columns}

    def class_names(self, column: str) -> tuple[str, ...]:
        """(), since the tasks themselves name their classes."""
        return ()


@lru_cache(maxsize=32)
def task_table(task: str, split: str) -> Mapping[str, tuple[object, ...]]:
    """Columns of a split: the texts, label and idx, as GLUE calls them. All callers share one; none can change it."""
    columns = {name: tuple(cells) for name, cells in _shipped(TASKS_FILE)[task][split].items()}
    return MappingProxyType({**columns, "idx": tuple(range(len(columns["label"])))})


@lru_cache(maxsize=1)
def corpus() -> tuple[str, ...]:
    """The documents of the built-in corpus."""
    return tuple(_shipped(CORPUS_FILE))


def corpus_fingerprint() -> str:
    """SHA-256 (hex) of the texts of the built-in corpus.

    Computed at each call, in milliseconds: a remembered one could be of other texts.
    """
    return digest("builtin corpus", *corpus())


@lru_cache(maxsize=1)
def _shipped(file: str) -> Any:
    return json.loads(gzip.decompress(resources.files("hashbench.data.sources").joinpath(file).read_bytes()))
