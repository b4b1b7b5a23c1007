"""Which function carries out which kind of run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from hashbench.store.result import Result
from hashbench.sweep.entity_work import do_entities
from hashbench.sweep.plan import Run
from hashbench.sweep.robustness_work import do_robustness
from hashbench.sweep.work import Workplace, do_efficiency, do_finetuning, do_floor, do_pretraining
from hashbench.training.machine import Machine

DOERS: dict[str, Callable[[Run, Workplace, Machine], Result]] = {
    "pretrain": do_pretraining,
    "finetune": do_finetuning,
    "floor": do_floor,
    "efficiency": do_efficiency,
    "robustness": do_robustness,
    "entities": do_entities,
}


def do_run(run: Run, place: Workplace, machine: Machine) -> Result:
    """Carries out a run. Raises `Interrupted` when asked to stop; any other error is the run's failure."""
    result = DOERS[kind_of_work(run)](run, place, machine)
    return replace(result, seconds_before=sum(machine.earlier))


def kind_of_work(run: Run) -> str:
    """The kind of a run."""
    return run.kind
