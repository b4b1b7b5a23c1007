"""Links and templates in the wikitext of a page. Nothing is expanded.

Regular expressions rather than a parser: mwparserfromhell builds a tree of everything, of which two kinds of nodes are
wanted, and takes longer by a factor that `docs/experiments.md` states.
"""

from __future__ import annotations

import re
from functools import cache

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
        closing = _closing(tag).search(wikitext, opening.end())
        return closing.end() if closing else len(wikitext) if tag == HIDDEN else -1
    end = wikitext.find("-->", opening.end())
    return len(wikitext) if end < 0 else end + len("-->")


@cache
def _closing(tag: str) -> re.Pattern[str]:
    return re.compile(rf"</{tag}\s*>", re.IGNORECASE)
