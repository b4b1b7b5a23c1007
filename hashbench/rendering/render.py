"""From tables to markdown, LaTeX, CSV and JSON (the terminal's form is in text.py)."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, get_args

from hashbench.papers.column import Column
from hashbench.rendering.terminal import render_text
from hashbench.tables import numbers
from hashbench.tables.legend import has_published, legend, notes, row_head
from hashbench.tables.table import SIZES, Cell, Row, Table

Format = Literal["text", "md", "csv", "json", "latex"]
FORMATS: tuple[Format, ...] = get_args(Format)
TIDY = (
    "paper", "table", "model", "column", "value", "value_high", "std", "n", "unit", "published", "experiment",
    "encoder",
)  # fmt: skip
MARKDOWN_ESCAPES = str.maketrans({**{mark: f"\\{mark}" for mark in "*_[]|`"}, "<": "&lt;"})
TidyValue = str | float | int | None
LATEX_ESCAPES = str.maketrans({
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "±": r"$\pm$", "–": "--", "·": r"$\cdot$", "×": r"$\times$",
    **{mark: f"$^{{{digit}}}$" for digit, mark in enumerate("⁰¹²³⁴⁵⁶⁷⁸⁹")},
    "⋅": ",", "<": r"\textless{}", ">": r"\textgreater{}",
})  # fmt: skip


def render(tables: Sequence[Table], format: Format, *, width: int = 100, color: bool = False) -> str:
    """All tables in one format, as one text that ends in a line feed."""
    if format == "csv":
        return _csv(tidy(tables))
    if format == "json":
        return json.dumps(tidy(tables), indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    if format == "md":
        return "\n".join(render_markdown(table) for table in tables)
    if format == "latex":
        return "\n".join(render_latex(table) for table in tables)
    return "\n".join(render_text(table, width=width, color=color) for table in tables)


def tidy(tables: Sequence[Table]) -> list[dict[str, TidyValue]]:
    """One row a cell that was measured or published; scores in percent, counts in the published unit.

    Where examples were drawn, a further row `<column>_over_examples` holds the ends of the interval in `value` and
    `value_high` and the number of examples in `n`.
    """
    rows: list[dict[str, TidyValue]] = []
    for table in tables:
        for row in table.rows:
            for column in table.columns:
                cell = row.cells[column.name]
                asked = bool(row.encoder and cell.reason)  # a run was asked for, and has no number
                if cell.value is None and not has_published(cell, table) and not asked:
                    continue
                rows.append(_tidy(table, row, column.name, cell, column))
                if cell.interval is not None:
                    low, high = cell.interval
                    drawn = Cell(value=low, value_high=high, n=cell.n_examples, unit=cell.unit)
                    rows.append(_tidy(table, row, f"{column.name}_over_examples", drawn, column))
    return rows


def _tidy(table: Table, row: Row, name: str, cell: Cell, column: Column) -> dict[str, TidyValue]:
    """One tidy row; a count is in the unit of the published one beside it."""
    published = cell.published if table.published else None
    unit = cell.unit or (published.unit if published else "") or column.unit
    if published and cell.value is not None and {cell.unit, published.unit} <= set(SIZES):
        cell, unit = replace(cell, value=cell.value * SIZES[cell.unit] / SIZES[published.unit]), published.unit
    values: tuple[TidyValue, ...] = (
        table.paper, table.number, row.key or row.model, name, cell.value, cell.value_high, cell.std, cell.n, unit,
        published.value if published else None, table.experiment, row.encoder,
    )  # fmt: skip
    return dict(zip(TIDY, values, strict=True))


def _csv(rows: Sequence[dict[str, TidyValue]]) -> str:
    file = io.StringIO()
    writer = csv.DictWriter(file, TIDY, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return file.getvalue()


def render_markdown(table: Table) -> str:
    """A table in GitHub's markdown."""
    lines = [f"### {_md(table.title)}", ""]
    lines += [f"> **{_md(warning)}**  " for warning in table.warnings] + ([""] if table.warnings else [])
    heads = [_md(" ".join(filter(None, (column.title, column.subtitle)))) for column in table.columns]
    lines.append(f"| {row_head(table)} | " + " | ".join(heads) + " |")
    lines.append("|---" + "|---:" * len(heads) + "|")
    section = ""
    for row in table.rows:
        if row.section != section:
            section = row.section
            lines.append(f"| **{_md(section)}**" + " | " * len(heads) + " |")
        cells = (_markdown_cell(row.cells[column.name], column, table) for column in table.columns)
        lines.append(f"| {_md(_name(row))} | " + " | ".join(cells) + " |")
    small = [legend(table, best="bold"), *notes(table)]
    lines += ["", *(f"{_md(line)}  " for line in small if line), ""]
    lines += [f"- **{_md(what)}**: {_md(value)}" for what, value in table.provenance]
    return "\n".join(lines).rstrip() + "\n"


