"""Files in CoNLL's form: a word a line with its tag in a column behind it, an empty line behind each sentence."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from hashbench.common.errors import InputError

COLUMNS = ("tokens", "tags")
COMMENT = re.compile(r"#\s+(id\b|newdoc\b|newpar\b|[^=\s]+\s*=)")
DOCUMENT = "-DOCSTART-"
# CoNLL-U: 3-4 is a word that the next two lines part, 5.1 one that was left out of the text
RANGE = re.compile(r"\d+[-.]\d+")
NUMBERED = re.compile(r"(.*?)(\d+)\W*")  # 1, 01, 1., t1, s2-3


class Line(NamedTuple):
    """A line of a sentence."""

    number: int  # of the file
    text: str
    cells: list[str]


def sentences(
    path: Path, lines: Iterable[str], columns: Sequence[str], places: tuple[int, int] | None = None
) -> Iterator[tuple[object, ...]]:
    """The sentences of a file in CoNLL's form as rows of these columns, each cell a list of texts.

    The columns are `tokens` and `tags`: the first and the last of a line, or those at `places`, counted from 1. Cells
    are parted by tabs, or by blanks where a line has no tab; a no-break space is a letter. Lines that begin a sentence
    with `# key = value` or `# id`, or with `#` and another number of cells than the words have, are comments; `#id`
    without a blank is a word. A line of `-DOCSTART-` is no word, whatever follows it.

    Raises:
        InputError: another column; a line without a word or a tag, or with more or fewer cells than its sentence; a
            first column that in most sentences counts the words or is the same in each line, unless `places` are given.
    """
    for name in columns:
        if name not in COLUMNS:
            raise InputError(f"{path}: no column {name!r}; a CoNLL file has tokens (the words) and tags")
    n = counting = same = width = 0
    before = ""
    for block in _blocks(lines):
        width = next((len(line.cells) for line in block if not line.text.startswith("#")), width)
        while block and _is_comment(block[0], width):
            block.pop(0)
        if places is not None and places[0] > 1:
            block = _without_ranges(block)
        if not block:
            continue
        n, width = n + 1, len(block[0].cells)
        first = [line.cells[0] for line in block]
        counting += _counts(first)
        same += len({*first, before} if len(first) == 1 else set(first)) == 1
        before = first[0]
        words, tags = zip(*_words(path, block, places), strict=True)
        cells = dict(zip(COLUMNS, (list(words), list(tags)), strict=True))
        yield tuple(cells[name] for name in columns)
    if places is None and 2 * max(counting, same) > n:
        which = f"columns: {{word: 2, tag: {width}}}"
        what = "counts the words" if counting >= same else "is the same in each line of a sentence"
        raise InputError(f"{path}: its first column {what}; name the columns, from 1 on, as {which}")


def _blocks(lines: Iterable[str]) -> Iterator[list[Line]]:
    """The lines between empty lines and lines of `-DOCSTART-`."""
    block: list[Line] = []
    for number, line in enumerate(lines, start=1):
        text = line.rstrip("\r\n")
        cells = [cell.strip(" ") for cell in text.split("\t")] if "\t" in text else text.split(" ")
        cells = cells if "\t" in text else [cell for cell in cells if cell]
        if text.strip() and cells[0] != DOCUMENT:
            block.append(Line(number, text, cells))
        elif block:
            yield block
            block = []
    if block:
        yield block


def _is_comment(line: Line, width: int) -> bool:
    """True for a line before a sentence whose words have `width` cells (0: not known) that is no word itself."""
    if COMMENT.match(line.text):
        return True
    return line.text.startswith(("# ", "#\t")) and (len(line.cells) < 2 or width not in (0, len(line.cells)))


def _counts(first: Sequence[str]) -> bool:
    """True where the first cells of a sentence end in numbers that rise, or are all of the form 1-2."""
    plain = [cell for cell in first if not RANGE.fullmatch(cell)]
    matches = [match for cell in plain if (match := NUMBERED.fullmatch(cell))]
    if len(matches) < len(plain) or len({match[1] for match in matches}) > 1:
        return False
    if len(matches) == 1:
        return len(matches[0][1]) < 2  # of one word: 1 or t1, not 3:15
    return all(int(last[2]) < int(match[2]) for last, match in zip(matches, matches[1:], strict=False))


def _without_ranges(block: Sequence[Line]) -> list[Line]:
    """The lines of a sentence without CoNLL-U's ranges and empty nodes, if its other lines are numbered."""
    plain = [line.cells[0] for line in block if not RANGE.fullmatch(line.cells[0])]
    if not plain:
        # WebAnno's 4-1, 4-2 ... number the words of sentence 4
        of, words = zip(*(re.split("[-.]", line.cells[0]) for line in block), strict=True)
        return list(block) if len(set(of)) == 1 and [*map(int, words)] == [*range(1, len(block) + 1)] else []
    counted = all(cell.isdecimal() for cell in plain) and _counts(plain)
    return [line for line in block if not (counted and RANGE.fullmatch(line.cells[0]))]


def _words(path: Path, block: Sequence[Line], places: tuple[int, int] | None) -> Iterator[tuple[str, str]]:
    """The words of a sentence with their tags."""
    n_cells = len(block[0].cells)
    for number, text, cells in block:
        word, tag = (1, len(cells)) if places is None else places
        if len(cells) < max(2, word, tag):
            what = "has no tag; a line is a word, then its tag" if len(cells) < 2 else f"has no column {max(word, tag)}"
            raise InputError(f"{path}:{number}: {text[:60]!r} {what}")
        if len(cells) != n_cells and places is None:
            remedy = "part cells by tabs, or name the columns: columns: {word: 1, tag: 2}"
            raise InputError(f"{path}:{number}: {len(cells)} cells, the sentence begins with {n_cells}; {remedy}")
        if not cells[word - 1]:
            raise InputError(f"{path}:{number}: the word before tag {cells[tag - 1][:60]!r} is empty; write or drop it")
        yield cells[word - 1], cells[tag - 1]
