"""`hashbench dashboard`: an experiment's runs as files for `wandb sync`, and its workspace at W&B.

`runs.json` beside the files lists the runs that a folder has. A run that did not change is left as it is, with the mark
that `wandb sync` gave it; one that changed is written anew, one that the experiment no longer has is removed. Other
files are not touched.
"""

from __future__ import annotations

import contextlib
import json
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hashbench.common.atomic import replace_text
from hashbench.common.errors import InputError
from hashbench.common.extras import required
from hashbench.common.showing import printable
from hashbench.results.dashboard.live import PROJECT
from hashbench.results.dashboard.runs import Shown, ShownRun, shown
from hashbench.results.rendering.rows import json_text
from hashbench.store.engine import Store

FOLDER = "dashboard"  # in the working folder, with a folder for each experiment
PROBE_S = 20  # within which a server answers; wandb's client would try for minutes


@dataclass(frozen=True)
class DashboardResult:
    """An experiment's folder and workspace, and how many of its runs are in them."""

    folder: Path
    project: str
    entity: str
    n_runs: int
    n_new: int  # written or written anew; the others were there
    n_open: int  # runs of the experiment that are not finished
    workspace: str  # its address; '' where nothing was sent


def dashboard(
    store: Store,
    experiment: str | None = None,
    *,
    project: str | None = None,
    entity: str | None = None,
    offline: bool = False,
    output: Path | None = None,
    note: Callable[[str], None] = lambda _: None,
) -> DashboardResult:
    """Writes the runs of an experiment (None: the last that was swept) to a folder, and saves its workspace at W&B.

    Any number of times: ids depend on the runs alone. `offline`: writes files only. `note` gets a line before the runs
    are written.

    Raises InputError: no such experiment, wandb not installed, not logged in, a server that does not answer.
    """
    for package in ("wandb", "wandb_workspaces"):
        required(package)
    server, login = ("", "") if offline else check_server()  # before minutes of work
    content = shown(store, experiment)
    name, config = content.measured.experiment.name, content.measured.experiment.config
    project = project or str(config.get("tracking", {}).get("project", PROJECT))  # older versions stored none
    path = output or Path(FOLDER) / name
    note(f"{name}: {len(content.runs)} W&B runs into {path}")
    n_new = write_runs(content.runs, path, project=project, entity=entity)
    address = "" if offline else save_workspace(content, server, project=project, entity=entity or login)
    return DashboardResult(path, project, entity or login, len(content.runs), n_new, content.n_open, address)


def check_server() -> tuple[str, str]:
    """The server's address and the entity of the login. Raises InputError: no login, or no answer."""
    import wandb

    limits = wandb.Settings(
        mode="online",
        silent=True,
        x_graphql_timeout_seconds=0.4 * PROBE_S,  # of each of two tries; wandb cuts fractions of a second off
        x_graphql_retry_max=1,
        x_graphql_retry_wait_min_seconds=0.1,
        x_graphql_retry_wait_max_seconds=1.0,
    )
    server = wandb.setup(limits).settings.base_url.rstrip("/")
    if not wandb.login(prompt=False, verify=False):
        raise InputError(
            f"dashboard: not logged in to Weights & Biases ({server}); run wandb login or set WANDB_API_KEY, "
            "or write files with --offline"
        )
    try:
        return server, wandb.Api(timeout=PROBE_S).default_entity or ""
    except Exception as error:  # whatever a foreign service throws is one line
        reason = " ".join(str(error.__cause__ or error).split())[:300]
        raise InputError(
            f"dashboard: the W&B server {server} does not answer, or does not know the API key ({reason}); try again "
            "later, run wandb login --relogin, or write files with --offline"
        ) from error


def save_workspace(shown: Shown, server: str, *, project: str, entity: str) -> str:
    """Saves the workspace at W&B in place of an earlier one of its name; returns its address. Raises InputError."""
    import wandb_workspaces.workspaces as ws

    from hashbench.results.dashboard import views

    view = views.workspace(shown, project=project, entity=entity)
    address = f"{server}/{entity}/{project}?nw={views.view_name(shown)}"
    try:
        with contextlib.suppress(ValueError):  # not there yet
            view._internal_id = ws.Workspace.from_url(address)._internal_id
        return str(view.save().url)
    except Exception as error:  # whatever a foreign service throws is one line
        reason = " ".join(f"{type(error).__name__}: {error}".split())[:300]
        raise InputError(f"dashboard: the runs are written, but the workspace was not saved ({reason})") from error


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
    """Writes runs that are new or changed, and removes runs of an earlier call that are not in `runs`.

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
        # Without `commit` the last row would be written at the end and replace the values of the summary.
        live.log({**values, "step": step}, step=step, commit=True)
    # after the curves, since wandb writes their last points into the summary
    live.summary.update(dict(run.summary))
    live.finish()


def _folders(path: Path, run_id: str) -> list[Path]:
    """The subfolders of a run, also of an interrupted call. None behind a link.

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
