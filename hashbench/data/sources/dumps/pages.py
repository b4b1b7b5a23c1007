"""The pages of a dump's XML, one after the other, and what the dump says about its wiki."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import cast
from xml.etree import ElementTree

from hashbench.common.errors import InputError

ROOT_TAG = "mediawiki"
ARTICLES, TEMPLATES = 0, 10  # numbers of namespaces, the same in every wiki
WIKITEXT = "wikitext"


@dataclass(frozen=True, slots=True)
class WikiPage:
    """A page as the dump has it; `redirect` is the title that it leads to. A page that is no wikitext has no text."""

    title: str
    namespace: int
    redirect: str | None
    text: str


@dataclass(frozen=True)
class Wiki:
    """What the head of a dump says. `template`: the prefix of templates' titles, such as "Vorlage:"."""

    first_letter: bool
    template: str


def wiki_of(pieces: Iterable[bytes], where: str) -> Wiki:
    """What the beginning of a dump says about its wiki. Raises InputError for what is no dump of a wiki."""
    parser: ElementTree.XMLPullParser[ElementTree.Element] = ElementTree.XMLPullParser(["end"])
    try:
        for piece in pieces:
            parser.feed(piece)
            for _, element in _events(parser):
                if _name(element) == "siteinfo":
                    return _wiki(element)
                if _name(element) == "page":
                    raise _no_dump(where, "it has pages before any siteinfo")
    except ElementTree.ParseError as error:
        raise _no_dump(where, str(error)) from error
    raise _no_dump(where, "it has no siteinfo")


def _wiki(siteinfo: ElementTree.Element) -> Wiki:
    names = {each.get("key"): each for each in siteinfo.iterfind("{*}namespaces/{*}namespace")}
    articles, templates = names.get(str(ARTICLES)), names.get(str(TEMPLATES))
    case = articles.get("case") if articles is not None else None
    prefix = templates.text if templates is not None else None
    return Wiki((case or siteinfo.findtext("{*}case")) != "case-sensitive", f"{prefix or 'Template'}:")


def pages_in(pieces: Iterable[bytes], *, where: str, starts: bool, ends: bool) -> Iterator[WikiPage]:
    """The pages of a stretch of XML that begins and ends between two pages, or with the dump itself.

    `starts`: it begins with the dump's first line; `ends`: it holds the dump's last.

    Raises:
        InputError: XML that breaks off, or that is none.
    """
    parser: ElementTree.XMLPullParser[ElementTree.Element] = ElementTree.XMLPullParser(["start", "end"])
    root: ElementTree.Element | None = None
    try:
        if not starts:
            parser.feed(f"<{ROOT_TAG}>")
        for piece in pieces:
            parser.feed(piece)
            for event, element in _events(parser):
                if root is None:
                    root = element
                elif event == "end" and _name(element) == "page":
                    yield _page(element)
                    root.clear()  # else all pages would stay in memory
        if not ends:
            parser.feed(f"</{ROOT_TAG}>")
        parser.close()
    except ElementTree.ParseError as error:
        if "no element found" in str(error):
            raise InputError(f"{where}: ends before </{ROOT_TAG}>, so it is not whole; download it again") from error
        raise _no_dump(where, str(error)) from error


def _page(page: ElementTree.Element) -> WikiPage:
    title, namespace = page.findtext("{*}title") or "", int(page.findtext("{*}ns") or ARTICLES)
    redirect = page.find("{*}redirect")
    text = ""
    for revision in page.iterfind("{*}revision"):  # the last one, where a dump has several
        text = (revision.findtext("{*}text") or "") if (revision.findtext("{*}model") or WIKITEXT) == WIKITEXT else ""
    return WikiPage(title, namespace, None if redirect is None else redirect.get("title") or "", text)


def _events(parser: ElementTree.XMLPullParser) -> Iterator[tuple[str, ElementTree.Element]]:
    """Beginnings and ends of elements; the parser knows no other events."""
    return cast(Iterator[tuple[str, ElementTree.Element]], parser.read_events())


def _name(element: ElementTree.Element) -> str:
    """The tag without its namespace."""
    return element.tag.rpartition("}")[2]


def _no_dump(where: str, reason: str) -> InputError:
    return InputError(f"{where}: is no XML dump of a wiki ({reason}); take one called ...-pages-articles.xml.bz2")
