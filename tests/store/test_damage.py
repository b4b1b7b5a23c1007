"""A damaged database is one line that names the file, whatever was being read of it."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from hashbench.common.errors import InputError
from hashbench.store.engine import open_store
from tests.databases.made_up import World, build

PAGE = 4096


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
