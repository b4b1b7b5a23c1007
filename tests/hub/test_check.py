"""`hashbench data check` against the stand-in for the hub."""

from __future__ import annotations

import json

import pytest

from hashbench.data.sources.fingerprints import read_note
from hashbench.data.sources.hub import hub_corpora
from hashbench.data.tasks.catalogue import groups
from tests.hub.client import StandIn
from tests.hub.layouts import MAIN, repositories
from tests.hub.test_entries import TASKS

pytestmark = pytest.mark.services

NOWHERE = "http://127.0.0.1:9"


def test_every_entry_is_found_with_its_rows(hub: StandIn) -> None:
    """One line each, rows from the footers of files that are not downloaded; commits that are not pinned are told."""
    done = hub.hashbench("data", "check", "--format", "json")
    assert done.returncode == 0, done.stdout + done.stderr
    lines = {line["name"]: line for line in json.loads(done.stdout)}
    assert set(lines) == {*TASKS, *hub_corpora()}
    assert {line["finding"] for line in lines.values()} == {"ok"}
    assert lines["yahoo_answers"]["rows"] == "train 1,400,000, test 60,000"
    assert lines["openwebtext"]["rows"] == "train 150"
    languages = groups()["sib200"]
    converted = {name for name, line in lines.items() if line["branch"] == "converted"}
    assert converted == {"mrda", "trec", "jsts", *languages}
    unpinned = sorted(name for name, line in lines.items() if line["pinned"] == "no")
    assert unpinned == sorted(["atis", "blimp", "bookcorpus", "wisesight", *converted])
    told = [line.split() for line in done.stderr.splitlines() if line.startswith("not pinned: ")]
    assert sorted(words[2] for words in told) == unpinned and all(len(words[6].strip(",")) == 40 for words in told)
    assert not any("storage" in line and "bytes=" not in line for line in hub.asked())  # no whole file


def test_what_was_checked_is_what_is_read(hub: StandIn) -> None:
    """The commit of the check is kept, whatever is the newest later."""
    assert hub.hashbench("data", "check", "bookcorpus").returncode == 0
    notes = (hub.folder / "cache" / "hub").glob("*.json")
    kept = [note for note in map(read_note, notes) if note is not None]
    assert repositories()["rojagtap/bookcorpus"].branches[MAIN] in {each["revision"] for each in kept}
    hub.asked()
    again = hub.hashbench("data", "check", "bookcorpus")
    assert again.returncode == 0
    assert not any(line.startswith("GET /datasets/rojagtap/bookcorpus/resolve/main") for line in hub.asked())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"HF_ENDPOINT": NOWHERE},
            f"data check: the hub at {NOWHERE} cannot be reached ([Errno 111] Connection refused)",
        ),
        ({"HF_HUB_OFFLINE": "1"}, "data check: HF_HUB_OFFLINE is set, and it was not fetched before; unset"),
    ],
    ids=["no network", "switched off"],
)
def test_without_a_network_there_is_one_line(hub: StandIn, changes: dict[str, str], message: str) -> None:
    done = hub.hashbench("data", "check", **changes)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert done.stderr.startswith(f"hashbench: {message}")


@pytest.mark.parametrize(
    ("kind", "path", "message"),
    [
        ("404", "rte/train-00000", "a file of it is not on the hub"),
        ("503", "/api/datasets/nyu-mll/glue/", "the hub has a fault of its own (it answers 503)"),
        ("reset", "/api/datasets/nyu-mll/glue/", "the connection to the hub broke off ([Errno 104]"),
    ],
)
def test_an_entry_with_a_fault_has_it_in_its_line(hub: StandIn, kind: str, path: str, message: str) -> None:
    hub.fail(kind, path)
    done = hub.hashbench("data", "check", "rte", "ag_news", "--format", "json")
    lines = {line["name"]: line["finding"] for line in json.loads(done.stdout)}
    assert done.returncode == 1 and lines["ag_news"] == "ok"
    assert lines["rte"].startswith("hub nyu-mll/glue (rte) train: ") and message in lines["rte"]
