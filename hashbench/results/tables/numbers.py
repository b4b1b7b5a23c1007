"""Numbers, their signs, the legend and the notes of a table as text: what all formats share."""

from __future__ import annotations

import re

from hashbench.common.showing import decimal_text
from hashbench.results.papers.paper import Column
from hashbench.results.tables.table import BYTES, SIZES, Cell, Table

MISSING = "–"
UNAVAILABLE = "n/a"  # of a number that the paper prints and that is not at hand

NO_INTERVAL = "no interval"  # since stored outputs cannot be read
UNDER, CONSTANT, HOLLOW_F1, CUT = "†", "‡", "§", "¶"  # behind a number

SIGNS = (UNDER, CONSTANT, HOLLOW_F1, CUT)
UNMEASURED = ("quoted", "task", "claim", "setting")  # rows in which a missing number has no sign
HEADS = {"task": "data set", "claim": "claim", "setting": "hyper-parameter"}  # above the rows of one kind
SUPERSCRIPTS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def decimals(value: float, unit: str) -> int:
    """The number of decimals for a value: one, as the papers print, and more for losses and small times.

    >>> decimals(79.54, "percent"), decimals(24.9, "ms/sample"), decimals(0.0421, "ms/sample"), decimals(4.8, "nats")
    (1, 1, 3, 3)
    """
    if unit in ("nats", "area"):
        return 3
    if unit in ("count", "rank"):
        return 0 if value == round(value) else 1
    if unit != "ms/sample" or abs(value) >= 10:
        return 1
    return 2 if abs(value) >= 1 else 3


def number(value: float, unit: str) -> str:
    """A value in its unit as text.

    >>> number(38.60352, "M"), number(2.14, "x"), number(-0.04, "percent"), number(0.0421, "ms/sample")
    ('38.6M', '2.1x', '0.0', '0.042')
    >>> number(0.0, "K"), number(0.04, "K")
    ('0', '0.0K')
    """
    text = decimal_text(value, decimals(value, unit), "," if unit == "count" else "")
    if value == 0 and unit in SIZES:
        return "0"  # no parameters at all, not few
    return text + suffix(unit)


def suffix(unit: str) -> str:
    """The unit behind a number in a cell; '' for units that the column's head has.

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
    """A cell's measured mean or range as text with its signs, a dash for a missing value, or ''."""
    if cell.value is None:
        return cell.text or (MISSING if cell.reason else "")
    return span(cell.value, cell.value_high, cell.unit or column.unit) + signs(cell)


def signs(cell: Cell) -> str:
    """The signs behind a number: not above a trivial baseline, constant predictions, a meaningless F1, texts cut.

    >>> signs(Cell(31.7, under="bag-of-words", constant=True)), signs(Cell(80.0))
    ('†‡', '')
    """
    occurring = (bool(cell.under), cell.constant, cell.hollow_f1, bool(cell.lost))
    return "".join(sign for sign, occurs in zip(SIGNS, occurring, strict=True) if occurs)


def signs_said(cell: Cell) -> str:
    """The signs of a cell with their meaning, as text.

    >>> signs_said(Cell(31.7, under="bag-of-words", constant=True))
    '† value not above that of bag-of-words; ‡ constant predictions'
    """
    meanings = {
        f"{UNDER} value not above that of {cell.under}": bool(cell.under),
        f"{CONSTANT} constant predictions": cell.constant,
        f"{HOLLOW_F1} counts an F1 whose accuracy is below the majority class": cell.hollow_f1,
        f"{CUT} {_lost(cell)}": bool(cell.lost),
    }
    return "; ".join(words for words, occurs in meanings.items() if occurs)


def _lost(cell: Cell) -> str:
    """The share of characters that were not read; of an average the largest, with its task."""
    share = f"{decimal_text(100 * cell.lost, 1)} % of the characters not read"
    return f"up to {share} ({cell.lost_on})" if cell.lost_on else share


def spread(cell: Cell, column: Column, table: Table) -> str:
    """Standard deviation over seeds and number of runs: '±0.4 (3)', '(1)', '(2/3)' while a run is missing.

    A number of runs that all values of the table share is left to its legend.
    """
    if cell.value is None or cell.n is None:
        return ""
    runs = f"({cell.n})" if cell.planned in (None, cell.n) else f"({cell.n}/{cell.planned})"
    runs = "" if (cell.n, cell.planned or cell.n) == table.seeds else runs
    return runs if cell.std is None else f"±{number(cell.std, cell.unit or column.unit)} {runs}".rstrip()


def interval(cell: Cell, column: Column) -> str:
    """A cell's 95 % interval as text, 'LOW..HIGH', or '', or that it has none since outputs cannot be read."""
    if cell.interval is None:
        return NO_INTERVAL if cell.unread else ""
    low, high = (number(end, cell.unit or column.unit) for end in cell.interval)
    return f"{low}..{high}"


