"""Rows of tables: the runs of a model that may share a cell, apart where encoder, precision or data differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hashbench.results.runs import SCRATCH, MeasuredRun


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
        return [run for run in self.runs if run.task == task]

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
        runs = [run for run in self.runs if run.task in tasks and (run.is_scored or run.is_baseline)]
        return "|".join(sorted({f"{run.encoder} {run.precision} {run.fingerprint}" for run in runs}))


def entries(runs: Sequence[MeasuredRun]) -> list[Entry]:
    """The rows that runs may be put in: one a model, more where encoder, precision or data differ."""
    labels = list(dict.fromkeys(run.model for run in runs if not run.is_baseline))
    trivial_baselines = list(dict.fromkeys(run.model for run in runs if run.is_baseline))
    rows: list[Entry] = []
    for name in labels:
        scored = [run for run in runs if run.model == name and run.is_scored]
        if not scored:  # pre-trained or timed only
            encoder = next(run.encoder for run in runs if run.model == name)
            rows.append(Entry(name, False, encoder, "", ()))
        rows.extend(_entries_of(name, scored))
    for name in trivial_baselines:
        rows.extend(_entries_of(name, [run for run in runs if run.model == name and run.is_baseline]))
    return rows


def _entries_of(name: str, runs: Sequence[MeasuredRun]) -> list[Entry]:
    """The entries of one model: its runs by (encoder, precision), then by the data of each task."""
    parts: dict[tuple[str, str, int], list[MeasuredRun]] = {}
    seen: dict[tuple[str, str, str | None], list[str]] = {}  # data of a task, in the order met
    done = [run for run in runs if run.state == "done"]
    for run in done or runs:
        known = seen.setdefault((run.encoder, run.precision, run.task), [])
        if run.fingerprint not in known:
            known.append(run.fingerprint)
        parts.setdefault((run.encoder, run.precision, known.index(run.fingerprint)), []).append(run)
    # How an open run will be made is not known yet: the first part misses it
    if done and len(done) < len(runs):
        next(iter(parts.values())).extend(run for run in runs if run.state != "done")
    return [
        Entry(name, members[0].is_baseline, key[0], _settings(key, parts), tuple(members))
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
