"""Tables in files: parquet, CSV, TSV, JSONL, CoNLL; one clear line for each way in which a file can be wrong."""

from __future__ import annotations

import csv
import json
import re
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from hashbench.common.errors import InputError, near_match
from hashbench.data.sources.fingerprints import digest, files_fingerprint
from hashbench.data.sources.opening import damaged, first_wrong_byte, format_of, not_utf_8, one_line, opened

TAGGED = ".conll"  # words with tags, a format of tasks alone
FORMATS = (".parquet", ".csv", ".tsv", ".jsonl")
FORMATS_TEXT = ".parquet, .csv, .tsv or .jsonl"
ROWS_AT_ONCE = 4_096
BLOCK = 1 << 20  # bytes read at once to count lines
Cells = list[object]
RowCells = tuple[object, ...]  # of the requested columns
COLUMNS = ("tokens", "tags")
COMMENT = re.compile(r"#\s+(id\b|newdoc\b|newpar\b|[^=\s]+\s*=)")
DOCUMENT = "-DOCSTART-"


class MissingColumn(InputError):
    """Raised where a table lacks a requested column."""


class DataTable(Protocol):
    """Named columns of one split, wherever they come from."""

    @property
    def where(self) -> str:
        """The table's location, as error messages name it."""

    def fingerprint(self) -> str:
        """SHA-256 (hex) that changes with the content."""

    def n_rows(self) -> int | None:
        """The number of rows; None where only reading would tell."""

    def about_n_rows(self) -> int | None:
        """About how many rows there are, to estimate how long a training takes; None where that is unknown."""

    def read(self, columns: Sequence[str]) -> dict[str, Cells]:
        """The cells of the requested columns by name."""


@dataclass(frozen=True)
class FileTable:
    """A table in a file, or in several that follow each other (train-00000-of-00002.parquet ...)."""

    paths: tuple[Path, ...]
    delimiter: str | None = None  # of .csv files; None: a comma

    @property
    def where(self) -> str:
        """The first file's path."""
        return str(self.paths[0])

    def fingerprint(self) -> str:
        """SHA-256 (hex) of the files' contents. Raises InputError for a missing or empty one."""
        for path in self.paths:
            check_file(path)
        contents = files_fingerprint(self.paths)
        return contents if self.delimiter is None else digest("delimiter", self.delimiter, contents)

    def n_rows(self) -> int | None:
        """The number of rows of parquet files; None for other formats."""
        if self.paths[0].suffix != ".parquet":
            return None
        return sum(open_parquet(path).metadata.num_rows for path in self.paths)

    def about_n_rows(self) -> int:
        """The number of rows of parquet files, of lines of others, to estimate how long a training takes."""
        exact = self.n_rows()
        return sum(_lines_before(path, path.stat().st_size) for path in self.paths) if exact is None else exact

    def read(self, columns: Sequence[str]) -> dict[str, Cells]:
        """The cells of the requested columns by name, file after file. Raises InputError where there is no row."""
        cells: dict[str, Cells] = {name: [] for name in columns}
        for path in self.paths:
            for name, values in read_columns(path, columns, self.delimiter).items():
                cells[name].extend(values)
        if not cells[columns[0]]:
            raise InputError(f"{self.where}: has no rows; put at least one in it")
        return cells


def find_table(folder: Path, names: Sequence[str], delimiter: str | None = None) -> FileTable | None:
    """The table in a folder whose file name is one of `names` with the ending of a format; None where there is none.

    Or several files: NAME-00000-of-00002.parquet and so on. `delimiter`: of .csv files, None for a comma.

    Raises:
        InputError: two files could be it.
    """
    candidates = [folder / f"{name}{suffix}" for name in names for suffix in (*FORMATS, TAGGED)]
    files = [path for path in candidates if path.exists()]
    if len(files) > 1:
        raise InputError(f"{folder}: {files[0].name} and {files[1].name} are both the {names[0]} split; keep one")
    parts = tuple(files) or tuple(part for name in names for part in sorted(folder.glob(f"{name}-*-of-*.parquet")))
    return FileTable(parts, delimiter) if parts else None


def check_file(path: Path) -> None:
    """Raises InputError unless `path` is a file with something in it."""
    if not path.exists():
        raise InputError(f"{path}: no such file; check the path")
    if not path.is_file():
        raise InputError(f"{path}: is a folder; a {path.suffix or FORMATS_TEXT} file is expected there")
    if path.stat().st_size == 0:
        raise InputError(f"{path}: is an empty file; put a table of texts in it, or remove it")


