"""An experiment at a glance, as lines for a person: they fit a screen, however many runs there are."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hashbench.rendering.rows import Value
    from hashbench.results.overview import Activity, Overview

STATES = ("planned", "running", "done", "failed", "void")
SILENT_S = 45.0  # a worker says that it lives four times a minute
MOST_WORKERS = 12  # that are listed


def kind_lines(seen: Overview) -> list[str]:
    """Runs by kind and state."""
    from hashbench.rendering.rows import text_lines

    states = [state for state in STATES if any(state in counted for counted in seen.by_kind.values())]
    rows: list[dict[str, Value]] = [
        {"kind": kind, **{state: counted[state] if state in counted else 0 for state in states}}
        for kind, counted in seen.by_kind.items()
    ]
    return text_lines(["kind", *states], rows)


def rate_line(seen: Overview) -> str:
    """How many work, how fast, and how long it will take; '' where nobody works."""
    from hashbench.showing import duration_text

    if not seen.active:
        return ""
    machines = len({each.host for each in seen.active})
    line = f"{_n(len(seen.active), 'worker')} on {_n(machines, 'machine')}"
    if seen.rate is None:
        return line
    left = sum(n for counted in seen.by_kind.values() for state, n in counted.items() if state in STATES[:2])
    return f"{line}, {seen.rate:,.0f} runs an hour: about {duration_text(3600 * left / seen.rate)} left"


def worker_lines(seen: Overview) -> list[str]:
    """Each machine with what its workers do, and who has not been heard of."""
    lines: list[str] = []
    listed = seen.active[:MOST_WORKERS]
    for host, workers in groupby(listed, key=lambda each: each.host):
        members = list(workers)
        hardware = f" ({members[0].hardware})" if members[0].hardware else ""
        lines.append(f"{host or 'unknown machine'}{hardware}:")
        lines += [f"  {_doing(each)}" for each in members]
    if len(seen.active) > len(listed):
        lines.append(f"and {len(seen.active) - len(listed)} more")
    return lines


def _doing(each: Activity) -> str:
    from hashbench.showing import duration_text

    silent = f", NOT HEARD OF for {duration_text(each.silent)}" if each.silent > SILENT_S else ""
    return f"{each.what}, for {duration_text(max(each.seconds, 0.0))}{silent}"


def trouble_lines(seen: Overview) -> list[str]:
    """Why runs failed or were made void, the commonest reason first, and attempts that ended without a result."""
    lines = []
    for each in seen.reasons:
        reason = " ".join(each.reason.split()) or "no reason given"
        short = reason if len(reason) <= 200 else f"{reason[:200]} ..."
        where = f"{each.example}; hashbench status --run {each.run_id[:12]}"
        lines.append(f"{each.state}: {_n(each.n, 'run')}: {short} ({where})")
    if seen.n_reasons > len(seen.reasons):
        lines.append(f"and {_n(seen.n_reasons - len(seen.reasons), 'further reason')}")
    ended = ", ".join(f"{n:,} {state}" for state, n in seen.ended.items())
    return [*lines, f"attempts without a result: {ended}"] if ended else lines


def _n(n: int, what: str) -> str:
    return f"{n:,} {what}{'' if n == 1 else 's'}"
