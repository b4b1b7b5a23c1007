"""The kinds of run by their stored name: the suite's, and those of plug-ins."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from hashbench.common.registry import registered
from hashbench.running.runs.base import RunKind, Workplace
from hashbench.running.training.machine import Machine
from hashbench.store.planning import Run
from hashbench.store.result import Result


def kinds() -> Mapping[str, RunKind]:
    """All kinds of run by name, in the order of the plan. Raises InputError where two have one name."""
    return dict(sorted(registered("kind of run").items(), key=lambda item: item[1].order))


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
    notes = {**result.notes, **machine.notes, **(place.tuning(run) if kind.is_training else {})}
    return replace(result, notes=notes, seconds_before=sum(machine.earlier))
