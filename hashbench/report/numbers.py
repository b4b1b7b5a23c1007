"""How a number is printed: decimals by unit, spread, range, published value."""

from __future__ import annotations

from hashbench.report.rows import Cell, Column, Published

MISSING = "–"
SUPERSCRIPTS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def decimals(value: float, unit: str) -> int:
    """Decimals of a value: one, as the papers print; more where a small time would otherwise vanish.

    >>> decimals(79.54, "percent"), decimals(24.9, "ms/sample"), decimals(0.0421, "ms/sample")
    (1, 1, 3)
    """
    if unit != "ms/sample" or abs(value) >= 10:
        return 1
    return 2 if abs(value) >= 1 else 3


def number(value: float, unit: str) -> str:
    """One value in its unit.

    >>> number(38.60352, "M"), number(2.14, "x"), number(-0.04, "percent"), number(0.0421, "ms/sample")
    ('38.6M', '2.1x', '0.0', '0.042')
    """
    text = f"{value:.{decimals(value, unit)}f}"
    if float(text) == 0:
        text = text.removeprefix("-")  # -0.0 says nothing
    return text + (unit if unit in ("K", "M", "x") else "")


def span(low: float, high: float | None, unit: str) -> str:
    """A value, or a range of values that print differently.

    >>> span(1.8, 4.6, "x"), span(2.0, None, "x"), span(2.0, 2.01, "x")
    ('1.8–4.6x', '2.0x', '2.0x')
    """
    if high is None or number(low, unit) == number(high, unit):
        return number(low, unit)
    return f"{number(low, unit).removesuffix(unit)}–{number(high, unit)}"


def value(cell: Cell, column: Column) -> str:
    """The measured mean (or range) of a cell, or the sign of a missing one."""
    if cell.value is None:
        return MISSING
    return span(cell.value, cell.value_high, cell.unit or column.unit)


def spread(cell: Cell, column: Column) -> str:
    """Standard deviation over seeds and number of runs: '±0.4 (3)', '(1)', '(2/3)' while a run is missing."""
    if cell.value is None or cell.n is None:
        return ""
    runs = f"({cell.n})" if cell.planned in (None, cell.n) else f"({cell.n}/{cell.planned})"
    return runs if cell.std is None else f"±{number(cell.std, cell.unit or column.unit)} {runs}"


def interval(cell: Cell, column: Column) -> str:
    """The 95 % interval over examples, or nothing."""
    if cell.interval is None:
        return ""
    low, high = (number(end, cell.unit or column.unit) for end in cell.interval)
    return f"{low}..{high}"


def printed(published: Published | None) -> str:
    """A paper's number as printed, with its deviation, or nothing."""
    if published is None:
        return ""
    unit = published.unit if published.unit in ("K", "M", "x") else ""
    text = f"{published.value:.1f}"
    if published.value_high is not None:
        text += f"–{published.value_high:.1f}"
    text += unit
    return text if published.std is None else f"{text}±{published.std:.1f}"


def marks(cell: Cell) -> str:
    """Footnote numbers as superscripts: '¹', '²,³'."""
    return "⋅".join(str(mark).translate(SUPERSCRIPTS) for mark in cell.marks)
