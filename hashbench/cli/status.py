"""The progress of sweeps and what runs left: `status`, `log` and `list`."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from itertools import groupby
from typing import TYPE_CHECKING, Annotated

import typer

from hashbench.cli import streams
from hashbench.cli.options import DEFAULT_DB, Database, ExperimentName, TableFormat, TextOrJson
from hashbench.cli.output import print_json, print_rows, show
from hashbench.common.errors import InputError
from hashbench.common.process import collecting_nothing
from hashbench.common.showing import duration_text, percent_text, printable

if TYPE_CHECKING:
    from hashbench.results.read.overview import Overview
    from hashbench.results.read.run_log import RunLog
    from hashbench.results.rendering.rows import Value
    from hashbench.store.engine import Store
    from hashbench.store.status import Attempt, RunStatus

FORMAT_VERSION = 1  # of the JSON; raised when a key changes its meaning
WATCH_EVERY = 2.0  # seconds
MOST_POINTS = 12  # of losses, and of scores, that `log` prints without --all
MOST_WORKERS = 12  # that are listed one by one
SILENT_S = 45.0  # a worker says that it lives four times a minute
MOST_ROWS = 40  # runs that are listed one by one without --all
COLUMNS = ("run", "kind", "model", "task", "seed", "state", "attempts", "seconds", "reason")


def status(
    experiment: ExperimentName = None,
    db: Database = DEFAULT_DB,
    watch: Annotated[
        bool,
        typer.Option(
            "--watch", help="Keep showing what each worker does, the rate and failures, until the sweep is over."
        ),
    ] = False,
    every: Annotated[bool, typer.Option("--all", help="Print one row for each run, however many there are.")] = False,
    style: TextOrJson = "text",
) -> None:
    """Show how far a sweep is: each run, or, where they do not fit a screen, counts, workers and failures.

    Example: hashbench status --watch
    """
    as_json = style == "json"
    if watch and as_json:
        raise InputError("status: --watch prints text; leave out --watch or --format json")
    with collecting_nothing():
        from hashbench.store.engine import open_results

        store = open_results(db)
        if not watch:
            _print_experiment(store, experiment, as_json=as_json, every=every)
    if watch:
        _watch(store, experiment)


def _print_experiment(store: Store, name: str | None, *, as_json: bool, every: bool) -> None:
    """Prints an experiment's counts by state, then a row a run, or for many runs workers and failures alone."""
    from hashbench.results.read.overview import headline, overview
    from hashbench.store.status import counts, find_experiment, runs

    experiment = find_experiment(store, name)
    by_state = counts(store, experiment.id)
    if as_json:
        table = [asdict(row) for row in runs(store, experiment.id)]
        print_json({"version": FORMAT_VERSION, "experiment": experiment.name, "counts": by_state, "runs": table})
        return
    show(headline(experiment.name, store.name, by_state))
    if every or sum(by_state.values()) <= MOST_ROWS:
        print_rows(COLUMNS, [_row(row) for row in runs(store, experiment.id)], "text")
    else:
        show("\n".join([*overview_lines(overview(store, experiment.id)), "every run: hashbench status --all"]))
    _print_different_code(store, experiment.id)


def _print_different_code(store: Store, experiment_id: int) -> None:
    from hashbench.results.read.origins import different_sources
    from hashbench.results.read.overview import noted

    for line in different_sources(noted(store, experiment_id)):
        show(f"different code: {line}")


def _watch(store: Store, name: str | None) -> None:
    """Prints counts, machines and failures repeatedly, until no run is left to finish.

    A terminal shows them in place; a log gets a line when something changed. Ctrl-C leaves.
    """
    from hashbench.results.read.overview import headline, overview
    from hashbench.running.experiment.schema import stored_value
    from hashbench.store.queue import pending
    from hashbench.store.status import counts, find_experiment

    streams.end_with_reader()
    experiment = find_experiment(store, name)
    max_attempts = 1 + int(str(stored_value(experiment.config, "retries")))
    screen, unfinished = _Screen(), True
    while unfinished:
        # before the counts, so that the last line shows the end
        unfinished = pending(store, experiment.id, max_attempts)
        now = overview(store, experiment.id)
        head = headline(experiment.name, store.name, counts(store, experiment.id))
        if sys.stdout.isatty():
            screen.draw([head, rate_line(now), *worker_lines(now), *trouble_lines(now)])
        else:
            doing = f" | now: {'; '.join(worker.what for worker in now.active)}" if now.active else ""
            screen.log({head + doing: rate_line(now), **dict.fromkeys(trouble_lines(now), "")})
        if unfinished:
            time.sleep(WATCH_EVERY)


