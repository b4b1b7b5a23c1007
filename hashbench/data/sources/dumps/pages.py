"""The pages of a dump's XML as a stream, facts of its wiki, the normal form of titles, and links in wikitext.

In wikitext nothing is expanded. Regular expressions rather than a parser: mwparserfromhell builds a tree of everything
where two kinds of nodes are wanted, and takes longer by a factor that `docs/experiments.md` states.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import blake2b
from typing import cast
from urllib.parse import unquote
from xml.etree import ElementTree

from hashbench.common.errors import InputError
from hashbench.common.showing import SHOWN_CHARACTERS, whole_number

ROOT_TAG = "mediawiki"
ARTICLES, TEMPLATES = 0, 10  # numbers of namespaces, the same in every wiki
WIKITEXT = "wikitext"
# What MediaWiki's title parser takes for a blank, and the marks of direction that it drops.
BLANKS = re.compile("[ _\xa0\u1680\u180e\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+")
DIRECTIONS = re.compile("[\u200e\u200f\u202a-\u202e]")
REFERENCE = re.compile("&(?:#[0-9]+|#[xX][0-9a-fA-F]+|[a-zA-Z0-9]+);")


@dataclass(frozen=True, slots=True)
class WikiPage:
    """A page as the dump has it; `redirect` is the title that it leads to. A page that is no wikitext has no text."""

    title: str
    namespace: int
    redirect: str | None
    text: str


@dataclass(frozen=True)
class Wiki:
    """Facts of the wiki, from the head of a dump. `template`: the prefix of templates' titles, such as "Vorlage:"."""

    first_letter: bool
    template: str


def wiki_of(pieces: Iterable[bytes], where: str) -> Wiki:
    """Facts of the wiki, from the beginning of a dump. Raises InputError for what is no dump of a wiki."""
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
    names = {namespace.get("key"): namespace for namespace in siteinfo.iterfind("{*}namespaces/{*}namespace")}
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
                    yield _page(element, where)
                    root.clear()  # else all pages would stay in memory
        if not ends:
            parser.feed(f"</{ROOT_TAG}>")
        parser.close()
    except ElementTree.ParseError as error:
        if "no element found" in str(error):
            raise InputError(f"{where}: ends before </{ROOT_TAG}>, so it is not whole; download it again") from error
        raise _no_dump(where, str(error)) from error


def _page(page: ElementTree.Element, where: str) -> WikiPage:
    title, written = page.findtext("{*}title") or "", (page.findtext("{*}ns") or "").strip()
    number = whole_number(written.removeprefix("-")) if written else ARTICLES
    if number is None:
        raise _no_dump(
            where, f"namespace {written[:SHOWN_CHARACTERS]!r} of page {title[:SHOWN_CHARACTERS]!r} is no number"
        )
    namespace = -number if written.startswith("-") else number
    redirect = page.find("{*}redirect")
    text = ""
    for revision in page.iterfind("{*}revision"):  # the last one, where a dump has several
        text = (revision.findtext("{*}text") or "") if (revision.findtext("{*}model") or WIKITEXT) == WIKITEXT else ""
    return WikiPage(title, namespace, None if redirect is None else redirect.get("title") or "", text)


def _events(parser: ElementTree.XMLPullParser) -> Iterator[tuple[str, ElementTree.Element]]:
    """The parser's new events, each the start or the end of an element."""
    return cast(Iterator[tuple[str, ElementTree.Element]], parser.read_events())


def _name(element: ElementTree.Element) -> str:
    """An element's tag without its XML namespace."""
    return element.tag.rpartition("}")[2]


def _no_dump(where: str, reason: str) -> InputError:
    return InputError(f"{where}: is no XML dump of a wiki ({reason}); take one called ...-pages-articles.xml.bz2")


def title_of(target: str, first_letter: bool = True) -> str:
    """The title of the page that a link's target names, empty where it names none.

    Section anchors are cut, underscores are blanks, character references and percent signs are read. `first_letter`:
    the wiki writes titles with a capital first letter.

    >>> title_of(" :united_States#History "), title_of("AT&amp;T"), title_of("Caf%C3%A9"), title_of("#See also")
    ('United States', 'AT&T', 'Café', '')
    >>> title_of("éire"), title_of("ßeta"), title_of("libero", first_letter=False)
    ('Éire', 'ßeta', 'libero')
    """
    if "&" in target or "%" in target:
        decoded = unquote(REFERENCE.sub(lambda reference: html.unescape(reference[0]), target))
        target = unicodedata.normalize("NFC", decoded)
    title = BLANKS.sub(" ", target.partition("#")[0])
    if not title.isascii():
        title = DIRECTIONS.sub("", title)
    title = title.strip(" ").removeprefix(":").strip(" ")
    if not first_letter or not title:
        return title
    capital = title[0].upper()
    # "ß" has no single capital letter, and MediaWiki leaves it
    return capital + title[1:] if len(capital) == 1 else title


