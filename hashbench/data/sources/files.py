"""Tables in files: parquet, and the formats of text_tables.py; one clear line for each way a file can be wrong."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from hashbench.common.errors import InputError
from hashbench.common.progress import progress
from hashbench.data.sources.fingerprints import files_fingerprint
from hashbench.data.sources.layout import find_splits
from hashbench.data.sources.mapped import GatheredCells
from hashbench.data.sources.opening import (
    format_of,
    one_line,
)
from hashbench.data.sources.text_tables import (
    PLAIN,
    MissingColumn,
    ReadOptions,
    Remarks,
    check_columns,
    check_file,
    holding,
    inner,
    iterate_rows,
    path_in,
)

ROWS_AT_ONCE = 4_096
Cells = Sequence[object]


class DataTable(Protocol):
    """Named columns of one split, wherever they come from."""

    @property
    def where(self) -> str:
        """The table's location, as error messages name it."""

    def fingerprint(self) -> str:
        """SHA-256 (hex) that changes with the content."""

    def n_rows(self) -> int | None:
        """The number of rows; None where only reading would tell."""

    def read(self, columns: Sequence[str], notes: list[str] | None = None) -> dict[str, Cells]:
        """The cells of the requested columns by name; `notes` gets what is odd in the rows."""

    def class_names(self, column: str) -> tuple[str, ...]:
        """The names that the table gives to the numbers in a column; () where it names none."""


@dataclass(frozen=True)
class FileTable:
    """A table in a file, or in several that follow each other (train-00000-of-00002.parquet ...)."""

    paths: tuple[Path, ...]
    reading: ReadOptions = PLAIN

    @property
    def where(self) -> str:
        """The first file's path."""
        return str(self.paths[0])

    def fingerprint(self) -> str:
        """SHA-256 (hex) of the files' contents. Raises InputError for a missing or empty one."""
        for path in self.paths:
            check_file(path)
        return self.reading.fingerprint(files_fingerprint(self.paths))

    def n_rows(self) -> int | None:
        """The number of rows of parquet files; None for other formats."""
        if format_of(self.paths[0]) != ".parquet":
            return None
        return sum(open_parquet(path).metadata.num_rows for path in self.paths)

    def read(self, columns: Sequence[str], notes: list[str] | None = None) -> dict[str, Cells]:
        """The cells of the requested columns by name, file after file; `notes` gets what is odd in the rows.

        Raises InputError where there is no row.
        """
        gathered = {name: GatheredCells() for name in columns}
        remarks = Remarks()
        for path in self.paths:
            for block in column_blocks(path, columns, self.reading, remarks):
                for column, values in zip(gathered.values(), block, strict=True):
                    column.extend(values)
        cells = {name: column.finish() for name, column in gathered.items()}
        if not cells[columns[0]]:
            raise InputError(f"{self.where}: has no rows; put some in it")
        if notes is not None:
            notes += remarks.notes
        return cells

    def class_names(self, column: str) -> tuple[str, ...]:
        """The names that the features of parquet files give to the numbers in a column; () where there are none.

        Raises InputError where two files of the table name them differently.
        """
        names = [feature_names(path, column) for path in self.paths]
        first = next((of_path for of_path in names if of_path), ())  # an empty part may have none
        for path, of_path in zip(self.paths, names, strict=True):
            if of_path not in ((), first):
                raise InputError(f"{path}: names the classes of {column!r} otherwise than another part of the table")
        return first


def feature_names(path: Path, column: str) -> tuple[str, ...]:
    """The names of a ClassLabel feature (or a list of such) that the library `datasets` wrote into a parquet file.

    () for another format, and where the column has no such feature.
    """
    if format_of(path) != ".parquet":
        return ()
    written = (open_parquet(path).schema_arrow.metadata or {}).get(b"huggingface")
    try:
        features = json.loads(written or b"{}")["info"]["features"]
        feature = features[holding(column, features)]
        for key in path_in(column, features):
            feature = _one_of(feature)[key]
        names = tuple(_one_of(feature)["names"])
    except (ValueError, KeyError, TypeError, IndexError):
        return ()
    return names if all(isinstance(name, str) for name in names) else ()


