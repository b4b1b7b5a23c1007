"""Words: the compiled scan must equal `re` on lower-cased text, on every text."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hashbench.common.errors import InputError
from hashbench.models.text.fast import counting
from hashbench.models.text.fast.counting import ScanInterner
from hashbench.models.text.types import DictInterner, TypeTable
from hashbench.models.text.unicode import fold_table, packed_utf8
from hashbench.models.text.words import PATTERNS, WordTokenizer
from tests.oracles import words as oracle

ODD_TEXTS = [
    "",
    " \t\n ",
    "Don't stop!!! \x1c_x_ 3.14",
    "ΟΔΟΣ ΣΑΣ Σ ΑΣ. ΑΣ\u0301 ΑΣ:Β",  # final sigma depends on what stands around it
    "İstanbul IĞDIR ıİ",
    "\u212aelvin \u212b Ⱥ \u1e9e straße",  # lower cases of other widths
    "naïve café naïveté a\u0301b",
    "日本語のテキスト 中文。",
    "😀 👩‍👩‍👧 text😀text",
    "a\0b \0\0 !\0!",
    "<s> </s> <mask>",
    "abcdefgh abcdefghi abcdefg éabcdefg abcdefgé abcdefgh, abcdefgh",
    "x" * 100_000,
    "ab" * 5 + "!" * 1000 + "\u00a0non\u00a0breaking",
    "end\ud800 pair\ud83d\ude00",
    "1234567_ ABCDEFGH12 Z[a`b{c@d/e:f",
]
ALPHABET = st.sampled_from("aAzZ09_ ,.!'@[`{/:\0\n\t\x1c\x85éÉΣσİıßⱥȺ\u0301\u0307中😀\u00a0\u2003K")
DATA = Path(os.environ.get("HASHBENCH_TEST_DATA", Path(__file__).parents[3] / ".." / "shared" / "data"))


def tokens(tokenizer: WordTokenizer, texts: list[str]) -> tuple[list[list[str]], TypeTable]:
    """What the interner makes of texts, back as strings."""
    interner = tokenizer.interner()
    found = interner.add(texts)
    table, remap = interner.finish()
    final = found.remapped(remap)
    return [table.strings(final.text(i)) for i in range(len(final))], table


def expected(texts: list[str], lowercase: bool = True, pattern: str = "default") -> list[list[str]]:
    clean = [text.encode("utf-16", "surrogatepass").decode("utf-16", "replace") for text in texts]
    return [oracle.words(text, PATTERNS[pattern], lowercase) for text in clean]


@pytest.mark.parametrize("pattern", ["default", "whitespace"])
@pytest.mark.parametrize("lowercase", [True, False])
def test_odd_texts_equal_re(pattern: str, lowercase: bool) -> None:
    tokenizer = WordTokenizer(pattern, lowercase)
    per_text, table = tokens(tokenizer, ODD_TEXTS)
    assert per_text == expected(ODD_TEXTS, lowercase, pattern)
    assert [tokenizer.tokenize(text) for text in ODD_TEXTS] == per_text
    assert list(zip(table.strings(), table.counts.tolist(), strict=True)) == oracle.table(per_text)


@given(st.lists(st.text(ALPHABET, max_size=40), max_size=8), st.booleans())
@settings(max_examples=400)
def test_made_up_texts_equal_re(texts: list[str], lowercase: bool) -> None:
    assert tokens(WordTokenizer(lowercase=lowercase), texts)[0] == expected(texts, lowercase)


@pytest.mark.e2e
@given(st.lists(st.text(max_size=40), max_size=4))
@settings(max_examples=200)
def test_any_unicode_equals_re(texts: list[str]) -> None:
    assert tokens(WordTokenizer(), texts)[0] == expected(texts)


def test_real_text_equals_re() -> None:
    files = sorted((DATA / "corpora" / "wikipedia").glob("*.parquet"))
    if not files:
        pytest.skip(f"no corpora/wikipedia in {DATA}; set HASHBENCH_TEST_DATA")
    import pyarrow.parquet as pq

    for file in files:
        texts = pq.read_table(file, columns=["text"]).column("text").slice(0, 60).to_pylist()
        assert tokens(WordTokenizer(), texts)[0] == expected(texts), file.name


def test_tables_grow_and_threads_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counting, "CHUNK_CHARACTERS", 1000)  # many chunks, so that two threads share them
    texts = [" ".join(f"w{i * j} longer-word-number-{i * j}" for j in range(40)) for i in range(400)]
    tables = []
    for threads in ("1", "2", "3"):
        monkeypatch.setenv("HASHBENCH_THREADS", threads)
        per_text, table = tokens(WordTokenizer(), texts)
        assert per_text == expected(texts)
        tables.append(table.fingerprint)
    assert len(set(tables)) == 1


def test_the_table_does_not_depend_on_how_texts_are_cut() -> None:
    whole = WordTokenizer().interner()
    whole.add(ODD_TEXTS)
    pieces = WordTokenizer().interner()
    shards = [pieces.add([text]) for text in reversed(ODD_TEXTS)]
    (one, _), (other, remap) = whole.finish(), pieces.finish()
    assert one.fingerprint == other.fingerprint
    assert other.strings(shards[-3].remapped(remap).ids) == ["don", "'", "t", "stop", "!!!", "_x_", "3", ".", "14"]


@pytest.mark.parametrize("lowercase", [True, False])
def test_the_compiled_scan_gives_what_a_dictionary_gives(lowercase: bool) -> None:
    compiled, plain = WordTokenizer(lowercase=lowercase), WordTokenizer(PATTERNS["default"], lowercase)
    assert isinstance(compiled.interner(), ScanInterner) and isinstance(plain.interner(), DictInterner)
    one, other = tokens(compiled, ODD_TEXTS), tokens(plain, ODD_TEXTS)
    assert one[0] == other[0]
    assert one[1].fingerprint == other[1].fingerprint


def test_nothing_at_all() -> None:
    interner = WordTokenizer().interner()
    assert interner.add([]).offsets.tolist() == [0]
    table, remap = interner.finish()
    assert len(table) == len(remap) == 0


def test_an_own_pattern() -> None:
    tokenizer = WordTokenizer(r"(\d)+|[a-z]*", lowercase=False)
    assert tokenizer.tokenize("ab12 C") == ["ab", "12"]  # whole matches, no groups, no empty ones
    assert tokens(tokenizer, ["ab12 C"])[0] == [["ab", "12"]]


def test_a_pattern_that_is_none() -> None:
    with pytest.raises(InputError, match=r"pattern '\(' is no regular expression .*; correct it"):
        WordTokenizer("(")
    with pytest.raises(InputError, match="lowercase 'yes'; give a text and true or false"):
        WordTokenizer(lowercase="yes")  # type: ignore[arg-type]


def test_recipe_is_the_pattern_itself() -> None:
    assert WordTokenizer().recipe() == {"kind": "words", "pattern": r"\w+|[^\w\s]+", "lowercase": True}


def test_a_table_of_offsets_that_is_full_before_the_others_grows() -> None:
    words = counting._Words()
    memory = np.full(9, -1, np.int64)
    memory[0], words.offsets = 0, memory[:5]  # for four types
    data, ends = packed_utf8(["a b longer-word1 longer-word2 c d"])
    reader = counting._Reader(words)
    with reader.table() as table:
        ids = counting._Ids(0)
        assert reader.read(table, (data, ends[:-1], ends[1:]), fold_table(False, True), False, ids).tolist() == [6]
    assert ids.all().tolist() == [0, 1, 2, 3, 4, 5] and words.size[0] == len(reader) == 6
    assert memory[5:].tolist() == [-1] * 4  # nothing was written behind the first
