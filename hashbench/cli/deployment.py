"""Commands about trained models in use: export, predict."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from hashbench.cli.options import DEFAULT_DB, Data, Database


class PredictFormat(StrEnum):
    """How predictions are printed."""

    text = "text"
    json = "json"


def export(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A new folder.", show_default=False)],
    run: Annotated[str, typer.Option("--run", help="A finished run, by its id's first digits.", show_default=False)],
    data: Data = None,
    db: Database = DEFAULT_DB,
) -> None:
    """Write a trained model as a folder that works without the database: weights, config, tokenizer, model card.

    Weights of fine-tunings are kept where the experiment says keep_weights: best.

    Example: hashbench export --run 3fa2 my-model
    """
    from hashbench.cli.exporting import export_run

    sizes = export_run(db, run, folder, data or None)
    print(f"{folder}: {sizes.weight_bytes:,} bytes of weights")
    print(f"parameters: {sizes.in_paper.total:,} in the paper's frame, {sizes.deployed.total:,} as deployed")


def predict(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="What hashbench export wrote.", show_default=False)],
    texts: Annotated[
        list[str] | None,
        typer.Argument(metavar="[TEXT]...", help="Texts; a pair is two with a tab between. Else lines of stdin."),
    ] = None,
    style: Annotated[PredictFormat, typer.Option("--format", help="How to print it.")] = PredictFormat.text,
) -> None:
    """Labels, or values of a regression, that an exported model gives to texts, one a line.

    Example: hashbench predict my-model "a gripping film"
    """
    import sys

    from hashbench.cli.exporting import predict_texts

    lines = texts if texts else [line.rstrip("\n") for line in sys.stdin]
    for line in predict_texts(folder, lines, as_json=style is PredictFormat.json):
        print(line)


COMMANDS = [export, predict]
