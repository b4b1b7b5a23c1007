"""Tables in GitHub's markdown and in LaTeX."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hashbench.results.papers.paper import Column
from hashbench.results.rendering.registry import Renderer
from hashbench.results.tables import numbers
from hashbench.results.tables.numbers import has_published, legend, notes, row_head
from hashbench.results.tables.table import Cell, Row, Table

MARKDOWN_ESCAPES = str.maketrans({**{mark: f"\\{mark}" for mark in "*_[]|`"}, "<": "&lt;"})
LATEX_ESCAPES = str.maketrans({
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "±": r"$\pm$", "–": "--", "·": r"$\cdot$", "×": r"$\times$",
    **{mark: f"$^{{{digit}}}$" for digit, mark in enumerate("⁰¹²³⁴⁵⁶⁷⁸⁹")},
    **dict(zip(numbers.SIGNS, (r"$^{\dagger}$", r"$^{\ddagger}$", r"$^{\S}$", r"$^{\P}$"), strict=True)),
    "⋅": ",", "<": r"\textless{}", ">": r"\textgreater{}",
})  # fmt: skip


def _markdown(table: Table) -> str:
    lines = [f"### {_md(table.title)}", ""] if table.title else []
    lines += [f"> **{_md(warning)}**  " for warning in table.warnings] + ([""] if table.warnings else [])
    lines += [*(f"{_md(line)}  " for line in table.lead), ""] if table.lead else []
    heads = [_md(" ".join(filter(None, (column.title, column.subtitle)))) for column in table.columns]
    lines.append(f"| {row_head(table)} | " + " | ".join(heads) + " |")
    lines.append("|---" + "".join("|---" if column.measure == "text" else "|---:" for column in table.columns) + "|")
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
    value = _md(cell.text) if cell.text else numbers.value(cell, column)
    value = f"**{value}**" if cell.best or cell.tone else value
    parts = [value, numbers.spread(cell, column, table), numbers.interval(cell, column)]
    if has_published(cell, table):
        parts.append(f"\\[{numbers.printed(cell)}\\]{numbers.marks(cell)}")
    return " ".join(filter(None, parts))


def _md(text: str) -> str:
    """Text with escapes for markdown, so that nothing in it is markup."""
    return text.translate(MARKDOWN_ESCAPES)


def _name(row: Row) -> str:
    return row.title.strip() + (f" ({row.settings})" if row.settings else "")


def _latex(table: Table) -> str:
    """A LaTeX table for the package `booktabs`, resized to the line's width by `graphicx`."""
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
    small = [
        *table.lead,
        legend(table, best="bold"),
        *notes(table),
        *(f"{what}: {value}." for what, value in table.provenance),
    ]
    warnings = "".join(rf"\textbf{{{_tex(warning)}}} " for warning in table.warnings)
    caption = " ".join(_tex(line) for line in [table.title and f"{table.title}.", *small] if line)
    lines += [r"\bottomrule", r"\end{tabular}}", rf"\caption{{{warnings}{caption}}}", r"\end{table}"]
    return "\n".join(lines) + "\n"


def _latex_cell(cell: Cell, column: Column, table: Table) -> str:
    value = _tex(numbers.value(cell, column))
    parts = [rf"\textbf{{{value}}}" if cell.best or cell.tone else value]
    if spread := numbers.spread(cell, column, table):
        parts.append(rf"{{\scriptsize {_tex(spread)}}}")
    if interval := numbers.interval(cell, column):
        parts.append(rf"{{\scriptsize {_tex(interval)}}}")
    if has_published(cell, table):
        parts.append(rf"{{\scriptsize [{_tex(numbers.printed(cell))}]{_tex(numbers.marks(cell))}}}")
    return " ".join(parts)


def _tex(text: str) -> str:
    return text.translate(LATEX_ESCAPES)


def _each(form: Callable[[Table], str]) -> Callable[[Sequence[Table], int, bool], str]:
    """A render function for several tables, which joins those that `form` makes of single ones."""
    return lambda tables, _width, _color: "\n".join(map(form, tables))


RENDERERS = (Renderer("md", _each(_markdown), place=1), Renderer("latex", _each(_latex), place=4))
