"""Which notes of free runs are wrong, worked out from the tables by other means than the store's."""

from __future__ import annotations

from hashbench.store import sums
from hashbench.store.engine import Store


def wrong_notes(store: Store) -> list[str]:
    """Ids of runs whose `free_tries` is not what state and needs say."""
    states = {row["id"]: (row["state"], row["tries"]) for row in store.query("SELECT id, state, tries FROM run")}
    waiting = {
        row["run_id"]
        for row in store.query("SELECT run_id, needs_run_id FROM dependency")
        if states[row["needs_run_id"]][0] != "done"
    }
    right = {
        run_id: None if run_id in waiting else {"planned": 0, "failed": tries}.get(state)
        for run_id, (state, tries) in states.items()
    }
    rows = store.query("SELECT run_id, free_tries FROM experiment_run")
    return sorted({row["run_id"] for row in rows if row["free_tries"] != right[row["run_id"]]})


def wrong_sums(store: Store) -> list[tuple[str, str]]:
    """Kind and id of everything whose content does not fit its sum."""
    with store.read() as connection:
        return [(kind, of) for kind in sums.KINDS for of in sums.wrong(connection, kind)]
