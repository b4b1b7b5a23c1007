"""The tables by name, found by listing this folder: a table is a file that ends in `TABLE`.

Files in the folder named by HASHBENCH_TABLES are read in the same way.
"""

from __future__ import annotations

from types import ModuleType

from hashbench.common.listing import by_name, modules_in
from hashbench.results.tables.request import TableFile

EXTRA_FOLDER = "HASHBENCH_TABLES"
OWN = "own"  # the table of an experiment that no other file shows


def table_files() -> dict[str, TableFile]:
    """All tables by name. Raises InputError where two files have one name."""
    return by_name(modules_in("hashbench.results.tables", EXTRA_FOLDER, "tables"), "table", _table_in)


def _table_in(module: ModuleType) -> list[tuple[str, TableFile]]:
    file = getattr(module, "TABLE", None)
    return [(file.name, file)] if isinstance(file, TableFile) else []  # a file without is one that tables share
