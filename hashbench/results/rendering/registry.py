"""The formats in which tables are printed, found by listing the folder `formats` and one of the user's own."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

from hashbench.common.errors import InputError, near_match
from hashbench.common.listing import modules_in
from hashbench.common.showing import printable_parts
from hashbench.results.tables.table import Table

EXTRA_FOLDER = "HASHBENCH_FORMATS"  # of formats of one's own
WIDTH = 100  # columns where there is no terminal to ask


@dataclass(frozen=True)
class Renderer:
    """One format. `render` takes the tables, the columns of the terminal, and whether it shows colours."""

    name: str
    render: Callable[[Sequence[Table], int, bool], str]
    rows_only: bool = False  # for programs: what must be said of the data has no place in it
    place: int = 99  # in lists of the formats


@cache
def renderers() -> dict[str, Renderer]:
    """All formats by name."""
    modules = modules_in("hashbench.results.rendering.formats", EXTRA_FOLDER, "formats")
    listed: list[Renderer] = [renderer for module in modules for renderer in module.RENDERERS]
    return {renderer.name: renderer for renderer in sorted(listed, key=lambda renderer: renderer.place)}


def find_renderer(name: str) -> Renderer:
    """The format of a name. Raises InputError with the nearest names."""
    return renderers()[known_format(name)]


def known_format(name: str, others: Sequence[str] = ()) -> str:
    """The name of a format as it is listed, here or in `others`; case does not matter.

    Raises InputError with the nearest names.
    """
    known = [*renderers(), *others]
    matching = [each for each in known if each == name] or [each for each in known if each.lower() == name.lower()]
    if not matching:
        raise InputError(f"--format: no format {name!r}{near_match(name, known)}; there are: {', '.join(known)}")
    return matching[0]


def render(tables: Sequence[Table], format: str = "text", *, width: int | None = None, color: bool = False) -> str:
    """All tables in one format, as one text that ends in a line feed. Raises InputError for an unknown format.

    Control characters, of names and reasons that a database of others holds, are written out.
    `width`: columns of the terminal, asked for if None.
    """
    columns = width or shutil.get_terminal_size((WIDTH, 24)).columns
    return find_renderer(format).render([printable_parts(table) for table in tables], columns, color)
