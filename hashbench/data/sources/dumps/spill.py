"""First pass over a dump: files with the title of each page and the 64-bit keys of the titles that it links to.

Dumps are compressed by bzip2: one stream, or many of 100 pages each, whose offsets are in an index file.
"""

from __future__ import annotations

import bz2
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from pathlib import Path

import pyarrow as pa
from pyarrow import feather

from hashbench.common.errors import InputError
from hashbench.data.sources.dumps.pages import (
    ARTICLES,
    TEMPLATES,
    Wiki,
    WikiPage,
    link_targets,
    pages_in,
    template_names,
    title_key,
    title_of,
    visible,
)
from hashbench.data.sources.text_tables import check_file
from hashbench.data.sources.workers import call_each

PAGES_IN_A_FILE = 51_200
SPILL_SCHEMA = pa.schema(
    [
        ("namespace", pa.int8()),
        ("title", pa.string()),  # of a template without the namespace's prefix
        ("key", pa.uint64()),
        ("redirect", pa.uint64()),  # the key of the target; null for a page
        ("links", pa.list_(pa.uint64())),
        ("marked", pa.bool_()),  # as a disambiguation page
        ("templates", pa.list_(pa.uint64())),
    ]
)
DISAMBIGUATION_WORD = "__DISAMBIG__"
# As English Wikipedia names them: "Disambiguation", "Human name disambiguation", "Disambiguation page"
DISAMBIGUATION_NAME = re.compile(r"(?:.* )?disambiguation(?: page| cleanup)?", re.IGNORECASE)
TARGETS_REMEMBERED = 1 << 18


@dataclass(frozen=True)
class DumpReading:
    """Settings by which the pages of a dump are read; `templates`: the marks of disambiguation pages are kept too."""

    wiki: Wiki
    templates: bool
    folder: Path = field(default=Path())


def spill(work: Sequence[Stretch], reading: DumpReading, *, workers: int, report: Callable[[int], None]) -> list[Path]:
    """Writes the pages of all stretches into files, returned in the dump's order; `report` gets bytes read.

    Raises:
        InputError: a stretch that is no part of a dump, or a worker that was killed.
    """
    files: dict[int, list[Path]] = {}
    done = 0
    if workers > 1:
        jobs = [(stretch, number, reading) for number, stretch in enumerate(work)]
        for number, paths in call_each(spill_stretch, jobs, workers=workers, remedy="use fewer --workers"):
            files[number] = paths
            done += work[number].end - work[number].start
            report(done)
    else:
        for number, stretch in enumerate(work):

            def going_on(read: int, before: int = done) -> None:
                report(before + read)

            files[number] = spill_stretch(stretch, number, reading, going_on)
            done += stretch.end - stretch.start
    return [path for number in sorted(files) for path in files[number]]


def spill_stretch(
    stretch: Stretch, number: int, reading: DumpReading, report: Callable[[int], None] = lambda _: None
) -> list[Path]:
    """Writes the pages of one stretch into files, each of at most `PAGES_IN_A_FILE` pages; returns the files."""
    read = 0

    def counted() -> Iterator[bytes]:
        nonlocal read
        for piece, at in decompressed(stretch):
            read = at
            yield piece

    pages = pages_in(counted(), where=str(stretch.path), starts=stretch.starts, ends=stretch.ends)
    rows = rows_of(pages, reading)
    files: list[Path] = []
    while some := list(islice(rows, PAGES_IN_A_FILE)):
        path = reading.folder / f"{number:06d}-{len(files):06d}.feather"
        table = pa.Table.from_pylist([row for row in some if row is not None], SPILL_SCHEMA)
        feather.write_feather(table, path, compression="lz4")
        files.append(path)
        report(read)
    return files


def rows_of(pages: Iterable[WikiPage], reading: DumpReading) -> Iterator[dict[str, object] | None]:
    """A row of `SPILL_SCHEMA` for each article and, if wanted, for each template; None for other pages."""
    first_letter, prefix = reading.wiki.first_letter, reading.wiki.template

    @lru_cache(TARGETS_REMEMBERED)
    def key(target: str) -> int | None:
        title = title_of(target, first_letter)
        return title_key(title) if title else None

    for page in pages:
        if page.namespace == ARTICLES:
            row = _row(page, page.title, None if page.redirect is None else key(page.redirect))
            if page.redirect is None:
                keys = map(key, link_targets(page.text))
                row["links"] = [target_key for target_key in keys if target_key is not None]
                if reading.templates:
                    names = [_template(name, prefix) for name in template_names(page.text)]
                    row["templates"] = [title_key(name) for name in names]
                    row["marked"] = _is_marked(page.text) or any(map(DISAMBIGUATION_NAME.fullmatch, names))
            yield row
        elif page.namespace == TEMPLATES and reading.templates:
            title = _template(page.title, prefix)
            target = None if page.redirect is None else title_key(_template(page.redirect, prefix))
            marked = _is_marked(page.text) or DISAMBIGUATION_NAME.fullmatch(title) is not None
            yield _row(page, title, target) | {"marked": marked}
        else:
            yield None


def _row(page: WikiPage, title: str, redirect: int | None) -> dict[str, object]:
    return {"namespace": page.namespace, "title": title, "key": title_key(title), "redirect": redirect}


