"""Pages of a dump's XML."""

from __future__ import annotations

import pytest

from hashbench.common.errors import InputError
from hashbench.data.sources.dumps.pages import Wiki, WikiPage, pages_in, wiki_of
from tests.data.sources.dumps.wiki_dumps import HEAD, TAIL, Dumped

HEAD_OF_ONE = HEAD.format(case="first-letter", template="Vorlage")


def test_pages_come_with_what_is_needed_of_them() -> None:
    pages = [
        Dumped("AT&T", "a < b & [[c]]"),
        Dumped("Talk:X", "t", 1),
        Dumped('A "b"', "#REDIRECT [[B]]", redirect='B "c"'),
        Dumped("Style", "[[a]]", model="css"),
    ]
    text = HEAD_OF_ONE + "".join(page.xml(n) for n, page in enumerate(pages)) + TAIL
    pieces = [text.encode()[start : start + 7] for start in range(0, len(text.encode()), 7)]
    assert list(pages_in(pieces, where="x", starts=True, ends=True)) == [
        WikiPage("AT&T", 0, None, "a < b & [[c]]"),
        WikiPage("Talk:X", 1, None, "t"),
        WikiPage('A "b"', 0, 'B "c"', "#REDIRECT [[B]]"),
        WikiPage("Style", 0, None, ""),
    ]


def test_the_last_of_several_revisions_counts_and_a_hidden_text_is_empty() -> None:
    texts = b"<revision><text>old</text></revision><revision><text>new</text></revision>"
    xml = b"<page><title>A</title><ns>0</ns>" + texts + b"</page>"
    hidden = b'<page><title>B</title><ns>0</ns><revision><text deleted="deleted" /></revision></page>'
    assert [page.text for page in pages_in([xml, hidden], where="x", starts=False, ends=False)] == ["new", ""]


def test_the_head_tells_the_letters_and_the_prefix_of_templates() -> None:
    assert wiki_of([HEAD_OF_ONE.encode()], "x") == Wiki(True, "Vorlage:")
    assert wiki_of([HEAD.format(case="case-sensitive", template="T").encode()], "x") == Wiki(False, "T:")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<feed><a/></feed>", "x: is no XML dump of a wiki (it has no siteinfo)"),
        ("plain text", "x: is no XML dump of a wiki (syntax error"),
        ("<mediawiki><page><title>A</title></page></mediawiki>", "pages before any siteinfo"),
    ],
)
def test_what_is_no_dump_is_named(text: str, message: str) -> None:
    with pytest.raises(InputError) as error:
        wiki_of([text.encode()], "x")
    assert message in str(error.value)


def test_xml_that_breaks_off_is_not_whole() -> None:
    with pytest.raises(InputError, match="x: ends before </mediawiki>, so it is not whole; download it again"):
        list(pages_in([HEAD_OF_ONE.encode(), Dumped("A").xml(1).encode()], where="x", starts=True, ends=True))
