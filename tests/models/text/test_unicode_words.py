"""Words of any script: equal to the definition on every character and on real texts, compiled or not."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hashbench.common.errors import InputError
from hashbench.models.portable.tokens import words as portable_words
from hashbench.models.text.base import make_tokenizer
from hashbench.models.text.unicode import CLASS_BITS, CODE_POINTS, unicode_table
from hashbench.models.text.words import UnicodeTokenizer
from tests.oracles import unicode_words as oracle

HERE = Path(__file__).resolve().parents[3]
DATA = Path(os.environ.get("HASHBENCH_TEST_DATA", HERE.parent / "shared" / "data"))
NAMES = ["space", "word", "other", "letter", "mark"]
ODD_TEXTS = [
    "",
    " \t\n ",
    "\u0301abc \u0301 a\u0301b !\u0301! \u0e33",
    "हिन्दी में लिखा है।",
    "தமிழ் மொழி",
    "ภาษาไทยง่ายนิดเดียว ๑๒๓ คำ",
    "မြန်မာဘာသာ ၁၂၃။",
    "ភាសាខ្មែរ ១២",
    "ພາສາລາວ ນ້ຳ",
    "日本語のテキスト、2024年！ カタカナー ﾊﾝｶｸ",
    "中文。word中文word 123中",
    "اَلْعَرَبِيَّةُ עִבְרִית",
    "한국어 문장입니다",
    "İstanbul ΟΔΟΣ straße E\u0301te\u0301",
    "👩\u200d👩\u200d👧❤\ufe0f text😀text",
    "می\u200cخواهم _x_ 3.14 a‿b",
    "end\ud800 pair\ud83d\ude00",
]


def compiled(texts: list[str], lowercase: bool = True) -> list[list[str]]:
    interner = UnicodeTokenizer(lowercase).interner()
    found = interner.add(texts)
    table, remap = interner.finish()
    final = found.remapped(remap)
    return [table.strings(final.text(i)) for i in range(len(final))]


def clean(text: str) -> str:
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def test_every_character_is_of_the_class_of_the_definition() -> None:
    classes = unicode_table(False) & ((1 << CLASS_BITS) - 1)
    wrong = [
        hex(point)
        for point in range(CODE_POINTS)
        if not 0xD800 <= point < 0xE000 and NAMES[classes[point]] != oracle.kind(chr(point))
    ]
    assert wrong == []


@pytest.mark.parametrize("lowercase", [True, False])
def test_odd_texts_equal_the_definition(lowercase: bool) -> None:
    expected = [oracle.words(clean(text), lowercase) for text in ODD_TEXTS]
    assert [UnicodeTokenizer(lowercase).tokenize(text) for text in ODD_TEXTS] == expected
    assert compiled(ODD_TEXTS, lowercase) == expected


@settings(max_examples=100, deadline=None)
@given(st.lists(st.text(st.sampled_from("aA9_ ,!é\u0301İΣσहि्ไำท漢字カー한😀\u200d\ufe0f٣၁"), max_size=12), max_size=4))
def test_any_text_equals_the_definition(texts: list[str]) -> None:
    assert compiled(texts) == [oracle.words(text) for text in texts]


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("हिन्दी", ["हिन्दी"]),
        ("ที่นี่", ["ที่", "นี่"]),
        ("ဗမာ", ["ဗ", "မာ"]),
        ("東京タワー", ["東", "京", "タ", "ワ", "ー"]),
        ("naïve café", ["naïve", "café"]),
        ("Don't stop!!!", ["don", "'", "t", "stop", "!!!"]),
    ],
)
def test_known_words(text: str, tokens: list[str]) -> None:
    assert UnicodeTokenizer().tokenize(text) == tokens


def test_a_device_reads_the_same_words() -> None:
    part = UnicodeTokenizer().portable()
    read = portable_words(part.values, str)
    assert [read(text) for text in ODD_TEXTS] == [oracle.words(clean(text)) for text in ODD_TEXTS]


def test_its_recipe_names_its_version() -> None:
    assert make_tokenizer("unicode").recipe() == {"kind": "unicode", "version": 1, "lowercase": True}


def test_a_wrong_value() -> None:
    with pytest.raises(InputError, match="^tokenizer unicode: lowercase 'yes'; give true or false"):
        make_tokenizer("unicode", lowercase="yes")


def texts_of(path: Path) -> Iterator[list[str]]:
    """The text columns of a parquet file, some thousand cells at a time."""
    file = pq.ParquetFile(path)
    columns = [field.name for field in file.schema_arrow if str(field.type) in ("string", "large_string")]
    for batch in file.iter_batches(batch_size=2_000, columns=columns):
        for column in batch.columns:
            yield [cell for cell in column.to_pylist() if cell]


def files(pattern: str) -> list[Path]:
    found = sorted(DATA.glob(pattern))
    if not found:
        pytest.skip(f"no {pattern}: set HASHBENCH_TEST_DATA to a folder with it")
    return found


def test_sentences_of_thirteen_languages_equal_the_definition() -> None:
    for path in files("multilingual/sib200/*/validation.parquet"):
        assert any(texts_of(path)), path
        for texts in texts_of(path):
            assert compiled(texts) == [oracle.words(text) for text in texts], path


@pytest.mark.slow
def test_all_data_at_hand_equal_the_definition() -> None:
    for path in files("**/*.parquet"):
        for texts in texts_of(path):
            assert compiled(texts) == [oracle.words(text) for text in texts], path
