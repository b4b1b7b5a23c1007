"""`export`: a trained model as a folder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hashbench.cli.options import DEFAULT_DB, Data, Database


def export(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A new folder.", show_default=False)],
    run: Annotated[str, typer.Option("--run", help="A finished run, by its id's first digits.", show_default=False)],
    onnx: Annotated[
        bool, typer.Option("--onnx", help="Add onnx/: one plain graph, and the text side without hashbench.")
    ] = False,
    int8: Annotated[bool, typer.Option("--int8", help="With --onnx: the graph in int8.")] = False,
    evaluate: Annotated[
        bool, typer.Option("--evaluate", help="With --onnx: bytes, score and time of both forms on the dev set.")
    ] = False,
    page: Annotated[
        bool, typer.Option("--page", help="With --onnx: a page that classifies in a browser (npm fetches its runtime).")
    ] = False,
    transformers: Annotated[
        bool, typer.Option("--transformers", help="Add what AutoModel and sentence-transformers load.")
    ] = False,
    pt2: Annotated[bool, typer.Option("--pt2", help="Add model.pt2: the graph as a program of torch.export.")] = False,
    push_to_hub: Annotated[
        str | None, typer.Option("--push-to-hub", metavar="NAME", help="Upload the folder as this model of the hub.")
    ] = None,
    data: Data = None,
    db: Database = DEFAULT_DB,
) -> None:
    """Write a trained model as a folder that works without the database: weights, config, tokenizer, model card.

    The best weights of a fine-tuning are saved for small models; keep_weights: best saves them for all.

    Example: hashbench export --run 3fa2 my-model --onnx --int8
    """
    from hashbench.cli.output import note
    from hashbench.deployment.main import Wishes, deploy, stored_forms
    from hashbench.export.run import export_run

    wishes = Wishes(onnx=onnx, int8=int8, page=page, transformers=transformers, pt2=pt2, evaluate=evaluate)
    wishes = wishes.checked()
    written = export_run(db, run, folder, data or None)
    sizes = written.sizes
    lines = deploy(folder, wishes, written.task, note)
    print(f"{folder}: {sizes.weight_bytes:,} bytes of weights")
    print(f"parameters: {sizes.in_paper.total:,} in the paper's frame, {sizes.deployed.total:,} as deployed")
    for line in lines:
        print(line)
    if evaluate:
        print(stored_forms(db, run, folder))
    if push_to_hub is not None:
        from hashbench.deployment.hub import push

        print(push(folder, push_to_hub))