def _template(name: str, prefix: str) -> str:
    """A template's title without the prefix of its namespace, which has a local and an English name."""
    title = title_of(name)
    for namespace in (prefix, "Template:"):
        title = title_of(title.removeprefix(namespace))
    return title


def _is_marked(wikitext: str) -> bool:
    return DISAMBIGUATION_WORD in wikitext and DISAMBIGUATION_WORD in visible(wikitext)


BYTES_AT_ONCE = 1 << 20
STREAMS_IN_A_STRETCH = 512  # of 100 pages each
LONGEST_ENTRY = 1 << 16  # bytes of a line of the index; titles have 255 at most
MAGIC = b"BZh"


@dataclass(frozen=True)
class Stretch:
    """A range of bytes of a compressed dump, of whole bzip2 streams, that one process reads by itself."""

    path: Path
    start: int
    end: int
    size: int  # of the file

    @property
    def starts(self) -> bool:
        """True where it begins with the dump's first line."""
        return self.start == 0

    @property
    def ends(self) -> bool:
        """True where it holds the dump's last line."""
        return self.end == self.size


def whole(path: Path) -> Stretch:
    """A whole dump as one stretch. Raises InputError where there is no such file, or where it is not bz2."""
    if path.is_dir():
        raise InputError(f"{path}: is a folder; give the .xml.bz2 file in it")
    check_file(path)
    with path.open("rb") as file:
        if file.read(len(MAGIC)) != MAGIC:
            raise InputError(f"{path}: is not compressed by bzip2; give the .xml.bz2 file as it was downloaded")
    return Stretch(path, 0, path.stat().st_size, path.stat().st_size)


def index_of(path: Path) -> Path | None:
    """The index beside a multistream dump under its usual name, or None.

    >>> str(index_name(Path("enwiki-pages-articles-multistream.xml.bz2")))
    'enwiki-pages-articles-multistream-index.txt.bz2'
    """
    index = index_name(path)
    return index if index is not None and index.is_file() else None


def index_name(path: Path) -> Path | None:
    """The path that the index of a multistream dump usually has; None where the dump's name is not multistream."""
    before, multistream, after = path.name.rpartition("multistream")
    if not multistream or not after.endswith(".xml.bz2"):
        return None
    # enwiki-...-multistream1.xml-p1p41242.bz2 has ...-multistream-index1.txt-p1p41242.bz2
    return path.with_name(f"{before}multistream-index{after.removesuffix('.xml.bz2')}.txt.bz2")


def stretches(path: Path, index: Path, streams: int = STREAMS_IN_A_STRETCH) -> list[Stretch]:
    """A multistream dump cut into stretches of `streams` streams each, by its index.

    Raises:
        InputError: an index that is none, or one of another dump.
    """
    dump, wrong = whole(path), f"{index}: is not the index of {path.name}"
    starts: list[int] = []
    rest = b""
    for piece, _ in decompressed(whole(index)):
        *lines, rest = (rest + piece).split(b"\n")
        if len(rest) > LONGEST_ENTRY:
            raise InputError(f"{wrong}: a line of more than {LONGEST_ENTRY:,} bytes; give the one that belongs to it")
        for line in lines:
            offset = line.split(b":", 1)[0]
            if not offset.isdigit():
                raise InputError(f"{wrong}, whose lines are offset:page:title; give the one that belongs to it")
            if not starts or int(offset) != starts[-1]:
                starts.append(int(offset))
    if not starts or starts != sorted(set(starts)):
        raise InputError(f"{wrong}, whose offsets rise; give the one that belongs to it")
    if starts[-1] >= dump.size:
        raise InputError(f"{path}: is shorter than its index says, so it is not whole; download it again")
    with path.open("rb") as file:
        for start in (starts[0], starts[-1]):
            file.seek(start)
            if file.read(len(MAGIC)) != MAGIC:
                raise InputError(f"{wrong}: no stream begins at {start}; give the one that belongs to it")
    bounds = [0, *starts[streams::streams], dump.size]
    return [Stretch(path, start, end, dump.size) for start, end in zip(bounds[:-1], bounds[1:], strict=True)]


def decompressed(stretch: Stretch) -> Iterator[tuple[bytes, int]]:
    """The decompressed bytes of a stretch, piece by piece, each with the number of compressed bytes read so far.

    Raises InputError where it is damaged or breaks off.
    """
    decompressor = bz2.BZ2Decompressor()
    with stretch.path.open("rb") as file:
        file.seek(stretch.start)
        while (remaining := stretch.end - file.tell()) > 0:
            data = file.read(min(BYTES_AT_ONCE, remaining))
            if not data:  # the file has become shorter
                break
            while data:
                if decompressor.eof:
                    decompressor = bz2.BZ2Decompressor()
                try:
                    piece = decompressor.decompress(data)
                except OSError as error:
                    raise InputError(
                        f"{stretch.path}: is damaged near byte {file.tell():,}; download it again"
                    ) from error
                data = decompressor.unused_data
                if piece:
                    yield piece, file.tell() - stretch.start
    if not decompressor.eof:
        raise InputError(f"{stretch.path}: ends in the middle, so it is not whole; download it again")
