"""The output of `hashbench sweep FILE --dry-run`: the runs, and estimates of their time and memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from hashbench.common.showing import duration_text
from hashbench.data.sources.fingerprints import cache_folder
from hashbench.running.efficiency.cards import Card, Placed
from hashbench.running.experiment.identity import device_block
from hashbench.running.experiment.resolved import ResolvedExperiment
from hashbench.running.runs.artifacts import ArtifactFolder
from hashbench.running.runs.base import TrainingKind, kind_of
from hashbench.running.runs.durations import likely_rows
from hashbench.running.sweep.absent import MARK, missing_of, turn_of
from hashbench.running.sweep.estimate import CardEstimate, TimeEstimate, cheap_first
from hashbench.running.sweep.measuring import print_results
from hashbench.running.sweep.needed_files import gone_files
from hashbench.running.sweep.plan import Plan
from hashbench.running.training.memory import SHARE
from hashbench.store.engine import open_results, open_store
from hashbench.store.planning import Run

NO_ID = "-" * 12  # the id of a run follows from what it reads


def print_plan(
    planned: Plan, db: str, n_workers: int, card: Card | None = None, *, nice: bool = False, artifacts: str = ""
) -> None:
    """Prints the runs in the order in which they start, those that are done, and the time that the rest will take.

    The time is estimated for this machine or a card.

    Finished runs whose weights are gone are made again where others read them; with `artifacts` another machine may
    have them, which is not looked up.
    """
    store = open_results(db) if Path(db).exists() else open_store(db) if "://" in db else None
    rows = likely_rows(planned.resolved.tasks)
    if card is None:
        estimate = TimeEstimate(store, planned.runs, n_workers, rows)
    else:
        estimate = CardEstimate(store, planned.runs, card, planned.resolved, rows)
    again = [] if artifacts else gone_files(planned.runs, estimate.done, ArtifactFolder(cache_folder()))
    estimate.done -= {run.id for run in again}
    runs = planned.runs
    if nice:
        turns = {run_id: turn for turn, run_id in enumerate(cheap_first(runs, estimate.seconds))}
        runs = tuple(sorted(runs, key=lambda run: turns[run.id]))
    missing = missing_of(planned.runs)
    for number, run in enumerate(runs, 1):
        state = "done" if run.id in estimate.done else f"about {duration_text(estimate.seconds(run))}"
        state = f"done, but its weights are gone: made again, {state}" if run in again else state
        state = f"{MARK}{', '.join(missing[run.id])}; {state}" if missing[run.id] else state
        shown_id = NO_ID if missing[run.id] else run.id[:12]
        seed = "" if run.seed is None else f" seed {run.seed}"
        print(f"{number:5d}  {shown_id}  {run.kind:10s} {run.model} {run.task or ''}{seed}  {state}")
    lost = f", {len(again)} of them made again, since weights are gone" if again else ""
    n_done = len(estimate.done) + len(again)
    print(f"{len(planned.runs)} runs, {n_done} done{lost}, {n_workers} worker{'s' if n_workers > 1 else ''}")
    print(weights_line(planned.runs, planned.resolved))
    print_results(planned.resolved)
    print()  # the time is the last line: what comes before it may be long
    if card is not None:
        _print_memory(planned, card)
    time = f"{duration_text(estimate.total())} on {_machine(planned, card)}"
    if lacking := {run_id for run_id, names in missing.items() if names}:
        names = sorted({name for names in missing.values() for name in names}, key=turn_of)
        print(f"{MARK}{', '.join(names)} (needed by {len(lacking)} of the runs)")
        estimate.done |= lacking
        time = f"{duration_text(estimate.total())} for the other runs; {time} for all"
    print(f"estimated time: {time}")
    if card is not None:
        print("computed from shapes, rows and published peak rates; nothing was measured on this card")


def weights_line(runs: Sequence[Run], resolved: ResolvedExperiment) -> str:
    """A line on the weights that a sweep keeps: their bytes, by shapes, and the number of runs of each kind."""
    sizes = {run.id: (run.kind, kind_of(run).kept_bytes(run, resolved)) for run in runs}
    kept = Counter(kind for kind, size in sizes.values() if size)
    runs_of = ", ".join(f"{n} {kind}" for kind, n in kept.items()) or "none"
    total = sum(size for _, size in sizes.values()) / 1e6
    return f"weights kept: about {total:,.0f} MB ({runs_of}; keep_weights: {resolved.experiment.keep_weights})"


def _machine(planned: Plan, card: Card | None) -> str:
    """The name of the card or machine that an estimate is for."""
    experiment = planned.resolved.experiment
    several = f"{experiment.all_devices} x " if experiment.all_devices > 1 else ""
    if card is not None:
        return several + card.name
    device = device_block(experiment.device)
    cores = "" if device["cores"] is None else f", {device['cores']} cores"
    return f"this machine ({several}{device['name']}{cores})"


def _print_memory(planned: Plan, card: Card) -> None:
    """Prints, for each model and kind of training, the rows computed at a time and their memory on a card."""
    print(f"memory of {card.name}, {card.memory / 1e9:.0f} GB, of which {SHARE:.0%} are used:")
    seen = set()
    for run in planned.runs:
        kind = kind_of(run)
        if not isinstance(kind, TrainingKind):
            continue
        placed = kind.placed(card, run, planned.resolved)
        if (run.kind, run.model, placed) not in seen:
            seen.add((run.kind, run.model, placed))
            print(f"  {run.kind:10s} {run.model:28s} {memory_of(placed, card)}")


def memory_of(placed: Placed, card: Card) -> str:
    """A phrase on the memory of a training step on a card, with a remedy where it does not fit."""
    step, size = placed.step, f"{placed.memory / 1e9:.1f} GB"
    at_once = f"{placed.share} x {step.length} tokens"
    if placed.rows is not None and placed.rows < placed.share:
        at_once += f" in parts of {placed.rows}"
    if placed.fits(card):
        return f"{at_once}: {size}"
    if placed.auto:
        remedy = "shorter inputs or another card" if step.checkpointing else "activation_checkpointing: true"
        return f"{at_once}: one row takes {size}, too much; take {remedy}"
    return f"{at_once}: {size}, too much; write micro_batch_size: auto"
