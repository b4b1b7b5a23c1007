"""Databases in folders that cannot be written are read, and say what to do where they are to be written."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from hashbench.store.engine import open_store
from hashbench.store.schema import setting
from hashbench.store.unwritable import reading_address

# Root may write everywhere, unless the program gives that right away.
PROGRAM = """
import sys
from hashbench.common.errors import InputError
from hashbench.store.engine import open_results, open_store
try:
    store = open_results(sys.argv[1]) if sys.argv[2] == "read" else open_store(sys.argv[1])
    print([row["value"] for row in store.query("SELECT value FROM setting WHERE key = 'k'")])
    store.close()
except InputError as error:
    print(error)
"""
WITHOUT_ROOTS_RIGHTS = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"]


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A folder whose rights are given back at the end."""
    made = tmp_path / "results"
    made.mkdir()
    yield made
    made.chmod(0o755)


@pytest.fixture
def use(folder: Path) -> Callable[[str], str]:
    """Opens `results.db` of the folder, which cannot be written then, to "read" or to "write"; what is printed."""
    if os.geteuid() == 0 and shutil.which("setpriv") is None:
        pytest.skip("root may write everywhere, and setpriv is not installed")

    def run(how: str) -> str:
        folder.chmod(0o555)
        command = [sys.executable, "-c", PROGRAM, str(folder / "results.db"), how]
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
        before = sorted(os.listdir(folder))
        done = subprocess.run(
            [*(WITHOUT_ROOTS_RIGHTS if os.geteuid() == 0 else []), *command],
            env=environment, capture_output=True, text=True, timeout=120,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert sorted(os.listdir(folder)) == before
        return done.stdout.strip()

    return run


def fill(path: Path) -> None:
    store = open_store(path)
    with store.write() as connection:
        connection.execute(sa.insert(setting).values(key="k", value="v"))
    store.close()


def leave_the_log(path: Path) -> None:
    """What a killed program leaves: rows that stand in the log alone."""
    code = (
        "import os, sys, sqlite3; c = sqlite3.connect(sys.argv[1]); "
        "c.execute(\"UPDATE setting SET value = 'of the log' WHERE key = 'k'\"); c.commit(); os._exit(0)"
    )
    subprocess.run([sys.executable, "-c", code, str(path)], check=True)
    assert path.with_name("results.db-wal").stat().st_size


def test_a_finished_database_is_read_where_no_log_can_be_made(folder: Path, use: Callable[[str], str]) -> None:
    fill(folder / "results.db")
    assert os.listdir(folder) == ["results.db"]
    assert use("read") == "['v']"


def test_rows_of_a_log_are_read_with_and_without_its_index(folder: Path, use: Callable[[str], str]) -> None:
    fill(folder / "results.db")
    leave_the_log(folder / "results.db")
    assert use("read") == "['of the log']"
    folder.chmod(0o755)
    (folder / "results.db-shm").unlink()
    assert use("read") == "['of the log']"


def test_the_copy_that_was_read_is_removed(folder: Path, use: Callable[[str], str], tmp_path: Path,
                                           monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    fill(folder / "results.db")
    leave_the_log(folder / "results.db")
    (folder / "results.db-shm").unlink()
    room = tmp_path / "temporary"
    room.mkdir()
    monkeypatch.setenv("TMPDIR", str(room))
    assert use("read") == "['of the log']"
    assert not os.listdir(room)


def test_writing_there_says_what_to_do(folder: Path, use: Callable[[str], str]) -> None:
    fill(folder / "results.db")
    (folder / "results.db").chmod(0o666)
    said = use("write")
    assert "is read-only, and the database needs files beside it to be written; copy it to another folder" in said


def test_where_the_folder_can_be_written_nothing_is_copied(folder: Path) -> None:
    fill(folder / "results.db")
    uri = (folder / "results.db").as_uri()
    assert reading_address(folder / "results.db") == (f"{uri}?mode=ro", None)


def test_a_settled_file_is_whole_while_others_have_it_open(folder: Path, tmp_path: Path) -> None:
    store = open_store(folder / "results.db")
    reader = open_store(folder / "results.db", read_only=True)
    with store.write() as connection:
        connection.execute(sa.insert(setting).values(key="k", value="v"))
    store.settle()
    assert (folder / "results.db-wal").stat().st_size == 0
    shutil.copyfile(folder / "results.db", tmp_path / "copy.db")
    copy = open_store(tmp_path / "copy.db", read_only=True)
    assert [row["value"] for row in copy.query("SELECT value FROM setting WHERE key = 'k'")] == ["v"]
    for each in (copy, reader, store):
        each.close()
