"""W&B runs as files of a folder, written by wandb offline, for `wandb sync`: the same runs however often.

`runs.json` beside them lists what the folder contains. A run that did not change is left as it is, with the mark that
`wandb sync` gave it; one that changed is written anew, one that the experiment no longer has is removed. Other files
are not touched.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hashbench.common.atomic import replace_text
from hashbench.common.errors import InputError
from hashbench.common.showing import printable
from hashbench.results.dashboard.runs import ShownRun
from hashbench.results.rendering.rows import json_text

MANIFEST = "runs.json"  # {id: fingerprint} of the written runs
LAYOUT = 2  # raised when the same ShownRun is written in another way
WANDB_ID = re.compile("[0-9a-f]{32}")  # as `live.wandb_id` makes it
WRITTEN_AT_ONCE = 100  # runs; to end and start wandb's service takes a second
# wandb otherwise spends two seconds a run on looking at packages, git and the machine, which are not the run's anyway
QUICK: dict[str, Any] = {
    "silent": True, "console": "off", "save_code": False, "disable_code": True, "disable_git": True,
    "x_disable_stats": True, "x_disable_meta": True, "x_disable_machine_info": True, "x_save_requirements": False,
}  # fmt: skip


def write_runs(runs: Sequence[ShownRun], path: Path, *, project: str, entity: str | None) -> int:
    """Writes runs that are new or changed, and removes those of an earlier call that are not in `runs`.

    Returns the number of written runs. Raises InputError where the folder cannot be written, or holds a `runs.json` of
    something else.
    """
    import wandb

    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"--output {path}: {error.strerror}; give another folder") from error
    before = _read(path)
    marks = {run.id: f"{LAYOUT} {entity or ''}/{project} {run.fingerprint()}" for run in runs}
    waiting = [run for run in runs if before.get(run.id) != marks[run.id] or not _folders(path, run.id)]
    os.environ["WANDB_DATA_DIR"] = str((path / "data").resolve())  # wandb copies tables there, not to the user's home
    for first in range(0, len(waiting), WRITTEN_AT_ONCE):
        some = waiting[first : first + WRITTEN_AT_ONCE]
        for run in some:
            _remove(path, run.id)  # wandb names a folder by the second, and would write on in one of this second
            _write(run, path, project=project, entity=entity)
        wandb.teardown()  # its service writes the ends of files after `finish` has returned
        before |= {run.id: marks[run.id] for run in some}
        replace_text(path / MANIFEST, json_text(before))  # a call that is interrupted goes on behind these
    for gone in before.keys() - marks.keys():
        _remove(path, gone)
    replace_text(path / MANIFEST, json_text(marks))
    return len(waiting)


def _write(run: ShownRun, path: Path, *, project: str, entity: str | None) -> None:
    """Has wandb write the files of a run."""
    import wandb

    live = wandb.init(
        mode="offline",
        project=project,
        entity=entity,
        group=run.group,
        id=run.id,
        name=run.name,
        job_type=run.kind,
        tags=run.tags,
        config=dict(run.config),
        dir=str(path.resolve()),  # its service keeps the folder that it was started in
        reinit="create_new",
        settings=wandb.Settings(**QUICK),
    )
    live.define_metric("step")
    live.define_metric("*", step_metric="step")
    for step, values in run.history:
        # Without `commit` the last row would be written at the end, and its values over those of the summary.
        live.log({**values, "step": step}, step=step, commit=True)
    for name, (columns, rows) in run.tables.items():
        live.log({name: wandb.Table(columns=list(columns), data=[list(row) for row in rows])})
    # after the curves, since wandb writes their last points into the summary
    live.summary.update(dict(run.summary))
    live.finish()


def _folders(path: Path, run_id: str) -> list[Path]:
    """The subfolders of a run, also those that an interrupted call left behind. None behind a link.

    Raises InputError for an id that is none, which a database may hold.
    """
    if not WANDB_ID.fullmatch(run_id):
        raise InputError(f"W&B run {printable(run_id[:80])!r}: no id of a run; see hashbench db check")
    parent = path / "wandb"
    folders = [] if parent.is_symlink() else parent.glob(f"offline-run-*-{run_id}")
    return [folder for folder in folders if folder.is_dir() and not folder.is_symlink()]


def _remove(path: Path, run_id: str) -> None:
    for folder in _folders(path, run_id):
        shutil.rmtree(folder)


def _read(path: Path) -> dict[str, str]:
    """The fingerprints of the runs that the folder has, by id."""
    file = path / MANIFEST
    if not file.exists():
        return {}
    try:
        written = json.loads(file.read_text(encoding="utf-8"))
        if not isinstance(written, Mapping) or not all(WANDB_ID.fullmatch(key) for key in written):
            raise ValueError("no ids of runs")
        return {key: value if isinstance(value, str) else "" for key, value in written.items()}
    except (OSError, ValueError) as error:
        raise InputError(f"{file}: not written by hashbench dashboard; give another folder with -o") from error
