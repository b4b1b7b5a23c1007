"""Links and templates of wikitext, with what MediaWiki does not take for one."""

from __future__ import annotations

import pytest

from hashbench.data.sources.dumps.pages import link_targets, template_names, visible


@pytest.mark.parametrize(
    ("wikitext", "targets"),
    [
        ("[[A]], [[B|text]], [[C#s|]], [[d]]s", ["A", "B", "C#s", "d"]),
        ("[[A]] [[B]] [[A|again]]", ["A", "B"]),
        ("[[File:x.jpg|thumb|of [[A]] and [[B|b]], ''c'']] [[C]]", ["A", "B", "C"]),
        ("[[A|with [brackets] and [one]]", ["A"]),
        ("[[A|[b]]]", ["A"]),
        ("[[[A]]]", ["A"]),
        ("[[A|two\nlines]]", ["A"]),
        ("[[A\nB]]", []),
        ("[[A|b [[C]] d]]", ["C"]),
        ("[[A] [[B]]", ["B"]),
        ("[[A", []),
        ("[[]] [[|a]]", []),
        ("[[a<b]] [[a{b]] [[{{PAGENAME}}|x]]", []),
        ("{{main|A}} {{small|[[B]]}} {{t|x=[[C|c]]}}", ["B", "C"]),
        ("[[A{{!}}b]]", ["A"]),
        ("<nowiki>[[A]]</nowiki>[[B]]<NOWIKI >[[C]]</Nowiki >", ["B"]),
        ("[[A<nowiki/>]] [[B]]<nowiki /> [[C]]", ["B", "C"]),
        ("<nowiki>[[A]]", ["A"]),  # without an end it is text
        ("<nowiki>[[A]] <nowiki>[[B]]", ["A", "B"]),
        ("<pre>[[A]]</pre><math display='block'>[[B]]</math><ref name=x>[[C]]</ref>", ["C"]),
        ("<syntaxhighlight lang=c>a[[B]]</syntaxhighlight> <prefix>[[C]]", ["C"]),
        ("<!-- [[A]] -->[[B<!-- x -->C]]<!-- [[D]]", ["BC"]),
        ("<!-- <nowiki> -->[[A]]</nowiki>", ["A"]),
        ("<nowiki><!--</nowiki>[[A]]", ["A"]),
        ("<includeonly>[[A]]</includeonly><noinclude>[[B]]</noinclude><onlyinclude>[[C]]</onlyinclude>", ["B", "C"]),
        ("<gallery>\nFile:x.jpg|of [[A]]\n</gallery>", ["A"]),
        ("{| class=x\n|-\n| [[A|a]] || [[B]]\n|}", ["A", "B"]),
        ("[[東京|Tokyo]] [[Москва]]", ["東京", "Москва"]),
        ("#REDIRECT [[A]]", ["A"]),
        ("[https://x.org/[[A]] b]", ["A"]),
    ],
)
def test_targets(wikitext: str, targets: list[str]) -> None:
    assert link_targets(wikitext) == targets


def test_templates_are_found_within_templates_and_not_where_text_is_hidden() -> None:
    text = "{{Infobox\n| a = {{small|x}}\n}}{{Dab}}<!-- {{no}} --><nowiki>{{no}}</nowiki>{{#if:x|{{y}}}}{{{parameter}}}"
    assert template_names(text) == ["Infobox", "small", "Dab", "y"]


def test_many_tags_without_an_end_take_one_look_for_it_each() -> None:
    """A hundred thousand of them would otherwise be a thousand million steps."""
    text = "<nowiki>[[A]]<pre>" * 100_000
    assert visible(text) == text
    assert link_targets(text) == ["A"]


def test_many_open_brackets_end() -> None:
    assert link_targets("[[a|[" * 50_000) == []
    assert link_targets("[[a|" + "] [" * 100_000) == []
