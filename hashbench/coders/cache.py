"""Codes of a type table on disk: computed once per (coder, table), memory-mapped by every run that needs them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from filelock import FileLock

from hashbench.atomic import atomic_write
from hashbench.coders.base import Coder
from hashbench.text.types import TypeTable


def type_codes(coder: Coder, types: TypeTable, folder: Path) -> np.ndarray:
    """Codes (n, c) of a table, memory-mapped read-only.

    Several processes may ask at once: one computes, the others wait. A file that is there is whole.
    """
    path = folder / f"codes-{coder.name}-{coder.fingerprint()[:16]}-{types.fingerprint[:16]}.npy"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        with FileLock(f"{path}.lock"):
            if not path.exists():
                with atomic_write(path) as part, part.open("wb") as file:
                    np.save(file, coder.encode_types(types))
    return np.load(path, mmap_mode="r")
