"""`export`: a trained model as a folder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hashbench.cli.options import DEFAULT_DB, Data, Database

NewFolder = Annotated[
    Path,
    typer.Argument(metavar="DIR", help="The folder to write, a new or empty one.", show_default=False),
]
RunToExport = Annotated[
    str, typer.Option("--run", help="The finished run, by the first digits of its id.", show_default=False)
]
AddOnnx = Annotated[
    bool,
    typer.Option(
        "--onnx", help="Add onnx/: the model as an ONNX graph, and code that prepares texts without hashbench."
    ),
]
AsInt8 = Annotated[bool, typer.Option("--int8", help="With --onnx: quantize the graph to int8.")]
MeasureForms = Annotated[
    bool, typer.Option("--evaluate", help="With --onnx: measure size, score and time of the graphs on the dev set.")
]
AddPage = Annotated[
    bool, typer.Option("--page", help="With --onnx: add a page that classifies in a browser. Needs npm.")
]
AddLibraryFiles = Annotated[
    bool,
    typer.Option("--transformers", help="Add files so that transformers and sentence-transformers can load the model."),
]
AddProgram = Annotated[bool, typer.Option("--pt2", help="Add model.pt2: the model as a program of torch.export.")]
HubName = Annotated[
    str | None,
    typer.Option("--push-to-hub", metavar="NAME", help="Upload the folder to the Hugging Face hub under this name."),
]


def export(
    folder: NewFolder,
    run: RunToExport,
    onnx: AddOnnx = False,
    int8: AsInt8 = False,
    evaluate: MeasureForms = False,
    page: AddPage = False,
    transformers: AddLibraryFiles = False,
    pt2: AddProgram = False,
    push_to_hub: HubName = None,
    data: Data = None,
    db: Database = DEFAULT_DB,
) -> None:
    """Write a trained model as a folder that works without the database: weights, config, tokenizer, model card.

    Sweeps keep the fine-tuned weights of small models. To keep those of all, write keep_weights: best in the file.

    Example: hashbench export --run 3fa2 my-model --onnx --int8
    """
    from hashbench.cli.output import note
    from hashbench.deployment.forms import Wishes, deploy, stored_forms
    from hashbench.deployment.of_run import export_run

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
