"""To the W&B server: is it there, the runs by `wandb sync`, the workspace and the report. Nothing waits for ever.

The folder keeps everything, so whatever fails here is done by the same command again; what arrived is not sent twice.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from concurrent.futures import Future, wait
from pathlib import Path
from typing import TypeVar

from hashbench.common.errors import InputError
from hashbench.results.dashboard import views
from hashbench.results.dashboard.runs import Shown
from hashbench.results.dashboard.writing import RunFolder

PROBE_S = 20.0  # until an answer of the server; its own client would wait for minutes
STALL_S = 30.0  # without a run that arrived or a word from `wandb sync`
VIEW_S = 30.0  # for the workspace, and again for the report
POLL_S = 0.2
SENT = "sent.json"  # to which server the runs of a folder went
ERROR = "ERROR"  # in a line of the log of `wandb sync`
WHO = b'{"query": "query Viewer { viewer { entity } }"}'
Answer = TypeVar("Answer")


def check_server() -> tuple[str, str]:
    """The server's address and the entity of whoever is logged in. Raises InputError: no login, or no answer."""
    import wandb

    server = wandb.setup().settings.base_url.rstrip("/")
    key = _api_key(server)
    if not key:
        raise InputError(
            f"dashboard: not logged in to Weights & Biases ({server}); run wandb login or set WANDB_API_KEY, "
            "or write files with --offline"
        )
    login = base64.b64encode(f"api:{key}".encode()).decode()
    headers = {"Content-Type": "application/json", "Authorization": f"Basic {login}", "User-Agent": "hashbench"}
    request = urllib.request.Request(f"{server}/graphql", WHO, headers)

    def ask() -> bytes:
        with urllib.request.urlopen(request, timeout=PROBE_S) as answer:
            return answer.read()

    try:
        viewer = json.loads(_within(PROBE_S, ask))["data"]["viewer"]
    except urllib.error.HTTPError as error:
        if error.code not in (401, 403):
            raise _unreachable(server, f"HTTP {error.code}") from error
        viewer = None
    # URLError and timeouts are OSErrors.
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise _unreachable(server, str(getattr(error, "reason", "") or error)) from error
    if not viewer:
        raise InputError(f"dashboard: {server} does not know the API key; run wandb login --relogin, or use --offline")
    return server, str(viewer["entity"])


def _unreachable(server: str, reason: str) -> InputError:
    return InputError(
        f"dashboard: the W&B server {server} does not answer ({reason}); nothing was sent; try again later, "
        "or write files with --offline"
    )


def _api_key(server: str) -> str | None:
    """From where wandb takes it, without its prompt."""
    from requests.utils import get_netrc_auth

    login = get_netrc_auth(server)
    return os.environ.get("WANDB_API_KEY") or (login[1] if login else None)


def send(shown: Shown, folder: RunFolder, server: str, *, project: str, entity: str) -> tuple[str, str]:
    """Sends the runs that the server does not have yet, then makes or renews the workspace and the report.

    Gives back the addresses of both. Raises InputError where the server stopped answering.
    """
    _forget_other_server(folder, f"{server} {entity}")
    _sync(folder, project=project, entity=entity)
    again = f"the files are in {folder.path}; the same command goes on"
    try:
        return (
            _within(VIEW_S, lambda: _save_workspace(shown, server, project=project, entity=entity)),
            _within(VIEW_S, lambda: _save_report(shown, project, entity)),
        )
    except Exception as error:  # whatever a foreign service throws is one line
        reason = f"{type(error).__name__}: {error}"[:300]
        raise InputError(
            f"dashboard: all runs arrived, but not the workspace and the report ({reason}); {again}"
        ) from error


def _forget_other_server(folder: RunFolder, target: str) -> None:
    """wandb marks a run as sent whatever server it went to; for another one the marks go."""
    file = folder.path / SENT
    if file.exists() and json.loads(file.read_text(encoding="utf-8")) != target:
        for run in folder.run_folders():
            for mark in run.glob("*.synced"):
                mark.unlink()
    file.write_text(json.dumps(target), encoding="utf-8")


def _sync(folder: RunFolder, *, project: str, entity: str) -> None:
    """`wandb sync` of the runs without a mark, in a process that is ended when nothing moves any more."""
    waiting = [run.resolve() for run in folder.run_folders() if not any(run.glob("*.synced"))]
    if not waiting:
        return
    command = [sys.executable, "-m", "wandb", "sync", "-p", project, "-e", entity, *map(str, waiting)]
    log = folder.path / "sync.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            # Its own logs go there, not to the working folder.
            env={**os.environ, "WANDB_DIR": str(folder.path)},
        )
        try:
            _wait(process, log, waiting)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)  # wandb's service is a child of it
                process.wait()
    _take_back_marks(log, waiting)
    left = sum(not any(run.glob("*.synced")) for run in waiting)
    if left:
        raise InputError(
            f"dashboard: {len(waiting) - left} of {len(waiting)} runs arrived at the W&B server, then it refused the "
            f"others or stopped answering (see {log}); the files are in {folder.path}; the same command goes on"
        )


def _take_back_marks(log: Path, waiting: list[Path]) -> None:
    """wandb marks a run as sent even where the server refused a part of it, and says so in the log alone.

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
    """Until the process ends, or nothing has moved for a while."""
    moved, last = time.monotonic(), (-1, -1)
    while process.poll() is None:
        now = (sum(any(run.glob("*.synced")) for run in waiting), log.stat().st_size)
        if now != last:
            moved, last = time.monotonic(), now
        elif time.monotonic() - moved > STALL_S:
            return
        time.sleep(POLL_S)


def _save_workspace(shown: Shown, server: str, *, project: str, entity: str) -> str:
    """One view of that name stands in the project: it is written over if it is there already."""
    import wandb_workspaces.workspaces as ws

    view = views.workspace(shown, project=project, entity=entity)
    address = f"{server}/{entity}/{project}?nw={views.view_name(shown)}"
    with contextlib.suppress(ValueError):  # not there yet
        view._internal_id = ws.Workspace.from_url(address)._internal_id
    return str(view.save().url)


def _save_report(shown: Shown, project: str, entity: str) -> str:
    """The same for the report: by its title."""
    import wandb

    page = views.report(shown, project=project, entity=entity)
    for known in wandb.Api().reports(f"{entity}/{project}"):
        if known.display_name == page.title:
            page.id = known.id
            break
    return str(page.save().url)


def _within(seconds: float, call: Callable[[], Answer]) -> Answer:
    """What a call gives back; a TimeoutError where it takes longer, and its thread is left behind."""
    future: Future[Answer] = Future()

    def work() -> None:
        try:
            future.set_result(call())
        except BaseException as error:  # raised again below, in the thread that asked
            future.set_exception(error)

    threading.Thread(target=work, daemon=True).start()
    if not wait([future], seconds).done:
        raise TimeoutError(f"no answer within {seconds:g} s")
    return future.result()
