"""Tables on the Hugging Face hub. hub.json lists the corpora.

A copy of a data set is a commit, of main or of the parquet files that the hub makes of scripts. A revision left open is
resolved once. The package `datasets` refuses loading scripts. The hub converts many scripts to parquet on another
branch, as CONFIG/SPLIT/0000.parquet, or CONFIG/partial-SPLIT/... where it stopped after the first gigabytes. So main is
read where it holds data files, else that branch where it is whole.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import lru_cache, partial
from importlib import resources
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from hashbench.common.errors import InputError, located
from hashbench.common.hub import OTHER_DATA, REACH_SECONDS, answering, fetched, hub_error, import_package, meaning
from hashbench.data.sources.files import Cells, DataTable, FileTable
from hashbench.data.sources.fingerprints import cache_room, digest, read_note, write_note
from hashbench.data.sources.text_tables import column_hint

FILES_AT_ONCE = 4  # of one table, while it is checked
SHORT_COMMIT = 12  # letters of a commit that name it to people


@dataclass(frozen=True)
class HubPlace:
    """A data set on the hub: its repository, config and commit, and the columns that it has under other names."""

    repository: str
    config: str | None = None
    # A commit; None: the newest one when it was first resolved
    revision: str | None = None
    # Whether that commit is on the branch of parquet files that the hub makes from a script
    converted: bool = False
    # Rows of its splits, where they differ from the task's
    rows: Mapping[str, int] = field(default_factory=dict)
    # (name here, the columns it is made of there)
    columns: tuple[tuple[str, tuple[str, ...]], ...] = ()

    def pinned(self) -> HubCopy | None:
        """The copy at the commit that is named here; None where none is."""
        return None if self.revision is None else HubCopy(self.revision, self.converted)


@dataclass(frozen=True)
class TableContents:
    """Columns and rows of a table, known without reading its files."""

    columns: tuple[str, ...]
    rows: int


@dataclass(frozen=True)
class HubTable:
    """One split of a data set on the hub."""

    place: HubPlace
    split: str

    @property
    def where(self) -> str:
        """Repository, config and split, as messages name them."""
        config = f" ({self.place.config})" if self.place.config else ""
        return f"hub {self.place.repository}{config} {self.split}"

    def fingerprint(self) -> str:
        """SHA-256 (hex) of repository, config, split, commit and renamed columns."""
        at = self.place
        columns = [f"{name}={'+'.join(parts)}" for name, parts in at.columns]
        return digest("hub", at.repository, at.config or "", self.split, self.copy().revision, *columns)

    def n_rows(self) -> int | None:
        """None, since only reading would tell."""
        return None

    def problem(self) -> str:
        """The reason why the table cannot be read, or an empty text."""
        return _problem(self.place.repository, self.place.revision)

    def copy(self) -> HubCopy:
        """The copy that is read; a revision left open is resolved once and remembered."""
        return self.place.pinned() or resolved_copy(self.place.repository)

    def known_copy(self) -> HubCopy | None:
        """The copy that is read, None where an open revision was never resolved. No request is made."""
        return self.place.pinned() or known_copy(self.place.repository)

    def sources_of(self, columns: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """For each of these columns the hub's columns that it is made of."""
        renamed = dict(self.place.columns)
        return {name: renamed[name] if name in renamed else (name,) for name in columns}

    def read(self, columns: Sequence[str], notes: list[str] | None = None) -> dict[str, Cells]:
        """The cells of the requested columns by name; a column made of several on the hub has their texts joined.

        `notes` gets what is odd in the rows.
        """
        made_of = self.sources_of(columns)
        table = self._files()
        with located(self.where):
            cells = table.read(list(dict.fromkeys(part for parts in made_of.values() for part in parts)), notes)
        return {name: joined([cells[part] for part in parts]) for name, parts in made_of.items()}

    def class_names(self, column: str) -> tuple[str, ...]:
        """The names that the data set gives to the numbers in a column; () where it names none."""
        made_of = self.sources_of([column])[column]
        return self._files().class_names(made_of[0]) if len(made_of) == 1 else ()

    def _files(self) -> FileTable:
        return FileTable(tuple(self._fetch(file) for file in self.files()))

    def check_columns(self, made_of: Mapping[str, Sequence[str]], present: Sequence[str]) -> None:
        """Raises InputError where a hub column in `made_of` is not among those present."""
        for part in (part for parts in made_of.values() for part in parts):
            if part not in present:
                raise InputError(f"{self.where}: no column {part!r}{column_hint(part, present)}")

    def stream(self, column: str, number: int = 0, of: int = 1) -> Iterator[object]:
        """The cells of one column, read as a stream, never more than a piece at once.

        `number`: the part that is read, `of` so many (`n_parts`).
        """
        with answering(partial(hub_error, self.where)):
            for row in self._rows().shard(num_shards=of, index=number) if of > 1 else self._rows():
                self.check_columns({column: (column,)}, list(row))
                yield row[column]

    def n_parts(self) -> int:
        """The number of parts that can be read by themselves, which are the table's files."""
        with answering(partial(hub_error, self.where)):
            n: int = self._rows().num_shards
            return n

    def _rows(self) -> Any:
        # `datasets` by itself tries an unreachable hub for half a minute
        data_set_info(self.place.repository, self.copy().revision)
        load_dataset = import_package("datasets").load_dataset
        return load_dataset(**self.arguments(), split=self.split, streaming=True)

    def files(self) -> tuple[str, ...]:
        """The files of this split at its commit, in order; requested once and remembered.

        Raises:
            InputError: the hub is out of reach, or has no such config or split.
        """
        at, copy = self.place, self.copy()
        note = cache_room("hub") / f"{digest('files', at.repository, copy.revision, at.config or '', self.split)}.json"
        remembered = read_note(note)
        if remembered is not None:
            return tuple(remembered["files"])
        with answering(partial(hub_error, self.where)):
            data_set_info(at.repository, copy.revision)
            patterns = import_package("datasets").load_dataset_builder(**self.arguments()).config.data_files
        if self.split not in patterns:
            raise InputError(f"{self.where}: no such split; it has {', '.join(map(str, patterns))}")
        root = f"hf://datasets/{at.repository}@{copy.revision}/"
        files = tuple(str(file).removeprefix(root) for file in patterns[self.split])
        write_note(note, {"repository": at.repository, "revision": copy.revision, "files": files})
        return files

    def contents(self) -> TableContents:
        """Names of the columns and number of rows, from the footers of parquet files, else by streaming all rows.

        Raises:
            InputError: the hub is out of reach, or has no such data set, config or split.
        """
        files = self.files()
        with answering(partial(hub_error, self.where)):
            if all(file.endswith(".parquet") for file in files):
                with ThreadPoolExecutor(FILES_AT_ONCE) as pool:
                    footers = list(pool.map(self._footer, files))
                return TableContents(footers[0].columns, sum(footer.rows for footer in footers))
            rows = import_package("datasets").load_dataset(**self.arguments(), split=self.split, streaming=True)
            columns = tuple(next(iter(rows), ()))
            return TableContents(columns, sum(1 for _ in rows))

    def _footer(self, file: str) -> TableContents:
        """Columns and rows of one parquet file."""
        path = f"datasets/{self.place.repository}@{self.copy().revision}/{file}"
        with import_package("huggingface_hub").HfFileSystem().open(path) as remote:
            parquet = pq.ParquetFile(remote)
            return TableContents(tuple(parquet.schema_arrow.names), parquet.metadata.num_rows)

    def arguments(self) -> dict[str, Any]:
        """Arguments of `datasets.load_dataset` and `load_dataset_builder`."""
        copy, at = self.copy(), self.place
        named = {"path": at.repository, "revision": copy.revision}
        # By its files: names of configs do not survive the conversion.
        if copy.converted:
            return named | {"data_files": {self.split: copy.files_of(at.config, self.split, self.where)}}
        return named | {"name": at.config}

    def _fetch(self, file: str) -> Path:
        """Local path of a file of the commit, downloaded into the hub's own cache unless it is there already."""
        hub, commit = import_package("huggingface_hub"), self.copy().revision
        kept = hub.try_to_load_from_cache(self.place.repository, file, revision=commit, repo_type="dataset")
        if isinstance(kept, str):
            return Path(kept)
        with answering(partial(hub_error, self.where)):
            return fetched(self.place.repository, file, commit, "dataset")


