"""A further attempt at a finished run whose files are gone: its weights are made again, its results stay.

The run stays done, so what waits for it elsewhere goes on. The attempt ends as done, but the one that counts is still
the first: the new one holds files and nothing else.
"""

from __future__ import annotations

import json

import sqlalchemy as sa

from hashbench.common.errors import InputError
from hashbench.store import sums
from hashbench.store.engine import Store
from hashbench.store.environment import Environment, as_json
from hashbench.store.queue import ClaimedRun, LeaseLost, begin, end_expired, mine, new_token
from hashbench.store.result import Artifact, Result
from hashbench.store.schema import artifact, attempt, run
from hashbench.store.statements import insert_rows

SHORT = 12  # letters of a run id in a message
FILES = """
SELECT f.kind, f.url, f.bytes, f.sha256 FROM artifact f JOIN attempt a ON a.id = f.attempt_id
WHERE a.run_id = :run AND a.state = 'done' ORDER BY a.id DESC
"""


def claim_rerun(
    store: Store,
    run_id: str,
    *,
    worker: str,
    lease_s: float,
    environment: Environment | None = None,
    token: str = "",
) -> ClaimedRun | None:
    """A finished run leased to `worker` once more, under `token` as by `claim`; None while an attempt at it runs.

    Raises InputError where the run is not finished any more.
    """
    with store.write() as connection:
        end_expired(store, connection)
        # Locked, so that of two workers one waits for what the other begins
        of_run = sa.select(run).where(run.c.id == run_id).with_for_update()
        row = connection.execute(of_run).mappings().one()
        if row["state"] != "done":
            raise InputError(f"run {run_id[:SHORT]}: is {row['state']}, and no longer done; sweep again")
        in_hand = sa.select(attempt.c.id).where(attempt.c.run_id == run_id, attempt.c.state == "running")
        if connection.execute(in_hand).first() is not None:
            return None
        token = token or new_token()
        attempt_id = begin(store, connection, run_id, token, worker=worker, lease_s=lease_s, environment=environment)
        about = {name: row[name] for name in ("kind", "model", "task", "seed", "encoder")}
        spec = json.loads(row["spec"])
        return ClaimedRun(run_id, token, attempt_id, lease_s, spec=spec, needs=(), again=True, **about)


def finish_rerun(store: Store, held: ClaimedRun, result: Result) -> None:
    """Ends a further attempt with the files of its result. Raises LeaseLost where it is over already."""
    seconds = held.lasted(None) if result.seconds is None else result.seconds
    ended = sa.update(attempt).where(*mine(held)).values(
        state="done", ended_at=held.ended_at(result.seconds), seconds=seconds + result.seconds_before, log=result.log,
        notes=as_json(result.notes), reason="its files were gone and were made again",
    )  # fmt: skip
    with store.write() as connection:
        if connection.execute(ended).rowcount != 1:
            raise LeaseLost(f"run {held.run_id[:SHORT]}: the lease of attempt {held.attempt_id} is over")
        rows = ({**vars(item), "attempt_id": held.attempt_id} for item in result.artifacts)
        insert_rows(connection, sa.insert(artifact), rows)
        sums.write(connection, "attempt", [held.attempt_id])


def files_of_all_attempts(store: Store, run_id: str) -> list[Artifact]:
    """The files that the finished attempts at a run left, the newest attempt first."""
    return [Artifact(**row) for row in store.query(FILES, run=run_id)]
