"""The formats in which tables are printed: the suite's, in the folder `formats`, and plug-ins."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hashbench.common.errors import InputError, near_match
from hashbench.common.registry import registered, unreadable
from hashbench.common.showing import printable_parts
from hashbench.results.tables.table import Table

WIDTH = 100  # columns where there is no terminal to ask


@dataclass(frozen=True)
class Renderer:
    """An output format. `render` takes the tables, the terminal's width, and whether it shows colours."""

    name: str
    render: Callable[[Sequence[Table], int, bool], str]
    rows_only: bool = False  # for programs: it has no place for warnings and provenance
    place: int = 99  # in lists of the formats


def renderers() -> dict[str, Renderer]:
    """All formats by name. Raises InputError that names both files of a double name."""
    return dict(sorted(registered("format").items(), key=lambda item: item[1].place))


def find_renderer(name: str) -> Renderer:
    """The format of a name. Raises InputError with the nearest names."""
    return renderers()[known_format(name)]


def known_format(name: str, others: Sequence[str] = ()) -> str:
    """The exact name of a format or of one of `others`, from a name in any case.

    Raises InputError with the nearest names.
    """
    names = [*renderers(), *others]
    matching = [name] if name in names else [other for other in names if other.lower() == name.lower()]
    if not matching:
        hint = f"{near_match(name, names)}; there are: {', '.join(names)}"
        raise InputError(f"--format: no format {name!r}{hint}{unreadable()}")
    return matching[0]


def render(tables: Sequence[Table], format: str = "text", *, width: int | None = None, color: bool = False) -> str:
    """All tables in one format, as one text that ends in a line feed. Raises InputError for an unknown format.

    Control characters, of names and reasons that a database of others holds, are written out.
    `width`: columns; None: as wide as the terminal.
    """
    columns = width or shutil.get_terminal_size((WIDTH, 24)).columns
    return find_renderer(format).render([printable_parts(table) for table in tables], columns, color)
