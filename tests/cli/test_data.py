"""`data list`: what the sources have; `data check`: what the hub has (tests/hub asks a server)."""

from __future__ import annotations

import json

import pytest

from hashbench.data.hub_copies import HubCopy
from hashbench.tasks import hub_check
from hashbench.tasks.hub_check import HubEntry, HubFinding
from tests.cli.commands import Run, fails


def test_data_list(run: Run) -> None:
    rows = json.loads(run("data", "list", "--data", "builtin", "--format", "json").out)
    assert [row["name"] for row in rows if row["kind"] == "task"].count("cola") == 1
    assert "builtin" in [row["name"] for row in rows if row["kind"] == "corpus"]


@pytest.mark.parametrize("problem", ["", "train has 1 rows, published are 2"])
def test_data_check(run: Run, monkeypatch: pytest.MonkeyPatch, problem: str) -> None:
    """A line for each entry; a commit that is not pinned is printed whole; exit code 1 for a problem."""

    def check_hub(entries: list[HubEntry]) -> list[HubFinding]:
        return [HubFinding(entry, HubCopy("c0ffee" * 6), {"train": 1}, problem) for entry in entries]

    monkeypatch.setattr(hub_check, "check_hub", check_hub)
    done = run("data", "check", "rte", "bookcorpus", "--format", "json")
    rows = {row["name"]: row for row in json.loads(done.out)}
    assert done.code == (1 if problem else 0)
    assert rows["rte"] == {
        "name": "rte", "from": "nyu-mll/glue (rte)", "commit": "c0ffeec0ffee", "branch": "main", "pinned": "yes",
        "rows": "train 1", "finding": problem or "ok",
    }  # fmt: skip
    assert rows["bookcorpus"]["pinned"] == "no"
    assert done.err == f"not pinned: bookcorpus stays at revision {'c0ffee' * 6}\n"


def test_data_check_of_what_is_not_there(run: Run) -> None:
    message = "data check: nothing called 'wikipedea' is read from the hub; did you mean 'wikipedia'?"
    fails(run("data", "check", "wikipedea"), message)