def printed(cell: Cell) -> str:
    """The paper's number as printed, with its deviation; 'n/a' for a number that is not available; or ''.

    >>> from hashbench.results.papers.paper import PublishedNumber
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


def legend(table: Table, *, best: str) -> str:
    """The legend: how to read the kinds of cells that occur in the table. `best`: how the best value is marked.

    >>> legend(Table("", "own", "", "", (), ()), best="bold")
    ''
    """
    cells = [cell for row in table.rows for cell in row.cells.values()]
    measured = [cell for row in table.rows if row.kind not in UNMEASURED for cell in row.cells.values()]
    deviation = any(cell.std is not None for cell in cells)
    seeds = _seeds_in_words(table)
    drawn = "examples (bootstrap of the stored predictions), not over seeds"
    if table.draws_seeds:
        drawn = "seeds and examples (bootstrap of the stored predictions)"
    parts = {
        f"{table.statistic} ± sd over {_drawn(table)} (n - 1), {seeds}": deviation,
        f"{seeds}; no deviation over seeds with one": not deviation and any(cell.n is not None for cell in cells),
        "(2/3): a value of two of three seeds": any(
            0 < (cell.n or 0) < (cell.planned or 0) and (cell.n, cell.planned) != table.seeds for cell in cells
        ),
        f"a..b: 95 % interval over {drawn}": any(cell.interval and cell.n_examples for cell in cells),
        "a..b of a speed-up: 95 % interval over measured rounds (model, baseline, baseline, model)": any(
            cell.interval and cell.unit == "x" for cell in cells
        ),
        "a–b: over tasks": any(cell.value_high is not None for cell in cells),
        "in brackets: published": table.published and any(cell.published for cell in cells),
        f"[{UNAVAILABLE}]: the paper's number is not available to us": table.published
        and any(cell.unavailable for cell in cells),
        f"{best}: not separable from the best model (95 %)": any(cell.best and cell.rating for cell in cells),
        f"{best} of sizes and times: the best model": any(cell.best and not cell.rating for cell in cells),
        "a..b of a rank: 95 % interval, of all models of a column at once": any(cell.unit == "rank" for cell in cells),
        f"{UNDER}: not above the best trivial baseline": any(cell.under for cell in cells),
        f"{CONSTANT}: constant predictions in some seed": any(c.constant for c in cells),
        f"{HOLLOW_F1}: counts the F1 of a task whose accuracy is below the majority class": any(
            cell.hollow_f1 for cell in cells
        ),
        f"{CUT}: over 2 % of the characters were not read, as max_length cuts texts": any(cell.lost for cell in cells),
        "brackets alone: quoted by the paper, not trained here": any(row.kind == "quoted" for row in table.rows),
        f"{MISSING}: missing": any(cell.value is None and cell.reason for cell in measured),
    }
    line = "; ".join(words for words, occurs in parts.items() if occurs)
    return line and f"{line}."


def _drawn(table: Table) -> str:
    """The runs that a deviation is over, in words: seeds, or fine-tunings with their number of pre-trainings.

    >>> _drawn(Table("", "own", "", "", (), (), pretrainings=(2, 3)))
    'all fine-tunings, of 2 or 3 pre-trainings'
    """
    shared = " or ".join(map(str, table.pretrainings))
    return f"all fine-tunings, of {shared} pre-trainings" if shared else "seeds"


def _seeds_in_words(table: Table) -> str:
    """The number of seeds behind the values, or where it is printed.

    >>> _seeds_in_words(Table("", "own", "", "", (), ()))
    'number of seeds in parentheses'
    """
    if table.seeds is None:
        return "number of seeds in parentheses"
    n, planned = table.seeds
    words = "one seed each" if n == 1 else f"{n} seeds each"
    words = words if n == planned else f"{words} ({n}/{planned}: {n} of {planned} seeds)"
    cells = [cell for row in table.rows for cell in row.cells.values() if cell.value is not None and cell.n is not None]
    others = any((cell.n, cell.planned or cell.n) != table.seeds for cell in cells)
    return f"{words} unless in parentheses" if others else words


def notes(table: Table) -> list[str]:
    """Lines below a table: numbered footnotes, notes, details, then what is missing and why."""
    lines = [f"{str(number).translate(SUPERSCRIPTS)} {text}" for number, text in enumerate(table.footnotes, start=1)]
    lines += [*table.notes, *table.details]
    if table.missing:
        lines.append("Missing: " + "; ".join(table.missing) + ".")
    return lines


def has_published(cell: Cell, table: Table) -> bool:
    """True where the cell is printed with a published value, or with 'n/a' in its place."""
    return table.published and (cell.published is not None or cell.unavailable)


def row_head(table: Table) -> str:
    """The heading of the column of row names: the kind of the rows, such as 'model'."""
    kinds = {row.kind for row in table.rows} or ({"claim"} if table.lead else set())
    if table.head:
        return table.head
    return HEADS[kinds.pop()] if len(kinds) == 1 and kinds <= set(HEADS) else "model"


def without_details(line: str) -> str:
    """A warning without its details in parentheses, for narrow figures and pages.

    >>> without_details("SAMPLED DATA: qqp (train 20,000 of 363,846 rows), mnli (train 5 rows); not comparable.")
    'SAMPLED DATA: qqp, mnli; not comparable.'
    """
    return re.sub(r" \([^()]*\)", "", line)
