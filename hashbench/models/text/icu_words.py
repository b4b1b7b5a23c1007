"""Words as ICU finds them: by Unicode's rules (UAX 29), and by dictionaries where no white space is written.

A dictionary tells the words of Thai, Lao, Khmer, Myanmar, Chinese and Japanese apart, which `unicode` reads letter by
letter. Other editions of ICU have other dictionaries, so its version is part of a run's identity, and a device that has
no ICU cannot make these words.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from hashbench.common.errors import InputError
from hashbench.models.text.base import Tokenizer
from hashbench.models.text.types import DictInterner
from hashbench.models.text.unicode import well_formed

UTF16_UNIT = 2  # bytes


class IcuTokenizer(Tokenizer):
    """Words between ICU's word borders, on the text as `str.lower()` makes it; white space is left out."""

    kind = "icu"
    # Its words join letters of scripts without white space, which is a fault of other tokenizers alone.
    makes_words = False

    def __init__(self, lowercase: bool = True) -> None:
        if not isinstance(lowercase, bool):
            raise InputError(f"tokenizer icu: lowercase {lowercase!r}; give true or false")
        self.lowercase = lowercase
        self._icu_version = _library().ICU_VERSION

    def recipe(self) -> dict[str, object]:
        """The kind, ICU's version, and whether letters are lower-cased."""
        return {"kind": self.kind, "icu": self._icu_version, "lowercase": self.lowercase}

    def tokenize(self, text: str) -> list[str]:
        """The words of one text."""
        text = well_formed(text)
        if self.lowercase:
            text = text.lower()
        units = text.encode("utf-16-le")  # borders count in its units
        words = _borders()
        words.setText(_library().UnicodeString(text))
        tokens, begin = [], 0
        for end in words:
            token = units[UTF16_UNIT * begin : UTF16_UNIT * end].decode("utf-16-le")
            begin = end
            if not token.isspace():
                tokens.append(token)
        return tokens

    def interner(self) -> DictInterner:
        """A counter of word types."""
        return DictInterner(self.tokenize)


@lru_cache(maxsize=1)
def _borders() -> Any:
    """ICU's word borders by the rules of no language: its dictionaries go by script."""
    icu = _library()
    return icu.BreakIterator.createWordInstance(icu.Locale.getRoot())


def _library() -> Any:
    """PyICU. Raises InputError where it is not installed."""
    try:
        import icu
    except ImportError:
        needs = "its installation compiles against ICU's headers (Debian: libicu-dev)"
        raise InputError(f"tokenizer icu: PyICU is not installed; pip install 'hashbench[icu]'; {needs}") from None
    return icu
