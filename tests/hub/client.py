"""What a test needs to use the stand-in: its address, its faults, and processes that take it for the hub.

`huggingface_hub` reads HF_ENDPOINT when it is imported, so whoever asks the stand-in is a process of its own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
ENDS_WITHIN_S = 900  # also on a machine that others use


@dataclass(frozen=True)
class StandIn:
    """A running stand-in, and a folder for the caches of those who ask it."""

    address: str
    folder: Path

    def fail(self, kind: str, path: str, times: int = 1_000) -> None:
        """Makes the next `times` requests whose path contains `path` fail (server.py says how)."""
        self._post(json.dumps({"kind": kind, "path": path, "times": times}))

    def heal(self) -> None:
        """No more faults."""
        self._post("")

    def asked(self) -> list[str]:
        """The requests since this was asked last."""
        with urllib.request.urlopen(f"{self.address}/_asked") as answer:
            return list(json.load(answer))

    def environment(self, **changes: str) -> dict[str, str]:
        """The environment of a process that takes the stand-in for the hub."""
        own = {name: value for name, value in os.environ.items() if not name.startswith(("HF_", "HASHBENCH_"))}
        places = {"HF_HOME": str(self.folder / "home"), "HASHBENCH_CACHE": str(self.folder / "cache")}
        paths = {"PYTHONPATH": str(ROOT), "HF_HUB_DISABLE_PROGRESS_BARS": "1", "HF_HUB_DISABLE_TELEMETRY": "1"}
        return own | places | paths | {"HF_ENDPOINT": self.address} | changes

    def hashbench(self, *arguments: str, **changes: str) -> subprocess.CompletedProcess[str]:
        """A command of hashbench."""
        return self._run(["-m", "hashbench", *arguments], changes)

    def python(self, code: str, **changes: str) -> Any:
        """What a piece of code prints as JSON on the last line of stdout."""
        done = self._run(["-c", code], changes)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout.splitlines()[-1])

    def _run(self, arguments: list[str], changes: dict[str, str]) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, *arguments],
            env=self.environment(**changes),
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=ENDS_WITHIN_S,
        )

    def _post(self, body: str) -> None:
        urllib.request.urlopen(f"{self.address}/_faults", data=body.encode()).close()
