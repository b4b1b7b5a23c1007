"""Codes of a type table on disk: computed once per (coder, table), memory-mapped by every run that needs them."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from hashbench.common.once import make_once
from hashbench.models.coders.base import Coder
from hashbench.models.text.types import TypeTable


def type_codes(coder: Coder, types: TypeTable, folder: Path) -> np.ndarray:
    """Codes (n, c) of a table, memory-mapped read-only.

    Several processes may ask at once: one computes, the others wait. A damaged file is computed again.
    """
    path = folder / f"codes-{coder.name}-{coder.fingerprint()[:16]}-{types.fingerprint[:16]}.npy"

    def build(part: Path) -> None:
        with part.open("wb") as file:
            np.save(file, coder.encode_types(types))

    return np.load(make_once(path, build), mmap_mode="r")