def joined(columns: Sequence[Cells]) -> Cells:
    """One column as it is; several as texts with a space between, empty ones left out.

    >>> joined([["Why?", "How?"], ["", "So."]])
    ['Why?', 'How? So.']
    """
    if len(columns) == 1:
        return columns[0]
    return [" ".join(str(cell) for cell in cells if cell) for cells in zip(*columns, strict=True)]


def copy_read(origin: str, table: DataTable | None) -> str:
    """The origin of a table, with the commit (shortened) where it is on the hub."""
    return f"{origin}@{table.copy().revision[:SHORT_COMMIT]}" if isinstance(table, HubTable) else origin


def hub_corpora() -> dict[str, HubPlace]:
    """The corpora that are read from the hub by name, as hub.json lists them."""
    text = resources.files("hashbench.data.sources").joinpath("hub.json").read_text("utf-8")
    return {name: HubPlace(**entry) for name, entry in json.loads(text).items()}


@lru_cache(maxsize=16)  # for a list of what there is; reading asks again
def _problem(repository: str, revision: str | None) -> str:
    try:
        data_set_info(repository, revision)
    except Exception as error:  # whatever the reason: it is what the list says
        return meaning(error)[0]
    return ""


CONVERTED = "refs/convert/parquet"  # the branch
PARTIAL = "partial-"  # before the name of a split


