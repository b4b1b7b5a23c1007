"""W&B runs as files of a folder, written by wandb offline and sent by `wandb sync`: the same runs however often.

`runs.json` beside them lists what the folder contains. A run that did not change is left as it is, one that changed is
written anew before its old files are removed, one that the experiment no longer has is removed. Other files are not
touched. What arrived at the server is not sent twice: `wandb sync` marks it.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from hashbench.common.atomic import atomic_write
from hashbench.common.errors import InputError
from hashbench.common.showing import printable
from hashbench.results.dashboard.runs import ShownRun
from hashbench.results.rendering.rows import json_text

MANIFEST = "runs.json"
LAYOUT = 1  # raised when the same ShownRun is written in another way
WANDB_ID = re.compile("[0-9a-f]{32}")  # as `live.wandb_id` makes it
SENT = "sent.json"  # the server to which the runs of a folder went
LOG = "sync.log"
OWN = ("workspace.json", "report.json", SENT, LOG)  # files that are replaced, where the folder has a MANIFEST
ERROR = "ERROR"  # in a line of the log of `wandb sync`
WRITTEN_AT_ONCE = 100  # runs; to end and start wandb's service takes a second
STALL_S = 30.0  # without an arrived run or a new line of `wandb sync`, until it is ended
POLL_S = 0.2
# wandb otherwise spends two seconds a run on looking at packages, git and the machine, which are not the run's anyway
QUICK: dict[str, Any] = {
    "silent": True, "console": "off", "save_code": False, "disable_code": True, "disable_git": True,
    "x_disable_stats": True, "x_disable_meta": True, "x_disable_machine_info": True, "x_save_requirements": False,
}  # fmt: skip


@dataclass(frozen=True)
class Written:
    """One W&B run that was written to the folder."""

    name: str
    kind: str
    fingerprint: str  # of what was written
    folder: str  # below the folder of all


@dataclass(frozen=True)
class RunFolder:
    """A folder of W&B runs in wandb's offline format."""

    path: Path
    runs: Mapping[str, Written]  # by W&B id
    n_new: int  # of these, written or written anew now

    def run_folders(self) -> list[Path]:
        """The subfolder of each run."""
        return [self.path / run.folder for run in self.runs.values()]


def write_runs(runs: Sequence[ShownRun], path: Path, *, project: str, entity: str | None) -> RunFolder:
    """The folder, after writing runs that are new or changed and removing those not in `runs`.

    Raises InputError where the folder cannot be written, or holds a `runs.json` of something else.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"--output {path}: {error.strerror}; give another folder") from error
    before = _read(path)
    now: dict[str, Written] = {}
    unsaved = n_new = 0
    with _own_data_folder(path):
        for run in runs:
            mark = f"{LAYOUT} {entity or ''}/{project} {run.fingerprint()}"
            if run.id in before and before[run.id].fingerprint == mark and (path / before[run.id].folder).is_dir():
                now[run.id] = before[run.id]
                continue
            # Before: wandb names a folder by the second, and would write on in one of this second
            _remove(path, run.id)
            folder = _write(run, path, project=project, entity=entity)
            now[run.id] = Written(run.name, run.kind, mark, folder.relative_to(path.resolve()).as_posix())
            n_new, unsaved = n_new + 1, unsaved + 1
            if unsaved == WRITTEN_AT_ONCE:  # a call that is interrupted behind this goes on here
                _end_service()
                _save(path, {**before, **now})
                unsaved = 0
        if unsaved:
            _end_service()
    for gone in before.keys() - now.keys():
        _remove(path, gone)
    _save(path, now)
    return RunFolder(path, now, n_new)


def _write(run: ShownRun, path: Path, *, project: str, entity: str | None) -> Path:
    """The subfolder of a run, which wandb has written offline."""
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
    folder = Path(live.dir).resolve().parent
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
    return folder


def _end_service() -> None:
    """Waits for wandb's service, which writes the ends of files after `finish` has returned."""
    import wandb

    wandb.teardown()


@contextmanager
def _own_data_folder(path: Path) -> Iterator[None]:
    """Within this context wandb copies the contents of tables to a folder beside the runs, not to the user's home."""
    before = os.environ.get("WANDB_DATA_DIR")
    os.environ["WANDB_DATA_DIR"] = str((path / "data").resolve())
    try:
        yield
    finally:
        if before is None:
            del os.environ["WANDB_DATA_DIR"]
        else:
            os.environ["WANDB_DATA_DIR"] = before


