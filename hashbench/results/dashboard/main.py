"""`hashbench dashboard`: an experiment's runs, a workspace and a report for W&B, as files or sent.

The folder keeps everything, so whatever fails at the server is completed by the same command again.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from hashbench.common.atomic import replace_text
from hashbench.common.errors import InputError
from hashbench.results.dashboard.folder import RunFolder, forget_other_server, sync, write_runs
from hashbench.results.dashboard.live import PROJECT
from hashbench.results.dashboard.runs import Shown, shown
from hashbench.store.engine import Store

FOLDER = "dashboard"  # in the working folder, with a folder for each experiment
PROBE_S = 20  # within which a server answers; wandb's client would try for minutes


@dataclass(frozen=True)
class DashboardResult:
    """An experiment's folder and views, and how many of its runs are in them."""

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

    Any number of times: ids depend on the runs alone. `note` gets a line before each longer step.

    Raises InputError: no such experiment, wandb not installed, not logged in, a server that does not answer.
    """
    _check_packages()
    server, login = (None, None) if offline else check_server()  # before minutes of work
    content = shown(store, experiment)
    name = content.measured.experiment.name
    project = project or _project(content)
    path = output or Path(FOLDER) / name
    note(f"{name}: {len(content.runs)} W&B runs into {path}")
    folder = write_runs(content.runs, path, project=project, entity=entity)
    # the entity of the login is not in the files: those written offline are equal
    target = entity or login or ""
    workspace, report = _write_views(content, path, project=project, entity=target)
    if server is not None:
        note(f"{name}: sending to {server}")
        workspace, report = send(content, folder, server, project=project, entity=target)
    return DashboardResult(path, len(folder.runs), folder.n_new, content.n_open, workspace, report)


def _check_packages() -> None:
    missing = [name for name in ("wandb", "wandb_workspaces") if find_spec(name) is None]
    if missing:
        packages = " and ".join(name.replace("_", "-") for name in missing)
        raise InputError(f"dashboard: {packages} not installed; pip install 'hashbench[wandb]'")


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
    settings = wandb.setup(limits).settings
    server = settings.base_url.rstrip("/")
    if not wandb.login(prompt=False, verify=False):
        raise InputError(
            f"dashboard: not logged in to Weights & Biases ({server}); run wandb login or set WANDB_API_KEY, "
            "or write files with --offline"
        )
    try:
        return server, wandb.Api(timeout=PROBE_S).default_entity or ""
    except Exception as error:  # whatever a foreign service throws is one line
        reason = str(error.__cause__ or error)
        status = getattr(getattr(error.__cause__, "response", None), "http_status", None)
        if status in (401, 403) or reason.startswith("invalid credentials"):  # the server's word, or wandb's
            raise InputError(
                f"dashboard: {server} does not know the API key; run wandb login --relogin, or use --offline"
            ) from error
        # of several tries wandb gives the error of the last one behind these words
        reason = (reason.partition("while retrying: ")[2] or reason).partition("\n")[0]
        raise InputError(
            f"dashboard: the W&B server {server} does not answer ({reason}); nothing was sent; try again later, "
            "or write files with --offline"
        ) from error


def _project(content: Shown) -> str:
    """The W&B project of the experiment; the default one where an older version stored none."""
    config = content.measured.experiment.config
    tracking = config["tracking"] if "tracking" in config else {}
    return str(tracking["project"] if "project" in tracking else PROJECT)


def _write_views(content: Shown, path: Path, *, project: str, entity: str) -> tuple[str, str]:
    """Writes the workspace and the report as JSON files, in the form in which they are sent."""
    from hashbench.results.dashboard import views

    files = path / "workspace.json", path / "report.json"
    workspace = views.workspace(content, project=project, entity=entity)
    replace_text(files[0], views.as_json(workspace))
    # With an entity the library asks the server for the project of each block.
    replace_text(files[1], views.as_json(views.report(content, project=project, entity="")))
    return str(files[0]), str(files[1])


def send(shown: Shown, folder: RunFolder, server: str, *, project: str, entity: str) -> tuple[str, str]:
    """Sends the runs that the server lacks and saves the workspace and the report; returns the addresses of both.

    Raises InputError where the server refused something or stopped answering.
    """
    forget_other_server(folder, f"{server} {entity}")
    sync(folder, project=project, entity=entity)
    try:
        return (
            _save_workspace(shown, server, project=project, entity=entity),
            _save_report(shown, project, entity),
        )
    except Exception as error:  # whatever a foreign service throws is one line
        reason = f"{type(error).__name__}: {error}"[:300]
        raise InputError(
            f"dashboard: all runs arrived, but not the workspace and the report ({reason}); "
            f"the files are in {folder.path}; the same command goes on"
        ) from error


def _save_workspace(shown: Shown, server: str, *, project: str, entity: str) -> str:
    """Saves the workspace at W&B in place of an earlier one of its name; returns its address."""
    import wandb_workspaces.workspaces as ws

    from hashbench.results.dashboard import views

    view = views.workspace(shown, project=project, entity=entity)
    address = f"{server}/{entity}/{project}?nw={views.view_name(shown)}"
    with contextlib.suppress(ValueError):  # not there yet
        view._internal_id = ws.Workspace.from_url(address)._internal_id
    return str(view.save().url)


def _save_report(shown: Shown, project: str, entity: str) -> str:
    """Saves the report at W&B in place of an earlier one of its title; returns its address."""
    import wandb

    from hashbench.results.dashboard import views

    page = views.report(shown, project=project, entity=entity)
    for stored in wandb.Api().reports(f"{entity}/{project}"):
        if stored.display_name == page.title:
            page.id = stored.id
            break
    return str(page.save().url)
