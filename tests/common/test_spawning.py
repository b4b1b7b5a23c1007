"""Processes that start without the main module of the user's program."""

from __future__ import annotations

import multiprocessing
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest

from hashbench.common.errors import InputError
from hashbench.common.own_files import import_file
from hashbench.common.spawning import MAIN, SPAWNING, refuse_no_start

SCRIPT = """
import math, sys
from concurrent.futures import ProcessPoolExecutor
from hashbench.common.spawning import SPAWNING
print("script", flush=True)
process = SPAWNING.Process(target=print, args=("process",))
process.start()
process.join()
with ProcessPoolExecutor(1, mp_context=SPAWNING) as pool:
    print(pool.submit(math.factorial, 5).result(), process.exitcode)
"""


@pytest.mark.parametrize("how", ["file", "stdin", "option"])
def test_a_script_without_a_guard_runs_once(how: str, tmp_path: Path) -> None:
    file = tmp_path / "script.py"
    file.write_text(SCRIPT)
    arguments = {"file": [str(file)], "stdin": ["-"], "option": ["-c", SCRIPT]}[how]
    given = SCRIPT if how == "stdin" else ""
    done = subprocess.run([sys.executable, *arguments], input=given, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("script\nprocess\n120 0\n", "")


def test_the_main_module_is_back_after_a_start() -> None:
    main = sys.modules[MAIN]
    process = SPAWNING.Process(target=print)
    process.start()
    assert sys.modules[MAIN] is main
    process.join()
    with pytest.raises(Exception, match="pickle"):
        SPAWNING.Process(target=lambda: None).start()
    assert sys.modules[MAIN] is main


def test_a_file_that_begins_a_sweep_when_it_is_imported_is_one_line(tmp_path: Path) -> None:
    refuse_no_start("sweep")
    file = tmp_path / "mine.py"
    file.write_text("from hashbench.common.spawning import refuse_no_start\nrefuse_no_start('sweep')\n")
    with pytest.raises(
        InputError, match="mine.py: cannot be imported: InputError: sweep: called while its file is only"
    ):
        import_file(file)
    refuse_no_start("sweep")


def test_a_worker_of_a_pool_starts_no_sweep() -> None:
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        with pytest.raises(InputError, match="sweep: called in a worker of a pool"):
            pool.apply(refuse_no_start, ("sweep",))
    with ProcessPoolExecutor(1, mp_context=SPAWNING) as executor:  # whose workers may start others
        assert executor.submit(refuse_no_start, "sweep").result() is None