def title_key(title: str) -> int:
    """A title as 64 bits, BLAKE2b. Among 18 million titles two are equal with a chance of one in 100,000.

    >>> hex(title_key("Earth"))
    '0x2a7df4706be010b5'
    """
    return int.from_bytes(blake2b(title.encode(), digest_size=8).digest(), "little")


# Tags whose content MediaWiki does not read as wikitext; `includeonly` is not shown on the page itself.
VERBATIM = (
    "nowiki", "pre", "math", "chem", "ce", "syntaxhighlight", "source", "score", "timeline", "graph", "hiero",
    "templatedata", "mapframe", "maplink",
)  # fmt: skip
HIDDEN = "includeonly"
OPENING = re.compile(rf"<!--|<({'|'.join((*VERBATIM, HIDDEN))})(?:\s[^<>]*|/)?>", re.IGNORECASE)
NO_TITLE = "<>"  # replaces verbatim text; no title may hold it
# [[target]] or [[target|text]], where the text holds no link: of [[File:x|thumb|see [[y]]]] it finds y.
LINK = re.compile(r"\[\[([^\[\]{}|<>\n]+)(?:\|[^\[\]]*(?:(?:\[(?!\[)|\](?!\]))[^\[\]]*)*)?\]\]")
TEMPLATE = re.compile(r"(?<!\{)\{\{(?!\{)\s*([^{}|<>\[\]\n#]+?)\s*(?:\||\}\}|\n|\Z)")
PIPE = "{{!}}"  # the one magic word that makes a link's pipe


def link_targets(wikitext: str) -> list[str]:
    """The targets of a page's links as written, each once, in the order of the text.

    >>> link_targets("[[File:a.png|thumb|of [[b]]]] <nowiki>[[c]]</nowiki> [[d|e]] [[b]] {{f|[[g]]}} <!-- [[h]] -->")
    ['b', 'd', 'g']
    """
    return list(dict.fromkeys(LINK.findall(visible(wikitext).replace(PIPE, "|"))))


def template_names(wikitext: str) -> list[str]:
    """The names of a page's templates as written, each once.

    >>> template_names("{{Dab|[[x]]}} {{ lower case }} {{#if: a | b}}")
    ['Dab', 'lower case']
    """
    return list(dict.fromkeys(TEMPLATE.findall(visible(wikitext))))


def visible(wikitext: str) -> str:
    """The text without comments, without what is not shown, and with a mark in place of verbatim text.

    A comment without an end runs to the end of the page; a verbatim tag without one is text, as MediaWiki has it.

    >>> visible("a<!-- b -->c<nowiki>[[d]]</nowiki>e<nowiki/>f<math>g")
    'ac<>e<>f<math>g'
    """
    if "<" not in wikitext:
        return wikitext
    pieces, start, unclosed = [], 0, set()
    for opening in OPENING.finditer(wikitext):
        if opening.start() < start:  # within what is left out
            continue
        tag = (opening[1] or "").lower()
        if tag in unclosed:
            continue
        end = _end(wikitext, opening, tag)
        if end < 0:
            unclosed.add(tag)
            continue
        pieces += [wikitext[start : opening.start()], NO_TITLE if tag in VERBATIM else ""]
        start = end
    return "".join([*pieces, wikitext[start:]])


def _end(wikitext: str, opening: re.Match[str], tag: str) -> int:
    """The index behind the comment or element that `opening` begins, -1 for a verbatim tag that is never closed."""
    if opening[0].endswith("/>"):
        return opening.end()
    if tag:
        closing = re.compile(rf"</{tag}\s*>", re.IGNORECASE).search(
            wikitext, opening.end()
        )  # re keeps what it compiled
        return closing.end() if closing else len(wikitext) if tag == HIDDEN else -1
    end = wikitext.find("-->", opening.end())
    return len(wikitext) if end < 0 else end + len("-->")