@dataclass(frozen=True)
class HubCopy:
    """A copy of a data set on the hub: a commit of main, or of the branch of converted files."""

    revision: str  # commit
    converted: bool = False  # of the branch of converted files
    files: tuple[str, ...] = ()  # of that branch, where it was listed

    def files_of(self, config: str | None, split: str, where: str) -> str:
        """The glob pattern of a split's converted files.

        Raises:
            InputError: there are none of this config and split, or the hub converted a part only.
        """
        folders = {file.rpartition("/")[0] for file in self.files}
        if config is None:
            configs = {folder.partition("/")[0] for folder in folders}
            config = configs.pop() if len(configs) == 1 else "default"
        if f"{config}/{PARTIAL}{split}" in folders:
            raise InputError(
                f"{where}: is a script, which the package datasets no longer runs, and of which the hub converted the "
                f"first part only; {OTHER_DATA}"
            )
        if folders and f"{config}/{split}" not in folders:
            raise InputError(f"{where}: the hub has no {config}/{split} of it; it has {', '.join(sorted(folders))}")
        return f"{config}/{split}/*.parquet"


def known_copy(repository: str) -> HubCopy | None:
    """The copy of a data set that was resolved before, None where none was. No request is made."""
    remembered = read_note(_note(repository))
    if remembered is None or "converted" not in remembered:
        return None
    return HubCopy(str(remembered["revision"]), bool(remembered["converted"]), tuple(remembered["files"]))


def resolved_copy(repository: str) -> HubCopy:
    """The copy whose commit was the newest when this data set was first requested.

    Raises:
        InputError: the hub is out of reach, has no such data set, or only a script of it.
    """
    remembered = known_copy(repository)
    if remembered is not None:
        return remembered
    copy = _newest(repository)
    note = {"repository": repository, "revision": copy.revision, "converted": copy.converted, "files": copy.files}
    write_note(_note(repository), note)
    return copy


def data_set_info(repository: str, revision: str | None = None) -> Any:
    """The hub's facts about a data set: its commit (`sha`), name (`id`) and files (`siblings`)."""
    hub = import_package("huggingface_hub")
    return hub.HfApi().dataset_info(repository, revision=revision, timeout=REACH_SECONDS)


def _newest(repository: str) -> HubCopy:
    where = f"hub {repository}"
    with answering(partial(hub_error, where)):
        main = data_set_info(repository)
        # A file of this name is what `datasets` takes for a script
        if f"{repository.rpartition('/')[2]}.py" not in [file.rfilename for file in main.siblings]:
            return HubCopy(str(main.sha))
        try:
            converted = data_set_info(repository, CONVERTED)
        except import_package("huggingface_hub.errors").RevisionNotFoundError:
            raise InputError(
                f"{where}: is a script, which the package datasets no longer runs, and the hub has no converted "
                f"files of it; {OTHER_DATA}"
            ) from None
    files = tuple(file.rfilename for file in converted.siblings if file.rfilename.endswith(".parquet"))
    return HubCopy(str(converted.sha), converted=True, files=files)


def _note(repository: str) -> Path:
    return cache_room("hub") / f"{digest(repository)}.json"
