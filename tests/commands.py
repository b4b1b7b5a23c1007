"""Commands as tests of several rooms call them: in a process of their own, or in this one, where all is imported."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import pytest

from hashbench.cli.app import main


@dataclass
class Outcome:
    """What a command left behind."""

    code: int
    out: str
    err: str


def start(*arguments: object, cwd: Path, cache: Path | None = None) -> subprocess.Popen[str]:
    """A command in a folder and a process group of its own; its cache is the folder's `cache`, if not another."""
    return subprocess.Popen(
        [sys.executable, "-m", "hashbench", *map(str, arguments)],
        cwd=cwd,
        env=os.environ | {"HASHBENCH_CACHE": str(cache or cwd / "cache"), "OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def finish(*arguments: object, cwd: Path) -> Outcome:
    """A command that trains, in this process; its workers need not import first what they train with."""
    from tests.warm import warm_workers

    with warm_workers():
        return call(*arguments, cwd=cwd)


def call(*arguments: object, cwd: Path) -> Outcome:
    """A command in this process, with the folder's `cache`."""
    out, err = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.chdir(cwd)
        patch.setenv("HASHBENCH_CACHE", str(cwd / "cache"))
        patch.delenv("HASHBENCH_DB", raising=False)
        with pytest.raises(SystemExit) as left:
            main([*map(str, arguments)])
    return Outcome(int(left.value.code or 0), out.getvalue(), err.getvalue())