def read_columns(path: Path, columns: Sequence[str], delimiter: str | None = None) -> dict[str, Cells]:
    """Columns of one file as lists; cells of a CSV or TSV file are text, those of the others have their own types."""
    if path.suffix == ".parquet":
        return _read_parquet(path, columns)
    cells: dict[str, Cells] = {name: [] for name in columns}
    for row in iterate_rows(path, columns, delimiter):
        for name, cell in zip(columns, row, strict=True):
            cells[name].append(cell)
    return cells


def iterate_rows(
    path: Path, columns: Sequence[str], delimiter: str | None = None, *, span: tuple[int, int] | None = None
) -> Iterator[RowCells]:
    """The rows of a CSV, TSV or JSONL file, as their cells of these columns; read line by line, never the whole file.

    `span`: bytes of a plain JSONL file (`line_spans`); None for the whole file.

    Raises InputError for a file that is none of these, and at the first line that is wrong.
    """
    readers: dict[str, Callable[[Path, Sequence[str]], Iterator[RowCells]]] = {
        ".csv": partial(_csv_rows, delimiter=delimiter or ","), ".tsv": _tsv_rows,
        ".jsonl": partial(_jsonl_rows, span=span), TAGGED: _conll_rows,
    }  # fmt: skip
    if format_of(path) not in readers:
        raise InputError(f"{path}: a table is a {FORMATS_TEXT} file; convert it")
    check_file(path)
    try:
        yield from readers[format_of(path)](path, columns)
    except UnicodeDecodeError:
        raise not_utf_8(path, first_wrong_byte(path)) from None
    except (pa.ArrowException, OSError, EOFError) as error:
        raise damaged(path, error) from error


def iterate_column(path: Path, column: str, within: tuple[int, int] | None = None, skip: int = 0) -> Iterator[object]:
    """The cells of one column but the first `skip`, read piece by piece, never the whole file at once.

    `within`: of a parquet file the first row group to read, and the one behind the last; of a plain JSONL file bytes
    (`line_spans`); None for the whole file.
    """
    if path.suffix != ".parquet":
        for (cell,) in islice(iterate_rows(path, [column], span=within), skip, None):
            yield cell
        return
    file = open_parquet(path)
    _check_columns(path, [column], file.schema_arrow.names)
    wanted = list(range(*(within or (0, file.num_row_groups))))
    while wanted and skip >= (rows := file.metadata.row_group(wanted[0]).num_rows):
        skip -= rows
        wanted.pop(0)
    if not wanted:
        return
    try:
        for batch in file.iter_batches(batch_size=ROWS_AT_ONCE, row_groups=wanted, columns=[column]):
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


def _read_parquet(path: Path, columns: Sequence[str]) -> dict[str, Cells]:
    file = open_parquet(path)
    _check_columns(path, columns, file.schema_arrow.names)
    try:
        table = file.read(columns=list(columns))
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"{path}: cannot be read ({one_line(error)}); write it again") from error
    return {name: table.column(name).to_pylist() for name in columns}


def _csv_rows(path: Path, columns: Sequence[str], *, delimiter: str) -> Iterator[RowCells]:
    with opened(path) as lines:
        rows = csv.reader(lines, delimiter=delimiter, strict=True)
        yield from _rows(path, columns, rows, f"quote texts with {'commas' if delimiter == ',' else repr(delimiter)}")


def _tsv_rows(path: Path, columns: Sequence[str]) -> Iterator[RowCells]:
    # A quotation mark is a character like any other (IANA's text/tab-separated-values), as in GLUE's own files.
    with opened(path) as lines:
        rows = csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
        yield from _rows(path, columns, rows, "a text must hold no tab")


def _rows(path: Path, columns: Sequence[str], rows: Any, remedy: str) -> Iterator[RowCells]:
    """The cells of these columns in each row of a csv reader; `remedy`: for a row of another length than the header."""
    csv.field_size_limit(sys.maxsize)  # the default refuses a text of more than 131,072 characters
    try:
        header: list[str] = next(rows, [])
        if any("\0" in name for name in header):  # a text may hold it, a header never
            raise InputError(f"{path}: is a binary file (its first line holds NUL); save it as UTF-8 or as parquet")
        if len(header) == 1 and header[0] not in columns:
            _check_delimiter(path, header[0])
        _check_columns(path, columns, header)
        places = [header.index(name) for name in columns]
        for row in rows:
            if not row:  # a blank line
                continue
            if len(row) != len(header):
                raise InputError(f"{path}:{rows.line_num}: {len(row)} cells, the header has {len(header)}; {remedy}")
            yield tuple(row[place] for place in places)
    except csv.Error as error:
        raise InputError(f"{path}:{rows.line_num}: is not CSV ({one_line(error)}); mend or quote this line") from error