class _Screen:
    """Lines printed repeatedly: on a terminal over the last ones, in a log only new ones."""

    def __init__(self) -> None:
        self._shown: list[str] = []

    def draw(self, lines: Sequence[str]) -> None:
        """Prints lines over the last call's lines, cut to the terminal's size."""
        size = shutil.get_terminal_size()
        fitting = [printable(line)[: size.columns - 1] for line in lines if line][: size.lines - 1]
        up = f"\033[{len(self._shown)}F\033[J" if self._shown else ""
        print(up + "\n".join(fitting), flush=True)
        self._shown = fitting

    def log(self, lines: Mapping[str, str]) -> None:
        """Prints the lines that were not there the last time, each with what it is printed with, as the time left."""
        for line, beside in lines.items():
            if line not in self._shown:
                show(" | ".join(filter(None, (line, beside))))
        self._shown = list(lines)


def log(
    run: Annotated[str, typer.Argument(metavar="RUN", help="The run, by the first digits of its id.")],
    db: Database = DEFAULT_DB,
    every: Annotated[
        bool, typer.Option("--all", help="Print its spec, every attempt, and every point of the curve.")
    ] = False,
    style: TextOrJson = "text",
) -> None:
    """Print what one run left: its scores, its losses by step, and what its last attempt printed, errors too.

    A sweep prints the id with each run; hashbench status lists all.

    Example: hashbench log 3fa2
    """
    from hashbench.results.read.run_log import run_log, thinned
    from hashbench.results.rendering.rows import json_text, text_lines
    from hashbench.store.engine import open_results

    of_run = run_log(open_results(db), run)
    if style == "json":
        ended = [asdict(attempt) for attempt in of_run.attempts]
        print_json({"version": FORMAT_VERSION, "run": of_run.run.run_id, "spec": of_run.spec, "attempts": ended})
        return
    lines = [*_head(of_run), *([json_text(of_run.spec).rstrip()] if every else [])]
    points = of_run.curve if every else thinned(of_run.curve, MOST_POINTS)
    if points:
        left_out = len(of_run.curve) - len(points)
        rows = [
            {name: value if value is None else float(f"{value:.4g}") for name, value in point.items()}
            | {"step": point["step"]}
            for point in points
        ]
        lines += ["", *text_lines(of_run.columns, rows)]
        lines += [f"({_n(left_out, 'further point')}: --all)"] if left_out else []
    numbered = list(enumerate(of_run.attempts, 1))
    shown = numbered if every else numbered[-1:]
    lines += [_attempt(attempt, at) + ("" if attempt.log else "\nit printed nothing") for at, attempt in shown]
    hidden = len(of_run.attempts) - len(shown)
    lines += [f"({_n(hidden, 'earlier attempt')}: --all)"] if hidden else []
    show("\n".join(lines))


def _head(of_run: RunLog) -> list[str]:
    """Lines on what a run is: model, task, seed, kind, encoder and state; its experiment; its scores."""
    from hashbench.results.dashboard.live import run_label

    row = of_run.run
    what = run_label(of_run.spec, row.model, row.task, row.seed)
    lines = [f"run {row.run_id}", f"{what}: {row.kind}, encoder {row.encoder}, {row.state}"]
    lines.append(f"experiment {of_run.experiment}")
    for score in of_run.scores:
        value = f"undefined ({score['reason']})" if score["value"] is None else percent_text(score["value"])
        lines.append(f"{score['metric']} on {score['split']}: {value}")
    return lines


