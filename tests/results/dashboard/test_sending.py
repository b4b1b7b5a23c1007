"""What becomes of the files when a server stops answering on the way, and what is made or renewed when it does not."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass, field

import pytest

pytest.importorskip("wandb_workspaces", reason="wandb-workspaces is an extra")

from hashbench.common.errors import InputError  # noqa: E402
from hashbench.results.dashboard import sending  # noqa: E402
from hashbench.results.dashboard.runs import shown  # noqa: E402
from hashbench.results.dashboard.writing import RunFolder, Written  # noqa: E402

# In place of `wandb sync`: marks the first run that it is given, then says no more.
MARKS_ONE = """
import pathlib, sys, time
run = pathlib.Path(sys.argv[sys.argv.index("--") + 1])
(run / "run-x.wandb.synced").write_text("")
time.sleep({sleep})
"""


@dataclass
class Sent:
    """The commands that were called."""

    commands: list[list[str]] = field(default_factory=list)


@pytest.fixture
def folder(tmp_path) -> RunFolder:
    runs = {}
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        runs[name] = Written(name, "finetune", "f", name)
    return RunFolder(tmp_path, runs, 2)


@pytest.fixture
def sync(monkeypatch) -> Sent:
    """Replaces the program that is called; remembers with what."""
    sent, start = Sent(), subprocess.Popen

    def popen(command, **options):
        sent.commands.append(command)
        paths = command[command.index("-e") + 2 :]
        sleep = 60 if len(sent.commands) == 1 else 0
        return start([sys.executable, "-c", MARKS_ONE.format(sleep=sleep), "--", *paths], **options)

    monkeypatch.setattr(sending.subprocess, "Popen", popen)
    return sent


def test_a_server_that_stops_is_given_up_and_what_arrived_is_not_sent_again(folder, sync, monkeypatch) -> None:
    monkeypatch.setattr(sending, "STALL_S", 1.0)
    with pytest.raises(InputError, match=r"1 of 2 runs arrived .* stopped answering .*; the same command goes on"):
        sending._sync(folder, project="p", entity="e")
    sending._sync(folder, project="p", entity="e")
    sending._sync(folder, project="p", entity="e")  # nothing is left: no third call
    assert [command[-1] for command in sync.commands] == [str(folder.path / "two")] * 2
    assert [len(command) for command in sync.commands] == [10, 9]


@pytest.mark.parametrize(
    ("line", "marked"),
    [
        ("wandb: [e/p/one] Finished syncing", ["one", "two"]),
        ("wandb: ERROR [e/p/one] Fatal error while uploading data.", ["two"]),
        ("wandb: ERROR permission denied", []),  # of which run it does not say
    ],
)
def test_a_mark_of_a_run_that_was_refused_does_not_count(folder, line, marked) -> None:
    for run in folder.run_folders():
        (run / "x.wandb.synced").touch()
    log = folder.path / "sync.log"
    log.write_text(f"wandb: Syncing\n{line}\n")
    sending._take_back_marks(log, folder.run_folders())
    assert [run.name for run in folder.run_folders() if any(run.glob("*.synced"))] == marked


def test_for_another_server_all_are_sent_anew(folder) -> None:
    sending._forget_other_server(folder, "server e")
    mark = folder.path / "one" / "run-x.wandb.synced"
    mark.write_text("")
    sending._forget_other_server(folder, "server e")
    assert mark.exists()
    sending._forget_other_server(folder, "other e")
    assert not mark.exists()


def test_workspace_and_report_are_renewed_where_they_stand_already(store, folder, monkeypatch) -> None:
    """The queries that reach the server: an id only where a view of that name or title is there."""
    import wandb
    import wandb_workspaces.reports.v2.interface as reports
    import wandb_workspaces.workspaces.interface as workspaces

    saved = []

    class View:
        display_name, id, _internal_id = "hashbench made-up", "known", "known"

    class Api:
        there = False

        def reports(self, path):
            assert path == "e/p"
            return [View] if Api.there else []

    def from_url(address):
        assert address.startswith("http://s/e/p?nw=")
        if not Api.there:
            raise ValueError("Workspace not found")
        return View

    def save(view):
        saved.append(view.id if isinstance(view, reports.Report) else view._internal_id)
        return type("Saved", (), {"url": "http://s/view"})

    monkeypatch.setattr(wandb, "Api", Api)
    monkeypatch.setattr(workspaces.Workspace, "from_url", from_url)
    monkeypatch.setattr(workspaces.Workspace, "save", save)
    monkeypatch.setattr(reports.Report, "save", save)
    monkeypatch.setattr(sending, "_sync", lambda *_, **__: None)
    monkeypatch.setattr(sending, "_forget_other_server", lambda *_: None)
    for Api.there in (False, True):
        assert sending.send(shown(store), folder, "http://s", project="p", entity="e") == ("http://s/view",) * 2
    assert saved == ["", "", "known", "known"]


def test_a_view_that_is_refused_is_one_line(store, folder, monkeypatch) -> None:
    def refuse(*_, **__):
        raise RuntimeError("no\nrights")

    monkeypatch.setattr(sending, "_sync", lambda *_, **__: None)
    monkeypatch.setattr(sending, "_save_workspace", refuse)
    with pytest.raises(InputError, match="all runs arrived, but not the workspace and the report .RuntimeError: no"):
        sending.send(shown(store), folder, "http://s", project="p", entity="e")


def test_a_call_is_waited_for_no_longer_than_told() -> None:
    import time

    with pytest.raises(TimeoutError, match="no answer within 0.1 s"):
        sending._within(0.1, lambda: time.sleep(30))
    assert sending._within(5, lambda: 7) == 7
