"""`export`: a trained model as a folder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hashbench.cli.options import DEFAULT_DB, Data, Database


def export(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A new folder.", show_default=False)],
    run: Annotated[str, typer.Option("--run", help="A finished run, by its id's first digits.", show_default=False)],
    data: Data = None,
    db: Database = DEFAULT_DB,
) -> None:
    """Write a trained model as a folder that works without the database: weights, config, tokenizer, model card.

    Weights of fine-tunings are kept of small models; keep_weights: best in the experiment keeps those of all.

    Example: hashbench export --run 3fa2 my-model
    """
    from hashbench.export.run import export_run

    sizes = export_run(db, run, folder, data or None)
    print(f"{folder}: {sizes.weight_bytes:,} bytes of weights")
    print(f"parameters: {sizes.in_paper.total:,} in the paper's frame, {sizes.deployed.total:,} as deployed")
