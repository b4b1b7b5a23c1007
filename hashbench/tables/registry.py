"""The tables by name, found by listing this folder: a table is a file that ends in `TABLE`.

Files in the folder named by HASHBENCH_TABLES are read in the same way.
"""

from __future__ import annotations

from hashbench.errors import InputError
from hashbench.listing import modules_in
from hashbench.tables.request import TableFile

EXTRA_FOLDER = "HASHBENCH_TABLES"
OWN = "own"  # the table of an experiment that no other file shows


def table_files() -> dict[str, TableFile]:
    """All tables by name. Raises InputError where two files have one name."""
    files: dict[str, TableFile] = {}
    places: dict[str, str | None] = {}
    for module in modules_in("hashbench.tables", EXTRA_FOLDER, "tables"):
        file = getattr(module, "TABLE", None)
        if not isinstance(file, TableFile):
            continue  # a file that tables share
        if file.name in files:
            raise InputError(f"{module.__file__}: table {file.name!r} is already in {places[file.name]}; rename it")
        files[file.name], places[file.name] = file, module.__file__
    return files
