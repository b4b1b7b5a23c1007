"""What a run reads of the runs that it needs: whether it is here, or can be fetched from where machines share files."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

from hashbench.artifacts.checksums import FileSum
from hashbench.runs.artifacts import sum_of
from hashbench.runs.base import Run, Workplace
from hashbench.runs.registry import kind_of
from hashbench.store.again import files_of_all_attempts
from hashbench.store.engine import Store


def needs_read_by(run: Run, place: Workplace) -> list[Run]:
    """The runs whose files a run reads."""
    return [place.runs[each] for each in run.needs] if kind_of(run).reads_needs else []


def is_at_hand(need: Run, store: Store, place: Workplace) -> bool:
    """Whether the files that a finished run left are here, fetched now where another machine shared them."""
    sets = kind_of(need).left_files(need, place.artifacts)
    if not sets:
        return True
    sums: dict[str, list[FileSum]] = defaultdict(list)  # by the place below the root
    for file in files_of_all_attempts(store, need.id):
        sums[file.url].append(sum_of(file))
    root = place.artifacts.root

    def has(path: Path) -> bool:
        kept = path.is_relative_to(root)  # else the store does not know it
        return place.artifacts.has(path, sums[path.relative_to(root).as_posix()] if kept else [])

    return any(all(map(has, files.values())) for files in sets)
