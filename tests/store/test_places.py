"""File systems on which the store must not lie."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

from hashbench.store import places

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
    assert places.file_system(mounts.parent / path, mounts) == kind
    assert places.file_system(Path("/elsewhere/a.db"), mounts) == "ext4"


def test_a_system_without_a_list_of_mounts_tells_nothing(tmp_path: Path) -> None:
    assert places.file_system(tmp_path, tmp_path / "none") == ""


def test_a_network_file_system_is_warned_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(places, "file_system", lambda path: "nfs4")
    with pytest.warns(UserWarning, match=r"results.db: on a network file system \(nfs4\).*PostgreSQL"):
        places.warn_if_on_network(tmp_path / "results.db", "results.db")
    monkeypatch.setattr(places, "file_system", lambda path: "ext4")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        places.warn_if_on_network(tmp_path / "results.db", "results.db")
