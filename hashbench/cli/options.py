"""Arguments that several commands share."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from hashbench.errors import InputError

DEFAULT_DB = "results.db"
# of tables: those that hashbench.rendering finds in its own folder, named here since --help loads nothing
SHIPPED_FORMATS = ("text", "md", "csv", "json", "latex")

Database = Annotated[
    str, typer.Option("--db", envvar="HASHBENCH_DB", help="The results store: a SQLite file or a database URL.")
]
Data = Annotated[
    list[str] | None,
    typer.Option(
        "--data", help="hub, builtin or a folder; repeat it for several, tried in order. Overrides the file's."
    ),
]
Artifacts = Annotated[
    str,
    typer.Option(
        "--artifacts",
        envvar="HASHBENCH_ARTIFACTS",
        metavar="URL",
        help="Where machines share weights, corpora and checkpoints: a folder, s3://bucket/folder or gs://...",
    ),
]
RayAddress = Annotated[
    str | None,
    typer.Option(envvar="RAY_ADDRESS", help="With --executor ray: the cluster; this machine's if not given."),
]
File = Annotated[Path, typer.Argument(metavar="FILE", help="The experiment file.", show_default=False)]
Overrides = Annotated[
    list[str] | None,
    typer.Argument(metavar="[KEY=VALUE]...", help="Keys of the file with other values: finetune.epochs=3 seeds=[0,1]."),
]

ExperimentName = Annotated[str | None, typer.Argument(help="Its name; the last one swept if not given.")]
NamedExperiment = Annotated[
    str | None, typer.Option("--experiment", help="The same, for a name that is also a command's: claims, robustness.")
]
PaperName = Annotated[
    str | None,
    typer.Option(
        "--paper",
        help="hashformers (with CANINE-C's row), eelbert, superbloom or proformer; the one with most of the "
        "experiment's models if not given.",
    ),
]
Output = Annotated[Path | None, typer.Option("--output", "-o", help="Also write it to this file.")]


EvaluationOption = Annotated[
    Literal["best", "last"], typer.Option("--checkpoint", help="Scores of the best evaluation, or of the last.")
]

TrustCode = Annotated[
    bool, typer.Option("--trust-code", help="Run the embedding.py of an exported folder: code of whoever made it.")
]
TextOrJson = Annotated[Literal["text", "json"], typer.Option("--format", help="How to print it.")]

# How rows of a listing are printed
Format = Literal["text", "md", "csv", "json"]
TableFormat = Annotated[Format, typer.Option("--format", help="How to print it.", case_sensitive=False)]


def format_of_tables(*others: str) -> Any:
    """The option --format of a command that prints tables: every format there is, one of the user's own too.

    `others`: words that this command takes besides. The value raises InputError where it is no format.
    """

    def names() -> list[str]:
        from hashbench.rendering.registry import renderers

        return [*renderers(), *others]

    def known(name: str) -> str:
        from hashbench.rendering.registry import known_format

        return known_format(name, others)

    words = ", ".join([*SHIPPED_FORMATS, *others])
    told = f"How to print it: {words}, or a format of your own from the folder HASHBENCH_FORMATS."
    return typer.Option("--format", metavar="NAME", callback=known, autocompletion=names, help=told)


ReportFormat = Annotated[str, format_of_tables()]

def name_cluster(address: str | None, executor: str) -> None:
    """Tells Ray the cluster that --ray-address names.

    Raises InputError where the executor would not use it; one that only stands in the environment is left alone.
    """
    if address is None:
        return
    if executor != "ray" and address != os.environ.get("RAY_ADDRESS"):
        why = f"the executor is {executor}, which uses no cluster"
        raise InputError(f"--ray-address {address}: {why}; --executor ray does")
    os.environ["RAY_ADDRESS"] = address
