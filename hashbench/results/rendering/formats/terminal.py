"""A table for a terminal, by rich: as many columns side by side as fit, the rest in further blocks below."""

from __future__ import annotations

import io
import textwrap
from collections.abc import Iterator, Sequence
from copy import deepcopy
from itertools import groupby

from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.table import Table as Grid
from rich.text import Text

from hashbench.results.papers.paper import Column
from hashbench.results.rendering.registry import Renderer
from hashbench.results.rendering.rows import LISTING, aligned
from hashbench.results.tables import numbers
from hashbench.results.tables.numbers import has_published, legend, notes, row_head
from hashbench.results.tables.table import SCORES, Cell, Row, Table

GAP = 2  # blanks between columns: one of padding, one that the frame keeps for a divider
NARROWEST = 40  # columns; below this nothing can be laid out
# A table of words: columns before each sentence, columns of the mark among them, and the narrowest page.
SENTENCE_INDENT, MARK_COLUMNS, NARROWEST_PAGE = 22, 14, 60
TONES = {"good": "32", "bad": "31", "open": "33", "none": "2"}  # ANSI


def render_text(table: Table, *, width: int, color: bool) -> str:
    """The table with legend, notes and provenance. `color`: ANSI bold and dim; without it `*` marks the best."""
    file = io.StringIO()
    # In a notebook rich would show the text by itself, whatever the file.
    console = Console(
        file=file, force_jupyter=False, width=max(width, NARROWEST), force_terminal=color, no_color=not color,
        color_system="standard" if color else None, legacy_windows=False, highlight=False, emoji=False, markup=False,
    )  # fmt: skip
    console.print(Text(table.title, style="bold"))
    _warn(console, table.warnings)
    for block, stacked in _blocks(table, console.width, starred=not color):
        console.print()
        for grid in _grids(table, block, stacked=stacked, starred=not color):
            console.print(grid)
    if table.warnings and len(table.rows) > 3:  # a short table is seen whole
        console.print()
        _warn(console, table.warnings)
    _under(console, table, starred=not color)
    return "\n".join(line.rstrip() for line in file.getvalue().splitlines()) + "\n"


def _warn(console: Console, warnings: Sequence[str]) -> None:
    for warning in warnings:
        console.print(Text(f"!! {warning}", style="bold red"))


def _blocks(table: Table, width: int, *, starred: bool) -> list[tuple[list[Column], bool]]:
    """Blocks of columns that fit the width, each with True if spreads are below values to save width."""
    room = width - _width_of_names(table) - GAP
    columns = list(table.columns)
    if sum(_width(table, column, stacked=False, starred=starred) + GAP for column in columns) <= room + GAP:
        return [(columns, False)]
    needs = [_width(table, column, stacked=True, starred=starred) + GAP for column in columns]
    if sum(needs) <= room + GAP:
        return [(columns, True)]
    blocks: list[tuple[list[Column], bool]] = []
    free = 0
    for column, need in zip(columns, needs, strict=True):
        # Where columns do not fit side by side, scores are in other blocks than sizes and times.
        mixed = bool(blocks) and (column.measure in SCORES) != (blocks[-1][0][-1].measure in SCORES)
        if not blocks or need > free + GAP or mixed:
            blocks.append(([], True))
            free = room
        blocks[-1][0].append(column)
        free -= need
    return blocks


def _width(table: Table, column: Column, *, stacked: bool, starred: bool) -> int:
    """The width of a column's widest line, in characters."""
    cells = [row.cells[column.name] for row in table.rows]
    lines = [line for cell in cells for line in _lines(cell, column, table, stacked=stacked, starred=starred)]
    return max(len(column.title), len(column.subtitle), *(len(line.plain) for line in lines))


def _lines(cell: Cell, column: Column, table: Table, *, stacked: bool, starred: bool) -> list[Text]:
    """The lines of one cell: value, spread (on the value's line unless `stacked`), interval, published number."""
    star = "*" if cell.best and starred else ""
    value = Text(star + numbers.value(cell, column), style="bold" if cell.best else "")
    if cell.value is None:
        value.stylize("dim")
    spread, interval = numbers.spread(cell, column, table), numbers.interval(cell, column)
    lines = [value] if value.plain else []
    if spread and stacked:
        lines.append(Text(spread, style="dim"))
    elif spread:
        value.append(f" {spread}", style="not bold dim")
    if interval:
        lines.append(Text(interval, style="dim"))
    if has_published(cell, table):
        lines.append(Text(f"[{numbers.printed(cell)}]{numbers.marks(cell)}", style="cyan"))
    elif cell.marks:
        value.append(numbers.marks(cell))
    return lines


