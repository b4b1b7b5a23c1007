"""Results of runs: what a run hands to the store, storing it, adding to it later, making it void, and files made again.

A further attempt at a finished run whose files are gone (`claim_rerun`) makes its weights again, and its results stay.
The run stays done, so what waits for it elsewhere goes on. The attempt ends as done, but the one that counts is still
the first: the new one holds files and nothing else.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import sqlalchemy as sa
from sqlalchemy.engine import Connection, RowMapping

from hashbench.common.errors import InputError, first_line
from hashbench.common.measured import MetricRow
from hashbench.common.showing import RUN_ID_LETTERS, without_passwords
from hashbench.store import sums
from hashbench.store.engine import Store
from hashbench.store.environment import Environment, as_json
from hashbench.store.free_runs import refresh
from hashbench.store.queue import ClaimedRun, LeaseLost, begin, end_expired, mine, new_token
from hashbench.store.schema import artifact, attempt, dependency, insert_rows, metric, predictions, run

if TYPE_CHECKING:  # what reads no arrays starts without it
    import numpy as np

Checkpoint = Literal["best", "last"]

# topic of a run's note on outputs that were left out, since nobody could have read them
NOT_STORED = "outputs not stored"
# begins the fingerprint of examples that were put into the order of their targets
BY_TARGET = "by target: "


@dataclass(frozen=True)
class Predictions:
    """Outputs (n, ...) and targets (n,) of one split, in the order of the row ids that the fingerprint names.

    Targets of several labels a row are (n, C).

    `condition`: under which other way of evaluating, "" where none: a beam width, noise in the texts ('swap=0.05').
    """

    split: str
    checkpoint: Checkpoint
    outputs: np.ndarray
    targets: np.ndarray
    index_fingerprint: str
    condition: str = ""

    def __post_init__(self) -> None:
        if len(self.outputs) != len(self.targets):
            raise ValueError(f"{self.split}: {len(self.outputs)} outputs but {len(self.targets)} targets")

    @classmethod
    def of_row(cls, row: RowMapping) -> Predictions:
        """The predictions in a row of table predictions. Raises ValueError, which names the column, for a damaged one.

        Readers of reports call it through `Store.readable`, which leaves damaged predictions out.
        """
        arrays = {name: unpacked(row, name) for name in ("outputs", "targets")}
        outputs, targets = arrays["outputs"], arrays["targets"]
        if targets.ndim > 1 and targets.shape != outputs.shape:
            raise ValueError(f"predictions.targets: {targets.shape} beside outputs {outputs.shape}")
        if not (isinstance(row["index_fingerprint"], str) and isinstance(row["condition"], str)):
            raise ValueError("predictions.index_fingerprint or condition: no text")
        return cls(row["split"], row["checkpoint"], **arrays, index_fingerprint=row["index_fingerprint"],
                   condition=row["condition"])  # fmt: skip

    def in_order_of_targets(self) -> Predictions:
        """A copy with the rows in the order of their targets (stable), and a fingerprint that is marked so.

        Rows of two models on the same examples stay rows of the same example. Returns itself where it is in this order.
        """
        if self.index_fingerprint.startswith(BY_TARGET):
            return self
        of = self.targets
        order = of.argsort(kind="stable") if of.ndim == 1 else sorted(range(len(of)), key=lambda row: of[row].tobytes())
        fingerprint = BY_TARGET + self.index_fingerprint
        return replace(self, outputs=self.outputs[order], targets=self.targets[order], index_fingerprint=fingerprint)


def unpacked(row: RowMapping, name: str) -> np.ndarray:
    """The outputs or targets, (n,) or (n, c), in a row of table predictions. Raises ValueError for anything else."""
    from hashbench.store.packing import unpack

    try:
        array = unpack(row[name])
        if array.ndim > 2 or 0 in array.shape[1:] or len(array) != row["n"]:
            raise ValueError(f"an array of shape {array.shape} where {row['n']} rows belong")
    except (ValueError, TypeError) as error:  # TypeError: a text where bytes belong
        raise ValueError(f"predictions.{name}: {first_line(error)}") from error
    return array


@dataclass(frozen=True)
class Artifact:
    """A file that a run left: its path below the artifact root, its size and its sha256."""

    kind: str
    url: str
    bytes: int
    sha256: str


def leads_outside(url: str) -> bool:
    """True for the URL of an artifact that is not a path below the artifact root.

    >>> [leads_outside(url) for url in ("ab/weights.safetensors", "../x", "a/../../x", "/etc/x", "C:\\\\x", "s3://x/y")]
    [False, True, True, True, True, True]
    """
    parts = url.replace("\\", "/").split("/")
    return url.startswith(("/", "\\", "~")) or ".." in parts or ":" in parts[0]


@dataclass(frozen=True)
class Result:
    """Everything that a finished run leaves in the database. `notes`: what a table must say about it, by topic."""

    metrics: Sequence[MetricRow] = ()
    predictions: Sequence[Predictions] = ()
    artifacts: Sequence[Artifact] = ()
    log: str = ""
    seconds: float | None = None
    seconds_before: float = 0.0  # of earlier attempts whose checkpoint this one went on from
    notes: Mapping[str, str] = field(default_factory=dict)


# States that a run can have beside a current attempt that may still end with a result
RUN_BESIDE = {"running": ("running",), "lost": ("planned", "failed")}

NOTED_SLEEP_S = 1.0  # chosen here; the two clocks differ by less while a machine is awake


def finish(store: Store, held: ClaimedRun, result: Result) -> None:
    """Stores the result and ends the attempt and its run, all or nothing.

    It is accepted while the attempt is the run's current one, however late its lease: still in flight, or given up as
    lost and nobody has begun another since. A result that is stored already, since the answer of the database got lost,
    is not stored again. Raises LeaseLost, and writes nothing, where another attempt has taken over.
    """
    held = held.stopped()
    result = replace(result, notes=notes_of(held, result))
    if held.again:
        return finish_rerun(store, held, result)
    # compressed before the write lock is taken
    packed = [_packed(item) for item in result.predictions]
    metrics = [vars(item) | dict(zip(("value", "reason"), item.stored(), strict=True)) for item in result.metrics]
    files = [vars(item) for item in result.artifacts]
    with store.write() as connection:
        state = _state_of(connection, held)
        if state == "done":
            return
        if state not in RUN_BESIDE:
            raise LeaseLost(f"run {held.run_id[:12]}: attempt {held.attempt_id} is no longer the current one")
        seconds = held.lasted(None) if result.seconds is None else result.seconds
        ended = held.ended_at(result.seconds)
        values = {
            "state": "done",
            "ended_at": ended,
            "seconds": seconds + result.seconds_before,
            "log": result.log,
            "notes": as_json(result.notes),
            "reason": None,
        }
        connection.execute(sa.update(attempt).where(attempt.c.id == held.attempt_id).values(values))
        for table, rows in ((metric, metrics), (predictions, packed), (artifact, files)):
            insert_rows(connection, sa.insert(table), ({**row, "attempt_id": held.attempt_id} for row in rows))
        done = sa.update(run).where(run.c.id == held.run_id, run.c.state.in_(RUN_BESIDE[state]))
        end = sa.select(attempt.c.ended_at).where(attempt.c.id == held.attempt_id).scalar_subquery()
        done = done.values(state="done", finished_attempt=held.attempt_id, finished_at=end)
        # another claimed the run at this moment, or a merge took another result for it
        if connection.execute(done).rowcount != 1:
            raise LeaseLost(f"run {held.run_id[:12]}: no longer to be done")
        sums.write(connection, "attempt", [held.attempt_id])
        sums.write(connection, "run", [held.run_id])
        refresh(connection, [held.run_id], dependants=True)


def notes_of(held: ClaimedRun, result: Result) -> dict[str, str]:
    """The notes of a result, without passwords, and one on the sleep of the machine since the claim."""
    slept = 0.0 if held.watch is None else held.watch.slept
    notes = {topic: without_passwords(text) for topic, text in result.notes.items()}
    return {**notes, **({"slept": f"{slept:.0f} s, not counted"} if slept >= NOTED_SLEEP_S else {})}


def add_metrics(store: Store, run_id: str, rows: Sequence[MetricRow]) -> None:
    """Adds metrics to a finished run, in place of earlier ones of the same names, splits and conditions.

    Raises InputError where the run is not finished.
    """
    with store.write() as connection:
        finished = sa.select(run.c.finished_attempt).where(run.c.id == run_id, run.c.state == "done")
        attempt_id = connection.execute(finished).scalar()
        if attempt_id is None:
            raise InputError(f"run {run_id[:12]}: is not finished, so nothing can be added to it")
        for row in rows:
            key = metric.c.split == row.split, metric.c.name == row.name, metric.c.condition == row.condition
            connection.execute(sa.delete(metric).where(metric.c.attempt_id == attempt_id, *key))
        values = [vars(row) | dict(zip(("value", "reason"), row.stored(), strict=True)) for row in rows]
        insert_rows(connection, sa.insert(metric), ({**row, "attempt_id": attempt_id} for row in values))
        sums.write(connection, "attempt", [attempt_id])


def knows(store: Store, held: ClaimedRun) -> bool:
    """True where this database has the attempt of a claimed run."""
    this = sa.select(attempt.c.id).where(attempt.c.id == held.attempt_id, attempt.c.token == held.token)
    with store.read() as connection:
        return connection.execute(this).first() is not None


def _state_of(connection: Connection, held: ClaimedRun) -> str | None:
    """The state of a claimed run's attempt, whose row it locks; None where the attempt is not the newest of the run."""
    newest = sa.select(sa.func.max(attempt.c.id)).where(attempt.c.run_id == held.run_id).scalar_subquery()
    this = (attempt.c.id == held.attempt_id, attempt.c.token == held.token, attempt.c.id == newest)
    return connection.execute(sa.select(attempt.c.state).where(*this).with_for_update()).scalar()


