"""`hashbench dashboard`: an experiment's runs, a workspace and a report for W&B, as files or sent."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from hashbench.common.atomic import replace_text
from hashbench.common.errors import InputError
from hashbench.results.dashboard.live import PROJECT
from hashbench.results.dashboard.runs import Shown, shown
from hashbench.store.engine import Store

FOLDER = "dashboard"  # in the working folder, with a folder for each experiment


@dataclass(frozen=True)
class DashboardResult:
    """What became of an experiment."""

    folder: Path
    n_runs: int
    n_new: int  # written or written anew; the others were there
    n_open: int  # runs of the experiment that are not finished
    workspace: str  # its file, or its address
    report: str


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
    """Writes the dashboard of an experiment (None: the last that was swept) to a folder, and sends it unless `offline`.

    Any number of times: ids depend on the runs alone. `note` is told what goes on.

    Raises InputError: no such experiment, wandb not installed, not logged in, a server that does not answer.
    """
    _check_packages()
    server = login = None
    if not offline:  # before minutes of work
        from hashbench.results.dashboard.sending import check_server

        server, login = check_server()
    content = shown(store, experiment)
    name = content.measured.experiment.name
    project = project or _project(content)
    from hashbench.results.dashboard.writing import write_runs

    path = output or Path(FOLDER) / name
    note(f"{name}: {len(content.runs)} W&B runs into {path}")
    folder = write_runs(content.runs, path, project=project, entity=entity)
    # The login's own entity is not in the files: those written offline serve as well.
    target = entity or login or ""
    workspace, report = _write_views(content, path, project=project, entity=target)
    if server is not None:
        from hashbench.results.dashboard.sending import send

        note(f"{name}: sending to {server}")
        workspace, report = send(content, folder, server, project=project, entity=target)
    return DashboardResult(path, len(folder.runs), folder.n_new, content.n_open, workspace, report)


def _check_packages() -> None:
    missing = [name for name in ("wandb", "wandb_workspaces") if find_spec(name) is None]
    if missing:
        packages = " and ".join(name.replace("_", "-") for name in missing)
        raise InputError(f"dashboard: {packages} not installed; pip install 'hashbench[wandb]'")


def _project(content: Shown) -> str:
    """That of the experiment; older versions stored none, which then was the default."""
    config = content.measured.experiment.config
    tracking = config["tracking"] if "tracking" in config else {}
    return str(tracking["project"] if "project" in tracking else PROJECT)


def _write_views(content: Shown, path: Path, *, project: str, entity: str) -> tuple[str, str]:
    """What will be made at the server, as JSON; gives back the two files."""
    from hashbench.results.dashboard import views

    files = path / "workspace.json", path / "report.json"
    workspace = views.workspace(content, project=project, entity=entity)
    replace_text(files[0], views.as_json(workspace))
    # With an entity the library asks the server for the project of each block.
    replace_text(files[1], views.as_json(views.report(content, project=project, entity="")))
    return str(files[0]), str(files[1])
