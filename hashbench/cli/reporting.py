"""`hashbench report` without a further word: tables, or one page."""

from __future__ import annotations

from pathlib import Path

from hashbench.cli.output import note, print_tables, show, write_output
from hashbench.results.tables.report import tables
from hashbench.results.tables.request import ReportRequest
from hashbench.store.engine import open_results


def print_report(db: str, request: ReportRequest, style: str, output: Path | None) -> None:
    """Prints tables in one of the formats, into a file too where one is named."""
    print_tables(tables(open_results(db), request), style, output)


def print_page(db: str, request: ReportRequest, output: Path | None) -> None:
    """Writes the page to a file, or prints it where none is named: it is no use on a terminal."""
    from hashbench.results.plots.main import page_figures
    from hashbench.results.rendering.page.main import page

    store = open_results(db)
    note(f"{store.name}: reading results, deciding claims ...")
    text = page(store, request, page_figures(store, request, note))
    if output is None:
        show(text.rstrip("\n"))
    else:
        write_output(output, text)
        show(f"{output}: {output.stat().st_size / 1e6:.1f} MB, one file; open it in a browser")
