"""`evaluate`: finished models on another labelled set."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hashbench.cli.options import DEFAULT_DB, Data, Database, TextOrJson, TrustCode
from hashbench.common.errors import InputError

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
        help="The labelled set: a parquet, CSV, TSV or JSONL file, or a folder with one.",
        show_default=False,
    ),
]
SetName = Annotated[
    str | None, typer.Option(help="The name of the set in tables. Default: the name of its file or folder.")
]
SplitOfFolder = Annotated[
    str | None, typer.Option(help="The file to read of a folder. Default: test, else validation, else its only file.")
]
TextColumns = Annotated[
    list[str] | None, typer.Option(help="The column of texts; give it twice for pairs. Default: as in the task.")
]
LabelColumn = Annotated[str | None, typer.Option(help="The column of labels. Default: as in the task.")]
Delimiter = Annotated[
    str | None, typer.Option(help="What separates the cells of a .csv file. Default: as in the task, else a comma.")
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
    split: SplitOfFolder = None,
    text: TextColumns = None,
    label: LabelColumn = None,
    delimiter: Delimiter = None,
    experiment: AllOfExperiment = None,
    task: TrainedTask = None,
    data: Data = None,
    db: Database = DEFAULT_DB,
    style: TextOrJson = "text",
    trust_code: TrustCode = False,
) -> None:
    """Evaluate finished fine-tunings or exported models on another labelled set, and store the results as runs.

    Reports and comparisons of the experiment show the set beside its tasks. An evaluation that is stored is not
    repeated.

    Example: hashbench evaluate 3fa2 --on adv_sst2.jsonl
    """
    from hashbench.cli.output import note, print_json, show
    from hashbench.deployment.exported import exported_model
    from hashbench.running.runs.further import FurtherRequest
    from hashbench.running.sweep.further import evaluate as evaluate_model
    from hashbench.running.sweep.further import trainings_of
    from hashbench.store.engine import open_store

    named = models or []
    if bool(named) == (experiment is not None) or (experiment is None) != (task is None):
        raise InputError("evaluate: name runs or folders, or --experiment with --task; see hashbench evaluate --help")
    folders = {place for place in named if Path(place).is_dir()}
    store = open_store(db, create=bool(named) and folders == set(named))
    request = FurtherRequest(on, name, split, tuple(text or ()), label, delimiter)
    runs = []
    for model in named if experiment is None else trainings_of(store, experiment, str(task)):
        subject = exported_model(model, trust_code=trust_code) if model in folders else model
        runs.append(evaluate_model(store, subject, request, data or None))
        if style == "text":
            show(str(runs[-1]))
    if style == "json":
        print_json([vars(run) for run in runs])
        return
    option = "" if db == DEFAULT_DB else f" --db {store.name}"
    note(f"see: hashbench report {runs[0].experiments[0]}{option}")
