"""The texts and labels of a task's splits; rows that are held out of train, or drawn as a sample."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from hashbench.common.errors import InputError
from hashbench.data.sources.fingerprints import digest
from hashbench.data.sources.sources import SourceKind
from hashbench.data.tasks.base import Task
from hashbench.data.tasks.own_data import HOLDOUT

HOLDOUT_SHARE = 10  # one training row of ten


@dataclass(frozen=True)
class Split:
    """Texts and labels of one split."""

    texts: tuple[list[str], ...]  # one list for each text column
    labels: np.ndarray  # (n,) int64 class ids, or float32 values

    def __len__(self) -> int:
        return len(self.labels)

    def take(self, rows: np.ndarray) -> Split:
        """The rows (k,), in the order given."""
        return Split(tuple([column[row] for row in rows] for column in self.texts), self.labels[rows])


@dataclass(frozen=True)
class TaskData:
    """A loaded task."""

    task: Task
    splits: dict[str, Split]
    fingerprint: str  # SHA-256 of the files, or of name and revision
    origin: str
    kind: SourceKind
    notes: tuple[str, ...] = ()

    @property
    def label_names(self) -> tuple[str, ...]:
        """Names of the classes in the order of their ids; none for a regression."""
        return self.task.label_names

    @property
    def n_outputs(self) -> int:
        """Outputs of a head for this task; 1 is a regression."""
        return self.task.n_classes or 1

    def with_held_out_rows(self) -> TaskData:
        """The same task with the rows that are held out to select on back in train."""
        kept, held = self.splits["train"], self.splits[HOLDOUT]
        texts = tuple([*first, *second] for first, second in zip(kept.texts, held.texts, strict=True))
        train = Split(texts, np.concatenate([kept.labels, held.labels]))
        return replace(self, splits={**self.splits, "train": train})

    def held_out(self, seed: int = 0) -> TaskData:
        """The same task without its evaluation splits: a seeded tenth of train serves instead, as split `holdout`."""
        kept, held = hold_out(self.splits["train"], seed)
        task = replace(self.task, select_splits=(HOLDOUT,), report_splits=(HOLDOUT,))
        splits = {"train": kept, HOLDOUT: held}
        return replace(self, task=task, splits=splits, fingerprint=digest(self.fingerprint, HOLDOUT, str(seed)))


def sample_note(task: Task, rows: Mapping[str, int | None]) -> str:
    """Which splits hold fewer rows than the published data set, "" where none does; None: only reading would tell."""
    sampled = [
        f"{split} {n:,} of {official:,} rows"
        for split, official in task.official_rows.items()
        if (n := rows.get(split)) is not None and n != official
    ]
    return f"sample: {', '.join(sampled)}" if sampled else ""


def sample_rows(splits: Mapping[str, Split], most: int | None) -> tuple[dict[str, Split], list[str]]:
    """The splits with at most so many rows each, drawn by a fixed seed and in their order; a note on the others."""
    kept, sampled = dict(splits), []
    for name, split in splits.items():
        if most is not None and len(split) > most:
            rows = np.random.RandomState([most, len(split)]).permutation(len(split))[:most]
            kept[name] = split.take(np.sort(rows))
            sampled.append(f"{name} {most:,} of {len(split):,} rows")
    return kept, [f"sample: {', '.join(sampled)}"] if sampled else []


def hold_out(train: Split, seed: int = 0) -> tuple[Split, Split]:
    """Train as nine tenths and a tenth, chosen by the seed; both keep the order of the rows.

    Raises:
        InputError: too few rows.
    """
    n = len(train)
    if n < 2:
        raise InputError(f"train has {n} row; a tenth of it cannot be held out, so give a validation split")
    # RandomState: NumPy keeps its stream the same in all versions.
    order = np.random.RandomState([seed, HOLDOUT_SHARE]).permutation(n)
    n_held = max(1, n // HOLDOUT_SHARE)
    return train.take(np.sort(order[n_held:])), train.take(np.sort(order[:n_held]))
