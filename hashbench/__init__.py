"""hashbench: vocabulary-free and hashed input embeddings, trained, measured and tabulated under one recipe.

`hashbench.results(db)` gives the measured results as a tidy pandas table, `hashbench.load(folder)` an exported model.
Nothing heavy is imported before it is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hashbench.export.loading import load
    from hashbench.results.scores import results

__version__ = "0.1.0"
__all__ = ["__version__", "load", "results"]


def __getattr__(name: str) -> object:
    if name == "results":
        from hashbench.results.scores import results

        return results
    if name == "load":
        from hashbench.export.loading import load

        return load
    raise AttributeError(f"module 'hashbench' has no attribute {name!r}")
