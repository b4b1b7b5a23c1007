"""Words as tokens: by a regular expression (`words`), by Unicode's categories (`unicode`), or by ICU (`icu`).

`unicode` needs no dictionary and no language. A token is a run of letters, digits and connectors, or of other
characters. A mark or joiner belongs to the character before it, so that no word falls apart at its vowel signs
(Devanagari, Tamil, vocalised Arabic and Hebrew, decomposed Latin). In scripts that put no white space between words a
token is one letter with its marks: a character of Han, kana or Bopomofo; of Thai, Lao, Khmer and Myanmar a grapheme
cluster (UAX 29, but for a few vowel signs of Myanmar, which are tokens there). Version 2 brings texts to normal form C,
leaves out format characters that show nothing (soft hyphen, word joiner, byte order mark, direction marks) and parts
words at the zero width space; in version 1 each of these is a token that parts a word. Version 3 leaves out all
characters that show nothing, selectors of a letter's or an emoji's form, fillers and tags among them; joiners stay.

`icu` splits by UAX 29, and by dictionaries where no white space is written: Thai, Lao, Khmer, Myanmar, Chinese and
Japanese. Other editions of ICU have other dictionaries, so its version is part of a run's identity, and a device that
has no ICU cannot make these words.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from hashbench.common.errors import InputError
from hashbench.models.portable.tokens import pattern_of
from hashbench.models.text.base import PortablePart, Tokenizer
from hashbench.models.text.fast.counting import ScanInterner
from hashbench.models.text.normal_forms import ARGUMENT, NormalForm, TextForm, checked_form
from hashbench.models.text.types import DictInterner, Interner
from hashbench.models.text.unicode import LEFT_OUT, unicode_table, well_formed
from hashbench.models.text.unicode_values import alternatives, case_values, class_values, unicode_values

PATTERNS = {
    # The released HashFormers code; `don't` -> don ' t, `!!!` is one token.
    "default": r"\w+|[^\w\s]+",
    "whitespace": r"\S+",
}


class WordTokenizer(Tokenizer):
    """A tokenizer to words by a regular expression, on the text as `str.lower()` makes it."""

    kind = "words"
    makes_words = True

    def __init__(self, pattern: str = "default", lowercase: bool = True) -> None:
        """`pattern`: default, whitespace, or a regular expression whose matches are the tokens."""
        if not isinstance(pattern, str) or not isinstance(lowercase, bool):
            options = f"pattern {pattern!r}, lowercase {lowercase!r}"
            raise InputError(f"tokenizer words: {options}; give a text and true or false")
        self.pattern, self.lowercase = pattern, lowercase
        try:
            self._expression = re.compile(PATTERNS[pattern] if pattern in PATTERNS else pattern)
        except re.error as error:
            wrong = f"pattern {pattern!r} is no regular expression ({error})"
            raise InputError(f"tokenizer words: {wrong}; correct it") from None

    @classmethod
    def may_not_end(cls, arguments: Mapping[str, Any]) -> bool:
        pattern = arguments.get("pattern", "default")
        return pattern not in PATTERNS and (not isinstance(pattern, str) or alternatives(pattern) is None)

    def recipe(self) -> dict[str, object]:
        """The pattern as spelled, so that a renamed pattern is still the same recipe."""
        return {"kind": self.kind, "pattern": self._expression.pattern, "lowercase": self.lowercase}

    def tokenize(self, text: str) -> list[str]:
        """The words of one text."""
        text = well_formed(text)
        matches = self._expression.finditer(text.lower() if self.lowercase else text)
        return [match.group() for match in matches if match.group()]

    def portable(self) -> PortablePart | None:
        """The step for a device without hashbench, for patterns of classes of characters; None for any other
        pattern."""
        values: dict[str, Any] = {"lowercase": self.lowercase}
        if self.pattern in PATTERNS:
            values |= class_values(self.pattern == "default")
        elif (parts := alternatives(self._expression.pattern)) is not None:
            values["alternatives"] = parts
        else:
            return None
        values |= case_values() if self.lowercase else {}
        return PortablePart("tokens", "words", values, needs=("letters",))

    def interner(self) -> Interner:
        """A counter of word types: compiled for the named patterns, a dictionary for others."""
        if self.pattern in PATTERNS:
            return ScanInterner(self.pattern == "default", self.lowercase)
        return DictInterner(self.tokenize)


VERSIONS = tuple(LEFT_OUT)  # a further one where the meaning of a token changes


@lru_cache(maxsize=3)
def expression(version: int) -> re.Pattern[str]:
    """A regular expression that matches the tokens of a text, with every range of characters written out."""
    return re.compile(pattern_of(unicode_values(version)))


class UnicodeTokenizer(Tokenizer):
    """Words with their marks, on the text as `str.lower()` makes it; single letters where words have no borders."""

    kind = "unicode"

    def __init__(self, lowercase: bool = True, version: int = VERSIONS[-1], normalise: str | None = None) -> None:
        """`normalise`: a normal form of texts; None: none in version 1, else NFC."""
        if not isinstance(lowercase, bool):
            raise InputError(f"tokenizer unicode: lowercase {lowercase!r}; give true or false")
        if isinstance(version, bool) or version not in VERSIONS:
            raise InputError(f"tokenizer unicode: version {version!r}; versions: {', '.join(map(str, VERSIONS))}")
        self.lowercase, self.version = lowercase, int(version)
        usual: NormalForm = "none" if self.version == 1 else "NFC"
        form = usual if normalise is None else checked_form(normalise, self.kind)
        self._reading = TextForm(form, LEFT_OUT[self.version], lowers=lowercase and form != "none")
        self._unusual = {} if form == usual else {ARGUMENT: form}

    def recipe(self) -> dict[str, object]:
        """The kind, its version, whether letters are lower-cased, and a normal form that is not the version's own."""
        return {"kind": self.kind, "version": self.version, "lowercase": self.lowercase, **self._unusual}

    def tokenize(self, text: str) -> list[str]:
        """The words of one text.

        >>> UnicodeTokenizer().tokenize("हिन्दी, ไทยคำ 漢字!")
        ['हिन्दी', ',', 'ไ', 'ท', 'ย', 'คำ', '漢', '字', '!']
        >>> UnicodeTokenizer().tokenize("co\u00adld"), len(UnicodeTokenizer(version=1).tokenize("co\u00adld"))
        (['cold'], 3)
        """
        text = self._reading(text)
        tokens: list[str] = expression(self.version).findall(text.lower() if self.lowercase else text)
        return tokens

    def reach(self, texts: Sequence[str], kept: Sequence[int]) -> list[int]:
        """The number of characters of each text up to the end of its first `kept` words."""
        return self._reading.reach(texts, kept, super().reach)

    def portable(self) -> PortablePart:
        """The step for a device without hashbench: its values are classes of characters and rules of lower case."""
        values = {"lowercase": self.lowercase, **unicode_values(self.version), **self._reading.values}
        return PortablePart("tokens", "words", values | (case_values() if self.lowercase else {}), needs=("letters",))

    def interner(self) -> Interner:
        """A compiled counter of word types."""
        table = unicode_table(self.lowercase, self.version)
        return self._reading.interner(ScanInterner(True, self.lowercase, table, self.version))


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
    """ICU's iterator over word borders, without rules of a language: its dictionaries go by script."""
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