def _one_of(feature: Any) -> Any:
    """The feature of the items of a list, in the form of any version of `datasets`; any other as it is."""
    while True:
        if isinstance(feature, list):  # of one feature, in files of old versions
            feature = feature[0]
        elif isinstance(feature, dict) and "feature" in feature and "names" not in feature:  # Sequence, List
            feature = feature["feature"]
        else:
            return feature


def find_table(folder: Path, names: Sequence[str], reading: ReadOptions = PLAIN) -> FileTable | None:
    """The table in a folder whose file name is one of `names` with the ending of a format; None where there is none.

    Or several files: NAME-00000-of-00002.parquet and so on. Messages call the split by the first of the names.

    Raises:
        InputError: two files could be it, shards are not whole, or a file looks like it and cannot be read.
    """
    files = find_splits(folder, {names[0]: names}).files
    return FileTable(files[names[0]], reading) if names[0] in files else None


def column_blocks(
    path: Path, columns: Sequence[str], reading: ReadOptions, remarks: Remarks
) -> Iterator[Sequence[Cells]]:
    """The columns of one file, some rows at a time, each block in the order of `columns`.

    Cells of a CSV or TSV file are text, other formats have typed cells.
    """
    if format_of(path) == ".parquet":
        yield from _parquet_blocks(path, columns)
        return
    rows = iterate_rows(path, columns, reading, remarks=remarks)
    while block := list(islice(rows, ROWS_AT_ONCE)):
        yield list(zip(*block, strict=True))


def iterate_column(path: Path, column: str, within: tuple[int, int] | None = None, skip: int = 0) -> Iterator[object]:
    """The cells of one column but the first `skip`, read piece by piece, never the whole file at once.

    `within`: of a parquet file the first row group to read, and the one behind the last; None for the whole file.
    """
    if format_of(path) != ".parquet":
        for (cell,) in islice(iterate_rows(path, [column]), skip, None):
            yield cell
        return
    file = open_parquet(path)
    check_columns(path, [column], file.schema_arrow.names)
    wanted = list(range(*(within or (0, file.num_row_groups))))
    while wanted and skip >= (rows := file.metadata.row_group(wanted[0]).num_rows):
        skip -= rows
        wanted.pop(0)
    if not wanted:
        return
    try:
        for batch in file.iter_batches(batch_size=ROWS_AT_ONCE, row_groups=wanted, columns=[column]):
            progress(f"reading {path.name}", step=False)
            yield from batch.column(0)[min(skip, len(batch)) :].to_pylist()
            skip -= min(skip, len(batch))
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"{path}: cannot be read ({one_line(error)}); write it again") from error


def open_parquet(path: Path) -> pq.ParquetFile:
    """A parquet file, unread. Raises InputError where it is none."""
    check_file(path)
    try:
        return pq.ParquetFile(path)
    except (pa.ArrowInvalid, OSError) as error:
        raise InputError(f"{path}: is not a parquet file, or a damaged one ({one_line(error)})") from error


def _check_path(problem: str, above: str, kind: pa.DataType, keys: Sequence[str]) -> None:
    """Raises MissingColumn (`problem`, the reason) where a column of this type has nothing at a path of keys."""
    for key in keys:
        while pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
            kind = kind.value_type
        there = [field.name for field in kind] if pa.types.is_struct(kind) else []
        if key not in there:
            has = f"it has {', '.join(there)}" if there else f"it holds {kind}"
            raise MissingColumn(f"{problem}: {above!r} has no {key!r}; {has}")
        above, kind = f"{above}.{key}", kind.field(key).type


def _parquet_blocks(path: Path, columns: Sequence[str]) -> Iterator[Sequence[Cells]]:
    file = open_parquet(path)
    there = file.schema_arrow.names
    tops = [holding(name, there) or name for name in columns]
    check_columns(path, tops, there)
    paths = [path_in(name, there) for name in columns]
    for name, top, keys in zip(columns, tops, paths, strict=True):
        _check_path(f"{path}: no column {name!r}", top, file.schema_arrow.field(top).type, keys)
    where = str(path)
    try:
        for batch in file.iter_batches(batch_size=ROWS_AT_ONCE, columns=list(dict.fromkeys(tops))):
            yield [
                [inner(where, name, cell, keys) for cell in cells] if keys else cells
                for name, cells, keys in zip(
                    columns, (batch.column(top).to_pylist() for top in tops), paths, strict=True
                )
            ]
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"{path}: cannot be read ({one_line(error)}); write it again") from error
