"""The time that a sweep still takes, by its finished runs, and the override of its file that halves it.

An override is tried on the plan: the runs that it would have are planned again, with their ids, so that runs that are
done count, and runs of another recipe are done anew. A training takes time in proportion to its steps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from statistics import fmean
from typing import Any

from pydantic import ValidationError

from hashbench.common.errors import InputError
from hashbench.common.showing import duration_text
from hashbench.running.experiment.models import ResolvedModel
from hashbench.running.experiment.resolved import ResolvedExperiment
from hashbench.running.runs.base import kind_of, kinds
from hashbench.store.planning import Run

HALF = 0.55  # of the time: what is only about half counts, since runs of a kind differ by more


def seconds_left(
    runs: Sequence[Run],
    taken: Mapping[str, float],
    n_workers: int,
    *,
    means: Mapping[str, float] | None = None,
    share: Callable[[Run], float] = lambda run: 1.0,
) -> float | None:
    """Estimated seconds until so many workers have done all runs; None before a run of each kind is finished.

    `taken`: seconds of the finished runs, by id. Runs that measure time are done one at a time. `means`: seconds of a
    run by kind; None: those of the finished runs. `share`: by which a run that is left is longer than the mean.

    >>> runs = [Run(id, "finetune", "m", "tiny", {}) for id in "abcd"]
    >>> seconds_left(runs, {"a": 10.0, "b": 20.0}, 2), seconds_left(runs, {}, 2)
    (15.0, None)
    """
    means = mean_seconds(runs, taken) if means is None else means
    total = 0.0
    for run in {run.id: run for run in runs if run.id not in taken}.values():
        if run.kind not in means:
            return None
        total += means[run.kind] * share(run) / (1 if kind_of(run).measures_time else n_workers)
    return total


def mean_seconds(runs: Sequence[Run], taken: Mapping[str, float]) -> dict[str, float]:
    """The mean seconds of finished runs by kind."""
    by_kind: dict[str, list[float]] = {}
    for run in {run.id: run for run in runs if run.id in taken}.values():
        by_kind.setdefault(run.kind, []).append(taken[run.id])
    return {kind: fmean(seconds) for kind, seconds in by_kind.items()}


def half_line(resolved: ResolvedExperiment, runs: Sequence[Run], taken: Mapping[str, float], n_workers: int) -> str:
    """The line on the override that halves the time left, the one that cuts least; "" where it is not known or 0."""
    rest = seconds_left(runs, taken, n_workers)
    if not rest:
        return ""
    means, planned_before = mean_seconds(runs, taken), {run.id for run in runs}

    def seconds(tried: Override) -> float | None:
        planned = [run for kind in kinds().values() for run in kind.planned(tried.resolved)]
        kind, factor = tried.slower

        def share(run: Run) -> float:
            return factor if run.kind == kind and run.id not in planned_before else 1.0

        return seconds_left(planned, taken, n_workers, means=means, share=share)

    tried = [_mildest(family, seconds, HALF * rest) for family in _families(resolved)]
    halving = [override for override in tried if override is not None]
    if not halving:
        return "half the time: no override of seeds, epochs, steps or tasks alone"
    text, least = max(halving, key=lambda item: item[1])
    return f"half the time: {text} (about {duration_text(least)} left)"


@dataclass(frozen=True)
class Override:
    """An override as it is written, and the experiment under it."""

    text: str
    resolved: ResolvedExperiment
    slower: tuple[str, float] = ("", 1.0)  # a kind of training, and the share of its steps that is left


@dataclass(frozen=True)
class Family:
    """Overrides of one key."""

    number: int
    at: Callable[[int], Override]  # the n-th override, of which a later one cuts more


def _mildest(family: Family, seconds: Callable[[Override], float | None], most: float) -> tuple[str, float] | None:
    """The first override of a family after which at most so many seconds are left, with these; None for none."""
    low, high = 0, family.number
    best: tuple[str, float] | None = None
    while low < high:  # what cuts more leaves less, until the file would be refused
        middle = (low + high) // 2
        try:
            tried = family.at(middle)
            rest = seconds(tried)
        except (ValidationError, InputError):  # as fewer steps than the warm-up has
            high = middle
            continue
        if rest is None or rest > most:
            low = middle + 1
            continue
        high = middle
        if rest:  # else it leaves what is done already
            best = (tried.text, rest)
    return best


def _families(resolved: ResolvedExperiment) -> Iterator[Family]:
    """Overrides of the experiment's seeds, of epochs or steps, and of its tasks."""
    experiment = resolved.experiment
    seeds, names = experiment.seeds, [task.task.name for task in resolved.tasks]

    def fewer_seeds(cut: int) -> Override:
        kept = seeds[: len(seeds) - 1 - cut]
        changed = replace(resolved, experiment=experiment.model_copy(update={"seeds": kept}))
        return Override(f"seeds=[{','.join(map(str, kept))}]", changed)

    def fewer_tasks(cut: int) -> Override:
        kept = names[: len(names) - 1 - cut]
        tasks = tuple(task for task in resolved.tasks if task.task.name in kept)
        return Override(f"tasks=[{','.join(kept)}]", replace(resolved, tasks=tasks))

    if not isinstance(experiment.pretrain.seeds, dict):  # it names fine-tunings by their seeds
        yield Family(len(seeds) - 1, fewer_seeds)
    for block, key in (("finetune", "epochs" if experiment.finetune.steps is None else "steps"), ("pretrain", "steps")):
        value = getattr(getattr(experiment, block), key)
        if isinstance(value, int):  # not several, which are searched
            yield Family(value - 1, partial(_fewer, resolved, block, key, value))
    robustness = experiment.robustness_block
    named = {*experiment.finetune.per_task, *(robustness.pairs if robustness else ())}
    is_plain = not any(task.task.is_own for task in resolved.tasks)  # an own data set is no name
    if is_plain and not (named or experiment.averages or resolved.learned):
        yield Family(len(names) - 1, fewer_tasks)


def _fewer(resolved: ResolvedExperiment, block: str, key: str, value: int, cut: int) -> Override:
    """The override of a number of epochs or steps, of models and tasks that have the experiment's.

    Raises ValidationError where the recipe cannot have so few.
    """
    changed = value - 1 - cut
    of_all = getattr(resolved.experiment, block)

    def of(recipe: Any) -> Any:
        if getattr(recipe, key) != value:
            return recipe
        values = recipe.model_dump() | {key: changed}
        if of_all.warmup_steps is None and recipe.warmup_steps:  # it follows from the steps
            values["warmup_steps"] = recipe.warmup_steps * changed // value
        return type(recipe).model_validate(values)

    def model(entry: ResolvedModel) -> ResolvedModel:
        recipes: dict[str, Any] = {block: of(getattr(entry, block))}
        if block == "finetune":
            recipes["per_task"] = {task: of(recipe) for task, recipe in entry.per_task.items()}
        return replace(entry, **recipes)

    models = {label: model(entry) for label, entry in resolved.models.items()}
    under = replace(resolved, models=models, baseline=model(resolved.baseline))
    return Override(f"{block}.{key}={changed}", under, (block, changed / value))
