"""Arguments that several commands share."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from hashbench.cli.outputs import Writes, no_report
from hashbench.common.errors import InputError

DEFAULT_DB = "results.db"
# formats of tables in hashbench.results.rendering's own folder, named here since --help loads nothing
SHIPPED_FORMATS = ("text", "md", "csv", "json", "latex")

Database = Annotated[
    str,
    typer.Option(
        "--db",
        envvar="HASHBENCH_DB",
        help="The results store: a SQLite file, a database URL, env:NAME, or example: the results that come with "
        "hashbench, which are only read.",
    ),
]
Data = Annotated[
    list[str] | None,
    typer.Option(
        "--data",
        help="Where data come from: hub, builtin or a folder. Repeat it for several, which are tried in order. "
        "Replaces the data sources of an experiment file.",
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
OF_EXPERIMENT = "The experiment file, or the name of an experiment that comes with hashbench."
File = Annotated[Path, typer.Argument(metavar="FILE", help=OF_EXPERIMENT, show_default=False)]
Overrides = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[KEY=VALUE]...",
        help="Other values for keys of the file: finetune.epochs=3 seeds=[0,1]; of a model or data set by its name: "
        "models.mine.finetune.epochs=3.",
    ),
]

ExperimentName = Annotated[
    str | None, typer.Argument(help="The name of the experiment. Default: the one that was swept last.")
]
PaperName = Annotated[
    str | None,
    typer.Option(
        "--paper",
        help="Compare with this paper: hashformers (with CANINE-C's row), eelbert, superbloom or proformer. Default: "
        "the paper that has most of the experiment's models.",
    ),
]


def _writable(output: Path | None) -> Path | None:
    """The path, refused before anything is made for it where it can be no file."""
    if output is not None and (output.is_dir() or not output.parent.is_dir()):
        why = "is a folder; give a file" if output.is_dir() else "no such folder; give a file in a folder that exists"
        raise InputError(f"--output {output}: {why}")
    return output


Output = Annotated[
    Path | None,
    typer.Option("--output", "-o", callback=_writable, help="Also write the output to this file."),
    Writes("--output", no_report),
]


EvaluationOption = Annotated[
    Literal["best", "last"],
    typer.Option("--checkpoint", help="Which evaluation of a run counts: its best, or its last."),
]

TrustCode = Annotated[
    bool,
    typer.Option(
        "--trust-code",
        help="Allow code to run that an exported folder has in its Python files, or that the experiment of a stored "
        "run names. Its author wrote that code: read it first. Code that any command ran before for an experiment file "
        "counts as allowed; check --no-code runs none.",
    ),
]
TextOrJson = Annotated[Literal["text", "json"], typer.Option("--format", help="The format of the output.")]


def format_of_tables(*others: str) -> Any:
    """The option --format of a command that prints tables: the name of any table format, also of a user-defined one.

    `others`: words that this command takes besides. The value raises InputError where it is no format.
    """

    def names() -> list[str]:
        from hashbench.results.rendering.registry import renderers

        return [*renderers(), *others]

    def checked(name: str) -> str:
        from hashbench.results.rendering.registry import known_format

        return known_format(name, others)

    words = ", ".join([*SHIPPED_FORMATS, *others])
    text = f"The format of the output: {words}, or a user-defined one (HASHBENCH_PLUGINS)."
    return typer.Option("--format", metavar="NAME", callback=checked, autocompletion=names, help=text)


TableFormat = Annotated[str, format_of_tables()]


def refuse_unknown(names: Sequence[str]) -> None:
    """Raises InputError for a name that no model or group has, before torch is imported to look it up."""
    from hashbench.models.names import known_names, unknown_model

    names_there = known_names() if names else None
    for name in names:
        if names_there is not None and ":" not in name and name not in (*names_there.models, *names_there.groups):
            raise InputError(unknown_model(name))


def refuse_no_run(db: str, prefix: str) -> None:
    """Raises InputError where the database is not there or has no such run, before torch is imported to read it."""
    from hashbench.store.engine import open_results
    from hashbench.store.status import find_run

    find_run(open_results(db), prefix)
