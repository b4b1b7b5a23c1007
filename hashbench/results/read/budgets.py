"""The budgets of embedding parameters that an experiment asked for, and the one that each of its models was made for.

A model at one of several budgets is called NAME-0.23M; a name that only looks so is told by what the sweep recorded.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hashbench.common.showing import BUDGET_TOLERANCE, amount


@dataclass(frozen=True)
class RecordedBudgets:
    """The budgets of an experiment, and the names that its file gives."""

    sizes: tuple[int, ...]  # of the experiment or of one of its models
    named: Mapping[str, int | None]  # entry -> its budget where it has a single one of its own
    only: int | None = None  # the experiment's, where it has a single one: no name shows it

    def of(self, label: str, parameters: float | None = None) -> tuple[str, int | None]:
        """A model's name without its budget, and the budget; None where it was made for none.

        Under a single budget of the experiment, models of one size stay as they are: those of which `parameters`, of
        the embedding, are the budget within 2 % are at it.
        """
        if self.named.get(label):
            return label, self.named[label]
        for size in self.sizes if label not in self.named else ():
            if label.endswith(end := f"-{amount(size)}"):
                return label.removesuffix(end), size
        if self.only and parameters and abs(parameters - self.only) <= BUDGET_TOLERANCE * self.only:
            return label, self.only
        return label, None


def recorded_budgets(config: Mapping[str, Any]) -> RecordedBudgets:
    """The budgets in an experiment's stored keys.

    >>> found = recorded_budgets({"budget": {"embedding_parameters": [800_000, 2_000_000]}, "models": ["x-2M", "k2"]})
    >>> found.of("k2-2M"), found.of("x-2M"), found.of("x-2M-0.8M")
    (('k2', 2000000), ('x-2M', None), ('x-2M', 800000))
    """
    entries: list[Mapping[str, Any]] = [
        {"name": entry} if isinstance(entry, str) else entry for entry in config.get("models", ())
    ]
    own = {str(entry["name"]): _sizes(entry.get("budget")) for entry in entries}
    general = _sizes(config.get("budget"))
    sizes = {size for each in (general, *own.values()) for size in each}
    return RecordedBudgets(
        tuple(sorted(sizes)),
        {name: given[0] if len(given) == 1 else None for name, given in own.items()},
        general[0] if len(general) == 1 else None,
    )


def _sizes(budget: Mapping[str, Any] | None) -> list[int]:
    """A budget's numbers of parameters; it has one or a list of them."""
    given = budget["embedding_parameters"] if budget else []
    return list(given) if isinstance(given, list | tuple) else [given]
