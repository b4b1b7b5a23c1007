"""Commands about an experiment: status, report, compare."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from hashbench.cli.options import DEFAULT_DB, Database, Format, TableFormat, TextOrJson
from hashbench.errors import InputError


class ReportFormat(StrEnum):
    """How a report is printed."""

    text = "text"
    md = "md"
    csv = "csv"
    json = "json"
    latex = "latex"
    html = "html"


class Checkpoint(StrEnum):
    """Which evaluation of a run counts."""

    best = "best"
    last = "last"


def status(
    experiment: Annotated[str | None, typer.Argument(help="Its name; the last one swept if not given.")] = None,
    db: Database = DEFAULT_DB,
    run: Annotated[
        str | None, typer.Option("--run", help="One run by the first digits of its id: attempts, log.")
    ] = None,
    watch: Annotated[
        bool, typer.Option("--watch", help="Print again every few seconds until nothing is left to do; text only.")
    ] = False,
    style: Annotated[TextOrJson, typer.Option("--format", help="How to print it.")] = TextOrJson.text,
) -> None:
    """How far a sweep is.

    Example: hashbench status --watch
    """
    from hashbench.cli.status import print_run, print_status, watch_status
    from hashbench.store.engine import open_store

    if watch and style is TextOrJson.json:
        raise InputError("status: --watch prints text; leave out --watch or --format json")
    store = open_store(db, create=False, read_only=True)
    if run is not None:
        print_run(store, run, as_json=style is TextOrJson.json)
    elif watch:
        watch_status(store, experiment)
    else:
        print_status(store, experiment, as_json=style is TextOrJson.json)


def report(
    experiment: Annotated[str | None, typer.Argument(help="Its name; the last one swept if not given.")] = None,
    db: Database = DEFAULT_DB,
    paper: Annotated[
        str | None,
        typer.Option(
            help="Whose tables: hashformers, eelbert, superbloom, proformer; the one with most of the experiment's "
            "models if not given."
        ),
    ] = None,
    table: Annotated[
        str | None, typer.Option(help="A table's number, or several as 1,2,3; without it: the experiment's own.")
    ] = None,
    style: Annotated[ReportFormat, typer.Option("--format", help="How to print it.")] = ReportFormat.text,
    published: Annotated[bool, typer.Option(help="Show the paper's values beside the measured ones.")] = True,
    examples: Annotated[bool, typer.Option("--examples", help="Bootstrap intervals over examples; slower.")] = False,
    all_metrics: Annotated[
        bool, typer.Option("--all-metrics", help="In the experiment's own table: every stored metric of each task.")
    ] = False,
    checkpoint: Annotated[
        Checkpoint, typer.Option("--checkpoint", help="Scores of the best evaluation, or of the last.")
    ] = Checkpoint.best,
    robustness: Annotated[
        bool, typer.Option("--robustness", help="What is kept of the scores under noise in the texts, with intervals.")
    ] = False,
    versus: Annotated[
        str | None, typer.Option(help="With --robustness: the model that is compared with; the baseline if not given.")
    ] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Also write it to this file.")] = None,
    claims: Annotated[
        bool, typer.Option("--claims", help="Decide the papers' claims (or only --paper's), and the experiment's own.")
    ] = False,
    claims_file: Annotated[
        Path | None, typer.Option("--claims-file", help="Decide the claims of this CSV too; in the form of claims.md.")
    ] = None,
    parts: Annotated[bool, typer.Option("--parts", help="With --claims: each part of a claim by itself.")] = False,
) -> None:
    """Print the tables of an experiment, measured beside published, or what they say of the papers' claims.

    Examples: hashbench report glue_tiny --table 2 --format md; hashbench report glue_tiny --paper hashformers --claims
    """
    if claims or claims_file is not None:
        from hashbench.cli.claims import print_claims
        from hashbench.tables.request import ReportRequest

        asked = {"--table": table, "--examples": examples, "--all-metrics": all_metrics, "--robustness": robustness}
        request = ReportRequest(
            experiment, paper, checkpoint=checkpoint.value, claims_file=claims_file, parts=parts
        )
        print_claims(db, request, style.value, output, beside=[name for name, value in asked.items() if value])
        return
    if parts:
        raise InputError("report: --parts belongs to --claims; add it")
    if robustness or versus is not None:
        from hashbench.cli.robustness import print_robustness

        clash = [name for name, given in (("--paper", paper), ("--table", table)) if given is not None]
        return print_robustness(db, experiment, versus, style.value, output, asked=robustness, clash=clash)
    from hashbench.cli.reporting import print_page, print_report
    from hashbench.tables.request import ReportRequest

    request = ReportRequest(experiment, paper, table, published, examples, all_metrics, checkpoint.value)
    if style is ReportFormat.html:
        return print_page(db, request, output)
    print_report(db, request, style.value, output)


def compare(
    first: Annotated[str, typer.Argument(metavar="A", help="A model of the experiment, or an experiment.")],
    second: Annotated[
        str | None, typer.Argument(metavar="[B]", help="What is subtracted from it; A itself with two databases.")
    ] = None,
    db: Annotated[
        list[str] | None,
        typer.Option("--db", help="The results store (HASHBENCH_DB, else results.db); given twice: A's, then B's."),
    ] = None,
    experiment: Annotated[
        str | None, typer.Option("--experiment", help="Whose models; the last one swept if not given.")
    ] = None,
    checkpoint: Annotated[
        Checkpoint, typer.Option("--checkpoint", help="Scores of the best evaluation, or of the last.")
    ] = Checkpoint.best,
    style: TableFormat = Format.text,
) -> None:
    """Two models, experiments or databases: the paired difference A - B of each task with its 95 % interval.

    Only what was measured on the same examples is compared.

    Examples: hashbench compare hashformer-lsh-proj bert-mlm; hashbench compare glue_tiny --db mine.db --db theirs.db
    """
    from hashbench.cli.comparing import print_comparison

    print_comparison(first, second, db or [], experiment=experiment, checkpoint=checkpoint.value, style=style)


COMMANDS = [status, report, compare]
