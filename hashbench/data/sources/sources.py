"""Where tables and corpora are found: a folder, the hub, or the built-in data. Locating reads no data set."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

from hashbench.common.errors import InputError, NotAtHand, near_match
from hashbench.data.sources import builtin
from hashbench.data.sources.documents import CorpusSource, folder_corpus, is_own_corpus, own_corpus
from hashbench.data.sources.files import DataTable, FileTable
from hashbench.data.sources.hub import PREFIX, HubPlace, HubTable, hub_corpora, named_place
from hashbench.data.sources.layout import CORPUS_FORMATS, SPLITS, checked_documents, chosen_splits, find_splits
from hashbench.data.sources.opening import format_of

SourceKind = Literal["folder", "hub", "builtin", "own"]
LABEL_NAMES = "label_names.json"


@dataclass(frozen=True)
class Place:
    """The locations of a task's tables in a data folder, on the hub and in the built-in data."""

    folder: str  # within a data folder
    files: Mapping[str, Sequence[str]]  # split -> names of its file without the ending
    hub: HubPlace | None = None
    builtin: str | None = None


@dataclass(frozen=True)
class SplitTables:
    """The tables that a source has of a task, by split, not read yet."""

    # Split -> table; a split that the source lacks is not among them.
    tables: dict[str, DataTable]
    origin: str
    kind: SourceKind
    where: str  # as messages name it
    names_file: Path | None = None  # names of the labels
    # Split -> published rows, where the source's copy has its own
    rows: dict[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()  # on files that are not read


def find_label_names(folder: Path, files: Iterable[Path] = ()) -> Path | None:
    """label_names.json, in any case, in a folder or beside `files` of a table; None where there is none.

    Raises InputError where there are two.
    """
    folders = dict.fromkeys((folder, *(file.parent for file in files)))
    there = [
        path
        for place in folders
        if place.is_dir()
        for path in sorted(place.iterdir())
        if path.name.lower() == LABEL_NAMES
    ]
    if len(there) > 1:
        raise InputError(f"{there[0]}: {there[1]} names the classes too; leave one")
    return there[0] if there else None


class Source(Protocol):
    """A source of tables and corpora: a folder, the hub or the built-in data."""

    @property
    def name(self) -> str:
        """The source's name: hub, builtin, or the path of a folder."""

    def find_tables(self, place: Place) -> SplitTables | None:
        """The tables of a task, by its locations; None where the source has no table."""

    def find_corpus(self, name: str) -> CorpusSource | None:
        """The corpus of this name in the source; None where it has none."""

    def corpora(self) -> list[str]:
        """Names of all corpora of the source."""


@dataclass(frozen=True)
class Folder:
    """A folder with glue/TASK/SPLIT.parquet, classification/TASK/SPLIT.parquet and corpora/NAME/*.parquet."""

    path: Path

    @property
    def name(self) -> str:
        """The folder's path."""
        return str(self.path)

    def find_tables(self, place: Place) -> SplitTables | None:
        """The tables in the task's subfolder; None where there is no such subfolder.

        Raises InputError where it is not plain which files hold a split.
        """
        folder = self.path / place.folder
        if not folder.is_dir():
            return None
        listing = find_splits(folder, place.files)
        tables = {split: FileTable(paths) for split, paths in listing.files.items()}
        return SplitTables(
            dict(tables),
            f"folder {self.path.name}",
            "folder",
            str(folder),
            names_file=find_label_names(folder, [file for table in tables.values() for file in table.paths]),
            notes=listing.notes,
        )

    def find_corpus(self, name: str) -> CorpusSource | None:
        """The corpus in corpora/NAME, the train texts in multilingual/NAME, or the folder itself if NAME is its path.

        Raises InputError where the folder of a corpus holds no files, or a file both packed and unpacked.
        """
        if name == self.name:
            return own_corpus(name)
        folder = self.path / "corpora" / name
        if not folder.exists():
            above = self.path / "multilingual" / name
            parts = checked_documents(sorted(above.glob("*/train.*")), above)
            where = f"folder {self.path.name}/multilingual/{name}, train texts"
            return CorpusSource(name, where, "folder", files=parts.files, notes=parts.notes) if parts.files else None
        return folder_corpus(name, f"folder {self.path.name}/corpora/{name}", folder)

    def corpora(self) -> list[str]:
        """Names of the folders in corpora/; else the folder's own path, if it holds texts and no folders."""
        folder = self.path / "corpora"
        if folder.is_dir():
            return sorted(path.name for path in folder.iterdir() if path.is_dir())
        inside = list(self.path.iterdir())
        texts = any(format_of(path) in CORPUS_FORMATS for path in inside)
        return [self.name] if texts and not any(path.is_dir() for path in inside) else []


@dataclass(frozen=True)
class Hub:
    """The Hugging Face hub: tasks by the repositories and revisions that they name, corpora by hub.json."""

    name: str = "hub"

    def find_tables(self, place: Place) -> SplitTables | None:
        """The splits of the task's data set on the hub, None where it names none.

        The hub is requested for the splits of a user's data set alone, and once.
        """
        at = place.hub
        if at is None:
            return None
        where = f"hub {at.repository}"
        if at.own:
            return _own_tables(at.at_commit(), place.files, where)
        tables: dict[str, DataTable] = {split: HubTable(at, split) for split in at.rows or place.files}
        return SplitTables(tables, where, "hub", where, rows=dict(at.rows))

    def find_corpus(self, name: str) -> CorpusSource | None:
        """The corpus of this name in hub.json, None where there is none. No request is made."""
        if name not in self.corpora():
            return None
        at = hub_corpora()[name]
        return CorpusSource(name, f"hub {at.repository}", "hub", table=HubTable(at, "train"))

    def corpora(self) -> list[str]:
        """Names of the corpora in hub.json."""
        return list(hub_corpora())


def _own_tables(at: HubPlace, names: Mapping[str, Sequence[str]], where: str) -> SplitTables:
    """The splits of a user's data set on the hub, as the hub lists them at its commit."""
    chosen, notes = chosen_splits(list(at.listing().splits), names, dict(at.splits), where)
    tables: dict[str, DataTable] = {split: HubTable(at, name) for split, name in chosen.items()}
    return SplitTables(tables, where, "hub", where, notes=notes)


def hub_corpus(name: str) -> CorpusSource:
    """The corpus that hub:OWNER/NAME names, with :CONFIG and @COMMIT where there are: its train split, or the only one.

    Raises InputError where the hub has none of this name, or it cannot be reached.
    """
    try:
        at = named_place(name.removeprefix(PREFIX))
    except InputError as error:
        raise InputError(f"corpus {name}: {error}") from error
    located = _own_tables(at.at_commit(), {"train": SPLITS["train"]}, f"hub {at.repository}")
    table = located.tables["train"]
    assert isinstance(table, HubTable)
    return CorpusSource(at.shown, located.origin, "hub", table=table, notes=located.notes)


@dataclass(frozen=True)
class Builtin:
    """Generated tables, and a corpus of the same language called builtin."""

    name: str = "builtin"

    def find_tables(self, place: Place) -> SplitTables | None:
        """The built-in splits of the task; None where it has none."""
        if place.builtin is None:
            return None
        tables: dict[str, DataTable] = {split: builtin.BuiltinTable(place.builtin, split) for split in place.files}
        return SplitTables(tables, "built-in data", "builtin", "built-in data")

    def find_corpus(self, name: str) -> CorpusSource | None:
        """The generated corpus, if `name` is its name, else None."""
        return CorpusSource(name, "built-in data", "builtin") if name in self.corpora() else None

    def corpora(self) -> list[str]:
        """The name of the one generated corpus."""
        return [builtin.CORPUS]


def open_sources(data: str | Sequence[str], base: Path | None = None) -> tuple[Source, ...]:
    """The sources that `data` names, each hub, builtin or a folder; they are tried in the order of `data`.

    A relative folder is looked for from `base`, the working folder if None.

    Raises:
        InputError: a name is no folder, or there is no name.
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


def locate_corpus(name: str, sources: Sequence[Source]) -> CorpusSource:
    """The corpus in the first source that has it, or the user-defined one: a path, a pattern, or hub:OWNER/NAME.

    Raises:
        InputError: none of the sources has it, or there are no such files.
    """
    if name.startswith(PREFIX):
        return hub_corpus(name)
    if is_own_corpus(name):
        return own_corpus(name)
    for source in sources:
        if corpus := source.find_corpus(name):
            return corpus
    corpora = [corpus for source in sources for corpus in source.corpora()]
    hint = near_match(name, corpora) or f"; there: {', '.join(corpora) or 'no corpus'}"
    kind = NotAtHand if name in hub_corpora() else InputError
    raise kind(
        f"corpus {name!r}: not in {names_of(sources)}{hint} (set corpora of pretrain or phrases, or --data; files of "
        "your own are written as a path, ./mine or texts/*.txt, a data set of the hub as hub:OWNER/NAME)"
    )


def names_of(sources: Sequence[Source]) -> str:
    """The names of the sources, joined by "or" for a message."""
    return " or ".join(source.name for source in sources)
