"""How far a sweep is, for people and for programs."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime

from hashbench.cli.options import Format
from hashbench.cli.output import print_rows
from hashbench.experiment.schema import Experiment
from hashbench.store.engine import Store
from hashbench.store.queue import pending
from hashbench.store.status import RunStatus, attempts, counts, find_experiment, find_run, run_spec, runs

FORMAT_VERSION = 1  # of the JSON; raised when a key changes its meaning
WATCH_EVERY = 2.0  # seconds


def print_status(store: Store, name: str | None, *, as_json: bool) -> None:
    """Counts by state and one row a run, of the named experiment or the last one swept."""
    experiment = find_experiment(store, name)
    state, rows = counts(store, experiment.id), runs(store, experiment.id)
    if as_json:
        found = {
            "version": FORMAT_VERSION,
            "experiment": experiment.name,
            "counts": state,
            "runs": [asdict(row) for row in rows],
        }
        print(json.dumps(found, indent=2))
        return
    print(headline(experiment.name, store.name, state))
    columns = ["run", "kind", "model", "task", "seed", "state", "attempts", "seconds", "reason"]
    print_rows(columns, [_row(row) for row in rows], Format.text)


def watch_status(store: Store, name: str | None) -> None:
    """The headline and what runs now, again and again until no run can still come to an end; Ctrl-C leaves."""
    experiment = find_experiment(store, name)
    max_attempts = retries(experiment.config) + 1
    shown = ""
    while True:
        left = pending(store, experiment.id, max_attempts)  # asked first, so that the last line shows the end
        state = counts(store, experiment.id)
        now = [row for row in runs(store, experiment.id) if row.state == "running"]
        line = headline(experiment.name, store.name, state) + _now(now)
        if sys.stdout.isatty():
            print(f"\r\033[K{line}", end="", flush=True)
        elif line != shown:
            print(line, flush=True)  # a log gets a line when something changed
        shown = line
        if not left:
            break
        time.sleep(WATCH_EVERY)
    if sys.stdout.isatty():
        print()


def retries(config: Mapping[str, object]) -> int:
    """How often the experiment's failed runs are tried again.

    >>> retries({"name": "small", "retries": 3}), retries({"name": "small"})
    (3, 1)
    """
    return int(str(config["retries"])) if "retries" in config else Experiment.model_fields["retries"].default


def print_run(store: Store, prefix: str, *, as_json: bool) -> None:
    """One run: what it is, and each attempt with reason and log."""
    run_id = find_run(store, prefix)
    spec, tries = run_spec(store, run_id), attempts(store, run_id)
    if as_json:
        print(
            json.dumps(
                {"version": FORMAT_VERSION, "run": run_id, "spec": spec, "attempts": [asdict(a) for a in tries]},
                indent=2,
            )
        )
        return
    print(f"run {run_id}")
    print(json.dumps(spec, indent=2))
    for attempt in tries:
        began = datetime.fromtimestamp(attempt.started_at, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
        took = "" if attempt.seconds is None else f", {attempt.seconds:.1f} s"
        print(f"\nattempt {attempt.id}: {attempt.state}, {began}{took}, worker {attempt.worker}")
        if attempt.reason:
            print(f"reason: {attempt.reason}")
        if attempt.log:
            print(attempt.log.rstrip())


def headline(name: str, store: str, state: dict[str, int]) -> str:
    """Counts in one line.

    >>> headline("quickstart", "results.db", {"planned": 2, "running": 0, "done": 3, "failed": 0, "void": 0})
    'quickstart (results.db): 3 of 5 runs done, 2 planned'
    """
    others = ", ".join(f"{n} {each}" for each, n in state.items() if n and each != "done")
    return f"{name} ({store}): {state['done']} of {sum(state.values())} runs done" + (f", {others}" if others else "")


def _now(rows: Sequence[RunStatus]) -> str:
    names = [
        " ".join(str(part) for part in (row.kind, row.model, row.task, row.seed) if part is not None) for row in rows
    ]
    return f" | now: {'; '.join(names)}" if names else ""


def _row(row: RunStatus) -> dict[str, str | int | float | None]:
    return {
        "run": row.run_id[:8],
        "kind": row.kind,
        "model": row.model,
        "task": row.task,
        "seed": row.seed,
        "state": row.state,
        "attempts": row.attempts,
        "seconds": None if row.seconds is None else round(row.seconds, 1),
        "reason": " ".join((row.reason or "").split()),
    }
