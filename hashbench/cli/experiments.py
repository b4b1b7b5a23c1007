"""Commands about an experiment: sweep, status, check, report, compare, schema."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hashbench.cli.options import DEFAULT_DB, Data, Database, File, Format, Overrides, TableFormat
from hashbench.errors import InputError

if TYPE_CHECKING:
    from hashbench.experiment.load import Loaded

DONE, SOME_FAILED = 0, 1


class ReportFormat(StrEnum):
    """How a report is printed."""

    text = "text"
    md = "md"
    csv = "csv"
    json = "json"
    latex = "latex"
    html = "html"


class StatusFormat(StrEnum):
    """How a status is printed."""

    text = "text"
    json = "json"


class Checkpoint(StrEnum):
    """Which evaluation of a run counts."""

    best = "best"
    last = "last"


class Executor(StrEnum):
    """Where runs are carried out."""

    local = "local"


def sweep(
    file: File,
    overrides: Overrides = None,
    data: Data = None,
    db: Database = DEFAULT_DB,
    workers: Annotated[int | None, typer.Option(min=1, help="Runs at the same time; overrides the file's.")] = None,
    executor: Annotated[Executor | None, typer.Option(help="Where runs are carried out; overrides the file's.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the runs, their order and estimated time.")] = False,
    fail_fast: Annotated[bool, typer.Option("--fail-fast", help="Stop at the first failed run.")] = False,
    export_wandb: Annotated[
        Path | None, typer.Option(help="Write a W&B sweep that does the same to this file; run nothing.")
    ] = None,
) -> None:
    """Do all runs of an experiment that are not done yet, then print its table.

    The same command goes on after any interruption.

    Example: hashbench sweep experiments/glue_tiny.yaml --data ~/data finetune.epochs=1
    """
    from hashbench.experiment.load import load_experiment

    changes = [*(overrides or []), *([f"executor={executor.value}"] if executor else [])]
    loaded = load_experiment(file, changes)
    if export_wandb is not None:
        _export_wandb(loaded, export_wandb, db=db, data=data or [])
        return
    from hashbench.sweep.runner import sweep as run_sweep

    code = run_sweep(loaded, db=db, data=data or None, workers=workers, dry_run=dry_run, fail_fast=fail_fast)
    if code in (DONE, SOME_FAILED) and not dry_run:
        _print_own_table(db, loaded.experiment.name)
    raise typer.Exit(code)


def _export_wandb(loaded: Loaded, path: Path, *, db: str, data: list[str]) -> None:
    from hashbench.cli.output import note
    from hashbench.experiment.wandb_sweep import write_wandb_sweep

    options = [*(part for source in data for part in ("--data", source)), *(["--db", db] if db != DEFAULT_DB else [])]
    n = write_wandb_sweep(loaded, path, options)
    print(f"{path}: {n} combinations of a model, a task and a seed")
    note(f"start it:  wandb sweep {path}   and then   wandb agent")


def _print_own_table(db: str, experiment: str) -> None:
    from hashbench.cli.output import colored
    from hashbench.rendering.report import report as make_report
    from hashbench.store.engine import open_store
    from hashbench.tables.request import ReportRequest

    store = open_store(db, create=False, read_only=True)
    print(make_report(store, ReportRequest(experiment), color=colored()).rstrip("\n"))


def status(
    experiment: Annotated[str | None, typer.Argument(help="Its name; the last one swept if not given.")] = None,
    db: Database = DEFAULT_DB,
    run: Annotated[
        str | None, typer.Option("--run", help="One run by the first digits of its id: attempts, log.")
    ] = None,
    watch: Annotated[
        bool, typer.Option("--watch", help="Print again every few seconds until nothing is left to do; text only.")
    ] = False,
    style: Annotated[StatusFormat, typer.Option("--format", help="How to print it.")] = StatusFormat.text,
) -> None:
    """How far a sweep is.

    Example: hashbench status --watch
    """
    from hashbench.cli.status import print_run, print_status, watch_status
    from hashbench.store.engine import open_store

    if watch and style is StatusFormat.json:
        raise InputError("status: --watch prints text; leave out --watch or --format json")
    store = open_store(db, create=False, read_only=True)
    if run is not None:
        print_run(store, run, as_json=style is StatusFormat.json)
    elif watch:
        watch_status(store, experiment)
    else:
        print_status(store, experiment, as_json=style is StatusFormat.json)


def check(
    file: Annotated[
        Path | None, typer.Argument(metavar="[FILE]", help="An experiment file.", show_default=False)
    ] = None,
    overrides: Overrides = None,
    data: Data = None,
    embedding: Annotated[
        str | None,
        typer.Option("--embedding", help="FILE.py:Class: run the contract checks on an embedding of your own."),
    ] = None,
    coder: Annotated[
        str | None, typer.Option("--coder", help="The codes that embedding takes (default: its own).")
    ] = None,
    labels: Annotated[bool, typer.Option(help="Also read every data set once and check its labels.")] = True,
) -> None:
    """Validate an experiment without running it, or an embedding of your own.

    Examples: hashbench check my.yaml; hashbench check --embedding my_file.py:MyEmbedding
    """
    from hashbench.cli.checking import check_embedding, check_experiment

    if (file is None) == (embedding is None):
        raise InputError("check: give an experiment file or --embedding FILE.py:Class; see hashbench check --help")
    if embedding is not None:
        raise typer.Exit(0 if check_embedding(embedding, coder) else SOME_FAILED)
    assert file is not None
    check_experiment(file, overrides or [], data or None, labels=labels)


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

        asked = {"--table": table, "--examples": examples, "--all-metrics": all_metrics, "--robustness": robustness}
        print_claims(
            db, experiment, paper=paper, file=claims_file, style=style.value, parts=parts,
            checkpoint=checkpoint.value, output=output, beside=[name for name, value in asked.items() if value],
        )  # fmt: skip
        return
    if parts:
        raise InputError("report: --parts belongs to --claims; add it")
    if robustness or versus is not None:
        from hashbench.cli.robustness import print_robustness

        clash = [name for name, given in (("--paper", paper), ("--table", table)) if given is not None]
        return print_robustness(db, experiment, versus, style.value, output, asked=robustness, clash=clash)
    from hashbench.cli.reporting import print_page, print_tables
    from hashbench.tables.request import ReportRequest

    request = ReportRequest(experiment, paper, table, published, examples, all_metrics, checkpoint.value)
    if style is ReportFormat.html:
        return print_page(db, request, output)
    print_tables(db, request, style.value, output)


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


def schema() -> None:
    """Print the JSON Schema of experiment files, from which editors complete keys.

    Example: hashbench schema > experiment.schema.json
    """
    import json

    from hashbench.experiment.schema import Experiment

    print(
        json.dumps(
            {"$schema": "https://json-schema.org/draft/2020-12/schema", **Experiment.model_json_schema()}, indent=2
        )
    )


COMMANDS = [sweep, status, check, report, compare, schema]
