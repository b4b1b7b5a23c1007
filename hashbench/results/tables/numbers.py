"""How a number is printed: decimals by unit, spread, range, published value."""

from __future__ import annotations

from hashbench.results.papers.column import Column
from hashbench.results.tables.table import BYTES, SIZES, Cell, Table

MISSING = "–"
UNAVAILABLE = "n/a"  # of a number that the paper prints and that is not at hand
UNDER, CONSTANT, HOLLOW_F1 = "†", "‡", "§"  # behind a number
SIGNS = (UNDER, CONSTANT, HOLLOW_F1)
SUPERSCRIPTS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def decimals(value: float, unit: str) -> int:
    """Decimals of a value: one, as the papers print; more where a small time would otherwise vanish.

    >>> decimals(79.54, "percent"), decimals(24.9, "ms/sample"), decimals(0.0421, "ms/sample")
    (1, 1, 3)
    """
    if unit == "count":
        return 0 if value == round(value) else 1
    if unit != "ms/sample" or abs(value) >= 10:
        return 1
    return 2 if abs(value) >= 1 else 3


def number(value: float, unit: str) -> str:
    """One value in its unit.

    >>> number(38.60352, "M"), number(2.14, "x"), number(-0.04, "percent"), number(0.0421, "ms/sample")
    ('38.6M', '2.1x', '0.0', '0.042')
    >>> number(0.0, "K"), number(0.04, "K")
    ('0', '0.0K')
    """
    text = f"{value:,.{decimals(value, unit)}f}" if unit == "count" else f"{value:.{decimals(value, unit)}f}"
    if set(text) <= set("-0."):
        text = text.removeprefix("-")  # -0.0 says nothing
    if value == 0 and unit in SIZES:
        return "0"  # no parameters at all, not few
    return text + suffix(unit)


def suffix(unit: str) -> str:
    """What stands behind a number in a cell; the other units stand in the column's head.

    >>> suffix("Mi"), suffix("ratio"), suffix("KB"), suffix("percent")
    ('Mi', 'x', ' KB', '')
    """
    if unit in ("x", "ratio"):
        return "x"
    if unit in dict(BYTES):
        return f" {unit}"
    return unit if unit in SIZES else ""


def span(low: float, high: float | None, unit: str) -> str:
    """A value, or a range of values that print differently.

    >>> span(1.8, 4.6, "x"), span(2.0, None, "x"), span(2.0, 2.01, "x")
    ('1.8–4.6x', '2.0x', '2.0x')
    """
    if high is None or number(low, unit) == number(high, unit):
        return number(low, unit)
    return f"{number(low, unit).removesuffix(suffix(unit))}–{number(high, unit)}"


def value(cell: Cell, column: Column) -> str:
    """The measured mean (or range) of a cell with its signs, the dash of a missing one, or nothing."""
    if cell.value is None:
        return cell.text or (MISSING if cell.reason else "")
    return span(cell.value, cell.value_high, cell.unit or column.unit) + signs(cell)


def signs(cell: Cell) -> str:
    """What a reader must know of a number, one character each.

    >>> signs(Cell(31.7, under="bag-of-words", constant=True)), signs(Cell(80.0))
    ('†‡', '')
    """
    return (UNDER if cell.under else "") + (CONSTANT if cell.constant else "") + (HOLLOW_F1 if cell.hollow_f1 else "")


def signs_said(cell: Cell) -> str:
    """The signs with their meaning.

    >>> signs_said(Cell(31.7, under="bag-of-words", constant=True))
    '† value not above that of bag-of-words; ‡ constant predictions'
    """
    meanings = {
        f"{UNDER} value not above that of {cell.under}": bool(cell.under),
        f"{CONSTANT} constant predictions": cell.constant,
        f"{HOLLOW_F1} counts an F1 whose accuracy is below the majority class": cell.hollow_f1,
    }
    return "; ".join(words for words, occurs in meanings.items() if occurs)


def spread(cell: Cell, column: Column, table: Table) -> str:
    """Standard deviation over seeds and number of runs: '±0.4 (3)', '(1)', '(2/3)' while a run is missing. A number
    that all values of the table share is left to its legend."""
    if cell.value is None or cell.n is None:
        return ""
    runs = f"({cell.n})" if cell.planned in (None, cell.n) else f"({cell.n}/{cell.planned})"
    runs = "" if table.seeds is not None else runs
    return runs if cell.std is None else f"±{number(cell.std, cell.unit or column.unit)} {runs}".rstrip()


def interval(cell: Cell, column: Column) -> str:
    """The 95 % interval over examples, or nothing."""
    if cell.interval is None:
        return ""
    low, high = (number(end, cell.unit or column.unit) for end in cell.interval)
    return f"{low}..{high}"


def printed(cell: Cell) -> str:
    """A paper's number as printed, with its deviation; the sign of one that is not at hand; or nothing.

    >>> from hashbench.results.papers.column import PublishedNumber
    >>> ratio, words = PublishedNumber(1.8, 4.6, unit="x"), PublishedNumber(30000, unit="words", decimals=0)
    >>> printed(Cell(published=ratio)), printed(Cell(published=PublishedNumber(350, unit="ratio")))
    ('1.8–4.6x', '350.0x')
    >>> printed(Cell(published=words)), printed(Cell(unavailable=True))
    ('30,000', 'n/a')
    """
    published = cell.published
    if published is None:
        return UNAVAILABLE if cell.unavailable else ""
    text = f"{published.value:,.{published.decimals}f}"
    if published.value_high is not None:
        text += f"–{published.value_high:,.{published.decimals}f}"
    text += suffix(published.unit)
    return text if published.std is None else f"{text}±{published.std:.{published.decimals}f}"


def marks(cell: Cell) -> str:
    """Footnote numbers as superscripts: '¹', '²,³'."""
    return "⋅".join(str(mark).translate(SUPERSCRIPTS) for mark in cell.marks)
