"""Tables on the Hugging Face hub, of the data sets that hashbench names and of any that a user names.

hub.json lists the corpora. `hub_copies.py` finds the commit and the files of a data set.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from hashbench.common.errors import InputError, located
from hashbench.common.hub import OTHER_DATA, answering, fetched, hub_error, import_package, meaning
from hashbench.data.sources.files import Cells, DataTable, FileTable
from hashbench.data.sources.fingerprints import cache_room, digest, read_note
from hashbench.data.sources.hub_copies import (
    HubCopy,
    HubListing,
    data_set_info,
    known_copy,
    known_listing,
    listing,
    package_path,
    resolved_copy,
)
from hashbench.data.sources.text_tables import column_hint

FILES_AT_ONCE = 4  # of one table, while it is checked
SHORT_COMMIT = 12  # letters of a commit that name it to people
PREFIX = "hub:"  # of a data set on the hub, where a name, a path or a task may be in its place
_NAME = r"[A-Za-z0-9][A-Za-z0-9._-]*"
NAMED = re.compile(
    rf"(?P<repository>{_NAME}/{_NAME})(:(?P<config>[^@:/\\<>|?*]+))?(@(?P<revision>{_NAME}(/{_NAME})*))?"
)
OTHER_SET = "name another data set"


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
    # Whether a user names it; then nothing of it is known before the hub lists it, and `revision` may be a branch
    own: bool = False
    splits: tuple[tuple[str, str], ...] = ()  # (split, its name there), where the user names them

    @property
    def other(self) -> str:
        """The remedy where this data set cannot be had."""
        return OTHER_SET if self.own else OTHER_DATA

    @property
    def shown(self) -> str:
        """Repository and config, as a corpus is called."""
        return f"{self.repository}:{self.config}" if self.config else self.repository

    def known_copy(self) -> HubCopy | None:
        """The copy that is read, None where an open revision was never resolved. No request is made."""
        if self.revision is not None and not self.own:
            return HubCopy(self.revision, self.converted)
        return known_copy(self.repository, self.revision)

    def copy(self) -> HubCopy:
        """The copy that is read; a revision left open is resolved once and remembered."""
        return self.known_copy() or resolved_copy(self.repository, self.revision, self.other)

    def at_commit(self) -> HubPlace:
        """This data set, named with the commit that is read."""
        return replace(self, revision=self.copy().revision)

    def listing(self) -> HubListing:
        """The splits of the config with their files. Raises InputError where there is no such config."""
        config = f" ({self.config})" if self.config else ""
        return listing(self.repository, self.copy(), self.config, f"hub {self.repository}{config}", self.other)


def named_place(text: str, *, config: str | None = None, splits: Mapping[str, str] | None = None) -> HubPlace:
    """The data set of a user that OWNER/NAME, OWNER/NAME:CONFIG or either with @COMMIT behind it names.

    `config`: where a key names it. Raises InputError for any other text. No request is made.

    >>> place = named_place("acme/news:2024@c0ffee")
    >>> place.repository, place.config, place.revision
    ('acme/news', '2024', 'c0ffee')
    """
    parts = NAMED.fullmatch(text)
    if parts is None or ".." in text or "--" in text.partition("@")[0].partition(":")[0]:
        raise InputError(f"{text!r} is no data set of the hub; write OWNER/NAME, with @COMMIT behind it to pin it")
    if config is not None and parts["config"] is not None:
        raise InputError(f"{text!r} names a config, and config another; leave one out")
    named = config if config is not None else parts["config"]
    return HubPlace(parts["repository"], named, parts["revision"], own=True, splits=tuple((splits or {}).items()))


def with_commit(text: str) -> str:
    """OWNER/NAME or OWNER/NAME:CONFIG with the commit that is read, as far as it was resolved; other texts as they are.

    >>> with_commit("acme/news@main of yesterday")
    'acme/news@main of yesterday'
    """
    try:
        at = named_place(text)
    except InputError:
        return text
    copy = at.known_copy()
    return text if copy is None else f"{at.shown}@{copy.revision}"


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
        return self.place.copy()

    def about(self) -> HubListing | None:
        """Licence and size of the config, as far as they were requested before; None where they never were."""
        at, copy = self.place, self.place.known_copy()
        return None if copy is None else known_listing(at.repository, copy, at.config)

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
        names = self._files().class_names(made_of[0]) if len(made_of) == 1 else ()
        if names or not self.place.own:
            return names
        declared = self.place.listing().names
        return declared[column] if column in declared else ()

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
        with answering(self._error):
            for row in self._rows().shard(num_shards=of, index=number) if of > 1 else self._rows():
                self.check_columns({column: (column,)}, list(row))
                yield row[column]

    def n_parts(self) -> int:
        """The number of parts that can be read by themselves, which are the table's files."""
        with answering(self._error):
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
        # Of a release that knew no listings: it reads the same files without a network
        note = cache_room("hub") / f"{digest('files', at.repository, copy.revision, at.config or '', self.split)}.json"
        remembered = read_note(note)
        if remembered is not None:
            return tuple(remembered["files"])
        splits = listing(at.repository, copy, at.config, self.where, at.other).splits
        if copy.converted and not splits.get(self.split):
            copy.files_of(at.config, self.split, self.where, at.other)  # says what is wrong
        if self.split not in splits:
            raise InputError(f"{self.where}: no such split; it has {', '.join(splits)}")
        return splits[self.split]

    def contents(self) -> TableContents:
        """Names of the columns and number of rows, from the footers of parquet files, else by streaming all rows.

        Raises:
            InputError: the hub is out of reach, or has no such data set, config or split.
        """
        files = self.files()
        with answering(self._error):
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
        named = {"path": package_path(at.repository), "revision": copy.revision}
        # By its files: names of configs do not survive the conversion.
        if copy.converted:
            return named | {"data_files": {self.split: copy.files_of(at.config, self.split, self.where, at.other)}}
        return named | {"name": at.config}

    def _error(self, error: BaseException) -> InputError:
        return hub_error(self.where, error, other=self.place.other)

    def _fetch(self, file: str) -> Path:
        """Local path of a file of the commit, downloaded into the hub's own cache unless it is there already."""
        hub, commit = import_package("huggingface_hub"), self.copy().revision
        kept = hub.try_to_load_from_cache(self.place.repository, file, revision=commit, repo_type="dataset")
        if isinstance(kept, str):
            return Path(kept)
        with answering(self._error):
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


def hub_facts(tables: Iterable[DataTable | None]) -> str:
    """Licence, config and size of tables of one data set on the hub, as tables of results note them; "" for others."""
    on_hub = [table for table in tables if isinstance(table, HubTable)]
    listings = [(table, about) for table in on_hub if (about := table.about()) is not None]
    if not listings:
        return ""
    (first, about), *_ = listings
    n_bytes = sum(of.sizes[table.split] for table, of in listings if table.split in of.sizes)
    config = f"config {first.place.config}, " if first.place.config else ""
    size = f"{n_bytes / 1e6:,.1f} MB" if n_bytes >= 100_000 else f"{n_bytes / 1e3:,.1f} KB"
    return f"on the hub: {config}licence {about.licence or 'not declared'}, {size} of files"


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
