"""Trivial baselines as folders for a device, learned again from the tasks of their runs.

Bytes and times are of the folder, which would be shipped in place of a model. A module of `EXPORTED` writes the folder
of one baseline.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hashbench.common.atomic import atomic_write, replace_text
from hashbench.common.errors import InputError
from hashbench.data.tasks.text import BAG_OF_WORDS, HASHED_WORDS
from hashbench.data.tasks.text_data import TaskData
from hashbench.deployment import bag_of_words, hashed_words
from hashbench.deployment.forms import FACTS, TIMED, Form, imported, median_milliseconds, scored, stored_forms, table_of
from hashbench.deployment.text_side import size_of
from hashbench.results.rendering.rows import json_text
from hashbench.running.experiment.stored_models import task_data_of_run
from hashbench.running.runs.baseline import floor_options
from hashbench.store.engine import open_results
from hashbench.store.status import done_ids, find_run, run_spec

EXPORTED: dict[str, Any] = {BAG_OF_WORDS: bag_of_words, HASHED_WORDS: hashed_words}  # modules


def exported_floor(db: str, prefix: str) -> str | None:
    """The stored name of a run's trivial baseline, if it can be exported. Raises InputError for an unknown run."""
    store = open_results(db)
    name = run_spec(store, find_run(store, prefix)).get("floor")
    return name if name in EXPORTED else None


def export_floor(
    db: str, prefix: str, folder: Path, data: Sequence[str] | None, note: Callable[[str], None], *, int8: bool = False,
    evaluate: bool = False,
) -> list[str]:  # fmt: skip
    """Writes the folder of a run; returns lines that describe it. With `evaluate` all kinds of numbers are measured.

    Raises InputError for an unfinished run, other data than the run's, or where nothing was learned.
    """
    store = open_results(db)
    run_id = find_run(store, prefix)
    if not done_ids(store, [run_id]):
        raise InputError(f"--run {prefix}: is not finished; go on with its sweep first (see hashbench status)")
    spec = run_spec(store, run_id)
    floor = EXPORTED[spec["floor"]]
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(f"{folder}: is there already; name a new folder")
    task = task_data_of_run(store, run_id, data)
    note(f"learning {spec['floor']} on {len(task.splits['train']):,} rows of train")
    learned, forms = floor.learned_on(task, **floor_options(spec)), []
    folder = folder.expanduser().absolute()
    kept = "int8" if int8 else floor.KINDS[0]
    with atomic_write(folder) as part:
        part.mkdir()
        for kind in floor.KINDS if evaluate else ():
            floor.write_folder(learned, kind, task.task.name, part)
            note(f"evaluating {kind} on the rows of {task.task.select_splits[0]}")
            forms.append(evaluated_folder(floor, part, kind, task))
        floor.write_folder(learned, kept, task.task.name, part)
    parts, others = ([folder / name for name in names] for names in (floor.PARTS, floor.OTHERS))
    lines = [
        f"{folder}: {size_of([*parts, *others]):,} bytes to ship, {size_of(parts):,} of them {kept} "
        f"{floor.described(learned)}",
        f"learned on train alone: python {folder / floor.CODE} 'a text' prints its label, without hashbench",
    ]
    if forms:
        replace_text(folder / FACTS, json_text({"evaluated": [vars(form) for form in forms]}))
        lines += [*table_of(forms), stored_forms(db, prefix, folder)]
    return lines


def evaluated_folder(floor: Any, folder: Path, kind: str, task: TaskData) -> Form:
    """Bytes, score on the split that selects, and times of a folder that a module of `EXPORTED` wrote.

    From words to scores it is timed as a graph is from ready inputs, and from a text to its label.
    """
    shipped = imported(folder / floor.CODE).load(folder)
    split = task.splits[task.task.select_splits[0]]
    rows = list(zip(*split.texts, strict=True))
    scores = np.array([shipped.scores(*row) for row in rows])  # (n, k)
    if shipped.labels:
        names = list(task.label_names) or [str(number) for number in range(task.n_outputs)]
        answers = (scores[:, 0] > 0).astype(int) if scores.shape[1] == 1 else scores.argmax(1)
        # (n,), or of several labels a text the scores themselves (n, C)
        numbers = np.array([names.index(label) for label in shipped.labels])
        outputs = scores if shipped.multi_label else numbers[answers]
    else:
        outputs = scores[:, 0]
    words = [shipped.tokenize(" ".join(row)) for row in rows[:TIMED]]
    data = size_of([folder / name for name in floor.PARTS])
    return Form(
        kind,
        data,
        *scored(task, outputs),
        milliseconds=median_milliseconds(shipped.of_words, [(of_row,) for of_row in words]),
        folder=size_of([folder / name for name in (*floor.PARTS, *floor.OTHERS)]),
        text_milliseconds=median_milliseconds(shipped.answer, rows[:TIMED]),
        data=data,
    )
