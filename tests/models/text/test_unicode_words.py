"""Words of any script: equal to the definition on every character and on real texts, compiled or not."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hashbench.common.errors import InputError
from hashbench.models.portable.tokens import words as portable_words
from hashbench.models.text.base import lasting, make_tokenizer, saved_tokenizer
from hashbench.models.text.unicode import CLASS_BITS, CODE_POINTS, LEFT_OUT, unicode_table
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
    "co\u00adld wo\u2060rd \ufeffbom \u200eltr\u200e.\u200f \u061c e\u00ad\u0301 a\u200bb .\u200b. \u180ea",
    "\u2764\ufe0f 1\ufe0f\u20e3 a\u034f\u0301 \u1820\u180b\u1820 x\u3164y",
    "\ufff9k\ufffav\ufffb \u115f\u1161 \u6f22\U000e0100\u5b57",
    "\u0958 \u0915\u093c \u212b A\u030a .\u060012 \u06dd3 \U0001f3f4\U000e0067\U000e007f! \ufff9x\ufffb",
]
VERSIONS = [1, 2, 3]


def compiled(texts: list[str], lowercase: bool = True, version: int = 1) -> list[list[str]]:
    interner = UnicodeTokenizer(lowercase, version).interner()
    found = interner.add(texts)
    table, remap = interner.finish()
    final = found.remapped(remap)
    return [table.strings(final.text(i)) for i in range(len(final))]


def clean(text: str) -> str:
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


ASSIGNED = [*range(0x34000), *range(0xE0000, 0xE1000)]  # beyond lie code points that are of no character or private


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("points", [ASSIGNED, pytest.param(range(CODE_POINTS), marks=pytest.mark.slow)], ids=len)
def test_every_character_is_of_the_class_of_the_definition(points: Sequence[int], version: int) -> None:
    classes = unicode_table(False, version) & ((1 << CLASS_BITS) - 1)
    ignored = {chr(point) for first, last in LEFT_OUT[version] for point in range(first, last + 1)}
    wrong = [
        hex(point)
        for point in points
        if not 0xD800 <= point < 0xE000
        and ("nothing" if chr(point) in ignored else NAMES[classes[point]]) != oracle.kind(chr(point), version)
    ]
    assert wrong == []


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("lowercase", [True, False])
def test_odd_texts_equal_the_definition(lowercase: bool, version: int) -> None:
    expected = [oracle.words(clean(text), lowercase, version) for text in ODD_TEXTS]
    assert [UnicodeTokenizer(lowercase, version).tokenize(text) for text in ODD_TEXTS] == expected
    assert compiled(ODD_TEXTS, lowercase, version) == expected


LETTERS = (
    "aA9_ ,!é\u0301İΣσहि्ไำท漢字カー한😀\u200d\ufe0f٣၁\u00ad\u200b\u200e\u0600\u180e\u034f\u1160\u3164\ufff9\U000e0061"
)


@settings(max_examples=100)
@given(st.lists(st.text(st.sampled_from(LETTERS), max_size=12), max_size=4), st.sampled_from(VERSIONS))
def test_any_text_equals_the_definition(texts: list[str], version: int) -> None:
    assert compiled(texts, version=version) == [oracle.words(text, version=version) for text in texts]


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


@pytest.mark.parametrize("text", ["co{}ld", "{}cold", "cold{}", "{0}c{0}old{0}"])
@pytest.mark.parametrize(
    "mark",
    "\u00ad\u2060\ufeff\u200e\u200f\u061c\u202a\u2066\u2069\u2063\ufe0f\ufe00\u034f\u3164\uffa0\u115f\u1160\u180b\u180e\ufff9\u17b4\u2065"
    "\U000e0061\U000e0100\U0001d173",
)
def test_a_mark_that_shows_nothing_makes_no_other_word(text: str, mark: str) -> None:
    assert UnicodeTokenizer().tokenize(text.format(mark)) == ["cold"]


def test_joiners_stay_and_the_zero_width_space_parts() -> None:
    words = UnicodeTokenizer().tokenize("می\u200cخواهم क्\u200dष कि\u200bताब")
    assert words == ["می\u200cخواهم", "क्\u200dष", "कि", "ताब"]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_device_reads_the_same_words(version: int) -> None:
    part = UnicodeTokenizer(version=version).portable()
    read = portable_words(part.values, str)
    assert [read(text) for text in ODD_TEXTS] == [oracle.words(clean(text), version=version) for text in ODD_TEXTS]


def test_its_recipe_names_its_version() -> None:
    """A recipe of version 1 is as it is stored since there was no other."""
    assert make_tokenizer("unicode", version=1).recipe() == {"kind": "unicode", "version": 1, "lowercase": True}
    assert make_tokenizer("unicode").recipe() == {"kind": "unicode", "version": 3, "lowercase": True}


def test_a_normal_form_that_is_not_the_usual_one_is_in_its_recipe() -> None:
    for version, usual, other in ((1, "none", "NFC"), (2, "NFC", "none"), (3, "NFC", "none")):
        plain = make_tokenizer("unicode", version=version)
        assert make_tokenizer("unicode", version=version, normalise=usual).recipe() == plain.recipe()
        changed = make_tokenizer("unicode", version=version, normalise=other)
        assert changed.recipe() == {**plain.recipe(), "normalise": other}
        assert changed.tokenize("e\u0301") == (["é"] if other == "NFC" else ["e\u0301"])


def test_stored_arguments_without_a_version_mean_the_first(tmp_path: Path) -> None:
    assert saved_tokenizer("unicode", tmp_path, {"lowercase": False}).recipe()["version"] == 1
    kept = lasting("unicode", {})
    assert kept == {"version": 3} and saved_tokenizer("unicode", tmp_path, kept).recipe()["version"] == 3
    assert lasting("unicode", {"version": 1}) == {"version": 1} and lasting("words", {}) == {}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"lowercase": "yes"}, "^tokenizer unicode: lowercase 'yes'; give true or false"),
        ({"version": 4}, "^tokenizer unicode: version 4; versions: 1, 2, 3$"),
        ({"version": True}, "^tokenizer unicode: version True; versions: 1, 2, 3$"),
        (
            {"normalise": "NFD"},
            "^tokenizer unicode: normalise 'NFD'; did you mean 'NFC'.; choose from none, NFC, NFKC$",
        ),
    ],
)
def test_a_wrong_value(arguments: dict, said: str) -> None:
    with pytest.raises(InputError, match=said):
        make_tokenizer("unicode", **arguments)


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
            for version in VERSIONS:
                expected = [oracle.words(text, version=version) for text in texts]
                assert compiled(texts, version=version) == expected, path


@pytest.mark.slow
def test_all_data_at_hand_equal_the_definition() -> None:
    for path in files("**/*.parquet"):
        for texts in texts_of(path):
            for version in VERSIONS:
                expected = [oracle.words(text, version=version) for text in texts]
                assert compiled(texts, version=version) == expected, path
