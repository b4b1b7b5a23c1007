"""hashbench: vocabulary-free and hashed input embeddings, trained, measured and tabulated under one recipe.

`hashbench.sweep(file)` carries out an experiment, `hashbench.report(name)` gives its tables, `hashbench.results(db)`
the scores as a tidy pandas table, `hashbench.load(folder)` an exported model. `hashbench.module(file, ...)` and
`hashbench.datamodule(file, ...)` are a training for Lightning's own Trainer.
Nothing heavy is imported before it is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hashbench.deployment.loading import load
    from hashbench.results.read.scores import results
    from hashbench.results.rendering.notebook import report
    from hashbench.running.sweep.notebook import datamodule, module, sweep

__version__ = "0.1.0"
__all__ = ["__version__", "datamodule", "load", "module", "report", "results", "sweep"]


PLACES = {
    "datamodule": "hashbench.running.sweep.notebook",
    "load": "hashbench.deployment.loading",
    "module": "hashbench.running.sweep.notebook",
    "report": "hashbench.results.rendering.notebook",
    "results": "hashbench.results.read.scores",
    "sweep": "hashbench.running.sweep.notebook",
}


def __getattr__(name: str) -> object:
    if name not in PLACES:
        raise AttributeError(f"module 'hashbench' has no attribute {name!r}")
    from hashbench.common.extras import required

    return getattr(required(PLACES[name]), name)
