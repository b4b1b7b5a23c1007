"""Adds the experiments and the example database of the repository's top folder to a wheel, the database compressed."""

from __future__ import annotations

import lzma
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PLACE = "hashbench/shipped"  # as hashbench/common/shipped.py reads it


class Shipped(BuildHookInterface):
    """The hook of `[tool.hatch.build.targets.wheel.hooks.custom]`."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Names the files to add. An editable installation reads them where they are."""
        if version == "editable":
            return
        top = Path(self.root)
        packed = Path(tempfile.mkdtemp()) / "example.db.xz"
        # lzma makes it a quarter smaller than the compression of a wheel does
        packed.write_bytes(lzma.compress((top / "results.db.example").read_bytes(), preset=9))
        build_data["force_include"] |= {
            str(top / "experiments"): f"{PLACE}/experiments",
            str(packed): f"{PLACE}/{packed.name}",
        }
