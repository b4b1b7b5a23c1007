"""Rows of tables that are text: CSV, TSV, JSON and lines of it, words with tags. Each format is an entry of READERS."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TextIO

import pyarrow as pa

from hashbench.common.errors import InputError, near_match
from hashbench.common.showing import SHOWN_CHARACTERS
from hashbench.data.sources.conll import sentences
from hashbench.data.sources.fingerprints import digest
from hashbench.data.sources.opening import (
    COMPRESSED,
    damaged,
    first_wrong_byte,
    format_of,
    not_utf_8,
    one_line,
    opened,
    read_text,
)

HEAD = 1 << 20  # characters within which an array of JSON begins


LONGEST_LINE = 1 << 26  # characters of a line or a quoted cell; a longer one is another kind of file


NO_NAME = re.compile(r"[+-]?\d+(\.\d+)?|.{60,}")  # what is a cell, not the name of a column


ESCAPED = re.compile(r"\\u00[2-7]")  # a plain character that JSON text writes by its number


RowCells = tuple[object, ...]  # of the requested columns


class MissingColumn(InputError):
    """Raised where a table lacks a requested column."""


@dataclass(frozen=True)
class ReadOptions:
    """How the files of a table are read, where they do not say it themselves."""

    delimiter: str | None = None  # of .csv files; None: a comma
    # Columns of the word and of its tag in CoNLL files, counted from 1; None: the first and the last
    places: tuple[int, int] | None = None
    skip_bad_lines: bool = False  # lines that are no JSON object, and rows of another width than the header

    def fingerprint(self, contents: str) -> str:
        """SHA-256 (hex) of what is not the default, and of the fingerprint of the contents."""
        for key, value in (
            ("delimiter", self.delimiter),
            ("columns", self.places and f"{self.places[0]} {self.places[1]}"),
            ("on_bad_lines", "skip" if self.skip_bad_lines else None),
        ):
            contents = contents if value is None else digest(key, value, contents)
        return contents


PLAIN = ReadOptions()


SKIPPED = "lines left out (on_bad_lines: skip)"


ROWS_IN_A_CELL = "quoted cells that hold whole rows, as behind a lone quotation mark"


QUOTED = "quoted cells, kept with their quotation marks (a .csv with delimiter '\\t' is unquoted)"


BLANK_BEFORE = "cells with a blank before a quotation mark, kept with their quotation marks"


SEPARATOR = re.compile(r"sep=.?")  # the line before the header that spreadsheets write


class Remarks:
    """Counts of odd rows of a table by kind, each with the place of its first row."""

    def __init__(self) -> None:
        self._found: dict[str, tuple[int, str]] = {}

    def add(self, what: str, path: Path, line: int) -> None:
        """Counts one more row at which `what` is the case."""
        count, first = self._found.setdefault(what, (0, f"{path.name}, line {line:,}"))
        self._found[what] = (count + 1, first)

    @property
    def notes(self) -> list[str]:
        """A note for each kind."""
        return [f"{what}: {count:,}, the first in {first}" for what, (count, first) in self._found.items()]


def check_file(path: Path) -> None:
    """Raises InputError unless `path` is a file with something in it."""
    if not path.exists():
        raise InputError(f"{path}: no such file; check the path")
    if not path.is_file():
        raise InputError(f"{path}: is a folder; a {path.suffix or FORMATS_TEXT} file is expected there")
    if path.stat().st_size == 0:
        raise InputError(f"{path}: is an empty file; put a table of texts in it, or remove it")


def iterate_rows(
    path: Path,
    columns: Sequence[str],
    reading: ReadOptions = PLAIN,
    *,
    remarks: Remarks | None = None,
) -> Iterator[RowCells]:
    """The rows of a file that is not parquet, as their cells of these columns; read line by line, never whole.

    `remarks` gets what is odd in the rows.

    Raises InputError for a file of no such format, and at the first line that is wrong.
    """
    if format_of(path) not in READERS:
        raise InputError(f"{path}: a table is a {FORMATS_TEXT} file; convert it")
    check_file(path)
    try:
        yield from READERS[format_of(path)](path, columns, reading, Remarks() if remarks is None else remarks)
    except UnicodeDecodeError:
        raise not_utf_8(path, first_wrong_byte(path)) from None
    except (pa.ArrowException, OSError, EOFError) as error:
        raise damaged(path, error) from error


def holding(column: str, there: Collection[str]) -> str:
    """The column that holds a requested one: itself, or the one that its dotted path begins with; "" where none does.

    >>> holding("translation.en", ["id", "translation"]), holding("a.b", ["a", "a.b"]), holding("c.d", ["a"])
    ('translation', 'a.b', '')
    """
    parts = column.split(".")
    begins = (".".join(parts[:n]) for n in range(len(parts), 0, -1))
    return next((name for name in begins if name in there), "")


def path_in(column: str, there: Collection[str]) -> tuple[str, ...]:
    """The keys in the cells of the column that holds a requested one; () where it is the requested one.

    >>> path_in("translation.en", ["translation"]), path_in("a.b", ["a.b"])
    (('en',), ())
    """
    above = holding(column, there)
    return tuple(column[len(above) + 1 :].split(".")) if above and above != column else ()


def inner(where: str, column: str, cell: object, path: Sequence[str]) -> object:
    """The value in a cell at a path of keys, of a list a list of those of its items; None in a missing cell.

    Raises MissingColumn where a cell has no such key, or is no object, InputError where it has the key twice.

    >>> inner("a.jsonl:1", "answers.text", {"text": ["Yes"]}, ["text"])
    ['Yes']
    >>> inner("a.jsonl:1", "tokens.form", [{"form": "a"}, {"form": "b"}], ["form"])
    ['a', 'b']
    """
    for at, key in enumerate(path):
        if isinstance(cell, list):
            return [inner(where, column, item, path[at:]) for item in cell]
        if cell is None:
            return None
        if not isinstance(cell, dict) or key not in cell:
            there = f"it has {', '.join(cell)}" if isinstance(cell, dict) else f"it holds {type(cell).__name__}"
            above = column.removesuffix("." + ".".join(path[at:]))
            raise MissingColumn(f"{where}: no column {column!r}: {above!r} has no {key!r}; {there}")
        if isinstance(cell, _RepeatedKeys):
            check_columns(where, [key], cell.names)
        cell = cell[key]
    return cell


def _csv_rows(path: Path, columns: Sequence[str], reading: ReadOptions, remarks: Remarks) -> Iterator[RowCells]:
    delimiter = reading.delimiter or ","

    def odd(row: list[str]) -> str:
        if any(cell[:1] == " " and cell[-1] == '"' and cell.lstrip()[0] == '"' for cell in row):
            return BLANK_BEFORE
        if not any("\n" in cell or "\r" in cell for cell in row):
            return ""
        # Would each line be a row, if its quotation marks were none?
        lines = delimiter.join(row).replace("\r\n", "\n").replace("\r", "\n").split("\n")
        swallowed = all(line.count(delimiter) == len(row) - 1 for line in lines)
        return ROWS_IN_A_CELL if swallowed else "quoted cells that hold line ends"

    with opened(path) as file:
        rows = csv.reader(_lines(path, file), delimiter=delimiter, strict=True)
        remedy = f"quote texts with {'commas' if delimiter == ',' else repr(delimiter)}"
        yield from _rows(path, columns, rows, remedy, reading, remarks, odd)


def _tsv_rows(path: Path, columns: Sequence[str], reading: ReadOptions, remarks: Remarks) -> Iterator[RowCells]:
    # A quotation mark is a character like any other (IANA's text/tab-separated-values), as in GLUE's own files.
    def odd(row: list[str]) -> str:
        return QUOTED if any(len(cell) > 1 and cell[0] == cell[-1] == '"' for cell in row) else ""

    with opened(path) as file:
        rows = csv.reader(_lines(path, file), delimiter="\t", quoting=csv.QUOTE_NONE)
        yield from _rows(path, columns, rows, "a text must hold no tab and no line end", reading, remarks, odd)


def _rows(
    path: Path,
    columns: Sequence[str],
    rows: Any,
    remedy: str,
    reading: ReadOptions,
    remarks: Remarks,
    odd: Callable[[list[str]], str],
) -> Iterator[RowCells]:
    """The cells of these columns in each row of a csv reader.

    `remedy`: for a row of another length than the header. `odd`: what is odd in a row, "" if nothing is.
    """
    csv.field_size_limit(LONGEST_LINE)  # the default refuses a text of more than 131,072 characters
    begin = 1
    try:
        header: list[str] = next((row for row in rows if len(row) > 1 or (row and row[0].strip())), [])
        if any("\0" in name for name in header):  # a text may hold it, a header never
            raise InputError(f"{path}: is a binary file (its first line holds NUL); save it as UTF-8 or as parquet")
        if header and not set(columns) <= set(header) and (header[0].startswith("#") or SEPARATOR.fullmatch(header[0])):
            raise MissingColumn(
                f"{path}:{rows.line_num}: {header[0][:SHOWN_CHARACTERS]!r} is no line of names; remove it"
            )
        if len(header) == 1 and header[0] not in columns:
            _check_delimiter(path, header[0])
        if not set(columns) & set(header) and any(NO_NAME.fullmatch(name.strip()) for name in header):
            shown = ", ".join(header)[:SHOWN_CHARACTERS]
            raise MissingColumn(f"{path}: its first line, {shown}, names no column; write a line of names first")
        check_columns(path, columns, header)
        places = [header.index(name) for name in columns]
        begin = rows.line_num + 1
        for row in rows:
            if not row:  # a blank line
                pass
            elif row == header and len(row) > 1 and not reading.skip_bad_lines:
                raise InputError(f"{path}:{begin}: is the header once more; leave it out where files are put together")
            elif len(row) == len(header) and (row != header or len(row) == 1):
                if what := odd(row):
                    remarks.add(what, path, begin)
                yield tuple(row[place] for place in places)
            elif reading.skip_bad_lines:
                remarks.add(SKIPPED, path, begin)
            else:
                raise InputError(f"{path}:{rows.line_num}: {len(row)} cells, the header has {len(header)}; {remedy}")
            begin = rows.line_num + 1
    except csv.Error as error:
        where = f"the row that begins in line {begin} " if rows.line_num > begin else ""
        what = f"{where}is not CSV ({one_line(error)}); mend or quote this line"
        raise InputError(f"{path}:{rows.line_num}: {what}") from error


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


def _jsonl_rows(path: Path, columns: Sequence[str], reading: ReadOptions, remarks: Remarks) -> Iterator[RowCells]:
    """The cells of these columns in each object of a JSONL file."""
    with opened(path, newline="\n") as file:
        for number, line in enumerate(_lines(path, file), start=1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except (ValueError, RecursionError) as error:
                row = error
            if isinstance(row, dict):
                if number == 1:
                    _check_orient(path, row, columns)
                yield _cells_of(f"{path}:{number}", columns, row, line)
            elif reading.skip_bad_lines:
                remarks.add(SKIPPED, path, number)
            elif isinstance(row, Exception):
                raise InputError(f"{path}:{number}: is not JSON ({one_line(row)}); each line is one object") from row
            else:
                what = f"is {type(row).__name__}, not an object; each line is one JSON object"
                raise InputError(f"{path}:{number}: {what}")


def _json_rows(path: Path, columns: Sequence[str], reading: ReadOptions, remarks: Remarks) -> Iterator[RowCells]:
    """The cells of these columns in each object of a JSON file: an array of objects, read whole, or one a line."""
    with opened(path, newline="\n") as file:
        is_array = file.read(HEAD).lstrip().startswith("[")
    if not is_array:
        yield from _jsonl_rows(path, columns, reading, remarks)
        return
    try:
        rows = json.loads(read_text(path), object_pairs_hook=_object)
    except (ValueError, RecursionError) as error:
        where = f"{path}:{error.lineno}" if isinstance(error, json.JSONDecodeError) else path
        raise InputError(f"{where}: is not JSON ({one_line(error)}); mend the array") from error
    for number, row in enumerate(rows, start=1):
        where = f"{path}: object {number:,}"
        if not isinstance(row, dict):
            raise InputError(f"{where}: is {type(row).__name__}, not an object; an array holds one a row")
        tops = [holding(name, row) or name for name in columns]
        check_columns(where, tops, row.names if isinstance(row, _RepeatedKeys) else row)
        yield tuple(inner(where, name, row[top], path_in(name, row)) for name, top in zip(columns, tops, strict=True))


class _RepeatedKeys(dict[str, object]):
    """A JSON object that has a key twice; `names`: of all its values."""

    names: list[str]


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    row = dict(pairs)
    if len(row) == len(pairs):
        return row
    repeated = _RepeatedKeys(row)
    repeated.names = [name for name, _ in pairs]
    return repeated


def _check_orient(path: Path, row: dict[str, object], columns: Sequence[str]) -> None:
    """Raises InputError where one object holds the whole table, a column a key, as pandas writes it by default."""
    cells = [row.get(name) for name in columns]
    by_row = [isinstance(cell, dict) and bool(cell) and all(key.isdecimal() for key in cell) for cell in cells]
    if (cells and all(by_row)) or {"columns", "data"} <= set(row) - set(columns):
        raise InputError(f"{path}: one object holds all rows; write one object a row (pandas: orient='records')")


def _cells_of(where: str, columns: Sequence[str], row: dict[str, object], text: str) -> RowCells:
    """The cells of these columns in the object that the JSON `text` of a line holds.

    Raises InputError where one is missing, or there twice.
    """
    is_nested = bool([name for name in columns if name not in row])
    tops = [holding(name, row) for name in columns] if is_nested else columns
    if is_nested and (missing := [name for name, top in zip(columns, tops, strict=True) if not top]):
        check_columns(where, missing, row)
    keys = [key for name in columns for key in (name, *name.split("."))] if is_nested else columns
    # Twice in the text: perhaps in a cell, or deeper down. Only then is it worth the time to keep repeated keys
    escaped = "\\u00" in text and ESCAPED.search(text)
    if escaped or any(text.count(f'"{key}"') > 1 or not key.isascii() for key in keys):
        row = json.loads(text, object_pairs_hook=_object)
        check_columns(where, tops, row.names if isinstance(row, _RepeatedKeys) else row)
    if not is_nested:
        return tuple([row[name] for name in columns])
    return tuple(inner(where, name, row[top], path_in(name, row)) for name, top in zip(columns, tops, strict=True))


def _lines(path: Path, file: TextIO) -> Iterable[str]:
    """The lines of a file. Raises InputError for one of more than LONGEST_LINE characters."""
    plain = path.suffix.lower() not in COMPRESSED
    return file if plain and path.stat().st_size <= LONGEST_LINE else _limited_lines(path, file)


def _limited_lines(path: Path, file: TextIO) -> Iterator[str]:
    for number, line in enumerate(iter(partial(file.readline, LONGEST_LINE + 1), ""), start=1):
        if len(line) > LONGEST_LINE:
            what = f"a line of more than {LONGEST_LINE:,} characters; is it a table? write one row a line, or parquet"
            raise InputError(f"{path}:{number}: {what}")
        yield line


def _conll_rows(path: Path, columns: Sequence[str], reading: ReadOptions, remarks: Remarks) -> Iterator[RowCells]:
    with opened(path) as file:
        yield from sentences(path, _lines(path, file), columns, reading.places)


TAGGED = ".conll"  # words with tags, a format of tasks alone
# The reader of each format, by the ending of its files: (path, columns, options, remarks) -> rows. A new one is read by
# tasks, `evaluate`, `data describe` and corpora.
READERS: dict[str, Callable[[Path, Sequence[str], ReadOptions, Remarks], Iterator[RowCells]]] = {
    ".csv": _csv_rows,
    ".tsv": _tsv_rows,
    ".jsonl": _jsonl_rows,
    ".json": _json_rows,
    TAGGED: _conll_rows,
}
FORMATS = (".parquet", *(ending for ending in READERS if ending != TAGGED))
FORMATS_TEXT = f"{', '.join(FORMATS[:-1])} or {FORMATS[-1]}"


def column_hint(name: str, there: Sequence[str]) -> str:
    """A half sentence on a name that no column has: the list it may be meant as, the nearest columns, or the first 12.

    >>> column_hint("premise hypothesis", ["premise", "hypothesis", "label"])
    '; two columns are written as a list: [premise, hypothesis]'
    """
    parts = name.replace(",", " ").split()
    if len(parts) == 2 and set(parts) <= set(there):
        return f"; two columns are written as a list: [{', '.join(parts)}]"
    return near_match(name, list(there)) or f"; it has {', '.join(there[:12])}: name one of these"


def check_columns(where: Path | str, columns: Sequence[str], present: Collection[str]) -> None:
    """Raises MissingColumn where a requested column is not there, InputError where it is there twice."""
    there = list(present)
    for name in columns:
        if name not in there:
            above = name.partition(".")[0]
            nested = f"; {above!r} is one, of texts: nothing lies in them" if above in there else ""
            raise MissingColumn(f"{where}: no column {name!r}{nested or column_hint(name, there)}")
        if there.count(name) > 1:
            raise InputError(f"{where}: column {name!r} is there {there.count(name)} times; rename or drop one")
