"""Words of any script, by Unicode's categories alone: no dictionary, no language.

A token is a run of letters, digits and connectors, or of other characters. A mark or joiner belongs to what stands
before it, so that no word falls apart at its vowel signs (Devanagari, Tamil, vocalised Arabic and Hebrew, decomposed
Latin). In scripts that put no white space between words a token is one letter with its marks: a character of Han, kana
or Bopomofo; of Thai, Lao, Khmer and Myanmar a grapheme cluster (UAX 29, but for a few vowel signs of Myanmar that stand
apart there).
"""

from __future__ import annotations

import re
from functools import lru_cache

from hashbench.common.errors import InputError
from hashbench.models.portable.tokens import pattern_of
from hashbench.models.text.base import PortablePart, Tokenizer
from hashbench.models.text.counting import ScanInterner
from hashbench.models.text.shipped import case_values, unicode_values
from hashbench.models.text.types import Interner
from hashbench.models.text.unicode import unicode_table, well_formed

VERSION = 1  # raised when the meaning of a token changes


@lru_cache(maxsize=1)
def expression() -> re.Pattern[str]:
    """The tokens of a text as a regular expression with every range of characters in it."""
    return re.compile(pattern_of(unicode_values()))


class UnicodeTokenizer(Tokenizer):
    """Words with their marks, on the text as `str.lower()` makes it; single letters where words have no borders."""

    kind = "unicode"

    def __init__(self, lowercase: bool = True) -> None:
        if not isinstance(lowercase, bool):
            raise InputError(f"tokenizer unicode: lowercase {lowercase!r}; give true or false")
        self.lowercase = lowercase

    def recipe(self) -> dict[str, object]:
        """The kind, its version, and whether letters are lower-cased."""
        return {"kind": self.kind, "version": VERSION, "lowercase": self.lowercase}

    def tokenize(self, text: str) -> list[str]:
        """The words of one text.

        >>> UnicodeTokenizer().tokenize("हिन्दी, ไทยคำ 漢字!")
        ['हिन्दी', ',', 'ไ', 'ท', 'ย', 'คำ', '漢', '字', '!']
        """
        text = well_formed(text)
        found: list[str] = expression().findall(text.lower() if self.lowercase else text)
        return found

    def portable(self) -> PortablePart:
        """Runs of classes of characters."""
        values = {"lowercase": self.lowercase, **unicode_values(), **(case_values() if self.lowercase else {})}
        return PortablePart("tokens", "words", values, needs=("letters",))

    def interner(self) -> Interner:
        """A compiled counter of word types."""
        return ScanInterner(True, self.lowercase, unicode_table(self.lowercase))
