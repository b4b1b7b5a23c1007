"""The experiment's own table: every model by every task, the average over the tasks they share, parameters, time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hashbench.common.measured import SEPARATION
from hashbench.results.papers.paper import Column, Paper
from hashbench.results.read import queries
from hashbench.results.read.evidence import Evidence
from hashbench.results.read.measured import Measured
from hashbench.results.read.runs import grouped
from hashbench.results.tables.measures import View, entry_row, measured_columns
from hashbench.results.tables.request import TableFile
from hashbench.results.tables.table import (
    Row,
    Table,
    best_floors_note,
    floor_note,
    floor_of,
    marked,
    missing_lines,
)

SIZES = (
    Column("total_params", "params", "fact", "params", better="low", subtitle="all"),
    Column("emb_params", "params", "fact", "params", better="low", subtitle="embedding"),
)
TIMES = (
    Column("pt_ms", "ms/sample", "fact", "pre-train", better="low", subtitle="ms/sample"),
    Column("infer_ms", "ms/sample", "fact", "infer", better="low", subtitle="ms/sample"),
)
# Columns that `export --evaluate` stores for models and the bag of words, float32 and int8: bytes of the graph (for the
# bag, of words and weights) and of the folder, score, ms a text on one thread from ids (words) and from the string
FORMS = tuple(
    column
    for form in ("float32", "int8")
    for column in (
        Column(f"{form}_bytes", "bytes", "fact", form, better="low", subtitle="bytes"),
        Column(f"{form}_score", "percent", "fact", form, better="high", subtitle="score"),
        Column(f"{form}_latency", "ms/sample", "fact", form, better="low", subtitle="ms a text"),
        Column(f"{form}_folder", "bytes", "fact", form, better="low", subtitle="folder"),
        Column(f"{form}_text_latency", "ms/sample", "fact", form, better="low", subtitle="ms from text"),
    )
)
FLOAT_BYTES = 4  # of a parameter in float32
COSTS = (
    Column("emb_params", "params", "fact", "params", subtitle="embedding"),
    Column("active_params", "count", "fact", "params", better="low", subtitle="active a token"),
    Column("total_params", "params", "fact", "params", subtitle="all"),
    Column("bytes_per_token", "bytes", "fact", "bytes", better="low", subtitle="a token", fact="active_params",
           factor=FLOAT_BYTES),
    Column("multiply_adds", "count", "fact", "multiply-adds", better="low", subtitle="a token"),
)  # fmt: skip
AVERAGE = Column("average", "percent", "average", "Average", better="high")
MINUTES = Column("run_minutes", "minutes", "minutes", "training", subtitle="minutes")
# Of pre-trainings on held-out rows of their corpus, where an experiment has no task. Losses are those of the objective,
# so that models of one objective and one list of targets compare
HELD_OUT_ROWS = (
    Column("held_out_accuracy", "percent", "held-out rows", "held-out", subtitle="accuracy", metric="accuracy"),
    Column("held_out_accuracy_outside_1000", "percent", "held-out rows", "held-out", subtitle="outside 1,000",
           metric="accuracy_outside_1000"),
    Column("held_out_separation", "area", "held-out rows", "held-out", subtitle="separation", metric=SEPARATION),
    Column("held_out_loss", "nats", "held-out rows", "held-out", subtitle="loss", metric="loss"),
    Column("held_out_loss_among_candidates", "nats", "held-out rows", "held-out", subtitle="loss of listed",
           metric="loss_among_candidates"),
)  # fmt: skip
# Names of columns, and the beginnings of names that depend on an experiment. A task with one of them is renamed
OWN_NAMES = frozenset(column.name for column in (*SIZES, *TIMES, *COSTS, *FORMS, *HELD_OUT_ROWS, AVERAGE, MINUTES))
OWN_PREFIXES = ("encoder_", "script_")
UNTUNED = "Scored as pre-trained, without fine-tuning, by seeds of the pre-training, and in no average"
OF_FORMS = "Columns of float32 and int8 are of exported models, measured when they were exported, fine-tuned on"
OF_HELD_OUT_ROWS = (
    "Held-out: rows of the corpus that no pre-training has read. Losses of different objectives or lists of targets do "
    "not compare. Outside 1,000: at words that are not among the 1,000 most frequent. Loss of listed: of a softmax "
    "over the most frequent words, or over the vocabulary."
)
OF_MINUTES = "Training minutes"  # the begin of notes on them


def own_columns(measured: Measured, paper: Paper, *, all_metrics: bool = False) -> list[Column]:
    """The columns of the experiment's own table, each task with the metric that selects.

    `paper` gives the order and spelling of known tasks; `all_metrics`: a column of every metric and split.
    """
    of_paper = [task for task in paper.tasks if task in measured.tasks()]
    tasks = list(dict.fromkeys((*of_paper, *measured.tasks())))
    return apart(_columns(measured, paper, tasks, all_metrics))


def own_table(
    measured: Measured, paper: Paper, *, evidence: Evidence | None = None, all_metrics: bool = False
) -> Table:
    """The table of all models and trivial baselines by task, with the columns of `own_columns`."""
    columns = own_columns(measured, paper, all_metrics=all_metrics)
    tasks = list(dict.fromkeys(column.task for column in columns if column.task))
    if evidence is not None:  # all at once, before the cells draw one by one
        scores = [column for column in columns if column.measure == "score"]
        evidence.draw(
            evidence.of(entry, str(column.task), column.metric, column.split)
            for entry in (*measured.entries, *measured.imported)
            for column in scores
        )
    view = View(measured=measured, columns={column.name: column for column in columns}, evidence=evidence)
    rows = [entry_row(entry, view.cells(entry, columns)) for entry in (*measured.entries, *measured.imported)]
    rows = marked(rows, columns)
    baselines = [row for row in rows if row.is_baseline]
    notes, details = _notes(measured, tasks, rows)
    notes += _fewer_units(rows, columns)
    details += best_floors_note(columns, baselines)
    for column in columns:
        if column.measure == "average":
            details += floor_note(floor_of(column, columns, baselines), column)
    scores = [column for column in columns if column.measure == "score"]
    return Table(
        paper="",
        number="own",
        title=f"Experiment {measured.experiment.name}",
        experiment=measured.experiment.name,
        columns=tuple(columns),
        rows=tuple(rows),
        notes=tuple(notes),
        details=tuple(details),
        missing=tuple(missing_lines([row for row in rows if row.kind != "imported"], scores)),
        published=False,
        readings=tuple((column.task or "", column.metric, column.split) for column in scores if column.metric),
        compares_sections=any(entry.train_rows is not None for entry in measured.entries),
    )


def without_minutes(notes: Sequence[str]) -> tuple[str, ...]:
    """The notes of a table that are not on its column of minutes."""
    return tuple(note for note in notes if not note.startswith(OF_MINUTES))


def _fewer_units(rows: Sequence[Row], columns: Sequence[Column]) -> list[str]:
    """Notes on averages over fewer pre-trainings, or seeds, than the model has: the others lack a task."""
    of_columns: dict[tuple[str, tuple[str, ...]], list[str]] = {}  # of the same models
    for column in columns:
        by_words = grouped((cell.of_units, row.title) for row in rows if (cell := row.cells[column.name]).of_units)
        for words, titles in by_words.items():
            of_columns.setdefault((words, tuple(titles)), []).append(column.title or column.name)
    return [
        f"{', '.join(names)}: over {words} pre-trainings or seeds, as the others lack a task: {', '.join(titles)}."
        for (words, titles), names in of_columns.items()
    ]


def _notes(measured: Measured, tasks: Sequence[str], rows: Sequence[Row]) -> tuple[list[str], list[str]]:
    """Notes on what is not comparable; details on averages and minutes."""
    notes, details = [], []
    if untuned := measured.untuned_tasks():
        notes.append(f"{UNTUNED}: {', '.join(untuned)}.")
    if further := [task for task in measured.further_sets() if task in tasks and task not in untuned]:
        sets = ", ".join(further)
        notes.append(f"Further sets, evaluated with the models of other columns and in no average: {sets}.")
    for kind, n in measured.apart_from_trainings().items():
        notes.append(
            f"In no cell: {n} run{'s' if n > 1 else ''} of kind {kind!r}, evaluations on a task that the model is "
            "trained on (hashbench.results with everything=True has them)."
        )
    if named := measured.experiment.averages:
        listed = "; ".join(f"{name} of {', '.join(of_tasks)}" for name, of_tasks in named.items())
        details.append(f"Averages over some tasks: {listed}.")
    if not tasks and measured.of_held_out_rows("loss"):
        notes.append(OF_HELD_OUT_ROWS)
    if any(row.cells[MINUTES.name].value is not None for row in rows):
        machines = {run.origin.hardware for run in measured.runs if run.origin.hardware}
        details.append(f"{OF_MINUTES}: all finished runs of a model, pre-training and evaluations included.")
        if len(machines) > 1:
            notes.append(f"{OF_MINUTES}: on {len(machines)} kinds of machine, so rows are not comparable.")
    exported = {row["task"] for row in measured.query(queries.TASKS_OF_FORMS, experiment=measured.experiment.id)}
    if exported:
        names = ", ".join(task for task in tasks if task in exported)
        notes.append(f"{OF_FORMS} {names}; scores are on the rows that select the checkpoint.")
    return notes, details


def _columns(measured: Measured, paper: Paper, tasks: Sequence[str], all_metrics: bool) -> list[Column]:
    """The columns of the table: tasks, average, minutes, and those sizes and times that were measured."""
    columns = [column for task in tasks for column in _task_columns(measured, paper, task, all_metrics)]
    averaged = set(measured.averaged_tasks())
    if trained := [task for task in tasks if task in averaged]:
        of = f"{len(trained)} task{'s' if len(trained) > 1 else ''}"
        columns.append(replace(AVERAGE, subtitle=of, tasks=tuple(trained)))
    for name, of_tasks in measured.experiment.averages.items():
        own = [task for task in of_tasks if task in tasks]
        columns.append(
            replace(AVERAGE, name=f"average_{name}", title=name, subtitle=f"{len(own)} tasks", tasks=tuple(own))
        )
    if not tasks:
        columns.extend(column for column in HELD_OUT_ROWS if measured.of_held_out_rows(column.metric))
    columns.extend(measured_columns(measured, (*SIZES, *TIMES, *FORMS)))
    return [*columns, MINUTES]


def apart(columns: Sequence[Column]) -> list[Column]:
    """The columns; a task's column with the name of another column gets a new name and heading."""
    taken = {*OWN_NAMES, *(column.name for column in columns if column.task is None)}
    renamed = []
    for column in columns:
        if column.task is not None and (column.name in taken or column.name.startswith(OWN_PREFIXES)):
            of_task = f"{column.metric} of task {column.task}"  # with blanks, as no name in an experiment file
            column = replace(column, name=f"{column.name} ({of_task})", title=f"{column.title} (task)")
        taken.add(column.name)
        renamed.append(column)
    return renamed


