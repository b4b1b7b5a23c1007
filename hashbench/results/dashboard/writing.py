"""W&B runs as files of a folder, which `wandb sync` sends: the same set of runs however often they are written.

`runs.json` beside them remembers what stands where. A run that did not change is left as it is, one that changed is
written anew before its old files go, one that the experiment no longer has is taken away. Other files stay untouched.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from hashbench.common.atomic import atomic_write
from hashbench.common.errors import InputError
from hashbench.results.dashboard.runs import ShownRun
from hashbench.results.rendering.rows import json_text

MANIFEST = "runs.json"
LAYOUT = 1  # raised when the same ShownRun is written in another way
# wandb otherwise spends two seconds a run on looking at packages, git and the machine, which are not the run's anyway
QUICK: dict[str, Any] = {
    "silent": True, "console": "off", "save_code": False, "disable_code": True, "disable_git": True,
    "x_disable_stats": True, "x_disable_meta": True, "x_disable_machine_info": True, "x_save_requirements": False,
}  # fmt: skip


@dataclass(frozen=True)
class Written:
    """Where a run stands in the folder."""

    name: str
    kind: str
    fingerprint: str  # of what was written
    folder: str  # below the folder of all


@dataclass(frozen=True)
class RunFolder:
    """What a folder holds now."""

    path: Path
    runs: Mapping[str, Written]  # by W&B id
    n_new: int  # of these, written or written anew now

    def run_folders(self) -> list[Path]:
        """Of all runs, in their order."""
        return [self.path / run.folder for run in self.runs.values()]


def write_runs(runs: Sequence[ShownRun], path: Path, *, project: str, entity: str | None) -> RunFolder:
    """Brings the folder to exactly these runs.

    Raises InputError where the folder cannot be written, or holds a `runs.json` that is not ours.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"--output {path}: {error.strerror}; give another folder") from error
    before = _read(path)
    now: dict[str, Written] = {}
    n_new = 0
    with _own_data_folder(path):
        for run in runs:
            mark = f"{LAYOUT} {entity or ''}/{project} {run.fingerprint()}"
            if run.id in before and before[run.id].fingerprint == mark and (path / before[run.id].folder).is_dir():
                now[run.id] = before[run.id]
                continue
            folder = _write(run, path, project=project, entity=entity)
            now[run.id] = Written(run.name, run.kind, mark, folder.relative_to(path.resolve()).as_posix())
            _remove_others(path, run.id, keep=folder)
            n_new += 1
            _save(path, {**before, **now})  # a call that is interrupted here goes on where it was
    for gone in before.keys() - now.keys():
        _remove_others(path, gone)
    _save(path, now)
    return RunFolder(path, now, n_new)


def _write(run: ShownRun, path: Path, *, project: str, entity: str | None) -> Path:
    """One offline run; gives back its folder."""
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
    # After the curves, whose last points would stand there otherwise.
    live.summary.update(dict(run.summary))
    live.finish()
    return folder


@contextmanager
def _own_data_folder(path: Path) -> Iterator[None]:
    """wandb copies what tables hold to a folder in the user's home; here they go beside the runs."""
    before = os.environ.get("WANDB_DATA_DIR")
    os.environ["WANDB_DATA_DIR"] = str((path / "data").resolve())
    try:
        yield
    finally:
        if before is None:
            del os.environ["WANDB_DATA_DIR"]
        else:
            os.environ["WANDB_DATA_DIR"] = before


def _remove_others(path: Path, run_id: str, keep: Path | None = None) -> None:
    """Takes away folders of a run, those of an interrupted call too."""
    for folder in (path / "wandb").glob(f"offline-run-*-{run_id}"):
        if keep is None or folder.resolve() != keep:
            shutil.rmtree(folder)


def _read(path: Path) -> dict[str, Written]:
    file = path / MANIFEST
    if not file.exists():
        return {}
    try:
        return {key: Written(**values) for key, values in json.loads(file.read_text(encoding="utf-8")).items()}
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise InputError(f"{file}: not written by hashbench dashboard; give another folder with -o") from error


def _save(path: Path, runs: Mapping[str, Written]) -> None:
    with atomic_write(path / MANIFEST) as part:
        part.write_text(json_text({key: asdict(run) for key, run in runs.items()}), encoding="utf-8")
