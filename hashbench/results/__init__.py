"""What was measured: the read model and its SQL. Called as `hashbench.results(db)`, the scores as a pandas table."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any


class _CallableRoom(ModuleType):
    """Python puts a subpackage in the place of a function of its name: so the subpackage itself can be called."""

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """As `hashbench.results.scores.results`."""
        from hashbench.results.scores import results

        return results(*arguments, **named)


sys.modules[__name__].__class__ = _CallableRoom
