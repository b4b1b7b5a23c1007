"""Files in CoNLL's form: a word a line, its tag in the last column, an empty line between sentences.

The columns that a task may ask for are `tokens`, the first of the line, and `tags`, its last. Columns are parted by
tabs, or by spaces where there is no tab. Lines that begin a sentence with `# key = value` or `# id` are comments, and
a line of `-DOCSTART-` is no word, whatever follows it. `#id` without a blank is a word.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from hashbench.common.errors import InputError

COLUMNS = ("tokens", "tags")
COMMENT = re.compile(r"#\s+(id\b|newdoc\b|newpar\b|[^=\s]+\s*=)")
DOCUMENT = "-DOCSTART-"


def sentences(path: Path, lines: Iterable[str], columns: Sequence[str]) -> Iterator[tuple[object, ...]]:
    """The sentences of a file as rows of the columns asked for, each cell a list of texts.

    Raises InputError for another column, or a line without a tag.
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
