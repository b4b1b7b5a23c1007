"""Trained models: `export`, `predict` and `evaluate`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from hashbench.cli import streams
from hashbench.cli.options import DEFAULT_DB, Data, Database, TextOrJson, TrustCode, refuse_no_run
from hashbench.cli.output import note, print_json, show
from hashbench.cli.outputs import Writes
from hashbench.common.errors import InputError
from hashbench.common.showing import percent_text

if TYPE_CHECKING:
    from hashbench.deployment.on_graph import AnsweringModel
    from hashbench.running.runs.evaluation import ExportedModel

NewFolder = Annotated[
    Path,
    typer.Argument(metavar="DIR", help="The folder to write, a new or empty one.", show_default=False),
    Writes("export"),
]
RunToExport = Annotated[
    str | None, typer.Option("--run", help="The finished run, by the first digits of its id.", show_default=False)
]
OfExperiment = Annotated[
    str | None,
    typer.Option(
        "--experiment",
        help="In place of --run: the best finished training of this experiment on --task. Default: the one that was "
        "swept last.",
    ),
]
OnTask = Annotated[str | None, typer.Option("--task", help="The task. Default: the only one of the experiment.")]
OfModel = Annotated[str | None, typer.Option("--model", help="Choose among the runs of this model.")]
OfSeed = Annotated[int | None, typer.Option("--seed", help="Choose among the runs with this seed.")]
InHalf = Annotated[
    bool, typer.Option("--half", help="Store the trained weights in half precision (float16): half the bytes.")
]
AddOnnx = Annotated[
    bool,
    typer.Option(
        "--onnx", help="Add onnx/: the model as an ONNX graph, and code that prepares texts without hashbench."
    ),
]
AsInt8 = Annotated[
    bool,
    typer.Option(
        "--int8",
        help="With --onnx: quantize the graph to int8. Of a bag of words: its weights; hashed words always are.",
    ),
]
MeasureForms = Annotated[
    bool,
    typer.Option(
        "--evaluate",
        help="With --onnx, or of bag-of-words and hashed-words: measure size, score and time on the dev set.",
    ),
]
AddLibraryFiles = Annotated[
    bool,
    typer.Option("--transformers", help="Add files so that transformers and sentence-transformers can load the model."),
]
HubName = Annotated[
    str | None,
    typer.Option("--push-to-hub", metavar="NAME", help="Upload the folder to the Hugging Face hub under this name."),
]


def export(
    folder: NewFolder,
    run: RunToExport = None,
    experiment: OfExperiment = None,
    task: OnTask = None,
    model: OfModel = None,
    seed: OfSeed = None,
    half: InHalf = False,
    onnx: AddOnnx = False,
    int8: AsInt8 = False,
    evaluate: MeasureForms = False,
    transformers: AddLibraryFiles = False,
    push_to_hub: HubName = None,
    data: Data = None,
    db: Database = DEFAULT_DB,
    trust_code: TrustCode = False,
) -> None:
    """Write a trained model as a folder that works without the database: weights, config, tokenizer, model card.

    Of a run of the trivial baseline bag-of-words: its words and weights, and a file of code that reads them. Of
    hashed-words: its weights, and code in Python and JavaScript.

    Sweeps keep the fine-tuned weights of small models. To keep those of all, write keep_weights: best in the file.

    The best training is that with the best score on validation, or on the held-out rows that chose its checkpoint.

    Examples: hashbench export --run 3fa2 my-model --onnx --int8;
    hashbench export my-model --experiment mine --task sst2
    """
    run = _run_to_export(db, run, experiment, task, model, seed)
    from hashbench.deployment.export_run import export_run
    from hashbench.deployment.floors import export_floor, exported_floor
    from hashbench.deployment.forms import Wishes, deploy, stored_forms

    if floor := exported_floor(db, run):
        others = {"half": half, "onnx": onnx, "transformers": transformers, "push-to-hub": push_to_hub}
        for name, wanted in others.items():
            if wanted:
                raise InputError(f"export --{name}: {floor} is no graph and no model; leave it out")
        for line in export_floor(db, run, folder, data or None, note, int8=int8, evaluate=evaluate):
            print(line)
        return
    wishes = Wishes(onnx=onnx, int8=int8, transformers=transformers, evaluate=evaluate)
    wishes = wishes.checked()
    written = export_run(db, run, folder, data or None, half=half, trust_code=trust_code)
    sizes = written.sizes
    lines = deploy(folder, wishes, written.task, note)
    for line in lines:  # what to ship comes first
        print(line)
    print(f"{folder}: {sizes.weight_bytes:,} bytes of weights")
    print(f"parameters: {sizes.in_paper.total:,} in the paper's frame, {sizes.deployed.total:,} as deployed")
    if written.runs_code:
        print("it has code of its model's own file: predict with --trust-code, hashbench.load with trust_code=True")
    if evaluate:
        print(stored_forms(db, run, folder))
    if push_to_hub is not None:
        from hashbench.deployment.writing import push

        print(push(folder, push_to_hub))


def _run_to_export(
    db: str, run: str | None, experiment: str | None, task: str | None, model: str | None, seed: int | None
) -> str:
    """The run that --run names, or the best run that the other options name, which is printed with its ties."""
    chosen_by = {"--experiment": experiment, "--task": task, "--model": model, "--seed": seed}
    choosing = [option for option, value in chosen_by.items() if value is not None]
    if run is not None:
        if choosing:
            raise InputError(f"export: --run names the run; leave {choosing[0]} out, or --run")
        refuse_no_run(db, run)
        return run
    if not choosing:
        raise InputError(
            "export: name a run with --run, or an --experiment and its --task; see hashbench export --help"
        )
    from hashbench.results.read.trained import chosen_run
    from hashbench.store.engine import open_results

    choice = chosen_run(open_results(db), experiment, task, model, seed)
    best = choice.run
    score = f"{percent_text(best.value)} on {best.split} of {best.task}"
    note("\n".join([f"run {best.run_id[:8]}: {best.title}, {score}", *choice.remarks()]))
    return best.run_id[:12]


def predict(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="DIR",
            help="A folder that hashbench export wrote; its folder onnx/ answers by the graph, without torch.",
            show_default=False,
        ),
    ],
    texts: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[TEXT]...", help="The texts; two with a tab between are a pair. Default: the lines of stdin."
        ),
    ] = None,
    stream: Annotated[
        bool, typer.Option("--stream", help="Answer each line of stdin at once, before the next is read.")
    ] = False,
    style: TextOrJson = "text",
    trust_code: TrustCode = False,
) -> None:
    """Print the label, or the value of a regression, that an exported model predicts for each text.

    Several labels of a text are in one line, with commas between; the line is empty where it has none.

    Example: hashbench predict my-model "a gripping film"
    """
    from hashbench.deployment.inputs import asked_line, without_mark

    if stream and texts:
        raise InputError("predict --stream: reads lines of stdin; leave the texts out, or --stream")
    if stream:
        streams.end_with_reader()
    model = _loaded(Path(folder).expanduser(), trust_code=trust_code)
    inputs: Iterable[str | bytes] = texts or without_mark(sys.stdin.buffer)
    lines = (asked_line(line, f"line {number} of stdin", model.config.is_pair) for number, line in enumerate(inputs, 1))
    for part in ([line] for line in lines) if stream else [list(lines)]:
        for answer in _answers(model, part, style):
            print(answer)
        sys.stdout.flush()


def _loaded(folder: Path, *, trust_code: bool) -> AnsweringModel:
    """The model of an exported folder, or the graph in its folder onnx/, for which torch is not imported."""
    from hashbench.deployment.inputs import check_exported, is_graph

    if is_graph(folder):
        from hashbench.deployment.on_graph import load_graph

        return load_graph(folder, trust_code=trust_code)
    check_exported(folder)
    from hashbench.deployment.loading import load

    return load(folder, trust_code=trust_code)


def _answers(model: AnsweringModel, lines: list[str], style: Literal["text", "json"]) -> Iterator[str]:
    """A line of output for each line of input: the prediction, or JSON with the text and class probabilities."""
    from hashbench.deployment.inputs import of_lines

    if style == "text":
        predictions: Any = model.predict(of_lines(lines, model.config.is_pair))  # of a list it is a list
        return (", ".join(answer) if isinstance(answer, list) else str(answer) for answer in predictions)
    return (json.dumps(vars(answer), ensure_ascii=False) for answer in model.answers(lines))


TrainedModels = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[MODEL]...",
        help="What to evaluate: finished fine-tunings, by the first digits of their ids, or folders of exported "
        "models.",
    ),
]
Dataset = Annotated[
    Path,
    typer.Option(
        "--on",
        metavar="DATASET",
        help="The labelled set: a table in a file, a folder with one, or hub:OWNER/NAME of the hub.",
        show_default=False,
    ),
]
SetName = Annotated[
    str | None,
    typer.Option(
        help="The name of the set in tables, no column of theirs. Default: the name of its file or folder, with the "
        "folder above it in front where tables have that name."
    ),
]
TextColumns = Annotated[
    list[str] | None, typer.Option(help="The column of texts; give it twice for pairs. Default: as in the task.")
]
LabelColumn = Annotated[str | None, typer.Option(help="The column of labels. Default: as in the task.")]
LabelNames = Annotated[
    str | None,
    typer.Option(
        "--labels",
        metavar="LABEL=CLASS,...",
        help="What the labels of the set mean, as 0=no,1=yes. Default: a label is the name of a class, or its place in "
        "an order that the task declares.",
    ),
]
LabelSeparator = Annotated[
    str | None,
    typer.Option(
        "--separator", help="What separates several labels in one cell, as '|'. Default: as in the task, else lists."
    ),
]
AllOfExperiment = Annotated[
    str | None,
    typer.Option(
        "--experiment", help="In place of MODEL: evaluate all finished fine-tunings of this experiment on --task."
    ),
]
TrainedTask = Annotated[
    str | None, typer.Option(help="With --experiment: the task that the models were fine-tuned on.")
]


def evaluate(
    models: TrainedModels = None,
    on: Dataset = ...,  # type: ignore[assignment]
    name: SetName = None,
    text: TextColumns = None,
    label: LabelColumn = None,
    labels: LabelNames = None,
    separator: LabelSeparator = None,
    experiment: AllOfExperiment = None,
    task: TrainedTask = None,
    data: Data = None,
    db: Database = DEFAULT_DB,
    style: TextOrJson = "text",
    trust_code: TrustCode = False,
) -> None:
    """Evaluate finished fine-tunings or exported models on another labelled set, and store the results as runs.

    Reports and comparisons of the experiment show the set beside its tasks. An evaluation that is stored is not
    repeated. A folder counts as its run where the database has that run and the folder is as an export writes it;
    another one counts as a further model, in the experiment "evaluated". The set gets the notes that check gives.

    Example: hashbench evaluate 3fa2 --on adv_sst2.jsonl
    """
    named = models or []
    if bool(named) == (experiment is not None) or (experiment is None) != (task is None):
        raise InputError("evaluate: name runs or folders, or --experiment with --task; see hashbench evaluate --help")
    folders = {place for place in named if Path(place).is_dir()}
    from hashbench.store.engine import open_store

    store = open_store(db, create=bool(named) and folders == set(named))
    from hashbench.deployment.export_run import compared_with_run
    from hashbench.deployment.loading import exported_model
    from hashbench.running.runs.further_sets import FurtherRequest
    from hashbench.running.sweep.evaluate import evaluate as evaluate_model
    from hashbench.running.sweep.evaluate import trainings_of

    request = FurtherRequest(on, name, tuple(text or ()), label, labels, separator)
    runs = []
    for model in named if experiment is None else trainings_of(store, experiment, str(task)):
        subject: str | ExportedModel = model
        if model in folders:
            exported = exported_model(model, trust_code=trust_code)
            subject = compared_with_run(store, exported, data or None, trust_code=trust_code)
        runs.append(evaluate_model(store, subject, request, data or None, trust_code=trust_code))
        if style == "text":
            show(str(runs[-1]))
    if style == "json":
        print_json([vars(run) for run in runs])
        return
    for line in dict.fromkeys(f"{run.task}: {remark}" for run in runs for remark in run.notes):
        note(line)
    option = "" if db == DEFAULT_DB else f" --db {store.name}"
    note(f"see: hashbench report {runs[0].experiments[0]}{option}")