def _check_delimiter(path: Path, header: str) -> None:
    """Raises MissingColumn where the one column of a table looks like several that another character separates."""
    tabs = format_of(path) == ".tsv"
    other = next((character for character in (",;|" if tabs else ";\t|") if character in header), "")
    remedies = {"\t": "call the file .tsv", ",": "call the file .csv"}
    general = "write tabs" if tabs else f"write commas, or for a task of your own delimiter: {other!r}"
    if other:
        shown = "a tab" if other == "\t" else repr(other)
        remedy = remedies.get(other, general)
        raise MissingColumn(f"{path}: one column, {header!r}; are cells separated by {shown}? {remedy}")


def _jsonl_rows(path: Path, columns: Sequence[str], *, span: tuple[int, int] | None) -> Iterator[RowCells]:
    """The cells of these columns in each object of a JSONL file, or in those of its bytes `span`."""
    begin = span[0] if span else 0
    with opened(path, newline="\n", span=span) as lines:
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except ValueError as error:
                what = f"is not JSON ({one_line(error)}); each line is one object"
                raise InputError(f"{_line(path, begin, number)}: {what}") from error
            if not isinstance(row, dict):
                what = f"is {type(row).__name__}, not an object; each line is one JSON object"
                raise InputError(f"{_line(path, begin, number)}: {what}")
            if missing := [name for name in columns if name not in row]:
                _check_columns(_line(path, begin, number), missing, row)
            yield tuple(row[name] for name in columns)


def _line(path: Path, begin: int, number: int) -> str:
    """'FILE:7' for the line that is the `number`-th from byte `begin` on."""
    return f"{path}:{_lines_before(path, begin) + number}"


def _lines_before(path: Path, end: int) -> int:
    """The number of line ends in the first `end` bytes of a file."""
    with path.open("rb") as file:
        return sum(file.read(min(BLOCK, end - at)).count(b"\n") for at in range(0, end, BLOCK))


def _conll_rows(path: Path, columns: Sequence[str]) -> Iterator[RowCells]:
    with opened(path) as lines:
        yield from sentences(path, lines, columns)


def _check_columns(where: Path | str, columns: Sequence[str], present: Collection[str]) -> None:
    for name in columns:
        if name not in present:
            there = list(present)
            hint = near_match(name, there) or f"; it has {', '.join(there[:12])}"
            raise MissingColumn(f"{where}: no column {name!r}{hint}")


def sentences(path: Path, lines: Iterable[str], columns: Sequence[str]) -> Iterator[tuple[object, ...]]:
    """The sentences of a file in CoNLL's form as rows of these columns, each cell a list of texts.

    A line is a word with its tag in the last column, an empty line ends a sentence. The columns are `tokens`, the
    first of a line, and `tags`, its last, parted by tabs, or by spaces where there is no tab. Lines that begin a
    sentence with `# key = value` or `# id` are comments, and a line of `-DOCSTART-` is no word, whatever follows it.
    `#id` without a blank is a word. Raises InputError for another column, or a line without a tag.
    """
    for name in columns:
        if name not in COLUMNS:
            raise InputError(f"{path}: no column {name!r}; a CoNLL file has tokens (the first) and tags (the last)")
    words: list[str] = []
    tags: list[str] = []
    for number, line in enumerate(lines, start=1):
        line = line.rstrip("\r\n")
        if not words and COMMENT.match(line):
            continue
        if line.strip() and line.split()[0] != DOCUMENT:
            parts = line.split("\t") if "\t" in line else line.split()
            if len(parts) < 2:
                raise InputError(f"{path}:{number}: {line[:60]!r} has no tag; a line is a word, then its tag")
            words.append(parts[0])
            tags.append(parts[-1].strip())
        elif words:
            yield from _row(words, tags, columns)
            words, tags = [], []
    if words:
        yield from _row(words, tags, columns)


def _row(words: list[str], tags: list[str], columns: Sequence[str]) -> Iterator[tuple[object, ...]]:
    cells = dict(zip(COLUMNS, (words, tags), strict=True))
    yield tuple(cells[name] for name in columns)
