"""Reading what the store knows about experiments, runs and attempts. Scores are read through the views."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import RowMapping

from hashbench.common.errors import InputError, near_match
from hashbench.common.showing import FINGERPRINT_LETTERS, without_passwords
from hashbench.store.engine import Store
from hashbench.store.planning import known_ids
from hashbench.store.queue import members
from hashbench.store.result import Artifact, Checkpoint, Predictions, leads_outside
from hashbench.store.schema import STATES, attempt, chunks, environment, run
from hashbench.store.schema import predictions as stored_predictions
from hashbench.store.views import of_version

SHORTEST_PREFIX = 4  # letters of a run id, or of a version's fingerprint, that a user must give


@dataclass(frozen=True)
class StoredExperiment:
    """An experiment, which is a name with a set of runs, as its last sweep stored it."""

    id: int
    name: str
    baseline: str
    config: dict[str, Any]
    command: str
    created_at: float
    called_at: float

    @property
    def provenance(self) -> dict[str, Any]:
        """Notes of the sweep on its data: sources, and of each task origin, notes and rows. Empty for older sweeps."""
        return self.config["provenance"] if "provenance" in self.config else {}

    @property
    def averages(self) -> dict[str, Sequence[str]]:
        """The tasks of each further average of the file, by its name."""
        return self.config.get("averages") or {}


@dataclass(frozen=True)
class RunStatus:
    """A run of an experiment: its state, why its last attempt failed or its files were made again, how long it took."""

    run_id: str
    kind: str
    model: str
    task: str | None
    seed: int | None
    encoder: str
    state: str
    attempts: int
    tries: int
    reason: str | None
    seconds: float | None
    worker: str | None
    started_at: float | None
    heartbeat_at: float | None
    notes: dict[str, str]  # of the attempt that counts, by topic


@dataclass(frozen=True)
class Attempt:
    """One attempt at a run, with what is known of its host, commit, hardware and packages."""

    id: int
    state: str
    worker: str
    host: str
    started_at: float
    ended_at: float | None
    seconds: float | None
    reason: str | None
    log: str
    notes: dict[str, str]
    git_commit: str
    hardware_name: str
    packages: dict[str, str]


@dataclass(frozen=True)
class Running:
    """An attempt in flight. A negative `lease_left_s`: its worker is silent, and the next claim takes its run over."""

    attempt_id: int
    run_id: str
    worker: str
    host: str
    lease_left_s: float


EXPERIMENT = "SELECT e.id, e.name, e.baseline, e.config, e.command, e.created_at, e.called_at"
NEWEST = "ORDER BY e.called_at DESC, e.id DESC"
EXPERIMENTS = f"{EXPERIMENT} FROM experiment e {NEWEST}"
LAST_SWEPT = f"{EXPERIMENT} FROM experiment e {NEWEST} LIMIT 1"
LAST_OF_NAME = f"{EXPERIMENT} FROM experiment e WHERE e.name = :name {NEWEST} LIMIT 1"
FINGERPRINTS = "SELECT id, fingerprint FROM experiment"
NAMES_BY_AGE = f"SELECT e.name FROM experiment e {NEWEST}"
# the experiment with a run that was swept last, and the run's first label in it
LAST_WITH_RUN = f"""
{EXPERIMENT}, er.model FROM experiment_run er JOIN experiment e ON e.id = er.experiment_id
WHERE er.run_id = :run {NEWEST}, er.position LIMIT 1
"""
COUNTS = """
SELECT state, COUNT(*) AS n FROM run
WHERE id IN (SELECT run_id FROM experiment_run WHERE experiment_id = :experiment) GROUP BY state
"""
# A finished run is shown by the attempt that counts, since a merge may bring newer ones; any other run by its newest.
# The reason may come from a later attempt, by which files were made again.
RUNS = """
SELECT r.id AS run_id, r.kind, er.model, r.task, r.seed, r.encoder, r.state,
       (SELECT COUNT(*) FROM attempt n WHERE n.run_id = r.id) AS attempts, r.tries,
       COALESCE(a.reason, (
           SELECT n.reason FROM attempt n WHERE n.run_id = r.id AND n.id > a.id AND n.reason IS NOT NULL
           AND n.state = 'done' AND r.state = 'done' ORDER BY n.id DESC LIMIT 1
       )) AS reason,
       CASE WHEN r.state = 'done' THEN a.seconds END AS seconds, a.worker, a.started_at, a.heartbeat_at,
       CASE WHEN r.state = 'done' THEN a.notes END AS notes
