"""Superbloom's page-link set from a dump of a wiki (Anderson et al. 2020, section 3.1).

Pages are the articles; a link counts for the page that its target leads to through redirects. The first pass
(`spill.py`) leaves 64-bit keys of titles, so that the second can join links with pages in arrays. Measured on 7 M pages
and 11 M redirects, as many as English Wikipedia has, with titles of 20 letters: 1.8 GB at the peak, thus 97 bytes for
each page or redirect, the process itself not counted.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import feather

from hashbench.common.errors import InputError
from hashbench.common.shared import make_once
from hashbench.data.sources.dumps.pages import ARTICLES, TEMPLATES, wiki_of
from hashbench.data.sources.dumps.spill import DumpReading, decompressed, index_name, index_of, spill, stretches, whole
from hashbench.models.text.compiled import usable_cores

SET_FOLDER, SET_FILE = "entities", "links.parquet"  # where the task of page links looks in a data folder
SET_SCHEMA = pa.schema([("page", pa.string()), ("links", pa.list_(pa.string()))])
NOTES = 20  # lines of progress, at most


@dataclass(frozen=True)
class LinkCounts:
    """Counts of a page-link set, and of what was left out of it."""

    pages: int
    links: int
    redirects: int
    lost_redirects: int  # that lead to no page, or in a circle
    disambiguation: int  # pages left out
    # Distinct targets of a page that are no page of the set, and links to itself.
    lost_links: int


@dataclass(frozen=True)
class Meanings:
    """The page that each title's key leads to: `keys` (n,) uint64 ascending, page numbers `pages` (n,) int32, or -1."""

    keys: np.ndarray
    pages: np.ndarray

    def of(self, keys: np.ndarray) -> np.ndarray:
        """Keys (m,) -> numbers of pages (m,) int32, -1 for none."""
        if not len(self.keys):
            return np.full(len(keys), -1, np.int32)
        distinct, which = np.unique(keys, return_inverse=True)
        places = np.minimum(np.searchsorted(self.keys, distinct), len(self.keys) - 1)
        return np.where(self.keys[places] == distinct, self.pages[places], np.int32(-1))[which]


def make_page_links(
    dump: Path, out: Path, *, workers: int | None, disambiguation: bool, note: Callable[[str], None]
) -> LinkCounts:
    """Writes `out`/entities/links.parquet from a dump, whole or not at all; returns the counts of the set.

    Raises:
        InputError: a dump that is none or not whole, workers without an index, or a set that is there already.
    """
    folder = out / SET_FOLDER
    if folder.exists():
        raise InputError(f"{folder}: is there already; give another --out, or remove it")
    if out.exists() and not out.is_dir():
        raise InputError(f"{out}: is a file; give --out a folder")
    counts: list[LinkCounts] = []

    def build(partial: Path) -> None:
        partial.mkdir()
        try:
            counts.append(_make(dump, partial, workers=workers, disambiguation=disambiguation, note=note))
        except BaseException:
            shutil.rmtree(partial, ignore_errors=True)
            raise

    try:
        make_once(folder, build, listed=False)
    except OSError as error:
        where = error.filename or out
        raise InputError(
            f"{where}: {error.strerror or error}; give --out a folder that takes files, with room"
        ) from error
    if not counts:
        raise InputError(f"{folder}: another process has just made it; give another --out, or remove it")
    return counts[0]


def _make(
    dump: Path, folder: Path, *, workers: int | None, disambiguation: bool, note: Callable[[str], None]
) -> LinkCounts:
    all_of_it = whole(dump)
    wiki = wiki_of((piece for piece, _ in decompressed(all_of_it)), str(dump))
    index = index_of(dump)
    if index is None:
        name = index_name(dump)
        beside = f"put {name.name} beside it" if name else "take the multistream dump with its index"
        if workers is not None and workers > 1:
            raise InputError(f"{dump}: has no index, so one process reads it; {beside}, or leave out --workers")
        note(f"{dump.name}: one process reads it; for several {beside}")
    work = [all_of_it] if index is None else stretches(dump, index)
    n_workers = min(workers or usable_cores(), len(work))
    with tempfile.TemporaryDirectory(dir=folder) as spilled:
        reading = DumpReading(wiki, not disambiguation, Path(spilled))
        files = spill(work, reading, workers=n_workers, report=_progress(dump, all_of_it.size, note))
        note(f"{dump.name}: joining links with pages")
        counts = _join(files, folder / SET_FILE, disambiguation=disambiguation)
    if not counts.pages:
        raise InputError(f"{dump}: has no page in the namespace of articles; take a dump called ...-pages-articles")
    return counts