def _task_columns(measured: Measured, paper: Paper, task: str, all_metrics: bool) -> list[Column]:
    """The column TASK with the reported metric, then with `all_metrics` columns TASK_METRIC or TASK_METRIC_SPLIT."""
    scores = [score for by_run in measured.scores.values() for score in by_run if score.run.task == task]
    read = next(((score.metric, score.split) for score in scores if score.own), ("", ""))
    title = paper.titles.get(task, task)
    first = Column(task, "percent", "score", title, task, "high", subtitle=read[0], metric=read[0], split=read[1])
    if not all_metrics:
        return [first]
    others = [pair for pair in dict.fromkeys((score.metric, score.split) for score in scores) if pair != read]
    return [first, *(_other_column(first, metric, split) for metric, split in others)]


def _other_column(first: Column, metric: str, split: str) -> Column:
    """The column of a further metric of a task. Its name has the split if the first column reads another one."""
    elsewhere = split != first.split
    return replace(
        first,
        name=f"{first.name}_{metric}" + (f"_{split}" if elsewhere else ""),
        subtitle=metric + (f" {split.removeprefix('validation_')}" if elsewhere else ""),
        metric=metric,
        split=split,
    )


TABLE = TableFile(
    "own",
    "every model by every task, the average over the tasks they share, parameters, times",
    lambda source: [
        own_table(
            source.measured,
            source.paper,
            evidence=source.evidence,
            all_metrics=source.request.all_metrics,
        )
    ],
)
