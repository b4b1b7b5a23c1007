"""An experiment at a glance, as lines for a person: they fit a screen, however many runs there are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hashbench.common.showing import duration_text

if TYPE_CHECKING:
    from hashbench.results.read.overview import Activity, Overview
    from hashbench.results.rendering.rows import Value

REASON_LENGTH = 200  # characters of a reason that are shown


def overview_lines(overview: Overview) -> list[str]:
    """Counts, who works on what, and what went wrong."""
    lines = [*kind_lines(overview), rate_line(overview), *worker_lines(overview), *trouble_lines(overview)]
    return [line for line in lines if line]


def kind_lines(overview: Overview) -> list[str]:
    """Runs by kind and state."""
    from hashbench.results.rendering.rows import text_lines

    rows: list[dict[str, Value]] = [
        {"kind": kind, **{state: counted[state] if state in counted else 0 for state in overview.states}}
        for kind, counted in overview.by_kind.items()
    ]
    return text_lines(["kind", *overview.states], rows)


def rate_line(overview: Overview) -> str:
    """How many work, how fast, and how long it will take; '' where nobody works."""
    if not overview.active:
        return ""
    line = f"{_n(len(overview.active), 'worker')} on {_n(overview.n_machines, 'machine')}"
    if overview.seconds_left is None:
        return line
    return f"{line}, {overview.rate:,.0f} runs an hour: about {duration_text(overview.seconds_left)} left"


def worker_lines(overview: Overview) -> list[str]:
    """Each machine with what its workers do, and who has not been heard of."""
    lines: list[str] = []
    for workers in overview.listed:
        hardware = f" ({workers[0].hardware})" if workers[0].hardware else ""
        lines.append(f"{workers[0].host or 'unknown machine'}{hardware}:")
        lines += [f"  {_doing(worker)}" for worker in workers]
    return [*lines, f"and {overview.n_unlisted} more"] if overview.n_unlisted else lines


def _doing(worker: Activity) -> str:
    silent = f", NOT HEARD OF for {duration_text(worker.silent)}" if worker.is_silent else ""
    return f"{worker.what}, for {duration_text(max(worker.seconds, 0.0))}{silent}"


def trouble_lines(overview: Overview) -> list[str]:
    """Why runs failed or were made void, the commonest reason first, and attempts that ended without a result."""
    lines = []
    for ended in overview.reasons:
        reason = " ".join(ended.reason.split()) or "no reason given"
        short = reason if len(reason) <= REASON_LENGTH else f"{reason[:REASON_LENGTH]} ..."
        where = f"{ended.example}; hashbench status --run {ended.run_id[:12]}"
        lines.append(f"{ended.state}: {_n(ended.n, 'run')}: {short} ({where})")
    if overview.n_further_reasons:
        lines.append(f"and {_n(overview.n_further_reasons, 'further reason')}")
    states = ", ".join(f"{n:,} {state}" for state, n in overview.ended.items())
    return [*lines, f"attempts without a result: {states}"] if states else lines


def _n(n: int, what: str) -> str:
    return f"{n:,} {what}{'' if n == 1 else 's'}"
