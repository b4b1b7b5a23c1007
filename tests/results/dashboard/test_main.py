"""The command as a user calls it: files offline, and one line for whatever keeps it from sending."""

from __future__ import annotations

import json
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from hashbench.cli.app import main
from hashbench.common.errors import InputError
from hashbench.results.dashboard import main as dashboard_main
from hashbench.results.dashboard.runs import shown
from tests.results.dashboard.wandb_files import read_all

KEY = "a" * 40  # of the form that wandb asks for


@pytest.fixture
def command(store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    """A function from arguments to (exit code, stdout, stderr), in an empty folder and with an API key."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WANDB_API_KEY", KEY)

    def run(*arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as left:
            main(["dashboard", "--db", store.name, *arguments])
        out, err = capsys.readouterr()
        return int(left.value.code or 0), out, err

    return run


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """A function that sets the address of the server for wandb's client."""
    pytest.importorskip("wandb_workspaces", reason="wandb-workspaces is an extra")
    import wandb

    def at(address: str) -> None:
        monkeypatch.setenv("WANDB_BASE_URL", address)
        wandb.teardown()  # its settings are read once

    yield at
    wandb.teardown()


@pytest.fixture
def answers() -> Iterator:
    """A function from an HTTP status and a body to the address of a server that always gives them."""
    servers = []

    def serve(status: int, body: object) -> str:
        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                self.rfile.read(int(self.headers["Content-Length"]))
                text = json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *_: object) -> None:
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        servers.append(server)
        return f"http://127.0.0.1:{server.server_port}"

    yield serve
    for server in servers:
        server.shutdown()
        server.server_close()


def test_offline_writes_runs_and_says_how_to_send_them(command, tmp_path) -> None:
    pytest.importorskip("wandb_workspaces", reason="wandb-workspaces is an extra")
    code, out, err = command("made-up", "--offline", "-o", "dash", "--project", "mine")
    assert (code, out.splitlines()) == (0, [
        "runs: 19, of these written now: 19, 1 of the experiment are not finished",
    ])  # fmt: skip
    assert "wandb sync -p mine dash/wandb/offline-run-*" in err and "the same command without --offline" in err
    first = read_all(tmp_path / "dash")
    assert {run.project for run in first.values()} == {"mine"} and len(first) == 19
    code, out, _ = command("made-up", "--offline", "-o", "dash", "--project", "mine")
    assert (code, out.splitlines()[0]) == (0, "runs: 19, of these written now: 0, 1 of the experiment are not finished")
    assert read_all(tmp_path / "dash") == first


def test_an_unknown_experiment_is_one_line(command, tmp_path) -> None:
    pytest.importorskip("wandb_workspaces", reason="wandb-workspaces is an extra")
    code, out, err = command("made-upp", "--offline")
    assert (code, out) == (2, "") and err.count("\n") == 1
    assert "no experiment 'made-upp'; did you mean 'made-up'?" in err and not list(tmp_path.iterdir())


def test_without_the_packages_it_says_what_to_install(command, monkeypatch) -> None:
    pytest.importorskip("wandb", reason="wandb is an extra")
    monkeypatch.setitem(sys.modules, "wandb_workspaces", None)
    assert command("made-up", "--offline") == (
        2, "", "hashbench: wandb-workspaces is not installed; run: pip install 'hashbench[wandb]'\n"
    )  # fmt: skip


def test_a_server_that_is_not_there(command, server, tmp_path) -> None:
    with socket.socket() as free:  # a port on which nobody listens
        free.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{free.getsockname()[1]}"
    server(address)
    code, out, err = command("made-up")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert f"the W&B server {address} does not answer" in err and "refused" in err
    assert "--offline" in err and not list(tmp_path.iterdir())


def test_a_server_that_takes_the_call_and_never_answers(command, server, monkeypatch) -> None:
    assert dashboard_main.PROBE_S < 60  # the longest that an absent server can take
    monkeypatch.setattr(dashboard_main, "PROBE_S", 3)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        server(f"http://127.0.0.1:{silent.getsockname()[1]}")
        code, out, err = command("made-up")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "the W&B server http://127.0.0.1:" in err and "does not answer" in err  # the reason is wandb's text


@pytest.mark.parametrize(
    ("status", "body", "message"),
    [
        (401, {}, "run wandb login --relogin"),
        (200, {"data": {"viewer": None}}, "does not know the API key"),
        (500, {}, "HTTP 500"),
        (200, "a page of a proxy", "does not answer"),
    ],
)
def test_a_server_that_is_no_help(command, server, answers, status, body, message) -> None:
    server(answers(status, body))
    code, out, err = command("made-up")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert message in err


def test_who_is_logged_in_is_the_entity(server, answers, monkeypatch) -> None:
    monkeypatch.setenv("WANDB_API_KEY", KEY)
    address = answers(200, {"data": {"viewer": {"id": "V", "entity": "me"}}})
    server(address)
    assert dashboard_main.check_server() == (address, "me")


def test_without_a_login(command, server, monkeypatch, tmp_path) -> None:
    monkeypatch.delenv("WANDB_API_KEY")
    monkeypatch.setenv("NETRC", str(tmp_path / "none"))
    server("http://127.0.0.1:9")
    code, out, err = command("made-up")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "not logged in to Weights & Biases (http://127.0.0.1:9); run wandb login or set WANDB_API_KEY" in err


def test_a_workspace_is_renewed_where_it_is_there_already(store, monkeypatch) -> None:
    """The queries that reach the server: an id only where a view of that name is there."""
    pytest.importorskip("wandb_workspaces", reason="wandb-workspaces is an extra")
    import wandb_workspaces.workspaces.interface as workspaces

    saved = []

    class View:
        there, _internal_id = False, "known"

    def from_url(address):
        assert address.startswith("http://s/e/p?nw=")
        if not View.there:
            raise ValueError("Workspace not found")
        return View

    def save(view):
        saved.append(view._internal_id)
        return type("Saved", (), {"url": "http://s/view"})

    monkeypatch.setattr(workspaces.Workspace, "from_url", from_url)
    monkeypatch.setattr(workspaces.Workspace, "save", save)
    for View.there in (False, True):
        address = dashboard_main.save_workspace(shown(store), "http://s", project="p", entity="e")
        assert address == "http://s/view"
    assert saved == ["", "known"]


def test_a_workspace_that_is_refused_is_one_line(store, monkeypatch) -> None:
    pytest.importorskip("wandb_workspaces", reason="wandb-workspaces is an extra")
    import wandb_workspaces.workspaces.interface as workspaces

    def refuse(*_, **__):
        raise RuntimeError("no\nrights")

    monkeypatch.setattr(workspaces.Workspace, "from_url", refuse)
    with pytest.raises(InputError, match="the workspace was not saved .RuntimeError: no rights"):
        dashboard_main.save_workspace(shown(store), "http://s", project="p", entity="e")