def _attempt(attempt: Attempt, number: int) -> str:
    """Lines on the attempt of this number at its run, and what it printed."""
    began = datetime.fromtimestamp(attempt.started_at, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    took = "" if attempt.seconds is None else f", {duration_text(attempt.seconds)}"
    by = f", worker {attempt.worker}" if attempt.worker else ""
    on = f" on {attempt.host}" if attempt.host else ""
    lines = [f"\nattempt {number}: {attempt.state}, {began}{took}{by}{on}"]
    lines += [f"reason: {attempt.reason}"] if attempt.reason else []
    lines += [attempt.log.rstrip()] if attempt.log else []
    return "\n".join(lines)


def _row(row: RunStatus) -> dict[str, str | int | float | None]:
    return {
        **{name: getattr(row, name) for name in COLUMNS if name != "run"},
        "run": row.run_id[:8],
        "seconds": None if row.seconds is None else round(row.seconds, 1),
        "reason": " ".join((row.reason or "").split()),
    }


REASON_LENGTH = 200  # characters of a reason that are shown


def overview_lines(overview: Overview) -> list[str]:
    """Lines on runs by kind and state, speed, workers and failures."""
    lines = [*kind_lines(overview), rate_line(overview), *worker_lines(overview), *trouble_lines(overview)]
    return [line for line in lines if line]


def kind_lines(overview: Overview) -> list[str]:
    """Lines of a table of the number of runs by kind and state."""
    from hashbench.results.read.overview import STATES
    from hashbench.results.rendering.rows import text_lines

    states = [state for state in STATES if any(state in counted for counted in overview.by_kind.values())]
    rows: list[dict[str, Value]] = [
        {"kind": kind, **{state: counted.get(state, 0) for state in states}}
        for kind, counted in overview.by_kind.items()
    ]
    return text_lines(["kind", *states], rows)


def rate_line(overview: Overview) -> str:
    """The number of workers and machines, runs an hour and the time left, in one line; '' without workers."""
    if not overview.active:
        return ""
    line = f"{_n(len(overview.active), 'worker')} on {_n(len({of.host for of in overview.active}), 'machine')}"
    if overview.seconds_left is None:
        return line
    duration = duration_text(overview.seconds_left)
    return f"{line}, {overview.rate:,.0f} runs an hour: about {duration} left at the rate so far"


def worker_lines(overview: Overview) -> list[str]:
    """Lines on each machine and what its workers do."""
    lines: list[str] = []
    for host, workers in groupby(overview.active[:MOST_WORKERS], key=lambda worker: (worker.host, worker.hardware)):
        lines.append(f"{host[0] or 'unknown machine'}{f' ({host[1]})' if host[1] else ''}:")
        for worker in workers:
            silent = f", NOT HEARD OF for {duration_text(worker.silent)}" if worker.silent > SILENT_S else ""
            lines.append(f"  {worker.what}, for {duration_text(max(worker.seconds, 0.0))}{silent}")
    more = len(overview.active) - MOST_WORKERS
    return [*lines, f"and {more} more"] if more > 0 else lines


def trouble_lines(overview: Overview) -> list[str]:
    """Lines on why runs failed or were voided, the commonest reason first, and on attempts without a result."""
    lines = []
    for ended in overview.reasons:
        reason = " ".join(ended.reason.split()) or "no reason given"
        short = reason if len(reason) <= REASON_LENGTH else f"{reason[:REASON_LENGTH]} ..."
        where = f"{ended.example}; hashbench log {ended.run_id[:12]}"
        lines.append(f"{ended.state}: {_n(ended.n, 'run')}: {short} ({where})")
    if further := overview.n_reasons - len(overview.reasons):
        lines.append(f"and {_n(further, 'further reason')}")
    states = ", ".join(f"{n:,} {state}" for state, n in overview.ended.items())
    return [*lines, f"attempts without a result: {states}"] if states else lines


def _n(n: int, what: str) -> str:
    return f"{n:,} {what}{'' if n == 1 else 's'}"


def list_experiments(
    db: Database = DEFAULT_DB,
    every: Annotated[bool, typer.Option("--all", help="Print a row for each version of an experiment file.")] = False,
    style: TableFormat = "text",
) -> None:
    """List the experiments of a database with their runs, models, tasks and date, the last one swept first.

    Of an experiment file that was changed and swept again, the newest version has a row, with the number of earlier
    ones. Other commands read the newest, too; an earlier one is read as NAME@VERSION, which --all prints.

    Example: hashbench list --db example
    """
    from hashbench.common.showing import few
    from hashbench.results.read.overview import listed_experiments
    from hashbench.store.engine import open_results

    with collecting_nothing():
        listed = listed_experiments(open_results(db), every=every)
    rows: list[dict[str, Value]] = [
        {
            "experiment": entry.name,
            "done": f"{entry.done} of {entry.runs}",
            "failed": entry.failed or "",
            "encoder": ", ".join(entry.encoders),
            "models": ", ".join(entry.models),
            "tasks": ", ".join(entry.tasks),
            "swept": datetime.fromtimestamp(entry.called_at, UTC).strftime("%Y-%m-%d %H:%M"),
            "earlier": entry.earlier,
        }
        for entry in listed
    ]
    people = [
        row
        | {"models": few(entry.models), "tasks": few(entry.tasks)}
        | {"swept": f"{row['swept']}, and {entry.earlier} earlier" if entry.earlier else row["swept"]}
        for row, entry in zip(rows, listed, strict=True)
    ]
    columns = ["experiment", "done", "failed", "encoder", "models", "tasks", "swept", "earlier"]
    print_rows(columns, rows, style, [{name: row[name] for name in columns[:-1]} for row in people])
