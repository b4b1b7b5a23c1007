"""A table as HTML: complete without a script, which only adds sorting and the panel behind each cell."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from hashbench.papers.column import Column
from hashbench.tables import numbers
from hashbench.tables.legend import has_published, legend, notes, row_head
from hashbench.tables.table import Cell, Row, Table, comparable


def table_html(table: Table, name: str) -> str:
    """A table with its legend and notes. `name` is its id, by which the script finds what stands behind its cells."""
    heads = "".join(_head(column, place) for place, column in enumerate(table.columns))
    bodies = "".join(_body(table, section, rows) for section, rows in _sections(table))
    small = [legend(table, best="bold"), *notes(table)]
    caption = f'<caption class="sr">{escape(table.title)}</caption>'
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(table.title)}">'
        f'<table id="{escape(name)}" class="results">{caption}<thead><tr>'
        f'<th scope="col" class="name" aria-sort="none" data-kind="text"><button type="button" class="sort">'
        f"{escape(row_head(table))}</button></th>{heads}</tr></thead>{bodies}</table></div>"
        f'<div class="small">{"".join(f"<p>{escape(line)}</p>" for line in small if line)}</div>'
    )


def _head(column: Column, place: int) -> str:
    sub = f'<span class="sub">{escape(column.subtitle)}</span>' if column.subtitle else ""
    return (
        f'<th scope="col" aria-sort="none" data-column="{place}" data-better="{column.better}">'
        f'<button type="button" class="sort">{escape(column.title or column.name)}{sub}</button></th>'
    )


def _sections(table: Table) -> list[tuple[str, list[tuple[int, Row]]]]:
    """Rows with their place in the table, those of one heading together."""
    found: list[tuple[str, list[tuple[int, Row]]]] = []
    for place, row in enumerate(table.rows):
        if not found or found[-1][0] != row.section:
            found.append((row.section, []))
        found[-1][1].append((place, row))
    return found


def _body(table: Table, section: str, rows: Sequence[tuple[int, Row]]) -> str:
    span = len(table.columns) + 1
    head = (
        f'<tr class="section"><th scope="rowgroup" colspan="{span}"><span>{escape(section)}</span></th></tr>'
        if section
        else ""
    )
    return f"<tbody>{head}{''.join(_row(table, place, row) for place, row in rows)}</tbody>"


def _row(table: Table, place: int, row: Row) -> str:
    settings = f' <span class="sub">{escape(row.settings)}</span>' if row.settings else ""
    indent = " in" if row.title.startswith(" ") else ""
    quiet = "" if row.measured() else " quiet"
    cells = "".join(_cell(table, row.cells[column.name], column) for column in table.columns)
    return (
        f'<tr data-row="{place}" class="{row.kind}{quiet}"><th scope="row" class="name{indent}">'
        f"{escape(row.title.strip())}{settings}</th>{cells}</tr>"
    )


def _cell(table: Table, cell: Cell, column: Column) -> str:
    """Value, spread and interval, published number; a button where a run stands behind it."""
    rank = comparable(cell)
    value = escape(numbers.value(cell, column))
    parts = [f'<span class="v{" best" if cell.best else ""}">{value}</span>' if value else ""]
    spread, interval = numbers.spread(cell, column), numbers.interval(cell, column)
    parts.append(f'<span class="s">{escape(spread)}</span>' if spread else "")
    parts.append(f'<span class="s i">{escape(interval)}</span>' if interval else "")
    if has_published(cell, table):
        marks = f"<sup>{escape(','.join(map(str, cell.marks)))}</sup>" if cell.marks else ""
        parts.append(f'<span class="p">{escape(numbers.printed(cell))}{marks}</span>')
    inside = "".join(parts)
    title = f' title="{escape(cell.reason)}"' if cell.value is None and cell.reason else ""
    ranked = "" if rank is None else f' data-v="{rank!r}"'
    if cell.value is not None:
        inside = f'<button type="button" class="c">{inside}</button>'
    return f"<td{ranked}{title}>{inside}</td>"