FROM experiment_run er
JOIN run r ON r.id = er.run_id
LEFT JOIN attempt a ON a.id = COALESCE(r.finished_attempt, (SELECT MAX(n.id) FROM attempt n WHERE n.run_id = r.id))
WHERE er.experiment_id = :experiment ORDER BY er.position
"""
ATTEMPTS = """
SELECT a.id, a.state, a.worker, COALESCE(v.host, '') AS host, a.started_at, a.ended_at, a.seconds, a.reason, a.log,
       a.notes, COALESCE(v.git_commit, '') AS git_commit, COALESCE(v.hardware_name, '') AS hardware_name,
       COALESCE(v.packages, '{}') AS packages
FROM attempt a LEFT JOIN environment v ON v.id = a.environment_id
WHERE a.run_id = :run ORDER BY a.id
"""
ARTIFACTS = """
SELECT a.kind, a.url, a.bytes, a.sha256 FROM artifact a JOIN run r ON r.finished_attempt = a.attempt_id
WHERE r.id = :run AND r.state = 'done' ORDER BY a.kind
"""
NEEDED = """
SELECT DISTINCT d.needs_run_id FROM dependency d JOIN run r ON r.id = d.run_id
WHERE r.state IN ('planned', 'running', 'failed')
"""
PREDICTIONS = """
SELECT p.* FROM predictions p JOIN run r ON r.finished_attempt = p.attempt_id
WHERE r.id = :run AND r.state = 'done' AND p.split = :split AND p.checkpoint = :checkpoint AND p.condition = :condition
"""
BEST_SCORES = of_version(
    """