def _remove(path: Path, run_id: str) -> None:
    """Removes the subfolders of a run, also those that an interrupted call left behind. Goes behind no link.

    Raises InputError for an id that is none, which a database may hold.
    """
    if not WANDB_ID.fullmatch(run_id):
        raise InputError(f"W&B run {printable(run_id[:80])!r}: no id of a run; see hashbench db check")
    parent = path / "wandb"
    for folder in () if parent.is_symlink() else parent.glob(f"offline-run-*-{run_id}"):
        if folder.is_dir() and not folder.is_symlink():
            shutil.rmtree(folder)


def _read(path: Path) -> dict[str, Written]:
    file = path / MANIFEST
    if not file.exists():
        if strange := [name for name in OWN if (path / name).exists()]:
            raise InputError(f"{path / strange[0]}: not written by hashbench dashboard; give another folder with -o")
        return {}
    try:
        written = {key: Written(**values) for key, values in json.loads(file.read_text(encoding="utf-8")).items()}
        for key, run in written.items():
            if not WANDB_ID.fullmatch(key) or not re.fullmatch(rf"wandb/offline-run-[0-9_]+-{key}", run.folder):
                raise ValueError("a place elsewhere")
        return written
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise InputError(f"{file}: not written by hashbench dashboard; give another folder with -o") from error


def _save(path: Path, runs: Mapping[str, Written]) -> None:
    with atomic_write(path / MANIFEST) as part:
        part.write_text(json_text({key: asdict(run) for key, run in runs.items()}), encoding="utf-8")


def forget_other_server(folder: RunFolder, target: str) -> None:
    """Removes wandb's "synced" marks if runs were last sent to another server than `target`, and stores `target`."""
    file = folder.path / SENT
    if file.exists() and json.loads(file.read_text(encoding="utf-8")) != target:
        for run in folder.run_folders():
            for mark in run.glob("*.synced"):
                mark.unlink()
    file.write_text(json.dumps(target), encoding="utf-8")


def sync(folder: RunFolder, *, project: str, entity: str) -> None:
    """Sends the runs without a "synced" mark with `wandb sync`, a process that is ended when it makes no progress.

    Raises InputError where the server refused runs or stopped answering.
    """
    waiting = [run.resolve() for run in folder.run_folders() if not any(run.glob("*.synced"))]
    if not waiting:
        return
    command = [sys.executable, "-m", "wandb", "sync", "-p", project, "-e", entity, *map(str, waiting)]
    log = folder.path / LOG
    with log.open("wb") as output:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            # wandb writes its logs there, not into the working folder
            env={**os.environ, "WANDB_DIR": str(folder.path)},
        )
        try:
            _wait(process, log, waiting)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)  # wandb's service is a child of it
                process.wait()
    _take_back_marks(log, waiting)
    n_missing = sum(not any(run.glob("*.synced")) for run in waiting)
    if n_missing:
        raise InputError(
            f"dashboard: {len(waiting) - n_missing} of {len(waiting)} runs arrived at the W&B server, then it refused "
            f"the others or stopped answering (see {log}); the files are in {folder.path}; the same command goes on"
        )


def _take_back_marks(log: Path, waiting: list[Path]) -> None:
    """Removes the "synced" marks of refused runs, which wandb marks as sent too and names only in its log.

    An error that names no run, while all have a mark, may be about any of them.
    """
    errors = [line for line in log.read_text(encoding="utf-8", errors="replace").splitlines() if ERROR in line]
    refused = [run for run in waiting if any(f"/{run.name.rpartition('-')[2]}]" in line for line in errors)]
    if errors and not refused and all(any(run.glob("*.synced")) for run in waiting):
        refused = waiting
    for run in refused:
        for mark in run.glob("*.synced"):
            mark.unlink()


def _wait(process: subprocess.Popen[bytes], log: Path, waiting: list[Path]) -> None:
    """Returns when `wandb sync` ends, or when it has sent and logged nothing for a while."""
    moved, last = time.monotonic(), (-1, -1)
    while process.poll() is None:
        now = (sum(any(run.glob("*.synced")) for run in waiting), log.stat().st_size)
        if now != last:
            moved, last = time.monotonic(), now
        elif time.monotonic() - moved > STALL_S:
            return
        time.sleep(POLL_S)
