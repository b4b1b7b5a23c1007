"""hashbench: vocabulary-free and hashed input embeddings, trained, measured and tabulated under one recipe.

`hashbench.sweep(file)` carries out an experiment, `hashbench.report(name)` gives its tables, `hashbench.results(db)`
the scores as a tidy pandas table, `hashbench.load(folder)` an exported model.
Nothing heavy is imported before it is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hashbench.deployment.loading import load
    from hashbench.results.read.scores import results
    from hashbench.results.rendering.notebook import report
    from hashbench.running.sweep.notebook import sweep

__version__ = "0.1.0"
__all__ = ["__version__", "load", "report", "results", "sweep"]


PLACES = {
    "load": "hashbench.deployment.loading",
    "report": "hashbench.results.rendering.notebook",
    "results": "hashbench.results.read.scores",
    "sweep": "hashbench.running.sweep.notebook",
}


def __getattr__(name: str) -> object:
    if name not in PLACES:
        raise AttributeError(f"module 'hashbench' has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(PLACES[name]), name)
