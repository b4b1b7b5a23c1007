"""`hashbench report --claims`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hashbench.claims.table import claim_tables
from hashbench.cli.options import Format
from hashbench.cli.output import print_tables
from hashbench.errors import InputError
from hashbench.store.engine import open_store
from hashbench.tables.request import ReportRequest


def print_claims(
    db: str, request: ReportRequest, style: str, output: Path | None, *, beside: Sequence[str] = ()
) -> None:
    """Prints the verdicts. `beside`: options of tables that were given too, which claims have not.

    Raises InputError.
    """
    if beside:
        raise InputError(f"report: {beside[0]} is for tables; leave it out, or leave out --claims")
    if style not in list(Format):
        known = ", ".join(Format)
        raise InputError(f"--format: claims are printed as {known}, not {style}; choose one of these")
    print_tables(claim_tables(open_store(db, create=False, read_only=True), request), style, output)
