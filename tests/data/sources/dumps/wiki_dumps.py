"""Dumps in the format of Wikimedia's: XML of version 0.11, in one bz2 stream or in many with an index."""

from __future__ import annotations

import bz2
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

HEAD = """<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" version="0.11" xml:lang="en">
  <siteinfo>
    <sitename>Wikipedia</sitename>
    <dbname>enwiki</dbname>
    <case>first-letter</case>
    <namespaces>
      <namespace key="-1" case="first-letter">Special</namespace>
      <namespace key="0" case="{case}" />
      <namespace key="1" case="first-letter">Talk</namespace>
      <namespace key="6" case="first-letter">File</namespace>
      <namespace key="10" case="first-letter">{template}</namespace>
      <namespace key="14" case="first-letter">Category</namespace>
    </namespaces>
  </siteinfo>
"""
TAIL = "</mediawiki>\n"


@dataclass(frozen=True)
class Dumped:
    """One page, as it is to stand in a dump."""

    title: str
    text: str = ""
    namespace: int = 0
    redirect: str | None = None
    model: str = "wikitext"

    def xml(self, number: int) -> str:
        redirect = "" if self.redirect is None else f"    <redirect title={quoteattr(self.redirect)} />\n"
        return (
            f"  <page>\n    <title>{escape(self.title)}</title>\n    <ns>{self.namespace}</ns>\n"
            f"    <id>{number}</id>\n{redirect}    <revision>\n      <id>{number + 1000}</id>\n"
            "      <timestamp>2026-11-01T00:00:00Z</timestamp>\n      <contributor>\n"
            "        <username>A &amp; B</username>\n        <id>7</id>\n      </contributor>\n"
            "      <comment>[[Comment]] of an edit</comment>\n"
            f"      <model>{self.model}</model>\n      <format>text/x-wiki</format>\n"
            f'      <text bytes="{len(self.text.encode())}" sha1="x" xml:space="preserve">{escape(self.text)}</text>\n'
            "      <sha1>x</sha1>\n    </revision>\n  </page>\n"
        )


def write_dump(
    folder: Path, pages: Sequence[Dumped], *, streams: int = 0, case: str = "first-letter", template: str = "Template"
) -> Path:
    """A dump of these pages: one stream, or with `streams` a multistream one of so many pages each, with its index."""
    folder.mkdir(parents=True, exist_ok=True)
    head = HEAD.format(case=case, template=template)
    texts = [page.xml(number) for number, page in enumerate(pages, 1)]
    if not streams:
        path = folder / "enwiki-latest-pages-articles.xml.bz2"
        path.write_bytes(bz2.compress((head + "".join(texts) + TAIL).encode()))
        return path
    path = folder / "enwiki-latest-pages-articles-multistream.xml.bz2"
    data, lines = bz2.compress(head.encode()), []
    for start in range(0, len(pages), streams):
        lines += [
            f"{len(data)}:{start + i + 1}:{page.title}\n" for i, page in enumerate(pages[start : start + streams])
        ]
        data += bz2.compress("".join(texts[start : start + streams]).encode())
    path.write_bytes(data + bz2.compress(TAIL.encode()))
    index = folder / "enwiki-latest-pages-articles-multistream-index.txt.bz2"
    index.write_bytes(bz2.compress("".join(lines).encode()))
    return path
