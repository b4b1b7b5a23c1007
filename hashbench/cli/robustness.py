"""`hashbench report --robustness`."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from hashbench.cli.output import colored
from hashbench.errors import InputError
from hashbench.rendering.files import write_whole
from hashbench.rendering.render import FORMATS
from hashbench.rendering.report import WIDTH
from hashbench.store.engine import open_store
from hashbench.tables.robustness import robustness_report


def print_robustness(
    db: str,
    experiment: str | None,
    versus: str | None,
    style: str,
    output: Path | None,
    *,
    asked: bool,
    clash: Sequence[str],
) -> None:
    """Prints what models keep of their scores under noise. Raises InputError for options that do not go together."""
    if not asked:
        raise InputError("report: --versus compares what is kept under noise; add --robustness")
    if style not in FORMATS:
        raise InputError(f"report: --robustness is printed as {', '.join(FORMATS)}, not {style}; choose one of these")
    if clash:
        raise InputError(f"report: --robustness has tables of its own; leave out {' and '.join(clash)}")
    text = robustness_report(
        open_store(db, create=False, read_only=True),
        experiment=experiment,
        versus=versus,
        format=next(format for format in FORMATS if format == style),
        width=shutil.get_terminal_size((WIDTH, 24)).columns,
        color=colored(),
    )
    if output is not None:
        write_whole(output, text)
    print(text.rstrip("\n"))
