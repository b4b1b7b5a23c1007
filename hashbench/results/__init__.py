"""From the store to tables, claims, figures and pages. `hashbench.results(db)` returns the scores as a pandas table."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd


class _CallableResults(ModuleType):
    """The package, which can be called: Python puts a subpackage in the place of a function of its name."""

    def __call__(self, *arguments: object, **named: object) -> pd.DataFrame:
        from hashbench.results.read.scores import results

        return results(*arguments, **named)  # type: ignore[arg-type]


sys.modules[__name__].__class__ = _CallableResults
