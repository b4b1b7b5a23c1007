"""`hashbench dashboard`: an experiment's runs as files for `wandb sync`, and its workspace at W&B."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from hashbench.common.errors import InputError
from hashbench.results.dashboard.folder import write_runs
from hashbench.results.dashboard.live import PROJECT
from hashbench.results.dashboard.runs import Shown, shown
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
    missing = [name for name in ("wandb", "wandb_workspaces") if find_spec(name) is None]
    if missing:
        packages = " and ".join(name.replace("_", "-") for name in missing)
        raise InputError(f"dashboard: {packages} not installed; pip install 'hashbench[wandb]'")
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
