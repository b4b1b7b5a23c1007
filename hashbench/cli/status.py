"""`status`: how far a sweep is, for people and for programs."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from hashbench.cli.options import DEFAULT_DB, Database, ExperimentName, TextOrJson
from hashbench.cli.output import print_json, print_rows
from hashbench.errors import InputError
from hashbench.rendering.formats.tidy import json_text

if TYPE_CHECKING:
    from hashbench.store.engine import Store
    from hashbench.store.status import Attempt, RunStatus

FORMAT_VERSION = 1  # of the JSON; raised when a key changes its meaning
WATCH_EVERY = 2.0  # seconds
COLUMNS = ("run", "kind", "model", "task", "seed", "state", "attempts", "seconds", "reason")


def status(
    experiment: ExperimentName = None,
    db: Database = DEFAULT_DB,
    run: Annotated[
        str | None, typer.Option("--run", help="One run by the first digits of its id: attempts, log.")
    ] = None,
    watch: Annotated[
        bool, typer.Option("--watch", help="Print again every few seconds until nothing is left to do; text only.")
    ] = False,
    style: TextOrJson = "text",
) -> None:
    """How far a sweep is.

    Example: hashbench status --watch
    """
    from hashbench.store.engine import open_results

    as_json = style == "json"
    if watch and as_json:
        raise InputError("status: --watch prints text; leave out --watch or --format json")
    store = open_results(db)
    if run is not None:
        _print_run(store, run, as_json=as_json)
    elif watch:
        _watch(store, experiment)
    else:
        _print_experiment(store, experiment, as_json=as_json)


def _print_experiment(store: Store, name: str | None, *, as_json: bool) -> None:
    """Counts by state and one row a run, of the named experiment or the last one swept."""
    from hashbench.results.sources import different_sources, sources_of
    from hashbench.store.status import counts, find_experiment, runs

    experiment = find_experiment(store, name)
    by_state, rows = counts(store, experiment.id), runs(store, experiment.id)
    if as_json:
        table = [asdict(row) for row in rows]
        print_json({"version": FORMAT_VERSION, "experiment": experiment.name, "counts": by_state, "runs": table})
        return
    print(headline(experiment.name, store.name, by_state))
    print_rows(COLUMNS, [_row(row) for row in rows], "text")
    done = (row for row in rows if row.state == "done")
    for line in different_sources(sources_of(row.kind, row.task, row.model, row.notes) for row in done):
        print(f"different code: {line}")


def _watch(store: Store, name: str | None) -> None:
    """The headline and what runs now, again and again until no run can still come to an end; Ctrl-C leaves."""
    from hashbench.store.queue import pending
    from hashbench.store.status import counts, find_experiment, runs

    store.check_current()
    experiment = find_experiment(store, name)
    max_attempts = retries(experiment.config) + 1
    left, shown = 1, ""
    while left:
        # before the counts, so that the last line shows the end
        left = pending(store, experiment.id, max_attempts)
        running = [row for row in runs(store, experiment.id) if row.state == "running"]
        line = headline(experiment.name, store.name, counts(store, experiment.id)) + _now(running)
        if sys.stdout.isatty():
            print(f"\r\033[K{line}", end="" if left else "\n", flush=True)
        elif line != shown:
            print(line, flush=True)  # a log gets a line when something changed
        shown = line
        if left:
            time.sleep(WATCH_EVERY)


def _print_run(store: Store, prefix: str, *, as_json: bool) -> None:
    """One run: what it is, and each attempt with reason and log."""
    from hashbench.store.status import attempts, find_run, run_spec

    run_id = find_run(store, prefix)
    spec, tries = run_spec(store, run_id), attempts(store, run_id)
    if as_json:
        ended = [asdict(attempt) for attempt in tries]
        print_json({"version": FORMAT_VERSION, "run": run_id, "spec": spec, "attempts": ended})
        return
    print("\n".join([f"run {run_id}", json_text(spec).rstrip(), *map(_attempt, tries)]))


def retries(config: Mapping[str, object]) -> int:
    """How often the experiment's failed runs are tried again.

    >>> retries({"name": "small", "retries": 3}), retries({"name": "small"})
    (3, 1)
    """
    from hashbench.experiment.schema import Experiment

    return int(str(config.get("retries", Experiment.model_fields["retries"].default)))


def headline(name: str, store: str, by_state: Mapping[str, int]) -> str:
    """Counts in one line.

    >>> headline("quickstart", "results.db", {"planned": 2, "running": 0, "done": 3, "failed": 0, "void": 0})
    'quickstart (results.db): 3 of 5 runs done, 2 planned'
    """
    others = [f"{n} {state}" for state, n in by_state.items() if n and state != "done"]
    return ", ".join([f"{name} ({store}): {by_state['done']} of {sum(by_state.values())} runs done", *others])


def _attempt(attempt: Attempt) -> str:
    began = datetime.fromtimestamp(attempt.started_at, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    took = "" if attempt.seconds is None else f", {attempt.seconds:.1f} s"
    lines = [f"\nattempt {attempt.id}: {attempt.state}, {began}{took}, worker {attempt.worker}"]
    lines += [f"reason: {attempt.reason}"] if attempt.reason else []
    lines += [attempt.log.rstrip()] if attempt.log else []
    return "\n".join(lines)


def _now(rows: Sequence[RunStatus]) -> str:
    names = [
        " ".join(str(part) for part in (row.kind, row.model, row.task, row.seed) if part is not None) for row in rows
    ]
    return f" | now: {'; '.join(names)}" if names else ""


def _row(row: RunStatus) -> dict[str, str | int | float | None]:
    return {
        **{name: getattr(row, name) for name in COLUMNS if name != "run"},
        "run": row.run_id[:8],
        "seconds": None if row.seconds is None else round(row.seconds, 1),
        "reason": " ".join((row.reason or "").split()),
    }
