"""SQLite's file: on a network, in a folder that cannot be written, deleted or replaced while it is open, damaged."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import sqlite3
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import sqlalchemy as sa

from hashbench.common.errors import InputError
from hashbench.store import sqlite
from hashbench.store.engine import Store, open_store
from hashbench.store.queue import heartbeat
from hashbench.store.result import finish
from hashbench.store.schema import setting
from hashbench.store.sqlite import DatabaseMoved, HeartbeatMonitor, reading_address
from hashbench.store.status import counts
from tests.databases.made_up import World, build

if TYPE_CHECKING:
    from tests.store.conftest import Lab

PAGE = 4096  # bytes
MOUNTS = """\
/dev/sda1 / ext4 rw 0 0
server:/home {home} nfs4 rw 0 0
tmpfs {home}/local tmpfs rw 0 0
/dev/sdb1 {home}/with\\040blank xfs rw 0 0
"""


@pytest.fixture
def mounts(tmp_path: Path) -> Path:
    (tmp_path / "mounts").write_text(MOUNTS.format(home=tmp_path))
    return tmp_path / "mounts"


@pytest.mark.parametrize(
    ("path", "kind"), [("a.db", "nfs4"), ("local/a.db", "tmpfs"), ("with blank/a.db", "xfs"), ("localized/a", "nfs4")]
)
def test_the_innermost_mount_tells(mounts: Path, path: str, kind: str) -> None:
    assert sqlite.file_system(mounts.parent / path, mounts) == kind
    assert sqlite.file_system(Path("/elsewhere/a.db"), mounts) == "ext4"


def test_a_system_without_a_list_of_mounts_tells_nothing(tmp_path: Path) -> None:
    assert sqlite.file_system(tmp_path, tmp_path / "none") == ""


def test_a_network_file_system_is_warned_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "file_system", lambda path: "nfs4")
    with pytest.warns(UserWarning, match=r"results.db: on a network file system \(nfs4\).*PostgreSQL"):
        sqlite.warn_if_on_network(tmp_path / "results.db", "results.db")
    monkeypatch.setattr(sqlite, "file_system", lambda path: "ext4")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sqlite.warn_if_on_network(tmp_path / "results.db", "results.db")


@pytest.mark.parametrize(
    "kind",
    "nfs nfs4 cifs smb2 smb3 9p ceph virtiofs vboxsf wekafs panfs drvfs ocfs2 gfs2 fuse fuse.sshfs fuse.gcsfuse "
    "fuse.s3fs fuse.rclone fuse.glusterfs fuse.juicefs fuse.ceph fuse.drive fuse.any-other".split(),
)
def test_kinds_whose_files_may_be_elsewhere(kind: str) -> None:
    assert sqlite.is_on_network(kind)


@pytest.mark.parametrize("kind", "ext4 xfs btrfs zfs apfs tmpfs overlay fuseblk fuse.ntfs-3g fuse.bindfs".split())
def test_kinds_of_this_machine(kind: str) -> None:
    assert not sqlite.is_on_network(kind)


@pytest.mark.parametrize("kind", ["pipe", "socket", "device"])
@pytest.mark.parametrize("options", [{}, {"create": False}, {"read_only": True}])
def test_what_is_no_file_is_refused_before_it_is_opened(tmp_path: Path, kind: str, options: dict[str, bool]) -> None:
    """To open a pipe would wait for whoever writes into it."""
    path = tmp_path / "a"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "socket":
        with contextlib.closing(socket.socket(socket.AF_UNIX)) as listening:
            listening.bind(str(path))
    else:
        path = Path("/dev/zero")
    with pytest.raises(InputError, match=r"a pipe, a socket or a device, not a database; name a file"):
        open_store(path, **options)


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


@pytest.mark.e2e
def test_a_finished_database_is_read_where_no_log_can_be_made(folder: Path, use: Callable[[str], str]) -> None:
    fill(folder / "results.db")
    assert os.listdir(folder) == ["results.db"]
    assert use("read") == "['v']"


@pytest.mark.e2e
def test_rows_of_a_log_are_read_with_and_without_its_index(folder: Path, use: Callable[[str], str]) -> None:
    fill(folder / "results.db")
    leave_the_log(folder / "results.db")
    assert use("read") == "['of the log']"
    folder.chmod(0o755)
    (folder / "results.db-shm").unlink()
    assert use("read") == "['of the log']"


@pytest.mark.e2e
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


def test_a_copy_that_fails_leaves_nothing(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(source: Path, target: Path) -> None:
        raise OSError(28, "No space left on device")

    fill(folder / "results.db")
    leave_the_log(folder / "results.db")
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(sqlite.os, "access", lambda *arguments: False)
    monkeypatch.setattr(sqlite, "_opens", lambda uri: False)
    monkeypatch.setattr(sqlite.tempfile, "tempdir", str(tmp_path / "temporary"))
    monkeypatch.setattr(sqlite.shutil, "copyfile", full)
    with pytest.raises(OSError, match="No space left"):
        reading_address(folder / "results.db")
    assert not os.listdir(tmp_path / "temporary")


@pytest.mark.e2e
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


def test_a_deleted_file_is_noticed_at_claim_and_heartbeat_and_its_content_saved(tmp_path: Path, lab: Lab) -> None:
    store = open_store(tmp_path / "r.db")
    experiment_id = lab.plan(store, lab.run("a"), lab.run("b"))
    lab.finish_all(store, lab.plan(store, lab.run("a"), name="one"))
    held = lab.claim(store, experiment_id)
    for file in tmp_path.glob("r.db*"):
        file.unlink()
    with pytest.raises(DatabaseMoved, match="r.db: its file was deleted or renamed while it was in use; nothing more"):
        lab.claim(store, experiment_id)
    with pytest.raises(DatabaseMoved):
        heartbeat(store, held)
    assert not (tmp_path / "r.db").exists()  # nothing was made anew
    copy = store.save_copy()
    assert copy == tmp_path / "r.db.saved-1"
    saved = open_store(copy, create=False)
    assert counts(saved, experiment_id) == {"planned": 0, "running": 1, "done": 1, "failed": 0, "void": 0}
    finish(saved, held, lab.result())
    assert store.save_copy() == tmp_path / "r.db.saved-2"
    saved.close()
    store.close()


def test_a_replaced_file_is_noticed_and_not_written(
    tmp_path: Path, lab: Lab, new_store: Callable[[str], Store]
) -> None:
    store, other = new_store("r.db"), new_store("other.db")
    experiment_id = lab.plan(store, lab.run("a"))
    lab.plan(other, lab.run("b"), lab.run("c"))
    other.close()
    (tmp_path / "other.db").rename(tmp_path / "r.db")
    with pytest.raises(DatabaseMoved, match="r.db: another file was put in its place while it was in use"):
        lab.claim(store, experiment_id)
    with pytest.raises(DatabaseMoved):
        counts(store, experiment_id)
    saved = open_store(store.save_copy(), create=False, read_only=True)
    assert counts(saved, experiment_id)["planned"] == 1


def test_a_file_that_is_only_read_may_be_replaced(lab: Lab, tmp_path: Path, new_store: Callable[[str], Store]) -> None:
    lab.plan(new_store("r.db"), lab.run("a"))
    reader = open_store(tmp_path / "r.db", read_only=True)
    assert counts(reader, 1)["planned"] == 1
    (tmp_path / "r.db").unlink()
    assert counts(reader, 1)["planned"] == 1
    reader.close()


def pages_of(path: Path, table: str) -> int:
    """The first page of a table, counted from 0."""
    connection = sqlite3.connect(path)
    (root,) = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (table,)).fetchone()
    assert connection.execute("PRAGMA page_size").fetchone() == (PAGE,)
    connection.close()
    return root - 1


def test_a_page_of_zeros_is_one_line_and_not_missing_rows(tmp_path: Path) -> None:
    path = tmp_path / "r.db"
    build(path, World()).close()
    content = bytearray(path.read_bytes())
    start = PAGE * pages_of(path, "metric")
    content[start : start + PAGE] = bytes(PAGE)
    path.write_bytes(content)
    for read_only in (True, False):
        store = open_store(path, create=False, read_only=read_only)
        with pytest.raises(InputError, match=r"r\.db: the file is damaged \(.*malformed\); take a copy .* \.recover"):
            store.query("SELECT count(*) FROM metric")
        store.close()


def test_other_errors_stay_what_they_are(tmp_path: Path) -> None:
    store = build(tmp_path / "r.db", World())
    with pytest.raises(Exception, match="no such table") as caught:
        store.query("SELECT * FROM not_there")
    assert not isinstance(caught.value, InputError)


def test_a_heartbeat_stands_still_from_the_first_look_on_until_it_moves() -> None:
    now = 100.0
    pulse = HeartbeatMonitor(clock=lambda: now)
    assert pulse.silences({1: 5000.0, 2: 9000.0}) == {1: 0.0, 2: 0.0}
    now = 130.0
    assert pulse.silences({1: 5000.0, 2: 9015.0}) == {1: 30.0, 2: 0.0}
    now = 160.0
    assert pulse.silences({1: 5000.0, 3: 1.0}) == {1: 60.0, 3: 0.0}


def test_an_attempt_that_went_and_came_back_is_seen_anew() -> None:
    now = 0.0
    pulse = HeartbeatMonitor(clock=lambda: now)
    pulse.silences({1: 7.0})
    pulse.silences({})
    now = 80.0
    assert pulse.silences({1: 7.0}) == {1: 0.0}
