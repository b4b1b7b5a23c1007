"""A check of every data set that is read from the hub: the commit that is read, its columns and its rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Literal

from hashbench.common.errors import InputError, near_match
from hashbench.common.hub import hub_error, is_unreachable
from hashbench.data.sources.documents import TEXT_COLUMN
from hashbench.data.sources.hub import SHORT_COMMIT, HubTable
from hashbench.data.sources.hub_copies import HubCopy, data_set_info
from hashbench.data.sources.sources import Hub
from hashbench.data.tasks.catalogue import known_tasks

ENTRIES_AT_ONCE = 8
COLUMNS = ["name", "from", "commit", "branch", "pinned", "rows", "finding"]


@dataclass(frozen=True)
class HubEntry:
    """A task or corpus that is read from the hub."""

    kind: Literal["task", "corpus"]
    name: str
    tables: Mapping[str, HubTable]  # by split
    columns: tuple[str, ...]  # that each table must have, by their names here
    rows: Mapping[str, int] = field(default_factory=dict)  # published ones, by split

    @property
    def first(self) -> HubTable:
        """The first of the entry's tables, which all belong to one data set."""
        return next(iter(self.tables.values()))


@dataclass(frozen=True)
class HubFinding:
    """The result of the check of an entry."""

    entry: HubEntry
    copy: HubCopy | None = None  # None where the data set was not found
    rows: Mapping[str, int] = field(default_factory=dict)
    problem: str = ""  # what keeps it from being read as it was meant
    remark: str = ""  # what should be known though it can be read

    @property
    def pinned(self) -> bool:
        """True where the entry names its commit; else it is the newest at the time of the first download."""
        return self.entry.first.place.revision is not None

    def row(self) -> dict[str, str]:
        """The finding as a row of strings, by the names of `COLUMNS`."""
        place, copy = self.entry.first.place, self.copy
        return {
            "name": self.entry.name,
            "from": place.repository + (f" ({place.config})" if place.config else ""),
            "commit": copy.revision[:SHORT_COMMIT] if copy else "",
            "branch": "" if copy is None else "converted" if copy.converted else "main",
            "pinned": "yes" if self.pinned else "no",
            "rows": ", ".join(f"{split} {n:,}" for split, n in self.rows.items()),
            "finding": self.problem or self.remark or "ok",
        }

    def revision(self) -> str:
        """The commit that an entry without one keeps from now on; '' for one that is pinned or was not found."""
        if self.copy is None or self.pinned:
            return ""
        return self.copy.revision + (", converted" if self.copy.converted else "")


def hub_entries(names: Sequence[str] = ()) -> list[HubEntry]:
    """The tasks and corpora that are read from the hub; those called by `names`, all if there are none.

    Raises:
        InputError: no entry has that name.
    """
    entries = [*_task_entries(), *_corpus_entries()]
    names_here = [entry.name for entry in entries]
    for name in names:
        if name not in names_here:
            hint = near_match(name, names_here) or f"; there are {', '.join(names_here)}"
            raise InputError(f"data check: nothing called {name!r} is read from the hub{hint}")
    return [entry for entry in entries if not names or entry.name in names]


def check_hub(entries: Sequence[HubEntry]) -> list[HubFinding]:
    """The findings of checking each entry on the hub. An open revision is resolved and remembered, as by a run.

    Raises:
        InputError: the hub is out of reach.
    """
    try:
        data_set_info(entries[0].first.place.repository)
    except Exception as error:  # of others than the network the entries tell
        if is_unreachable(error):
            raise hub_error("data check", error) from error
    with ThreadPoolExecutor(ENTRIES_AT_ONCE) as pool:
        return list(pool.map(check_entry, entries))


def check_entry(entry: HubEntry) -> HubFinding:
    """The finding on an entry: its copy and its rows on the hub, or the problem."""
    copy, rows = None, {}
    try:
        copy = entry.first.copy()
        for split, table in entry.tables.items():
            contents = table.contents()
            table.check_columns(table.sources_of(entry.columns), contents.columns)
            rows[split] = contents.rows
    except InputError as error:
        return HubFinding(entry, copy, rows, str(error))
    repository = entry.first.place.repository
    name = data_set_info(repository, copy.revision).id
    moved = "" if name == repository else f"{repository} is called {name} now"
    return HubFinding(entry, copy, rows, _differing(entry, rows), moved)


def _differing(entry: HubEntry, rows: Mapping[str, int]) -> str:
    other = [
        f"{split} has {rows[split]:,} rows, published are {n:,}" for split, n in entry.rows.items() if rows[split] != n
    ]
    return "; ".join(other)


def _task_entries() -> Iterator[HubEntry]:
    for task in known_tasks().values():
        located = task.kind.find_in(Hub(), task) if task.hub else None
        if located is not None:
            tables = {split: table for split, table in located.tables.items() if isinstance(table, HubTable)}
            yield HubEntry("task", task.name, tables, task.columns, dict(located.task.official_rows))


def _corpus_entries() -> Iterator[HubEntry]:
    for name in Hub().corpora():
        corpus = Hub().find_corpus(name)
        if corpus is not None and corpus.table is not None:
            yield HubEntry("corpus", name, {corpus.table.split: corpus.table}, (TEXT_COLUMN,))
