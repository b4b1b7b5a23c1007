"""What every interner of its own must keep to."""

from __future__ import annotations

from hashbench.models.text.base import Tokenizer
from hashbench.models.text.types import DictInterner


def assert_interns_as_a_dictionary(tokenizer: Tokenizer, texts: list[str], cuts: list[int]) -> None:
    """The tokenizer's own interner, fed in parts that end at `cuts`, equals one that looks every token up."""
    fast, plain = tokenizer.interner(), DictInterner(tokenizer.tokenize)
    parts, start = [], 0
    for stop in cuts:
        parts.append((fast.add(texts[start:stop]), plain.add(texts[start:stop])))
        start = stop
    (types, remap), (expected, other) = fast.finish(), plain.finish()
    assert types.strings() == expected.strings() and types.counts.tolist() == expected.counts.tolist()
    for found, wanted in parts:
        assert found.offsets.tolist() == wanted.offsets.tolist()
        assert found.remapped(remap).ids.tolist() == wanted.remapped(other).ids.tolist()
