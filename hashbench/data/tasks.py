"""What a task is: its columns, its metrics, the sets to select and to report on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from hashbench.errors import InputError, near_match
from hashbench.experiment.schema import Entities, Experiment, Phrases, TaskEntry

Kind = Literal["classification", "regression", "entities", "phrases"]
OF_ITEMS = ("entities", "phrases")  # kinds whose items are hidden and predicted
EVALUATIONS_PER_EPOCH = 5  # the rule that reproduces all eight intervals of the HashFormers paper's table 5


@dataclass(frozen=True)
class Task:
    """A task as data. A text is one column, or two that make a pair; of every metric more is better."""

    name: str
    text: tuple[str, ...]
    label: str = "label"
    kind: Kind = "classification"
    metrics: tuple[str, ...] = ("accuracy",)  # all of them are stored at every evaluation
    select_metric: str = "accuracy"
    paper_metrics: dict[str, str] = field(default_factory=dict)  # paper -> the metric that its tables show
    select_splits: tuple[str, ...] = ("validation",)  # several are selected on together, as one set
    report_splits: tuple[str, ...] = ("validation",)
    evaluation_stride: int = 1  # how many times the common interval lies between two evaluations
    n_classes: int | None = None  # 1: regression; None: an own data set, known once its labels are read
    label_names: tuple[str, ...] = ()
    official_rows: dict[str, int] = field(default_factory=dict)  # split -> rows of the published data set
    folder: Path | None = None  # of an own data set; None: looked for in the sources
    collection: Literal["glue", "classification"] = "glue"  # the part of a data folder that holds it
    protocol: Entities | Phrases | None = None  # how a page-link set, or a corpus of items, is split and tested

    @property
    def is_pair(self) -> bool:
        """Whether a text is a pair of two columns."""
        return len(self.text) == 2

    @property
    def of_items(self) -> bool:
        """Whether items are predicted, of page links or of a corpus."""
        return self.kind in OF_ITEMS

    @property
    def is_own(self) -> bool:
        """Whether this is a data set of the user's own."""
        return self.folder is not None

    @property
    def evaluation_splits(self) -> tuple[str, ...]:
        """The sets to select on, then those that are only reported on."""
        return tuple(dict.fromkeys(self.select_splits + self.report_splits))

    def evaluation_every(self, steps_per_epoch: int, per_epoch: int | None = None) -> int:
        """Steps between two evaluations: the paper's rule, or `per_epoch` evaluations an epoch.

        >>> find_task("cola").evaluation_every(268)  # 8,551 rows in batches of 32; the paper's table 5 says 162
        162
        """
        if per_epoch is not None:
            return -(-steps_per_epoch // per_epoch)
        return -(-steps_per_epoch // EVALUATIONS_PER_EPOCH) * self.evaluation_stride


def known_tasks() -> dict[str, Task]:
    """Every named task."""
    from hashbench.data.entities import ENTITIES
    from hashbench.data.glue import EXTRA_TASKS, TASKS  # here, since these are made of Task
    from hashbench.data.phrases import PHRASES
    from hashbench.data.text_tasks import TEXT_TASKS

    return {task.name: task for task in (*TASKS, *EXTRA_TASKS, *TEXT_TASKS, ENTITIES, PHRASES)}


def find_task(name: str) -> Task:
    """The named task.

    Raises:
        InputError: there is no task of this name.
    """
    tasks = known_tasks()
    if name not in tasks:
        hint = near_match(name, list(tasks)) or f"; known are {', '.join(tasks)}"
        raise InputError(f"unknown task {name!r}{hint} (list: hashbench data list)")
    return tasks[name]


def under_protocol(tasks: Sequence[Task], experiment: Experiment, base: Path) -> list[Task]:
    """The same tasks, those of items with the experiment's way to split and to test them.

    `base` is the folder of the experiment file, from which the path of a vocabulary is read. Raises InputError for a
    missing one, before the hub is asked for it.
    """
    phrases, name = experiment.phrases, experiment.phrases.vocabulary
    if name is not None and any(task.kind == "phrases" for task in tasks):
        path = base / Path(name).expanduser()
        if path.exists():
            phrases = phrases.model_copy(update={"vocabulary": str(path)})
        elif path.suffix or name.startswith((".", "/", "~")):
            raise InputError(
                f"phrases.vocabulary: no such file {name!r}; it is relative to the experiment file, or a hub name"
            )
    protocols: dict[str, Entities | Phrases] = {"entities": experiment.entities, "phrases": phrases}
    return [replace(task, protocol=protocols[task.kind]) if task.of_items else task for task in tasks]


def expand_tasks(tasks: str | Sequence[str | TaskEntry], base: Path) -> list[Task]:
    """The `tasks` of an experiment file, with `glue` spelled out as its eight.

    `base` is the folder of the experiment file, from which the paths of own data sets are read.

    Raises:
        InputError: an unknown or repeated name, or an own data set that cannot be one.
    """
    from hashbench.data.classification import own_task
    from hashbench.data.glue import GLUE_NAMES

    found: list[Task] = []
    for entry in (tasks,) if isinstance(tasks, str) else tasks:
        if isinstance(entry, TaskEntry):
            found.append(own_task(entry, base))
        else:
            found.extend(find_task(name) for name in (GLUE_NAMES if entry == "glue" else (entry,)))
    names = [task.name for task in found]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"tasks: {name!r} stands there twice; give each task one name")
    return found