def _progress(dump: Path, size: int, note: Callable[[str], None]) -> Callable[[int], None]:
    """A function that notes how much of a dump was read, `NOTES` times at most."""
    noted = 0

    def report(done: int) -> None:
        nonlocal noted
        if (step := done * NOTES // size) > noted:
            noted = step
            note(f"{dump.name}: {100 * done // size} % read")

    return report


def _join(files: Sequence[Path], path: Path, *, disambiguation: bool) -> LinkCounts:
    """Writes the page-link set from the spilled files, in the order of the dump; returns its counts."""
    collected = _collect(files, None if disambiguation else _marked_templates(files))
    n_links, lost, start = 0, 0, 0
    with pq.ParquetWriter(path, SET_SCHEMA, compression="zstd") as writer:
        for file, kept in zip(files, collected.kept, strict=True):
            flat, lengths = _links(file, kept)
            pages, ids = _joined(flat, lengths, collected.meanings, start)
            offsets = np.concatenate([[0], np.cumsum(np.bincount(pages, minlength=len(lengths)))]).astype(np.int32)
            links = pa.ListArray.from_arrays(pa.array(offsets), collected.titles.take(pa.array(ids)).cast(pa.string()))
            page = collected.titles.slice(start, len(lengths)).cast(pa.string())
            writer.write_table(pa.Table.from_arrays([page, links], schema=SET_SCHEMA))
            n_links, lost, start = n_links + len(ids), lost + len(flat) - len(ids), start + len(lengths)
    left_out = int(sum(len(of_file) - of_file.sum() for of_file in collected.kept))
    return LinkCounts(len(collected.titles), n_links, collected.redirects, collected.lost_redirects, left_out, lost)


@dataclass(frozen=True)
class Titles:
    """The pages that stay in the set. `titles` (n,), `kept`: of each file which of its pages stay."""

    titles: pa.Array
    kept: list[np.ndarray]
    meanings: Meanings
    redirects: int
    lost_redirects: int


def _collect(files: Sequence[Path], marks: Meanings | None) -> Titles:
    """The pages of all spilled files that stay in the set; `marks`: templates of pages to be left out."""
    titles, kept = [pa.array([], pa.large_string())], []
    keys, redirects = [np.zeros(0, np.uint64)], [np.zeros((2, 0), np.uint64)]
    for file in files:
        table = feather.read_table(file, columns=["namespace", "title", "key", "redirect", "marked", "templates"])
        table = table.filter(pc.equal(table["namespace"], ARTICLES))
        is_page = pc.is_null(table["redirect"])
        pages, moved = table.filter(is_page), table.filter(pc.invert(is_page))
        stay = _kept(pages, marks)
        kept.append(stay)
        titles.append(pages["title"].combine_chunks().filter(pa.array(stay)).cast(pa.large_string()))
        keys.append(_numbers(pages["key"])[stay])
        redirects.append(np.stack([_numbers(moved["key"]), _numbers(moved["redirect"])]))
    sources, targets = np.concatenate(redirects, axis=1)
    meanings = resolve(np.concatenate(keys), sources, targets)
    return Titles(pa.concat_arrays(titles), kept, meanings, len(sources), int((meanings.of(sources) < 0).sum()))


def resolve(keys: np.ndarray, redirects: np.ndarray, targets: np.ndarray) -> Meanings:
    """The page number of each title: a page's own, or for a redirect the page at the end of its chain.

    `keys` (n,) of the pages; `redirects` and their `targets` (m,): all are uint64 keys. A redirect to nothing, or in a
    circle, means none. Of two pages with one key the first counts.

    >>> of = resolve(np.array([7, 5], np.uint64), np.array([1, 2, 3], np.uint64), np.array([2, 5, 3], np.uint64))
    >>> of.of(np.array([5, 7, 1, 2, 3, 4], np.uint64)).tolist()
    [1, 0, 1, 1, -1, -1]
    """
    every = np.concatenate([keys, redirects])
    n, none = len(keys), len(every)  # where a redirect to nothing leads
    order = np.argsort(every, kind="stable")
    places = Meanings(every[order], order.astype(np.int32))
    del every, order
    leads = np.append(np.arange(none, dtype=np.int32), np.int32(none))
    places_of_targets = places.of(targets)
    leads[n:none] = np.where(places_of_targets < 0, none, places_of_targets)
    for _ in range(max(len(redirects), 1).bit_length()):  # each round doubles the steps; longer ways are circles
        leads = leads[leads]
    leads[leads >= n] = -1
    return Meanings(places.keys, leads[places.pages])


def _marked_templates(files: Sequence[Path]) -> Meanings:
    """The templates, and the redirects to them, that mark a disambiguation page; other keys lead to -1."""
    keys, redirects = [np.zeros(0, np.uint64)], [np.zeros((2, 0), np.uint64)]
    for file in files:
        table = feather.read_table(file, columns=["namespace", "key", "redirect", "marked"])
        table = table.filter(pc.equal(table["namespace"], TEMPLATES))
        moved = table.filter(pc.is_valid(table["redirect"]))
        keys.append(_numbers(table.filter(pc.fill_null(table["marked"], False))["key"]))
        redirects.append(np.stack([_numbers(moved["key"]), _numbers(moved["redirect"])]))
    return resolve(np.concatenate(keys), *np.concatenate(redirects, axis=1))


def _kept(pages: pa.Table, marks: Meanings | None) -> np.ndarray:
    """Which pages (n,) of a table stay: all, or those without the marks of a disambiguation page."""
    if marks is None:
        return np.ones(len(pages), bool)
    left_out = pc.fill_null(pages["marked"], False).to_numpy()
    templates = pages["templates"].combine_chunks()
    lengths = pc.fill_null(templates.value_lengths(), 0).to_numpy(zero_copy_only=False)
    rows = np.repeat(np.arange(len(pages)), lengths)
    has_mark = marks.of(_numbers(templates.flatten())) >= 0
    return ~(left_out | (np.bincount(rows[has_mark], minlength=len(pages)) > 0))


def _links(file: Path, kept: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Keys of the links (total,) on the pages of a file that stay, and the number of links of each page (n,)."""
    table = feather.read_table(file, columns=["namespace", "redirect", "links"])
    is_page = pc.and_(pc.equal(table["namespace"], ARTICLES), pc.is_null(table["redirect"]))
    links = table.filter(is_page)["links"].combine_chunks().filter(pa.array(kept))
    return _numbers(links.flatten()), pc.fill_null(links.value_lengths(), 0).to_numpy(zero_copy_only=False)


def _joined(flat: np.ndarray, lengths: np.ndarray, meanings: Meanings, start: int) -> tuple[np.ndarray, np.ndarray]:
    """Links (total,) of n pages from number `start` on -> page (links,) 0..n-1 and target (links,), each pair once."""
    pages = np.repeat(np.arange(len(lengths)), lengths)
    targets = meanings.of(flat)
    counts = (targets >= 0) & (targets != pages + start)
    pages, targets = pages[counts], targets[counts].astype(np.int64)
    pairs = pages * (int(targets.max(initial=0)) + 1) + targets
    first = np.sort(np.unique(pairs, return_index=True)[1])  # the order of the text
    return pages[first], targets[first]


def _numbers(column: pa.ChunkedArray | pa.Array) -> np.ndarray:
    """A column of keys without empty cells, (n,) uint64."""
    return column.to_numpy() if isinstance(column, pa.ChunkedArray) else column.to_numpy(zero_copy_only=False)
