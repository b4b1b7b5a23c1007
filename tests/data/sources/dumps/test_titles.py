"""Titles as MediaWiki writes them."""

from __future__ import annotations

import hashlib

import pytest

from hashbench.data.sources.dumps.pages import title_key, title_of


@pytest.mark.parametrize(
    ("target", "title"),
    [
        ("Earth", "Earth"),
        ("earth", "Earth"),
        ("  solar_system ", "Solar system"),
        ("a __ b", "A b"),
        ("Earth#History", "Earth"),
        ("#History", ""),
        (":Earth", "Earth"),
        (":Category:Planets", "Category:Planets"),
        ("2001: A Space Odyssey", "2001: A Space Odyssey"),
        ("AT&amp;T", "AT&T"),
        ("AT&T", "AT&T"),
        ("R&copy", "R&copy"),  # no reference without a semicolon
        ("Caf%C3%A9", "Café"),
        ("Cafe&#769;", "Café"),  # an accent that joins its letter
        ("100%", "100%"),
        ("москва", "Москва"),
        ("東京", "東京"),
        ("ßeta", "ßeta"),
        ("éire", "Éire"),
        ("Tel\u200e Aviv", "Tel Aviv"),
        ("New\xa0York", "New York"),
        ("C&#35;", "C"),  # a "#" that begins a section, as MediaWiki reads it
        ("", ""),
        (" _ ", ""),
    ],
)
def test_a_target_has_one_title(target: str, title: str) -> None:
    assert title_of(target) == title


def test_a_wiki_with_small_first_letters_keeps_them() -> None:
    assert title_of("libero_(x)", first_letter=False) == "libero (x)"


def test_the_key_is_the_first_64_bits_of_blake2b() -> None:
    expected = hashlib.blake2b("東京".encode(), digest_size=8).digest()
    assert title_key("東京").to_bytes(8, "little") == expected
