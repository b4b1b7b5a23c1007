"""`hashbench report --robustness`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hashbench.cli.output import print_tables
from hashbench.errors import InputError
from hashbench.rendering.registry import renderers
from hashbench.store.engine import open_store
from hashbench.tables.robustness import robustness_tables


def print_robustness(
    db: str,
    experiment: str | None,
    versus: str | None,
    style: str,
    output: Path | None,
    *,
    asked: bool,
    clash: Sequence[str],
) -> None:
    """Prints what models keep of their scores under noise. Raises InputError for options that do not go together."""
    if not asked:
        raise InputError("report: --versus compares what is kept under noise; add --robustness")
    if style not in renderers():
        known = ", ".join(renderers())
        raise InputError(f"report: --robustness is printed as {known}, not {style}; choose one of these")
    if clash:
        raise InputError(f"report: --robustness has tables of its own; leave out {' and '.join(clash)}")
    tables = robustness_tables(open_store(db, create=False, read_only=True), experiment, versus)
    print_tables(tables, style, output)
