"""The places of a campaign of faults: a small disk, a PostgreSQL server and a Ray cluster, each with its own faults."""

from __future__ import annotations

import contextlib
import os
import pwd
import resource
import shutil
import subprocess
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

NODE = {"object_store_memory": 80 * 2**20}  # bytes; Ray's least is 75 MiB
# Ray asks for nothing, ends no process for its memory, and gives its workers the priority of this one.
QUIET = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_memory_monitor_refresh_ms": "0", "RAY_worker_niceness": "0"}
# The clock of a server, in front of its own, wrong by some seconds
SERVER_CLOCK = """
CREATE SCHEMA IF NOT EXISTS fault;
CREATE OR REPLACE FUNCTION fault.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE
AS 'SELECT pg_catalog.clock_timestamp() + make_interval(secs => {seconds})';
ALTER ROLE hashbench SET search_path = public, fault, pg_catalog;
"""


@dataclass
class Disk:
    """The folder of a database: a small file system in memory where it may be mounted, else limits for processes."""

    folder: Path
    mounted: bool

    @property
    def kind(self) -> str:
        """How it gets full, for the report."""
        return "a file system of its own (tmpfs)" if self.mounted else "RLIMIT_FSIZE of the sweeps' processes"

    def full(self, seconds: float, processes: Iterable[psutil.Process]) -> None:
        """Takes all room for some seconds. `processes`: that are limited where the disk is none of its own."""
        if not self.mounted:
            self._limited(seconds, list(processes))
            return
        filler = self.folder / "filler"
        try:
            with filler.open("wb", buffering=0) as file, contextlib.suppress(OSError):
                while True:
                    file.write(bytes(4096))
            time.sleep(seconds)
        finally:
            filler.unlink()

    def _limited(self, seconds: float, processes: list[psutil.Process]) -> None:
        most = max(path.stat().st_size for path in self.folder.iterdir())
        try:
            _limit(processes, most)
            time.sleep(seconds)
        finally:
            _limit(processes, resource.RLIM_INFINITY)


def _limit(processes: Iterable[psutil.Process], most: int) -> None:
    """Limits the size of the files that processes write, in bytes."""
    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess, ProcessLookupError):
            _, hard = resource.prlimit(process.pid, resource.RLIMIT_FSIZE)
            resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (most, hard))


@contextlib.contextmanager
def disk(folder: Path, megabytes: int) -> Iterator[Disk]:
    """A new folder with a file system of so many MB, unless this user may mount none."""
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(folder)]
    mounted = shutil.which("mount") is not None and subprocess.run(command, capture_output=True).returncode == 0
    try:
        yield Disk(folder, mounted)
    finally:
        if mounted:
            subprocess.run(["umount", "-l", str(folder)], check=True)


class RayNodes:
    """A Ray cluster of two nodes on this machine; the second can be killed, and another comes in its place."""

    def __init__(self, cluster: Any, cpus: int) -> None:
        self._cluster, self._cpus = cluster, cpus
        self.address: str = cluster.address

    def kill_one(self) -> None:
        """Kills a node with all its processes, and starts another."""
        self._cluster.remove_node(next(iter(self._cluster.worker_nodes)), allow_graceful=False)
        self._cluster.add_node(num_cpus=self._cpus, **NODE)


@contextlib.contextmanager
def ray_nodes(folder: Path, workers: int) -> Iterator[RayNodes]:
    """Two nodes with room for so many workers together."""
    from ray.cluster_utils import Cluster

    (folder / "ray").mkdir()
    # a node's own cache counts more than the sweep's: without artifacts both sweeps must share one
    os.environ |= {"RAY_TMPDIR": str(folder), "HASHBENCH_CACHE": str(folder / "cache"), **QUIET}
    cpus = max(1, workers // 2)
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": cpus, "include_dashboard": False, **NODE})
    try:
        cluster.add_node(num_cpus=cpus, **NODE)
        yield RayNodes(cluster, cpus)
    finally:
        cluster.shutdown()


@dataclass
class Server:
    """A PostgreSQL server of this campaign: a socket in its folder, no port, its data on a small disk."""

    folder: Path
    disk: Disk
    owner: Mapping[str, int]

    @property
    def url(self) -> str:
        """The address of its database."""
        return f"postgresql://hashbench@/postgres?host={self.folder}"

    def start(self) -> None:
        """Starts it, unless it runs, and waits until it answers."""
        sizes = "-c shared_buffers=16MB -c min_wal_size=32MB -c max_wal_size=64MB"
        options = f"-k {self.folder} -c listen_addresses= {sizes}"
        if not self.runs():
            self._call("pg_ctl", "start", "-w", "-t", "120", "-l", str(self.folder / "log"), "-o", options)

    def stop(self, mode: str) -> None:
        """Stops it: fast (connections are closed in order) or immediate (as a crash)."""
        self._call("pg_ctl", "stop", "-m", mode, "-w", "-t", "120")

    def runs(self) -> bool:
        """True unless it was stopped or ended itself."""
        command = [find("pg_ctl"), "status", "-D", str(self._data)]
        return subprocess.run(command, cwd=self.folder, capture_output=True, **self.owner).returncode == 0  # type: ignore[call-overload,no-any-return]

    def set_clock(self, seconds: float) -> None:
        """Makes its clock wrong by so many seconds."""
        self.execute(SERVER_CLOCK.format(seconds=seconds))

    def execute(self, sql: str) -> None:
        """Carries out a few statements. Raises psycopg's OperationalError where it does not answer."""
        import psycopg

        with psycopg.connect(self.url) as connection:
            connection.execute(sql)

    @property
    def _data(self) -> Path:
        return self.disk.folder / "data"

    def _call(self, program: str, *arguments: str) -> None:
        command = [find(program), *arguments, "-D", str(self._data)]
        with (self.folder / "calls").open("a") as log:
            subprocess.run(command, check=True, cwd=self.folder, stdout=log, stderr=log, **self.owner)  # type: ignore[call-overload]


@contextlib.contextmanager
def server(folder: Path, data: Disk) -> Iterator[Server]:
    """A fresh PostgreSQL server with its data on a disk; initdb refuses root, so it is nobody's then."""
    place = folder / "pg"
    place.mkdir()
    owner: dict[str, int] = {}
    if os.getuid() == 0:
        nobody = pwd.getpwnam("nobody")
        owner = {"user": nobody.pw_uid, "group": nobody.pw_gid}
        for path in (place, data.folder):
            os.chown(path, nobody.pw_uid, nobody.pw_gid)
        folder.chmod(0o755)
    made = Server(place, data, owner)
    made._call("initdb", "-U", "hashbench", "-A", "trust", "--no-locale", "-E", "UTF8")
    made.start()
    try:
        made.set_clock(0.0)
        yield made
    finally:
        made.stop("immediate")


def find(program: str) -> str:
    """The path of a program of PostgreSQL."""
    places = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{program}"))
    found = shutil.which(program) or (str(places[-1]) if places else None)
    if found is None:
        raise SystemExit(f"{program} is not installed")
    return found
