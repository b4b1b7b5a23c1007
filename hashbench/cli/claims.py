"""`report claims`: what an experiment says of the papers' claims, and of a user's own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hashbench.cli.options import (
    DEFAULT_DB,
    Database,
    EvaluationOption,
    ExperimentName,
    NamedExperiment,
    Output,
    PaperName,
    ReportFormat,
)


def report_claims(
    experiment: ExperimentName = None,
    named: NamedExperiment = None,
    db: Database = DEFAULT_DB,
    paper: PaperName = None,
    file: Annotated[Path | None, typer.Option("--claims-file", help="Also decide the claims of this CSV file.")] = None,
    parts: Annotated[bool, typer.Option("--parts", help="Print each part of a claim in a row of its own.")] = False,
    one_seed: Annotated[
        bool, typer.Option("--one-seed", help="Also decide where there is one seed: by the examples alone.")
    ] = False,
    checkpoint: EvaluationOption = "best",
    style: ReportFormat = "text",
    output: Output = None,
) -> None:
    """Print which claims of the papers, or of --paper alone, and of the experiment itself the results support.

    Example: hashbench report claims glue_tiny --paper hashformers
    """
    from hashbench.cli.output import print_tables
    from hashbench.results.claims.table import claim_tables
    from hashbench.results.tables.request import ReportRequest
    from hashbench.store.engine import open_results

    request = ReportRequest(
        named or experiment, paper, checkpoint=checkpoint, claims_file=file, parts=parts, one_seed=one_seed
    )
    print_tables(claim_tables(open_results(db), request), style, output)
