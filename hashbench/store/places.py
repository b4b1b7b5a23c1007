"""Whether a file can be the database: every wrong path gets its own line before SQLite sees it."""

from __future__ import annotations

import os
import shutil
import warnings
from pathlib import Path

from hashbench.common.errors import InputError

# the first 16 bytes of every database file, sqlite.org/fileformat
SQLITE_HEADER = b"SQLite format 3\x00"
# WAL shares memory between the processes, which these file systems do not carry to another machine.
NETWORK = {"nfs", "nfs4", "cifs", "smb3", "smbfs", "afs", "ceph", "lustre", "gpfs", "beegfs", "fuse.sshfs", "9p"}


def check_file(path: Path, name: str, *, create: bool, read_only: bool) -> None:
    """Raise InputError unless `path` is a SQLite file, or may become one."""
    folder = path.parent
    if path.is_dir():
        raise InputError(f"{name}: a folder, not a database; name a file in it, as in {path / 'results.db'}")
    if not folder.is_dir():
        raise InputError(f"{name}: no folder {str(folder)!r} for it; make that folder, or give another --db")
    if not path.exists():
        if not create:
            raise InputError(f"{name}: no such database; run hashbench sweep first, or give --db")
        if not os.access(folder, os.W_OK):
            raise InputError(f"{name}: the folder {str(folder)!r} cannot be written; give another --db")
        return
    try:
        with path.open("rb") as file:
            header = file.read(len(SQLITE_HEADER))
    except PermissionError as error:
        raise InputError(f"{name}: cannot be read; check its permissions, or give another --db") from error
    # An empty file passes: it is what another process has just made and not yet filled.
    if header and header != SQLITE_HEADER:
        raise InputError(f"{name}: not a database; give another --db")
    if not read_only and not os.access(path, os.W_OK):
        raise InputError(f"{name}: cannot be written; check its permissions, or give another --db")
    if not read_only and not os.access(folder, os.W_OK):
        raise InputError(
            f"{name}: its folder {str(folder)!r} is read-only, and the database needs files beside it to be written; "
            "copy it to another folder and give that --db"
        )


def space_message(path: Path) -> str:
    """Where space is missing for a file, and how much there is left."""
    folder = path.absolute().parent
    return f"no space left in {folder} ({shutil.disk_usage(folder).free / 2**20:.0f} MiB free); make room there"


def warn_if_on_network(path: Path, name: str) -> None:
    """Warn where locks between machines cannot be trusted."""
    kind = file_system(path)
    if kind in NETWORK:
        warnings.warn(
            f"{name}: on a network file system ({kind}), where SQLite can lose claims and results;"
            " use a local disk, or a PostgreSQL address",
            stacklevel=3,
        )


def file_system(path: Path, mounts: Path = Path("/proc/mounts")) -> str:
    """The type of the file system that holds `path`; empty where the system does not tell."""
    try:
        lines = mounts.read_text(errors="replace").splitlines()
    except OSError:  # not Linux
        return ""
    place = path.resolve()
    best, kind = "", ""
    for line in lines:
        _device, mount, type_of_mount = line.split(" ")[:3]
        mount = mount.replace("\\040", " ")  # mount points escape blanks
        # The last of equal ones covers the others
        if place.is_relative_to(mount) and len(mount) >= len(best):
            best, kind = mount, type_of_mount
    return kind
