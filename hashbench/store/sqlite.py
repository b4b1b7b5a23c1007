"""SQLite as the database: checks of its file, connections, and a file that is read-only, moved or damaged."""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import tempfile
import time
import warnings
from collections.abc import Callable, Hashable, Iterator, Mapping
from pathlib import Path
from typing import Literal

import sqlalchemy as sa
from sqlalchemy.engine import URL, Connection, Engine
from sqlalchemy.exc import DBAPIError

from hashbench.common.atomic import BESIDE, DATABASE
from hashbench.common.errors import InputError, first_line

# WAL shares memory between processes, and these file systems do not carry it to another machine. The host of a virtual
# machine or a container counts as another machine. "nfs4" and "smb3" are matched by the name without its number.
NETWORK = {
    "nfs", "cifs", "smb", "smbfs", "afpfs", "afs", "coda", "ncpfs", "davfs", "webdav", "9p", "v9fs",
    "ceph", "lustre", "gpfs", "mmfs", "beegfs", "glusterfs", "wekafs", "panfs", "orangefs", "pvfs", "gfs", "ocfs",
    "virtiofs", "vboxsf", "vmhgfs", "prl_fs", "drvfs", "fakeowner", "osxfs", "grpcfuse",
}  # fmt: skip
# A program behind FUSE may keep files anywhere. These are known to keep them on a disk of this machine.
LOCAL_FUSE = {
    "ntfs", "ntfs-3g", "exfat", "exfat-fuse", "ext2", "fuse-ext2", "zfs", "zfs-fuse", "apfs", "bindfs", "mergerfs",
    "unionfs", "unionfs-fuse", "overlayfs", "fuse-overlayfs", "squashfuse", "encfs", "cryfs", "gocryptfs", "securefs",
    "ecryptfs", "lxcfs", "snapfuse", "fuseiso", "archivemount", "ratarmount", "portal",
}  # fmt: skip
BUSY_S = 30.0  # how long a writer waits for the transaction of another, which lasts milliseconds
SHORT_S = 1.0  # how long a reader waits that can do without
MALFORMED = 11  # primary code of a damaged file; a file that is no database at all is noticed when it is opened


def check_file(path: Path, name: str, *, create: bool, read_only: bool) -> None:
    """Raises InputError unless `path` is a SQLite file, or may become one."""
    folder = path.parent
    if path.exists() and not path.is_file() and not path.is_dir():  # to open a pipe may never return
        raise InputError(f"{name}: a pipe, a socket or a device, not a database; name a file")
    if path.is_dir():
        raise InputError(f"{name}: a folder, not a database; name a file in it, as in {path / 'results.db'}")
    if not folder.is_dir():
        raise InputError(f"{name}: no folder {str(folder)!r} for it; make that folder, or name another database")
    if not path.exists():
        if path.name.endswith(BESIDE):
            raise InputError(f"{name}: is a name that SQLite gives to a part of a database; name another database")
        if not create:
            raise InputError(f"{name}: no such database; run hashbench sweep first, or name another database")
        if not os.access(folder, os.W_OK):
            raise InputError(f"{name}: the folder {str(folder)!r} cannot be written; name another database")
        return
    try:
        with path.open("rb") as file:
            header = file.read(len(DATABASE))
    except PermissionError as error:
        raise InputError(f"{name}: cannot be read; check its permissions, or name another database") from error
    # An empty file passes: another process has just created it and not yet filled it.
    if header and header != DATABASE:
        raise InputError(f"{name}: not a database; name another database")
    if not read_only and not os.access(path, os.W_OK):
        raise InputError(f"{name}: cannot be written; check its permissions, or name another database")
    if not read_only and not os.access(folder, os.W_OK):
        raise InputError(
            f"{name}: its folder {str(folder)!r} is read-only, and the database needs files beside it to be written; "
            "copy it to another folder and give that --db"
        )


def warn_if_on_network(path: Path, name: str) -> None:
    """Warns where the database is on a network file system, on which locks cannot be trusted."""
    kind = file_system(path)
    if is_on_network(kind):
        warnings.warn(
            f"{name}: on a network file system ({kind}), where SQLite can lose claims and results;"
            " use a local disk, or a PostgreSQL address",
            stacklevel=3,
        )


