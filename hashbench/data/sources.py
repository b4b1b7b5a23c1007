"""Where tasks and corpora are found: a folder, the hub, or the built-in data. Locating reads no data set."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, Protocol

from hashbench.data import builtin
from hashbench.data.classification import HOLDOUT, LABEL_NAMES, own_tables, require_train, with_splits
from hashbench.data.documents import CorpusSource, corpus_files
from hashbench.data.entities import FILE, LocatedLinks, locate_links
from hashbench.data.files import FORMATS_TEXT, Table, find_table
from hashbench.data.fingerprints import digest
from hashbench.data.glue import GLUE_NAMES
from hashbench.data.hub import HubTable, hub_classification, hub_corpora, hub_tasks
from hashbench.data.phrases import LocatedPhrases
from hashbench.data.task_data import LocatedTask, TaskData, sample_note
from hashbench.data.tasks import Task, known_tasks
from hashbench.errors import InputError, near_match
from hashbench.experiment.schema import Phrases

InFiles = LocatedTask | LocatedLinks
AnyTask = InFiles | LocatedPhrases


class Source(Protocol):
    """A place that may hold tasks and corpora."""

    @property
    def name(self) -> str:
        """What the user typed for it."""

    def find_task(self, task: Task) -> InFiles | None:
        """The task as it stands here."""

    def find_corpus(self, name: str) -> CorpusSource | None:
        """The corpus as it stands here."""

    def corpora(self) -> list[str]:
        """Names of all corpora here."""


@dataclass(frozen=True)
class Folder:
    """A folder with glue/TASK/SPLIT.parquet, classification/TASK/SPLIT.parquet and corpora/NAME/*.parquet."""

    path: Path

    @property
    def name(self) -> str:
        """The folder's path."""
        return str(self.path)

    def find_task(self, task: Task) -> InFiles | None:
        """The task in glue/TASK or classification/TASK, or entities/links.parquet. Raises InputError where a split is
        missing."""
        if task.kind == "entities":
            return locate_links(self.path / "entities", task)
        folder = self.path / task.collection / task.name
        if not folder.is_dir():
            return None
        if task.collection == "classification":
            return self._find_text_task(task, folder)
        found = {split: find_table(folder, (split,)) for split in ("train", *task.evaluation_splits)}
        tables = require_train({split: table for split, table in found.items() if table}, folder)
        missing = [split for split in task.evaluation_splits if split not in tables]
        if missing:
            raise InputError(f"{folder}: no {missing[0]} split; put a {missing[0]} file there ({FORMATS_TEXT})")
        return LocatedTask(task, tables, f"folder {self.path.name}", "folder")

    def _find_text_task(self, task: Task, folder: Path) -> LocatedTask:
        """A task whose validation split need not be there, with the names of its labels in a file beside it."""
        tables = own_tables(folder, f"task {task.name!r}")
        if "test" not in tables:
            raise InputError(f"{folder}: no test split; put a test file there ({FORMATS_TEXT})")
        return LocatedTask(
            with_splits(task, tables), tables, f"folder {self.path.name}", "folder", names_file=_names_in(folder)
        )

    def find_corpus(self, name: str) -> CorpusSource | None:
        """The corpus in corpora/NAME. Raises InputError where that holds no files."""
        folder = self.path / "corpora" / name
        if not folder.exists():
            return None
        return CorpusSource(name, f"folder {self.path.name}/corpora/{name}", "folder", files=corpus_files(folder))

    def corpora(self) -> list[str]:
        """Names of the folders in corpora/."""
        folder = self.path / "corpora"
        return sorted(path.name for path in folder.iterdir() if path.is_dir()) if folder.is_dir() else []


@dataclass(frozen=True)
class Hub:
    """The Hugging Face hub, by the names and revisions of hub.json."""

    name: str = "hub"

    def find_task(self, task: Task) -> InFiles | None:
        """Any task of texts, under its name as a config of GLUE or where hub.json says; the hub is not asked."""
        if task.of_items:
            return None
        if task.collection == "classification":
            return self._find_text_task(task)
        at = hub_tasks()
        splits = ("train", *task.evaluation_splits)
        tables = {split: HubTable(at.repository, task.name, split, at.revision) for split in splits}
        return LocatedTask(task, tables, f"hub {at.repository}", "hub")

    def _find_text_task(self, task: Task) -> LocatedTask:
        """A task by its own entry of hub.json, which names the splits, their rows and the columns as they are there."""
        at = hub_classification()[task.name]
        columns = tuple((name, tuple(parts)) for name, parts in at.columns.items())
        tables = {split: HubTable(at.repository, at.config, split, at.revision, columns) for split in at.rows}
        located = replace(with_splits(task, at.rows), official_rows=dict(at.rows))
        return LocatedTask(located, tables, f"hub {at.repository}", "hub")

    def find_corpus(self, name: str) -> CorpusSource | None:
        """A corpus of hub.json; the hub is not asked."""
        if name not in self.corpora():
            return None
        at = hub_corpora()[name]
        table = HubTable(at.repository, at.config, "train", at.revision)
        return CorpusSource(name, f"hub {at.repository}", "hub", table=table)

    def corpora(self) -> list[str]:
        """Names of the corpora in hub.json."""
        return list(hub_corpora())


@dataclass(frozen=True)
class Builtin:
    """Generated tasks under GLUE's names, and a corpus of the same language called builtin."""

    name: str = "builtin"

    def find_task(self, task: Task) -> InFiles | None:
        """The generated task, if it is one of the eight."""
        if task.name not in GLUE_NAMES:
            return None
        tables: dict[str, Table] = {s: builtin.BuiltinTable(task.name, s) for s in ("train", *task.evaluation_splits)}
        return LocatedTask(task, tables, "built-in data", "builtin")

    def find_corpus(self, name: str) -> CorpusSource | None:
        """The generated corpus, if that is its name."""
        return CorpusSource(name, "built-in data", "builtin") if name in self.corpora() else None

    def corpora(self) -> list[str]:
        """The one generated corpus."""
        return [builtin.CORPUS]


@dataclass(frozen=True)
class Available:
    """A line of `hashbench data list`."""

    kind: Literal["task", "corpus"]
    name: str
    source: str  # of the hub: repository and revision
    rows: dict[str, int | None]  # split -> rows, None where only reading would tell
    note: str = ""  # what is wrong with it, or that it is a sample


def open_sources(data: str | Sequence[str], base: Path | None = None) -> tuple[Source, ...]:
    """The sources that `data` names, in the order in which they are tried: hub, builtin, or a folder.

    A relative folder is looked for from `base`, the working folder if None.

    Raises:
        InputError: no such folder.
    """
    sources: list[Source] = []
    for name in (data,) if isinstance(data, str) else data:
        if name in ("hub", "builtin"):
            sources.append(Hub() if name == "hub" else Builtin())
            continue
        path = ((base or Path.cwd()) / Path(name).expanduser()).absolute()
        if not path.exists():
            hint = near_match(name, ["hub", "builtin"])
            raise InputError(f"data: no folder {name!r}{hint or '; name a folder, hub, or builtin'}")
        if not path.is_dir():
            raise InputError(f"data: {name!r} is a file; name the folder with glue/ and corpora/, or hub, or builtin")
        sources.append(Folder(path))
    if not sources:
        raise InputError("data: no source; name a folder, hub, or builtin")
    return tuple(sources)


def locate_task(task: Task, sources: Sequence[Source]) -> AnyTask:
    """The task in the first source that has it; an own data set in its folder.

    Raises:
        InputError: none has it, or the first that has it lacks a split.
    """
    if task.folder is not None:
        return _locate_own(task, task.folder)
    if isinstance(task.protocol, Phrases):
        return LocatedPhrases(task, tuple(locate_corpus(name, sources) for name in task.protocol.corpora))
    for source in sources:
        if located := source.find_task(task):
            return located
    raise InputError(
        f"task {task.name!r}: not in {_named(sources)}; a data folder holds {_files_of(task)}; add one: --data FOLDER"
    )


def _files_of(task: Task) -> str:
    if task.kind == "entities":
        return f"entities/{FILE}.parquet"
    folder = "glue" if task.name in GLUE_NAMES else "classification"
    return f"{folder}/{task.name}/train.parquet and the evaluation splits"


def load_task(task: Task, sources: Sequence[Source]) -> TaskData:
    """The data of a task of texts, from the first source that has it."""
    data = locate_task(task, sources).load()
    assert isinstance(data, TaskData)  # page-link sets are located by those who know what to do with them
    return data


def locate_corpus(name: str, sources: Sequence[Source]) -> CorpusSource:
    """The corpus in the first source that has it.

    Raises:
        InputError: none of the sources has it.
    """
    for source in sources:
        if found := source.find_corpus(name):
            return found
    known = [corpus for source in sources for corpus in source.corpora()]
    hint = near_match(name, known) or f"; there: {', '.join(known) or 'no corpus'}"
    raise InputError(f"corpus {name!r}: not in {_named(sources)}{hint} (set corpora of pretrain or phrases, or --data)")


def corpora_fingerprint(names: Sequence[str], sources: Sequence[Source]) -> str:
    """SHA-256 of what the corpora are made from."""
    return digest("corpora", *(part for name in names for part in (name, locate_corpus(name, sources).fingerprint)))


def available(sources: Sequence[Source]) -> list[Available]:
    """What each source holds; what is wrong with a task or corpus stands in its note. The hub is asked for its own."""
    return [line for source in sources for line in (*_available_tasks(source), *_available_corpora(source))]


def _available_tasks(source: Source) -> Iterator[Available]:
    for task in known_tasks().values():
        try:
            located = source.find_task(task)
        except InputError as error:
            yield Available("task", task.name, source.name, {}, str(error))
            continue
        if located:
            published = task.official_rows if located.kind == "hub" else {}
            rows = {split: table.n_rows() or published.get(split) for split, table in located.tables.items()}
            first = next(iter(located.tables.values()))
            note = _problem(first) or ("" if located.kind == "builtin" else sample_note(located.task, rows))
            yield Available("task", task.name, _shown(source, first), rows, note)


def _available_corpora(source: Source) -> Iterator[Available]:
    for name in source.corpora():
        try:
            found = source.find_corpus(name)
        except InputError as error:
            yield Available("corpus", name, source.name, {}, str(error))
            continue
        table = found.table if found else None
        yield Available("corpus", name, _shown(source, table), {}, _problem(table))


def _shown(source: Source, table: Table | None) -> str:
    """What a list calls a source: of the hub the repository and the commit, "newest" where none was fixed yet."""
    if not isinstance(table, HubTable):
        return source.name
    return f"{source.name} {table.repository}@{(table.known_revision() or 'newest')[:12]}"


def _problem(table: Table | None) -> str:
    """What keeps a table of the hub from being read."""
    return table.problem() if isinstance(table, HubTable) else ""


def _locate_own(task: Task, folder: Path) -> AnyTask:
    if task.kind == "entities":
        if (links := locate_links(folder, task, kind="own")) is None:
            raise InputError(f"{folder}: {FILE}.parquet is gone; put it back")
        return links
    tables = own_tables(folder, f"task {task.name!r}")
    wanted = {"train", *task.evaluation_splits} - {HOLDOUT}
    missing = [split for split in sorted(wanted) if split not in tables]
    if missing:
        raise InputError(f"{folder}: the {missing[0]} split is gone; put it back")
    return LocatedTask(
        task,
        {split: table for split, table in tables.items() if split in wanted},
        origin=f"own data set {folder.name}",
        kind="own",
        names_file=_names_in(folder),
    )


def _names_in(folder: Path) -> Path | None:
    """The file that names the labels, if there is one."""
    names = folder / LABEL_NAMES
    return names if names.exists() else None


def _named(sources: Sequence[Source]) -> str:
    return " or ".join(source.name for source in sources)
