"""Rows of tables: the runs of a model that may share a cell, apart where encoder, precision or data differ.

Tasks of one row may have been measured in several precisions: a cell is only compared with those of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

from hashbench.results.read.runs import SCRATCH, MeasuredRun

Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True)
class Entry:
    """What one row of a table speaks of: a model's runs that may share a cell."""

    model: str
    is_baseline: bool  # trivial, no model
    encoder: str
    # What tells it from other entries of the model, and whether it is from scratch; '' for neither
    settings: str
    runs: tuple[MeasuredRun, ...]  # trainings on a task, or of a trivial baseline

    def of_task(self, task: str) -> list[MeasuredRun]:
        """Its runs of one task, finished or not."""
        return list(self._by_task.get(task, ()))

    @cached_property
    def _by_task(self) -> dict[str | None, list[MeasuredRun]]:
        return grouped(self.runs, lambda run: run.task)

    def shares_data(self, other: Entry) -> bool:
        """Whether both were measured on the same data, at one precision, in all tasks that both have."""
        ours, theirs = (
            {(run.task, run.precision, run.fingerprint) for run in entry.runs if run.state == "done"}
            for entry in (self, other)
        )
        both = {task for task, _, _ in ours} & {task for task, _, _ in theirs}
        return {key for key in ours if key[0] in both} == {key for key in theirs if key[0] in both}

    def group(self, tasks: Sequence[str]) -> str:
        """Equal for cells that may be compared: same encoder, precision and data."""
        return "|".join(sorted(set().union(*(self._groups.get(task, ()) for task in tasks))))

    @cached_property
    def _groups(self) -> dict[str | None, set[str]]:
        """What may be compared, by task: one text, or more where its runs differ."""
        return {
            task: {
                f"{run.encoder} {run.precision} {run.fingerprint}" for run in runs if run.is_scored or run.is_baseline
            }
            for task, runs in self._by_task.items()
        }


def entries(runs: Sequence[MeasuredRun]) -> list[Entry]:
    """The rows that runs may be put in: one a model, more where encoder, precision or data differ."""
    by_model = grouped(runs, lambda run: run.model)
    rows: list[Entry] = []
    for name, members in by_model.items():
        if all(run.is_baseline for run in members):
            continue
        scored = [run for run in members if run.is_scored]
        if not scored:  # pre-trained or timed only
            rows.append(Entry(name, False, members[0].encoder, "", ()))
        rows.extend(_entries_of(name, scored))
    for name in dict.fromkeys(run.model for run in runs if run.is_baseline):
        rows.extend(_entries_of(name, [run for run in by_model[name] if run.is_baseline]))
    return rows


def grouped(runs: Sequence[MeasuredRun], key: Callable[[MeasuredRun], Key]) -> dict[Key, list[MeasuredRun]]:
    """Runs by a key, in their order."""
    groups: dict[Key, list[MeasuredRun]] = {}
    for run in runs:
        groups.setdefault(key(run), []).append(run)
    return groups


def _entries_of(name: str, runs: Sequence[MeasuredRun]) -> list[Entry]:
    """The entries of one model: its runs by encoder, by precision where a task has several, by the data of each task.

    A trivial baseline has no encoder: its run may have been made for an experiment of another size.
    """
    parts: dict[tuple[str, str, int], list[MeasuredRun]] = {}
    seen: dict[tuple[str, str, str | None], list[str]] = {}  # data of a task, in the order met
    done = [run for run in runs if run.state == "done"]
    by_task = grouped(done or runs, lambda run: run.task)
    apart = any(len({run.precision for run in of_task}) > 1 for of_task in by_task.values())
    for run in done or runs:
        encoder = "" if run.is_baseline else run.encoder
        precision = run.precision if apart else ""
        known = seen.setdefault((encoder, precision, run.task), [])
        if run.fingerprint not in known:
            known.append(run.fingerprint)
        parts.setdefault((encoder, precision, known.index(run.fingerprint)), []).append(run)
    # How an open run will be made is not known yet: the first part misses it
    if done and len(done) < len(runs):
        next(iter(parts.values())).extend(run for run in runs if run.state != "done")
    return [
        Entry(name, members[0].is_baseline, members[0].encoder, _settings(key, parts), tuple(members))
        for key, members in parts.items()
    ]


def _settings(key: tuple[str, str, int], parts: dict[tuple[str, str, int], list[MeasuredRun]]) -> str:
    """What tells one part of a model's runs from the others, and whether it is from scratch."""
    words = [SCRATCH] if any(run.from_scratch for run in parts[key]) else []
    if len({encoder for encoder, _, _ in parts}) > 1:
        words.append(key[0])
    if len({precision for _, precision, _ in parts}) > 1:
        words.append(f"precision {key[1]}")
    if len({index for _, _, index in parts}) > 1:
        words.append(f"data {parts[key][0].fingerprint[:8]}")
    return ", ".join(words)