def _grids(table: Table, columns: Sequence[Column], *, stacked: bool, starred: bool) -> Iterator[Grid | Text]:
    """The grids that print one block of columns with the rows' names: its head, then headings and rows of sections."""
    empty = Grid(box=box.SIMPLE_HEAD, padding=(0, GAP - 1, 0, 0), pad_edge=False, show_edge=False, header_style="bold")
    empty.add_column(row_head(table), no_wrap=True, overflow="fold", width=_width_of_names(table))
    for column in columns:
        head = f"{column.title}\n{column.subtitle}" if any(other.subtitle for other in columns) else column.title
        width = _width(table, column, stacked=stacked, starred=starred)
        empty.add_column(head, justify="right", no_wrap=True, width=width)
    yield empty
    for section, rows in groupby(table.rows, key=lambda row: row.section):
        if section:
            yield Text(section, style="italic bold")
        grid = deepcopy(empty)
        grid.show_header = False
        for row in rows:
            name = Text(_name(row), style="" if row.measured() else "dim")
            cells = [(row.cells[column.name], column) for column in columns]
            lines = (_lines(*cell, table, stacked=stacked, starred=starred) for cell in cells)
            grid.add_row(name, *(Text("\n").join(parts) for parts in lines))
        yield grid


def _width_of_names(table: Table) -> int:
    """The width of the first column in characters. Headings may be wider, since each is alone on its line."""
    return max(len(name) for name in (row_head(table), *map(_name, table.rows)))


def _name(row: Row) -> str:
    """The row's title, followed by the settings that tell it from other rows of the model."""
    return row.title + (f" ({row.settings})" if row.settings else "")


def _under(console: Console, table: Table, *, starred: bool) -> None:
    """Prints legend, notes, footnotes and provenance."""
    console.print()
    console.print(Text(legend(table, best="*" if starred else "bold"), style="dim"))
    for line in notes(table):
        console.print(Text(line, style="dim"))
    facts = Grid(box=None, show_header=False, padding=(0, 2, 0, 0), pad_edge=False)
    facts.add_column(no_wrap=True, style="bold")
    facts.add_column()
    for what, value in table.provenance:
        facts.add_row(what, Text(value))
    if table.provenance:
        console.print(Padding(facts, (1, 0, 0, 0)))


def _listing(table: Table, width: int, color: bool) -> str:
    """A table of words (claims) as text: the first two cells of a row on a line, its sentences below."""
    width = max(width, NARROWEST_PAGE)

    def wrapped(text: str, indent: int = 0, further: int = 0) -> list[str]:
        after = " " * (indent + further)
        return textwrap.wrap(text, width, initial_indent=" " * indent, subsequent_indent=after, break_on_hyphens=False)

    lines, section = wrapped(table.title), ""
    lines += [line for warning in table.warnings for line in wrapped(f"!! {warning}", 0, 3)]
    lines += ["", *(line for text in table.lead for line in wrapped(text, 0, 2))] if table.lead else []
    for row in table.rows:
        if row.section != section:
            section = row.section
            lines += ["", *wrapped(section, 0, 4)]
        if row.title:
            name = row.title.removeprefix(section.partition(" ")[0])  # the heading has it already
            first, second = (row.cells[column.name] for column in table.columns[:2])
            mark = first.text.ljust(MARK_COLUMNS)
            mark = f"\x1b[{TONES[first.tone]}m{mark}\x1b[0m" if color and first.tone else mark
            statement = wrapped(second.text, SENTENCE_INDENT)
            if len(first.text) < MARK_COLUMNS:
                mark, statement = mark + statement[0].lstrip(), statement[1:]
            lines += [f"  {name:4s}  {mark}", *statement]
        lines += [line for detail in row.details for line in wrapped(detail, SENTENCE_INDENT, 0 if row.title else 4)]
    lines += ["", *(line for note in notes(table) for line in wrapped(note) or [""]), ""]
    head = max((len(what) for what, _ in table.provenance), default=0) + 2
    for what, value in table.provenance:
        first_line, *further = wrapped(value, head)
        lines += [what.ljust(head) + first_line.lstrip(), *further]
    return "\n".join(lines).rstrip("\n") + "\n"


def _plain(table: Table) -> str:
    """A listing as text: a line for each row, as long as it is, so that `grep` finds whole rows."""
    heads = [table.head, *(column.name for column in table.columns)]
    rows = [[row.title, *(row.cells[column.name].text for column in table.columns)] for row in table.rows]
    return "\n".join(aligned([heads, *rows])) + "\n"


def _text(tables: Sequence[Table], width: int, color: bool) -> str:
    return "\n".join(
        _plain(table) if table.number == LISTING
        else _listing(table, width, color) if row_head(table) == "claim"
        else render_text(table, width=width, color=color)
        for table in tables
    )  # fmt: skip


RENDERERS = (Renderer("text", _text, place=0),)