def is_on_network(kind: str) -> bool:
    """True for a type of file system, as `file_system` gives it, whose files are or may be on another machine.

    >>> [is_on_network(kind) for kind in ("nfs4", "smb3", "fuse.rclone", "fuse", "virtiofs")]
    [True, True, True, True, True]
    >>> [is_on_network(kind) for kind in ("ext4", "tmpfs", "overlay", "fuseblk", "fuse.ntfs-3g", "btrfs", "")]
    [False, False, False, False, False, False, False]
    """
    base, _, program = kind.lower().partition(".")
    if base in ("fuse", "osxfuse", "macfuse"):
        return program not in LOCAL_FUSE
    return base in NETWORK or base.rstrip("0123456789") in NETWORK


def file_system(path: Path, mounts: Path = Path("/proc/mounts")) -> str:
    """The type of the file system that holds `path`, such as ext4; empty where there is no list of mounts."""
    try:
        lines = mounts.read_text(errors="replace").splitlines()
    except OSError:  # not Linux
        return ""
    place = path.resolve()
    best, kind = "", ""
    for line in lines:
        _device, mount, type_of_mount = line.split(" ")[:3]
        mount = mount.replace("\\040", " ")  # mount points escape blanks
        # of equal mount points the last one covers the others
        if place.is_relative_to(mount) and len(mount) >= len(best):
            best, kind = mount, type_of_mount
    return kind


class DatabaseLost(InputError):
    """Raised where nothing more may be written to an open database, however long one waits."""


class DatabaseMoved(DatabaseLost):
    """Raised where the file of an open database was deleted or replaced."""


class DatabaseDamaged(DatabaseLost):
    """Raised where the file of an open database turns out to be damaged."""


class OpenFile:
    """The file of an open database, recognised by its inode."""

    def __init__(self, path: Path, name: str) -> None:
        self.path, self.name = path, name
        self._inode: tuple[int, int] | None = None  # device and number, of the first connection

    def opened(self) -> None:
        """Records the file of a new connection. Raises DatabaseMoved where an earlier one has another file."""
        if self._inode is None:
            self._inode = self._inode_at_path()
        self.check()

    def check(self) -> None:
        """Raises DatabaseMoved unless the file at the path is the one that was opened."""
        if self._inode is None or (now := self._inode_at_path()) == self._inode:
            return
        how = "its file was deleted or renamed" if now is None else "another file was put in its place"
        raise DatabaseMoved(f"{self.name}: {how} while it was in use; nothing more is written")

    def _inode_at_path(self) -> tuple[int, int] | None:
        try:
            status = os.stat(self.path)
        except FileNotFoundError:
            return None
        return status.st_dev, status.st_ino


def sqlite_engine(url: URL, begin: Literal["BEGIN", "BEGIN IMMEDIATE"], file: OpenFile | None) -> Engine:
    """An engine of a SQLite database: of one that may be written, or, without `file`, of one that is only read.

    A database that may be written has two. Writers begin with BEGIN IMMEDIATE: they queue for the one write lock at
    once, where a deferred transaction would fail with "database is locked" when it turns from reading to writing.
    Readers begin with BEGIN, since one that begins with IMMEDIATE blocks every writer.
    """
    engine = sa.create_engine(url, connect_args={"timeout": BUSY_S})

    @sa.event.listens_for(engine, "connect")
    def prepare(dbapi_connection: sa.engine.interfaces.DBAPIConnection, _record: object) -> None:
        # the driver would begin transactions too late and leave DDL outside of them; the event below begins them
        dbapi_connection.isolation_level = None
        cursor = dbapi_connection.cursor()
        cursor.execute("PRAGMA foreign_keys=ON")
        # with WAL a killed process loses nothing, only a power cut may
        cursor.execute("PRAGMA synchronous=NORMAL")
        cursor.close()
        if file is not None:
            file.opened()

    @sa.event.listens_for(engine, "begin")
    def start(connection: Connection) -> None:
        connection.exec_driver_sql(begin)

    @sa.event.listens_for(engine, "handle_error")
    def name_full_disk(context: sa.engine.ExceptionContext) -> None:
        error = context.original_exception
        if file is not None and getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL:
            folder = file.path.absolute().parent
            free = f"{shutil.disk_usage(folder).free / 2**20:.0f} MiB free"
            error.args = (f"no space left in {folder} ({free}); make room there",)

    return engine


