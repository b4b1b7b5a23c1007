"""An experiment at a glance, however many runs it has: counts, who works on what, how fast, and what went wrong."""

from __future__ import annotations

import json
from dataclasses import dataclass

from hashbench.store.engine import NOW, Store

RECENT_S = 600.0  # a rate is that of the last ten minutes, or of the last hour where these are too few
HOUR_S = 3600.0
ENOUGH = 5  # runs that make a rate
MOST_REASONS = 8

MEMBERS = "(SELECT run_id FROM experiment_run WHERE experiment_id = :experiment)"
LABEL = "(SELECT MIN(er.model) FROM experiment_run er WHERE er.experiment_id = :experiment AND er.run_id = r.id)"
# runs of a kind in a state
BY_KIND = f"SELECT kind, state, COUNT(*) AS n FROM run WHERE id IN {MEMBERS} GROUP BY kind, state ORDER BY kind"
# an attempt in flight; seconds since it began and since its worker was heard of
ACTIVE = f"""
SELECT r.id AS run_id, r.kind, {LABEL} AS model, r.task, r.seed, a.worker, COALESCE(v.host, '') AS host,
       COALESCE(v.hardware_name, '') AS hardware, {{now}} - a.started_at AS seconds, {{now}} - a.heartbeat_at AS silent
FROM attempt a JOIN run r ON r.id = a.run_id LEFT JOIN environment v ON v.id = a.environment_id
WHERE a.state = 'running' AND a.run_id IN {MEMBERS} ORDER BY host, a.worker, a.id
"""
# a reason for which runs failed or were made void, with one of them; the commonest first
REASONS = f"""
SELECT state, reason, COUNT(*) AS n, MIN(id) AS run_id FROM (
    SELECT r.id, r.state, COALESCE(r.void_reason, (
        SELECT a.reason FROM attempt a WHERE a.run_id = r.id AND a.reason IS NOT NULL ORDER BY a.id DESC LIMIT 1
    ), '') AS reason
    FROM run r WHERE r.state IN ('failed', 'void') AND r.id IN {MEMBERS}
) AS ended GROUP BY state, reason ORDER BY n DESC, state, reason
"""
ONE = f"SELECT r.kind, {LABEL} AS model, r.task, r.seed FROM run r WHERE r.id = :run"
# runs that were finished within so many seconds
FINISHED = f"""
SELECT COUNT(*) AS n FROM run
WHERE state = 'done' AND finished_at > {{now}} - :seconds AND id IN {MEMBERS}
"""
# attempts that ended without a result
ENDED = f"""
SELECT state, COUNT(*) AS n FROM attempt
WHERE state IN ('failed', 'lost', 'interrupted') AND run_id IN {MEMBERS} GROUP BY state ORDER BY state
"""
# what finished runs of a column noted
NOTED = """
SELECT DISTINCT r.kind, r.task, er.model, a.notes
FROM experiment_run er JOIN run r ON r.id = er.run_id JOIN attempt a ON a.id = r.finished_attempt
WHERE er.experiment_id = :experiment AND r.state = 'done' ORDER BY r.kind, r.task, er.model
"""


@dataclass(frozen=True)
class Activity:
    """What a worker does: a run, and the seconds since it began and since the worker was heard of."""

    run_id: str
    kind: str
    model: str
    task: str | None
    seed: int | None
    worker: str
    host: str
    hardware: str
    seconds: float
    silent: float

    @property
    def what(self) -> str:
        """The run in words."""
        return in_words(self.kind, self.model, self.task, self.seed)


@dataclass(frozen=True)
class EndedBadly:
    """A reason for which n runs failed or were made void, and one of them."""

    state: str
    reason: str
    n: int
    run_id: str
    example: str  # that run in words


@dataclass(frozen=True)
class Overview:
    """An experiment at one moment. `rate`: runs an hour, None where too few were finished lately."""

    by_kind: dict[str, dict[str, int]]
    active: tuple[Activity, ...]
    reasons: tuple[EndedBadly, ...]  # the commonest
    n_reasons: int
    ended: dict[str, int]  # attempts without a result, by state
    rate: float | None


def overview(store: Store, experiment_id: int) -> Overview:
    """The experiment as it stands."""
    key, now = {"experiment": experiment_id}, NOW[store.dialect]
    by_kind: dict[str, dict[str, int]] = {}
    for row in store.query(BY_KIND, **key):
        by_kind.setdefault(row["kind"], {})[row["state"]] = row["n"]
    reasons = store.query(REASONS, **key)
    shown = []
    for row in reasons[:MOST_REASONS]:
        example = store.query(ONE, **key, run=row["run_id"])[0]
        shown.append(EndedBadly(**row, example=in_words(*example.values())))
    finished = {
        seconds: store.query(FINISHED.format(now=now), **key, seconds=seconds)[0]["n"] for seconds in (RECENT_S, HOUR_S)
    }
    window = RECENT_S if finished[RECENT_S] >= ENOUGH else HOUR_S
    return Overview(
        by_kind,
        tuple(Activity(**row) for row in store.query(ACTIVE.format(now=now), **key)),
        tuple(shown),
        len(reasons),
        {row["state"]: row["n"] for row in store.query(ENDED, **key)},
        finished[window] * HOUR_S / window if finished[window] >= ENOUGH else None,
    )


def noted(store: Store, experiment_id: int) -> list[tuple[str, str | None, str, dict[str, str]]]:
    """Kind, task, label and notes of finished runs, equal ones once."""
    rows = store.query(NOTED, experiment=experiment_id)
    return [(row["kind"], row["task"], row["model"], json.loads(row["notes"] or "{}")) for row in rows]


def in_words(kind: str, model: str, task: str | None, seed: int | None) -> str:
    """A run as one line names it.

    >>> in_words("finetune", "bert-mlm", "cola", 3), in_words("pretrain", "bert-mlm", None, None)
    ('finetune bert-mlm cola seed 3', 'pretrain bert-mlm')
    """
    seeded = None if seed is None else f"seed {seed}"
    return " ".join(part for part in (kind, model, task, seeded) if part is not None)
