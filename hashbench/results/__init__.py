"""Tables, claims, figures and pages from the database. `hashbench.results(db)` returns scores as a pandas table."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd


class _CallableResults(ModuleType):
    """A module type that can be called, since the package `hashbench.results` hides the function of that name."""

    def __call__(self, *arguments: object, **named: object) -> pd.DataFrame:
        from hashbench.results.read.scores import results

        return results(*arguments, **named)  # type: ignore[arg-type]


sys.modules[__name__].__class__ = _CallableResults
