"""What a user is told when the hub fails: one true line for each way, through the real packages."""

from __future__ import annotations

from typing import Any

import pytest

from tests.hub.client import StandIn

pytestmark = pytest.mark.services

TRY = """
import json, os, urllib.request
from hashbench.data.sources.hub import HubPlace, HubTable
from hashbench.common.errors import InputError

def fail(**fault):
    urllib.request.urlopen(os.environ["HF_ENDPOINT"] + "/_faults", json.dumps(fault).encode() if fault else b"")

def outcome(name, how="read", config=None, revision=None, **fault):
    table = HubTable(HubPlace(f"test/{name}", config, revision), "train")
    fail(**fault)
    try:
        if how == "read":
            return len(table.read(["text", "label"])["text"])
        return len(list(table.stream("text")))
    except InputError as error:
        return str(error)
    finally:
        fail()

print(json.dumps([outcome(*names, **options) for names, options in %s]))
"""
FEW = 30  # rows of these data sets


def outcomes(hub: StandIn, *attempts: tuple[tuple[str, ...], dict[str, Any]]) -> list[Any]:
    """Rows that were read, or the error, for each attempt, in one process."""
    return list(hub.python(TRY % repr(list(attempts))))


def test_what_is_not_there_is_named(hub: StandIn) -> None:
    """A set that was removed, became a script, asks for consent; a commit, config or file that is gone."""
    script = "is a script, which the package datasets no longer runs, and "
    other = "use other data: --data FOLDER, or --data builtin"
    expected = {
        ("nothing",): "hub test/nothing: the hub has nothing of this name; it was renamed, removed or made private; ",
        ("script",): f"hub test/script: {script}the hub has no converted files of it; {other}",
        ("partial",): f"hub test/partial train: {script}of which the hub converted the first part only; {other}",
        (
            "gated",
        ): "hub test/gated train: its authors ask for consent first; agree on its page, then log in: hf auth login",
        ("kept", "read", "x"): "hub test/kept (x) train: ",
        (
            "kept",
            "read",
            None,
            "a" * 40,
        ): "hub test/kept train: the hub has no such commit or branch of it; name another",
    }
    for how in ("read", "stream"):
        attempts = [((name, how, *rest[1:]), {}) for name, *rest in expected]
        for found, line in zip(outcomes(hub, *attempts), expected.values(), strict=True):
            assert isinstance(found, str) and found.startswith(line) and "\n" not in found, found


def test_a_damaged_file_is_named(hub: StandIn) -> None:
    """It arrived as the hub has it, and is no parquet file."""
    read, streamed = outcomes(hub, (("damaged",), {}), (("damaged", "stream"), {}))
    assert read.startswith("hub test/damaged train: ") and "/train.parquet: is not a parquet file, or a damaged" in read
    assert streamed.startswith("hub test/damaged train: a file of it is damaged; run the command again; where")


def test_a_renamed_set_is_read_under_its_old_name(hub: StandIn) -> None:
    assert outcomes(hub, (("old-name",), {}), (("old-name", "stream"), {})) == [FEW, FEW]


def test_passing_faults_are_survived(hub: StandIn) -> None:
    """A file that ends in the middle is fetched again; a rate limit is waited for; streams reconnect."""
    half, busy, reset = ({"kind": kind, "path": "/_storage/", "times": 1} for kind in ("half", "429", "reset"))
    attempts = [
        (("half",), half), (("busy",), busy), (("half", "stream"), half), (("busy", "stream"), busy),
        (("reset", "stream"), reset),
    ]  # fmt: skip
    assert outcomes(hub, *attempts) == [FEW] * 5
    fetched = [line for line in hub.asked() if line.startswith("GET /_storage/test/half/") and "bytes=" not in line]
    assert len(fetched) == 2  # the file that ended in the middle, and again


def test_lasting_faults_are_one_line(hub: StandIn) -> None:
    """Also after a fault nothing half is kept: the next attempt reads it all."""
    attempts = [
        (("half",), {"kind": "half", "path": "/_storage/", "times": 100}),
        (("reset",), {"kind": "reset", "path": "/_storage/", "times": 100}),
        (("kept",), {"kind": "404", "path": "train.parquet", "times": 100}),
        (("busy",), {"kind": "429", "path": "/api/", "times": 100}),
        (("new-name",), {"kind": "503", "path": "/api/", "times": 100}),
        (("half",), {}),
        (("reset",), {}),
    ]
    found = outcomes(hub, *attempts)
    again = "run the command again: what arrived whole is kept"
    assert found[0].startswith("hub test/half train: the connection to the hub broke off (") and found[0].endswith(
        again
    )
    assert found[1].startswith("hub test/reset train: the connection to the hub broke off (")
    assert found[2].startswith("hub test/kept train: a file of it is not on the hub; look at its files on the hub, or")
    assert found[3].startswith("hub test/busy: the hub refuses for now, since it got too many requests; wait")
    assert found[4].startswith("hub test/new-name: the hub has a fault of its own (it answers 503); try again later")
    assert found[5:] == [FEW, FEW]
