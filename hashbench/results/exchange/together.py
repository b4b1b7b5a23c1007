"""Several databases as one, which is read: the runs of all of them, each counted once by the rule of merging."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from hashbench.common.errors import InputError
from hashbench.results.exchange.checking import find_damage
from hashbench.results.exchange.merge import MergeReport, merge
from hashbench.store.engine import Store, open_results, open_store
from hashbench.store.migrate import upgrade
from hashbench.store.status import n_finished, versions

Identify = Callable[[Mapping[str, Any]], str]


@dataclass(frozen=True)
class Contribution:
    """One of several databases: its name without folders, its experiments, and the number of its finished runs.

    `versions`: (name, fingerprint) of each experiment. `merged`: what its merge into the databases before it did; empty
    for the first one.
    """

    name: str
    versions: tuple[tuple[str, str], ...]
    runs: int
    merged: MergeReport = field(default_factory=MergeReport)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of its experiments, each once."""
        return tuple(dict.fromkeys(name for name, _ in self.versions))


@dataclass(frozen=True)
class Together:
    """Several databases in one, and what each of them brought."""

    store: Store
    contributions: tuple[Contribution, ...]


@contextmanager
def together(places: Sequence[str], *, identify: Identify) -> Iterator[Together]:
    """The databases at some paths or URLs as one that is read; none of them is changed.

    The first is copied and the others are merged into the copy, in their order: of a run that several have finished the
    result of the first one counts. `identify`: the id of a run's spec.

    Raises InputError for a database that is damaged, malformed, or named twice.
    """
    contributions: list[Contribution] = []
    seen: set[str] = set()
    for place in places:
        store = open_results(place)
        try:
            if store.address in seen:
                raise InputError(f"{store.name}: named twice; name each database once")
            seen.add(store.address)
            check_whole(store, identify)
            contributions.append(_contribution(store, [of.name for of in contributions]))
        finally:
            store.close()
    if len(places) == 1:
        store = open_results(places[0])
        try:
            yield Together(store, tuple(contributions))
        finally:
            store.close()
        return
    with tempfile.TemporaryDirectory(prefix="hashbench-") as folder:
        file = Path(folder) / "together.db"
        reports = _merged(file, places, identify)
        merged = [replace(of, merged=by) for of, by in zip(contributions, reports, strict=True)]
        store = open_results(file)
        try:
            yield Together(store, tuple(merged))
        finally:
            store.close()


def check_whole(store: Store, identify: Identify) -> None:
    """Raises InputError for a database in which `find_damage` sees damage; the message has the first of it."""
    first = next(find_damage(store, identify=identify), None)
    if first is not None:
        raise InputError(f"{store.name}: damaged: {first}; all of it: hashbench board check {store.name}")


def check_mergeable(place: str, *, identify: Identify) -> None:
    """Raises InputError for a database that a merge refuses, as one whose rows refer to missing ones."""
    with tempfile.TemporaryDirectory(prefix="hashbench-") as folder:
        empty = open_store(Path(folder) / "empty.db")
        try:
            merge(empty, place, identify=identify, dry_run=True)
        finally:
            empty.close()


def _contribution(store: Store, taken: Sequence[str]) -> Contribution:
    """The experiments and the number of runs of a database, under a name that no other one has."""
    plain = Path(store.url.database or "").name if store.path.name else store.dialect
    names = (plain if number == 1 else f"{plain} ({number})" for number in range(1, len(taken) + 2))
    brought = tuple((of.name, fingerprint) for of, fingerprint in versions(store))
    return Contribution(next(name for name in names if name not in taken), brought, n_finished(store))


def _merged(file: Path, places: Sequence[str], identify: Identify) -> list[MergeReport]:
    """Makes a database of all of them at `file`; returns the report of each merge, an empty one of the first."""
    first = open_results(places[0])
    try:
        copied = first.copy_to(file)
    finally:
        first.close()
    if copied:
        upgrade(file)
    target = open_store(file)
    try:
        if not copied:
            merge(target, places[0], identify=identify)
        return [MergeReport(), *(merge(target, place, identify=identify) for place in places[1:])]
    finally:
        target.close()
