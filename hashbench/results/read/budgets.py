"""The budgets of embedding parameters of an experiment, and the budget of each of its models.

A model at one of several budgets is called NAME-0.23M. The record of the sweep decides whether a name of this form has
one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hashbench.common.showing import BUDGET_TOLERANCE, amount


@dataclass(frozen=True)
class RecordedBudgets:
    """The parameter budgets of an experiment's embeddings, and the models to which its file gives other budgets."""

    sizes: tuple[int, ...]  # of the experiment or of one of its models
    named: Mapping[str, int | None]  # entry -> its own budget where that is a single one
    general: tuple[int, ...] = ()  # the experiment's, for all models

    @property
    def only(self) -> int | None:
        """The experiment's budget where it has a single one, which no name shows; else None."""
        return self.general[0] if len(self.general) == 1 else None

    def of(self, label: str, parameters: float | None = None) -> tuple[str, int | None]:
        """A model's name without the suffix of its budget, and the budget; None where it was made for none.

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
    """The budgets in an experiment's stored config.

    >>> budgets = recorded_budgets({"budget": {"embedding_parameters": [800_000, 2_000_000]}, "models": ["x-2M", "k2"]})
    >>> budgets.of("k2-2M"), budgets.of("x-2M"), budgets.of("x-2M-0.8M")
    (('k2', 2000000), ('x-2M', None), ('x-2M', 800000))
    """
    entries: list[Mapping[str, Any]] = [
        {"name": entry} if isinstance(entry, str) else entry for entry in config.get("models", ())
    ]
    own = {str(entry["name"]): _sizes(entry.get("budget")) for entry in entries}
    general = _sizes(config.get("budget"))
    sizes = {size for of in (general, *own.values()) for size in of}
    return RecordedBudgets(
        tuple(sorted(sizes)),
        {name: of_entry[0] if len(of_entry) == 1 else None for name, of_entry in own.items()},
        tuple(general),
    )


def _sizes(budget: Mapping[str, Any] | None) -> list[int]:
    """The numbers of parameters in a `budget` block, which has one number or a list."""
    numbers = budget["embedding_parameters"] if budget else []
    return list(numbers) if isinstance(numbers, list | tuple) else [numbers]
