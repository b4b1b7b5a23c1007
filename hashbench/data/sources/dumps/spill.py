"""First pass over a dump: files with the title of each page and the 64-bit keys of the titles that it links to."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from itertools import islice
from pathlib import Path

import pyarrow as pa
from pyarrow import feather

from hashbench.data.sources.dumps.compressed import Stretch, decompressed
from hashbench.data.sources.dumps.pages import ARTICLES, TEMPLATES, Wiki, WikiPage, pages_in, title_key, title_of
from hashbench.data.sources.dumps.wikitext import link_targets, template_names, visible
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
            files[number] = spill_stretch(stretch, number, reading, partial(_add, report, done))
            done += stretch.end - stretch.start
    return [path for number in sorted(files) for path in files[number]]


def _add(report: Callable[[int], None], before: int, read: int) -> None:
    report(before + read)


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
    key = lru_cache(TARGETS_REMEMBERED)(partial(_key_of_target, first_letter=first_letter))
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


def _key_of_target(target: str, first_letter: bool) -> int | None:
    title = title_of(target, first_letter)
    return title_key(title) if title else None


def _template(name: str, prefix: str) -> str:
    """A template's title without the prefix of its namespace, which has a local and an English name."""
    title = title_of(name)
    for namespace in (prefix, "Template:"):
        title = title_of(title.removeprefix(namespace))
    return title


def _is_marked(wikitext: str) -> bool:
    return DISAMBIGUATION_WORD in wikitext and DISAMBIGUATION_WORD in visible(wikitext)