def _markdown_cell(cell: Cell, column: Column, table: Table) -> str:
    value = numbers.value(cell, column)
    parts = [f"**{value}**" if cell.best else value, numbers.spread(cell, column), numbers.interval(cell, column)]
    if has_published(cell, table):
        parts.append(f"\\[{numbers.printed(cell)}\\]{numbers.marks(cell)}")
    return " ".join(filter(None, parts))


def _md(text: str) -> str:
    """Text in which nothing is read as markup."""
    return text.translate(MARKDOWN_ESCAPES)


def _name(row: Row) -> str:
    return row.title.strip() + (f" ({row.settings})" if row.settings else "")


def render_latex(table: Table) -> str:
    """A table for `booktabs`; resized to the width of the line by `graphicx`."""
    heads = [" ".join(filter(None, (column.title, column.subtitle))) for column in table.columns]
    lines = [r"% needs \usepackage{booktabs,graphicx}", r"\begin{table}[t]", r"\centering"]
    lines += [r"\resizebox{\linewidth}{!}{%", rf"\begin{{tabular}}{{l{'r' * len(heads)}}}", r"\toprule"]
    lines += [" & ".join([row_head(table), *map(_tex, heads)]) + r" \\", r"\midrule"]
    section = ""
    for row in table.rows:
        if row.section != section:
            section = row.section
            lines.append(rf"\multicolumn{{{len(heads) + 1}}}{{l}}{{\textit{{{_tex(section)}}}}} \\")
        cells = [_latex_cell(row.cells[column.name], column, table) for column in table.columns]
        lines.append(" & ".join([_tex(_name(row)), *cells]) + r" \\")
    small = [legend(table, best="bold"), *notes(table), *(f"{what}: {value}." for what, value in table.provenance)]
    warnings = "".join(rf"\textbf{{{_tex(warning)}}} " for warning in table.warnings)
    caption = " ".join(_tex(line) for line in [table.title + ".", *small] if line)
    lines += [r"\bottomrule", r"\end{tabular}}", rf"\caption{{{warnings}{caption}}}", r"\end{table}"]
    return "\n".join(lines) + "\n"


def _latex_cell(cell: Cell, column: Column, table: Table) -> str:
    value = _tex(numbers.value(cell, column))
    parts = [rf"\textbf{{{value}}}" if cell.best else value]
    if spread := numbers.spread(cell, column):
        parts.append(rf"{{\scriptsize {_tex(spread)}}}")
    if interval := numbers.interval(cell, column):
        parts.append(rf"{{\scriptsize {_tex(interval)}}}")
    if has_published(cell, table):
        parts.append(rf"{{\scriptsize [{_tex(numbers.printed(cell))}]{_tex(numbers.marks(cell))}}}")
    return " ".join(parts)


def _tex(text: str) -> str:
    return text.translate(LATEX_ESCAPES)
