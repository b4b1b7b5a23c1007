"""The kinds of run by their stored name, found by listing this folder and the one named by HASHBENCH_RUNS."""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping
from dataclasses import replace

from hashbench.common.errors import InputError
from hashbench.common.listing import modules_in
from hashbench.running.runs.base import Run, RunKind, Workplace
from hashbench.running.training.machine import Machine
from hashbench.store.result import Result

EXTRA_FOLDER = "HASHBENCH_RUNS"


def kinds() -> Mapping[str, RunKind]:
    """All kinds of run by name, in the order of the plan. Raises InputError where two have one name."""
    return _kinds(os.environ.get(EXTRA_FOLDER))


@functools.cache
def _kinds(extra_folder: str | None) -> Mapping[str, RunKind]:
    by_name: dict[str, RunKind] = {}
    for module in modules_in("hashbench.running.runs", EXTRA_FOLDER, "kinds of run"):
        kind = vars(module).get("KIND")
        if not isinstance(kind, RunKind):
            continue
        if kind.name in by_name:
            raise InputError(f"{module.__file__}: there is a kind of run {kind.name!r} already; rename this one")
        by_name[kind.name] = kind
    return dict(sorted(by_name.items(), key=lambda item: item[1].order))


def kind_of(run: Run) -> RunKind:
    """The kind of a run."""
    return kinds()[run.kind]


def names(*, measures_time: bool) -> tuple[str, ...]:
    """The stored names of the kinds of one phase of a sweep."""
    return tuple(name for name, kind in kinds().items() if kind.in_sweeps and kind.measures_time == measures_time)


def carry_out(run: Run, place: Workplace, machine: Machine) -> Result:
    """Carries out a run, whatever its kind; the result knows how values were chosen, how the hardware computed it, and
    the time of earlier attempts that it went on from."""
    kind = kind_of(run)
    result = kind.carry_out(run, place, machine)
    notes = {**result.notes, **machine.found, **(place.tuning(run) if kind.is_training else {})}
    return replace(result, notes=notes, seconds_before=sum(machine.earlier))
