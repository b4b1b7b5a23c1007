"""`hashbench report --claims`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hashbench.claims.report import claims_report
from hashbench.cli.output import colored, print_text
from hashbench.errors import InputError
from hashbench.store.engine import open_store
from hashbench.store.result import Checkpoint


def print_claims(
    db: str,
    experiment: str | None,
    *,
    paper: str | None,
    file: Path | None,
    style: str,
    parts: bool,
    checkpoint: Checkpoint,
    output: Path | None,
    beside: Sequence[str] = (),
) -> None:
    """Prints the verdicts. `beside`: options of tables that were given too, which claims have not.

    Raises InputError.
    """
    if beside:
        raise InputError(f"report: {beside[0]} is for tables; leave it out, or leave out --claims")
    text = claims_report(
        open_store(db, create=False, read_only=True), experiment=experiment, paper=paper, file=file, format=style,
        parts=parts, checkpoint=checkpoint, color=colored(),
    )  # fmt: skip
    print_text(text, output)

