"""Arguments that several commands share."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

DEFAULT_DB = "results.db"

Database = Annotated[
    str, typer.Option("--db", envvar="HASHBENCH_DB", help="The results store: a SQLite file or a database URL.")
]
Data = Annotated[
    list[str] | None,
    typer.Option(
        "--data", help="hub, builtin or a folder; repeat it for several, tried in order. Overrides the file's."
    ),
]
File = Annotated[Path, typer.Argument(metavar="FILE", help="The experiment file.", show_default=False)]
Overrides = Annotated[
    list[str] | None,
    typer.Argument(metavar="[KEY=VALUE]...", help="Keys of the file with other values: finetune.epochs=3 seeds=[0,1]."),
]


class TextOrJson(StrEnum):
    """How something that is no table is printed."""

    text = "text"
    json = "json"


class Size(StrEnum):
    """Sizes of the encoder."""

    tiny = "tiny"
    mini = "mini"
    small = "small"
    medium = "medium"
    base = "base"


class Format(StrEnum):
    """How rows are printed."""

    text = "text"
    md = "md"
    csv = "csv"
    json = "json"


TableFormat = Annotated[Format, typer.Option("--format", help="How to print it.", case_sensitive=False)]