SELECT DISTINCT metric, split, value, reason FROM evaluated WHERE condition = '' AND checkpoint = 'best'
ORDER BY split, metric
""",
    "evaluated",
    where="run_id = :run",
)


def experiments(store: Store) -> list[StoredExperiment]:
    """All experiments, the one that was swept last first."""
    return [_experiment(row) for row in store.query(EXPERIMENTS)]


def versions(store: Store) -> list[tuple[StoredExperiment, str]]:
    """All experiments with their fingerprints, the one that was swept last first; several of a name are versions."""
    fingerprints: dict[int, str] = {row["id"]: row["fingerprint"] for row in store.query(FINGERPRINTS)}
    return [(of, fingerprints[of.id]) for of in experiments(store)]


def newest_versions(store: Store) -> list[tuple[StoredExperiment, str, int]]:
    """The newest version of each experiment with its fingerprint, and how many earlier ones there are."""
    every = versions(store)
    n_of_name = Counter(of.name for of, _ in every)
    newest = {of.name: (of, fingerprint) for of, fingerprint in reversed(every)}
    return [(of, fingerprint, n_of_name[of.name] - 1) for of, fingerprint in every if newest[of.name][0] is of]


def experiment_names(store: Store) -> list[str]:
    """The names of all experiments, each once, the one that was swept last first."""
    return list(dict.fromkeys(name for (name,) in store.tuples(NAMES_BY_AGE)))


def find_experiment(store: Store, name: str | None = None, *, by_version: bool = True) -> StoredExperiment:
    """The experiment of a name, of several the one swept last; None: the last sweep of all.

    NAME@VERSION is one version, by the first letters of its fingerprint, and named so in what it returns; not without
    `by_version`. Raises InputError where there is none, or several.
    """
    rows = store.query(LAST_SWEPT) if name is None else store.query(LAST_OF_NAME, name=name)
    if rows:
        return _experiment(rows[0])
    plain, at, version = (name or "").rpartition("@")
    if at and by_version and (of_name := [(of, mark) for of, mark in versions(store) if of.name == plain]):
        matching = [of for of, mark in of_name if len(version) >= SHORTEST_PREFIX and mark.startswith(version)]
        if len(matching) == 1:
            return replace(matching[0], name=str(name))
        what = "more than one version" if matching else "no version of it"
        there = ", ".join(f"{plain}@{mark[:FINGERPRINT_LETTERS]}" for _, mark in of_name)
        raise InputError(f"{store.name}: {name!r} is {what} (there is: {there})")
    names = sorted(experiment_names(store))
    if not names:
        raise InputError(f"{store.name}: no experiment in it; run hashbench sweep first, or give another --db")
    near = near_match(name or "", names)
    if not near and name and Path(f"{name}.yaml").is_file():
        near = f"; it was not swept into this database: hashbench sweep {name}.yaml --db {store.name}"
    raise InputError(f"{store.name}: no experiment {name!r}{near} (there is: {', '.join(names)})")


def experiment_of_run(store: Store, run_id: str) -> tuple[StoredExperiment, str]:
    """The experiment with a run, of several the one swept last, and the run's label in it.

    Raises InputError for a run of no experiment.
    """
    rows = store.query(LAST_WITH_RUN, run=run_id)
    if not rows:
        raise InputError(f"{store.name}: run {run_id[:8]} belongs to no experiment; name another")
    return _experiment({key: value for key, value in rows[0].items() if key != "model"}), str(rows[0]["model"])


def counts(store: Store, experiment_id: int) -> dict[str, int]:
    """Number of runs of the experiment in each state, 0 included."""
    by_state = {row["state"]: row["n"] for row in store.query(COUNTS, experiment=experiment_id)}
    return dict.fromkeys(STATES, 0) | by_state


def done_ids(store: Store, run_ids: Iterable[str]) -> set[str]:
    """The ids among these that belong to finished runs, of any experiment."""
    with store.read() as connection:
        return known_ids(connection, list(run_ids), run.c.state == "done")


def runs(store: Store, experiment_id: int) -> list[RunStatus]:
    """Every run of the experiment, in the planned order."""
    rows = store.query(RUNS, experiment=experiment_id)
    return [RunStatus(**{**row, "notes": json.loads(row["notes"] or "{}")}) for row in rows]


def find_run(store: Store, prefix: str) -> str:
    """The run id that begins with `prefix`. Raises InputError where none or several do."""
    if len(prefix) < SHORTEST_PREFIX:
        raise InputError(f"run {prefix!r}: give at least {SHORTEST_PREFIX} letters of its id (list: hashbench status)")
    sql = "SELECT id FROM run WHERE SUBSTR(id, 1, :length) = :prefix LIMIT 2"
    matches = [row["id"] for row in store.query(sql, length=len(prefix), prefix=prefix)]
    if not matches:
        raise InputError(f"{store.name}: no run {prefix!r} (list: hashbench status --db {store.name})")
    if len(matches) > 1:
        raise InputError(f"{store.name}: several runs begin with {prefix!r}; give more letters")
    return matches[0]


def attempts(store: Store, run_id: str) -> list[Attempt]:
    """All attempts at a run, the first one first."""
    return [Attempt(**_with_json(row, "notes", "packages")) for row in store.query(ATTEMPTS, run=run_id)]


def running(store: Store, experiment_id: int | None = None) -> list[Running]:
    """Attempts in flight, of one experiment or of all."""
    lease_left_s = (attempt.c.lease_until - store.now).label("lease_left_s")
    host = sa.func.coalesce(environment.c.host, "").label("host")
    rows = (
        sa.select(attempt.c.id.label("attempt_id"), attempt.c.run_id, attempt.c.worker, host, lease_left_s)
        .join_from(attempt, environment, isouter=True)
        .where(attempt.c.state == "running")
        .order_by(attempt.c.id)
    )
    if experiment_id is not None:
        rows = rows.where(attempt.c.run_id.in_(members(experiment_id)))
    with store.read() as connection:
        return [Running(**row) for row in connection.execute(rows).mappings()]


def run_spec(store: Store, run_id: str) -> dict[str, Any]:
    """The spec of a run, whose canonical JSON the run's id is the hash of."""
    return json.loads(store.query("SELECT spec FROM run WHERE id = :run", run=run_id)[0]["spec"])