def turn_on_wal(engine: Engine) -> None:
    """Switches a new file to the write-ahead log for good: whoever opens the file later uses it too."""
    until = time.monotonic() + BUSY_S
    while True:
        connection = engine.raw_connection()
        try:
            connection.cursor().execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError as error:
            # this pragma does not wait for its lock by itself
            if "locked" not in str(error) or time.monotonic() > until:
                raise
            time.sleep(0.01)
        finally:
            connection.close()


@contextlib.contextmanager
def damage_as_input_error(name: str) -> Iterator[None]:
    """Raises DatabaseDamaged where the file of database `name` is damaged; any other error as it is."""
    try:
        yield
    except DBAPIError as error:
        if getattr(error.orig, "sqlite_errorcode", 0) & 0xFF != MALFORMED:
            raise
        raise DatabaseDamaged(
            f"{name}: the file is damaged ({first_line(error.orig or error)}); take a copy of it that is whole, "
            f"or save what can be read: sqlite3 {name} .recover | sqlite3 saved.db"
        ) from error


def reading_address(path: Path, *, immutable: bool = False) -> tuple[str, Path | None]:
    """The URI by which a database is only read, and a temporary folder that its reader removes at the end.

    SQLite opens a write-ahead log even to read, which a folder that cannot be written may prevent. Without a log the
    file is whole, and nobody can write it from here: it is read as immutable. With a log, a copy of both is read.
    `immutable`: nobody writes it anyway.
    """
    plain = f"{path.absolute().as_uri()}?mode=ro"
    if immutable:
        return f"{plain}&immutable=1", None
    if os.access(path.absolute().parent, os.W_OK) or _opens(plain):
        return plain, None
    log = path.with_name(f"{path.name}-wal")
    if not log.exists() or not log.stat().st_size:
        return f"{plain}&immutable=1", None
    folder = Path(tempfile.mkdtemp(prefix="hashbench-"))
    try:
        for file in (path, log):
            shutil.copyfile(file, folder / file.name)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return f"{(folder / path.name).as_uri()}?mode=ro", folder


def _opens(uri: str) -> bool:
    try:
        with contextlib.closing(_connect(uri)) as connection:
            connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchall()
    except sqlite3.OperationalError:
        return False
    except sqlite3.DatabaseError:  # not a database: the caller that opens it gets the error
        return True
    return True


def _connect(uri: str) -> sqlite3.Connection:
    return sqlite3.connect(uri, uri=True, timeout=SHORT_S)


def settle(path: Path) -> None:
    """Brings the write-ahead log of a database into its file, as far as other processes that use it let."""
    uri = f"{path.absolute().as_uri()}?mode=rw"
    with contextlib.suppress(sqlite3.Error), contextlib.closing(_connect(uri)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


def save_copy(connection: sqlite3.Connection, path: Path) -> Path:
    """Copies all that an open connection reads into a new file beside `path`; returns the new path.

    Raises sqlite3.Error where it cannot be written.
    """
    number = 1
    while (copy := path.with_name(f"{path.name}.saved-{number}")).exists():
        number += 1
    connection.execute("VACUUM INTO ?", (str(copy),))
    return copy


class HeartbeatMonitor:
    """The last heartbeat of each attempt, and since when it has not changed, by the clock of this process.

    SQLite has only the clocks of its processes, and for a clock that runs ahead every lease would be over. So a process
    takes over only an attempt whose heartbeat it has itself seen unchanged for as long as a lease lasts. On a server
    the same holds for heartbeats in the future, since its clock may have been set back.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._seen: dict[int, tuple[Hashable, float]] = {}  # heartbeat, and when it was seen first

    def silences(self, beats: Mapping[int, Hashable]) -> dict[int, float]:
        """Seconds since each attempt's heartbeat was seen first; attempts that are not among `beats` are forgotten."""
        now = self._clock()
        before = self._seen
        self._seen = {
            attempt_id: before[attempt_id] if attempt_id in before and before[attempt_id][0] == beat else (beat, now)
            for attempt_id, beat in beats.items()
        }
        return {attempt_id: now - since for attempt_id, (_, since) in self._seen.items()}
