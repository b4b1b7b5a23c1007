"""The tables by name: the suite's, and those of plug-ins. A table is a file that ends in `TABLE`."""

from __future__ import annotations

from hashbench.common.registry import registered
from hashbench.results.tables.request import TableFile

OWN = "own"  # the table of an experiment that no other file shows


def table_files() -> dict[str, TableFile]:
    """All tables by name. Raises InputError where two files have one name."""
    return dict(registered("table"))