def needed_by_others(store: Store) -> set[str]:
    """Ids of the runs that an unfinished run of any experiment needs."""
    return {row["needs_run_id"] for row in store.query(NEEDED)}


def named_runs(store: Store) -> set[str]:
    """Ids of all runs, whatever their state, and of those in whose folder a file of an attempt is."""
    of_files = {str(row["url"]).partition("/")[0] for row in store.query("SELECT url FROM artifact")}
    return {str(row["id"]) for row in store.query("SELECT id FROM run")} | of_files


def artifacts(store: Store, run_id: str) -> list[Artifact]:
    """The files of a finished run; none of any other. Raises InputError for one outside the artifact root."""
    files = [Artifact(**row) for row in store.query(ARTIFACTS, run=run_id)]
    for file in files:
        if leads_outside(file.url):
            raise InputError(f"{store.name}: run {run_id[:12]}: artifact {file.url!r} leads out of its folder; void it")
    return files


def predictions(
    store: Store, run_id: str, split: str, checkpoint: Checkpoint, condition: str = ""
) -> Predictions | None:
    """Outputs and targets of a finished run, or None where they are not stored or cannot be read."""
    rows = store.query(PREDICTIONS, run=run_id, split=split, checkpoint=checkpoint, condition=condition)
    return store.readable(run_id, Predictions.of_row, rows[0]) if rows else None


def predictions_of(
    store: Store, run_ids: Sequence[str], split: str, checkpoint: Checkpoint
) -> dict[str, Predictions | None]:
    """As `predictions`, of many runs at once, by id: a query a run takes as long as the reading itself."""
    by_run: dict[str, Predictions | None] = dict.fromkeys(run_ids)
    columns = (run.c.id.label("run_id"), *stored_predictions.c)
    rows = sa.select(*columns).join_from(
        stored_predictions, run, run.c.finished_attempt == stored_predictions.c.attempt_id
    )
    of = stored_predictions.c
    rows = rows.where(run.c.state == "done", of.split == split, of.checkpoint == checkpoint, of.condition == "")
    with store.read() as connection:
        for part in chunks(run_ids):
            for row in connection.execute(rows.where(run.c.id.in_(part))).mappings():
                by_run[row["run_id"]] = store.readable(row["run_id"], Predictions.of_row, row)
    return by_run


def best_scores(store: Store, run_id: str) -> list[RowMapping]:
    """Scores of a run at its best evaluation: metric, split, value and, where it is missing, the reason."""
    return list(store.query(BEST_SCORES, run=run_id))


def seconds_of(store: Store, run_ids: Sequence[str]) -> dict[str, float]:
    """Seconds that the finished runs took, by id; 0 where no time is stored."""
    counted = sa.func.coalesce(attempt.c.seconds, 0.0)
    rows = sa.select(run.c.id, counted).join_from(run, attempt, attempt.c.id == run.c.finished_attempt)
    seconds_by_id: dict[str, float] = {}
    with store.read() as connection:
        for part in chunks(run_ids):
            of_part = rows.where(run.c.id.in_(part), run.c.state == "done")
            seconds_by_id |= {run_id: seconds for run_id, seconds in connection.execute(of_part)}
    return seconds_by_id


def _experiment(row: Mapping[str, Any] | RowMapping) -> StoredExperiment:
    # what an older program stored may hold a password
    return StoredExperiment(**_with_json(row, "config") | {"command": without_passwords(row["command"])})


def _with_json(row: Mapping[str, Any] | RowMapping, *columns: str) -> dict[str, Any]:
    return {**row, **{name: json.loads(row[name]) for name in columns}}
