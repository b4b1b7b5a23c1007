"""The stand-in for the hub, one for all tests of this folder, in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.hub.client import StandIn

SERVER = Path(__file__).with_name("server.py")


@pytest.fixture(scope="session")
def address() -> Iterator[str]:
    process = subprocess.Popen([sys.executable, str(SERVER)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip()
    finally:
        process.terminate()
        process.wait(timeout=10)


@pytest.fixture
def hub(address: str, tmp_path: Path) -> Iterator[StandIn]:
    """The stand-in without faults, and empty caches."""
    stand_in = StandIn(address, tmp_path)
    stand_in.asked()
    yield stand_in
    stand_in.heal()
