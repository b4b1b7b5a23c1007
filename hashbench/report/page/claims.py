"""The claims that an experiment decides, as rows for the page; none where the claims cannot be decided."""

from __future__ import annotations

from typing import Any

from hashbench.store.engine import Store
from hashbench.store.result import Checkpoint


def claims_of(store: Store, experiment: str, paper: str | None, checkpoint: Checkpoint) -> list[dict[str, Any]]:
    """Nothing yet."""
    return []
