"""Dumps compressed by bzip2: one stream, or many of 100 pages each, whose offsets are in an index file."""

from __future__ import annotations

import bz2
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from hashbench.common.errors import InputError
from hashbench.data.sources.files import check_file

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
