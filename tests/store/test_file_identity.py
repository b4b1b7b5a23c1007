"""A database file that is deleted or replaced while it is open."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hashbench.store.engine import Store, open_store
from hashbench.store.file_identity import DatabaseMoved
from hashbench.store.finishing import finish
from hashbench.store.queue import heartbeat
from hashbench.store.status import counts

if TYPE_CHECKING:
    from tests.store.conftest import Lab


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
