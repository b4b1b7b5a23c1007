"""`evaluate`: finished models on another labelled set."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hashbench.cli.options import DEFAULT_DB, Data, Database, TextOrJson, TrustCode
from hashbench.errors import InputError

if TYPE_CHECKING:
    from hashbench.store.engine import Store
    from hashbench.sweep.further import EvaluatedRun
    from hashbench.sweep.subjects import FurtherRequest


TrainedModels = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[MODEL]...", help="Finished fine-tunings, by the first digits of their ids, or exported models."
    ),
]
Dataset = Annotated[
    Path,
    typer.Option(
        "--on", metavar="DATASET", help="A parquet, CSV, TSV or JSONL file, or a folder with one.", show_default=False
    ),
]
SetName = Annotated[str | None, typer.Option(help="Of the set in tables; the file's or folder's if not given.")]
SplitOfFolder = Annotated[
    str | None, typer.Option(help="Which file of a folder; test, else validation, else its only file.")
]
TextColumns = Annotated[
    list[str] | None, typer.Option(help="Its column of texts; twice for a pair; the task's if not given.")
]
LabelColumn = Annotated[str | None, typer.Option(help="Its column of labels; the task's if not given.")]
Delimiter = Annotated[
    str | None, typer.Option(help="What separates the cells of its .csv file; the task's if not given, else a comma.")
]
AllOfExperiment = Annotated[
    str | None, typer.Option("--experiment", help="In place of MODEL: all its finished fine-tunings on --task.")
]
TrainedTask = Annotated[str | None, typer.Option(help="With --experiment: the task that they learned.")]


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
    """Evaluate finished fine-tunings or exported models on another labelled set, and store that as runs.

    Reports and comparisons of their experiment show the set with its tasks. Stored evaluations are not computed again.

    Example: hashbench evaluate 3fa2 --on adv_sst2.jsonl
    """
    from hashbench.cli.output import note, print_json, show
    from hashbench.store.engine import open_store
    from hashbench.sweep.subjects import FurtherRequest

    listed = models or []
    if bool(listed) == (experiment is not None) or (experiment is None) != (task is None):
        raise InputError("evaluate: name runs or folders, or --experiment with --task; see hashbench evaluate --help")
    store = open_store(db, create=bool(listed) and all(Path(each).is_dir() for each in listed))
    wanted = listed if experiment is None else _finetunings(store, experiment, str(task))
    request = FurtherRequest(on, name, split, tuple(text or ()), label, delimiter)
    done = []
    for each in wanted:
        done.append(_evaluated(store, each, request, data or None, trust_code=trust_code))
        if style == "text":
            show(line_of(done[-1]))
    if style == "json":
        print_json([vars(found) for found in done])
        return
    option = "" if db == DEFAULT_DB else f" --db {store.name}"
    note(f"see: hashbench report {done[0].experiments[0]}{option}")


def _evaluated(
    store: Store, model: str, request: FurtherRequest, data: list[str] | None, *, trust_code: bool
) -> EvaluatedRun:
    """The evaluation of an exported folder, or of a run by the first digits of its id."""
    if Path(model).is_dir():
        from hashbench.export.exported import exported_model
        from hashbench.sweep.further import evaluate_exported

        return evaluate_exported(store, exported_model(model, trust_code=trust_code), request, data)
    from hashbench.sweep.further import evaluate_run

    return evaluate_run(store, model, request, data)


def _finetunings(store: Store, experiment: str, task: str) -> list[str]:
    """The finished fine-tunings of an experiment on a task. Raises InputError where there is none."""
    from hashbench.store.status import find_experiment
    from hashbench.sweep.further import trainings_of

    found = trainings_of(store, find_experiment(store, experiment).id, task)
    if not found:
        raise InputError(f"{store.name}: {experiment} has no finished fine-tuning on {task!r}; see hashbench status")
    return found


def line_of(found: EvaluatedRun) -> str:
    """An evaluation in one line; scores in percent."""
    scores = ", ".join(
        f"{metric} {'undefined' if value is None else format(100 * value, '.1f')}"
        for metric, value in found.scores.items()
    )
    seed = "" if found.seed is None else f", seed {found.seed}"
    state = "" if found.is_new else " (stored before)"
    return f"{found.model} ({found.trained_on}{seed}) on {found.task}: {scores}; run {found.run_id[:12]}{state}"