def void(store: Store, run_id: str, reason: str) -> list[str]:
    """Makes void a finished run and every finished one that was built on it; returns their ids.

    The results stay stored beside the reason, but no view shows them, and the next sweep makes them again.
    """
    with store.write() as connection:
        state = connection.execute(sa.select(run.c.state).where(run.c.id == run_id)).scalar()
        if state != "done":
            raise InputError(f"run {run_id[:12]}: {state or 'unknown'}; only a finished run can be made void")
        built = sa.select(sa.literal(run_id).label("id")).cte("built", recursive=True)
        built = built.union(sa.select(dependency.c.run_id).join(built, dependency.c.needs_run_id == built.c.id))
        voided = sa.update(run).where(run.c.id.in_(sa.select(built.c.id)), run.c.state == "done")
        voided = voided.values(state="void", void_reason=reason).returning(run.c.id, run.c.finished_attempt)
        rows = connection.execute(voided).all()
        ended = sa.update(attempt).where(attempt.c.id.in_([row.finished_attempt for row in rows]))
        connection.execute(ended.values(state="void", reason=reason))
        sums.write(connection, "attempt", [row.finished_attempt for row in rows])
        sums.write(connection, "run", [row.id for row in rows])
        refresh(connection, [row.id for row in rows], dependants=True)
        return sorted(row.id for row in rows)


def _packed(item: Predictions) -> dict[str, Any]:
    from hashbench.store.packing import pack

    return {**vars(item), "outputs": pack(item.outputs), "targets": pack(item.targets), "n": len(item.outputs)}


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
        # Locked, so that the second of two workers waits until the first one has begun
        of_run = sa.select(run).where(run.c.id == run_id).with_for_update()
        row = connection.execute(of_run).mappings().one()
        if row["state"] != "done":
            raise InputError(f"run {run_id[:RUN_ID_LETTERS]}: is {row['state']}, and no longer done; sweep again")
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
            raise LeaseLost(f"run {held.run_id[:RUN_ID_LETTERS]}: the lease of attempt {held.attempt_id} is over")
        rows = ({**vars(item), "attempt_id": held.attempt_id} for item in result.artifacts)
        insert_rows(connection, sa.insert(artifact), rows)
        sums.write(connection, "attempt", [held.attempt_id])


def files_of_all_attempts(store: Store, run_id: str) -> list[Artifact]:
    """The files that the finished attempts at a run left, the newest attempt first."""
    return [Artifact(**row) for row in store.query(FILES, run=run_id)]
