"""Normal forms of texts: a tokenizer with one reads all spellings of a text as one, on every path."""

from __future__ import annotations

import pickle
import unicodedata
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hashbench.common.errors import InputError
from hashbench.models.portable import byte_pairs, tokens, wordpieces
from hashbench.models.text.base import Tokenizer, make_tokenizer, saved_tokenizer, tokenizers
from hashbench.models.text.normal_forms import PLAIN, TextForm, form_notes
from hashbench.models.text.unicode import LEFT_OUT
from tests.models.text.interning import assert_interns_as_a_dictionary

FORMS = ["NFC", "NFKC"]
TRAINED = ["bpe", "wordpieces"]
KINDS = sorted(set(tokenizers()) - {"transformers", "icu"})  # these need a file, or a package of their own
TEXTS = [
    "nai\u0308ve cafe\u0301 au lait",
    "\u212bngstro\u0308m A\u030a",
    "\ufb01sh \uff21\uff22 \uff76\uff9e",
    "plain",
] * 9
LETTERS = "aA ,\u00e9e\u0301\u0302\u0323\u212b\u0958\u093c\u1100\u1161\ufb01\uff76\uff9e\u0378\U0002f800"
LETTERS += "H\u0331J\u030c\u0130\u03a3"
SPELLINGS = st.lists(st.text(st.sampled_from(LETTERS)), max_size=4)


def made(kind: str, **arguments: object) -> Tokenizer:
    tokenizer = make_tokenizer(kind, **arguments)
    if tokenizer.needs_training:
        tokenizer.train(TEXTS, 400)
    return tokenizer


def trained_alike(kind: str, form: str) -> Tokenizer:
    """A tokenizer without a form that learned from normal texts."""
    tokenizer = make_tokenizer(kind)
    if tokenizer.needs_training:
        tokenizer.train([unicodedata.normalize(form, text) for text in TEXTS], 400)
    return tokenizer


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", KINDS)
def test_every_tokenizer_reads_normal_texts(kind: str, form: str) -> None:
    tokenizer, plain = made(kind, normalise=form), trained_alike(kind, form)
    for text in (*TEXTS[:4], "", "\ud83d\ude00 e\ud800\u0301"):
        normal = unicodedata.normalize(form, text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))
        expected = plain.tokenize(normal)
        assert tokenizer.tokenize(text) == tokenizer.tokenize(unicodedata.normalize("NFD", text)) == expected
    assert_interns_as_a_dictionary(tokenizer, TEXTS, [3, 3, len(TEXTS)])
    assert pickle.loads(pickle.dumps(tokenizer)).tokenize(TEXTS[0]) == tokenizer.tokenize(TEXTS[0])


@pytest.mark.parametrize("kind", KINDS)
def test_only_a_form_that_changes_texts_is_in_the_recipe(kind: str) -> None:
    usual = make_tokenizer(kind).recipe()
    assert "normalise" not in usual
    none, nfkc = make_tokenizer(kind, normalise="none"), make_tokenizer(kind, normalise="NFKC")
    assert nfkc.recipe() == {**usual, "normalise": "NFKC"} and nfkc.kind == kind
    assert (none.recipe() == usual) == (kind != "unicode")


@pytest.mark.parametrize("kind", TRAINED)
def test_a_trained_vocabulary_keeps_its_form(kind: str, tmp_path: Path) -> None:
    tokenizer = make_tokenizer(kind, normalise="NFC")
    tokenizer.vocabulary_size = 300  # as a plan sets it
    assert tokenizer.recipe() == {
        **make_tokenizer(kind).recipe(),
        tokenizer.argument: {"train": 300},
        "normalise": "NFC",
    }
    assert tokenizer.options()["normalise"] == "NFC" and tokenizer.trained and tokenizer.title
    tokenizer.train(iter(TEXTS), 400)
    tokenizer.save(tmp_path)
    again = saved_tokenizer(kind, tmp_path, {"normalise": "NFC"})
    assert again.tokenize(TEXTS[0]) == tokenizer.tokenize(TEXTS[0]) and again.recipe() == tokenizer.recipe()
    loaded = make_tokenizer(kind, normalise="NFC")
    loaded.load(tmp_path)
    assert (loaded.pieces, loaded.spellings()) == (tokenizer.pieces, tokenizer.spellings())


STEPS = {"tokens": tokens, "wordpieces": wordpieces, "byte_pairs": byte_pairs}


@cache
def on_a_device(kind: str, form: str, **arguments: object) -> tuple[Tokenizer, Callable[[str], list[str]]]:
    """A tokenizer, and the step of a device that reads as it does."""
    tokenizer = made(kind, normalise=form, **arguments)
    part = tokenizer.portable()
    assert part is not None
    return tokenizer, getattr(STEPS[part.source], part.entry)(part.values, lambda name: part.files[name].decode())


@settings(max_examples=60)
@given(texts=SPELLINGS)
def test_a_device_reads_the_same_tokens(texts: list[str]) -> None:
    for kind in ("words", "unicode", "characters", "bytes", "wordpieces", "bpe"):
        for form in FORMS:
            for more in (
                ({}, {"lowercase": kind == "bpe"}) if kind in ("words", "unicode", "wordpieces", "bpe") else ({},)
            ):
                tokenizer, step = on_a_device(kind, form, **more)
                assert [step(text) for text in texts] == [tokenizer.tokenize(text) for text in texts], (kind, form)


def test_a_device_leaves_characters_alone_that_the_training_did_not_know() -> None:
    """As a later Unicode would have them: what was no character then parts two stretches that are normalised."""
    values = {"form": "NFC", "known": "2t 1"}  # e and nothing else: the accent came later
    assert tokens.characters(values, str)("e\u0301") == ["e", "\u0301"]


def pairs_that_leave_the_form() -> list[str]:
    """Capitals with a mark that are in normal form C, and whose lower case is not."""
    parts = [unicodedata.decomposition(chr(point)).split() for point in range(0x30000)]
    marks = {chr(int(codes[1], 16)) for codes in parts if len(codes) == 2 and not codes[0].startswith("<")}
    capitals = [chr(point) for point in range(0x30000) if chr(point).lower() != chr(point)]
    pairs = [unicodedata.normalize("NFC", capital + mark) for capital in capitals for mark in sorted(marks)]
    return sorted({pair for pair in pairs if not unicodedata.is_normalized("NFC", pair.lower())})


def test_a_form_holds_for_the_lower_case() -> None:
    """H with a line below, and all others whose small letter is one code point where the capital is two."""
    pairs = pairs_that_leave_the_form()
    assert "H\u0331" in pairs
    for form in FORMS:
        low = [unicodedata.normalize(form, pair.lower()) for pair in pairs]
        assert [TextForm(form, lowers=True)(pair) for pair in (*pairs, *low)] == low * 2
        assert TextForm(form, lowers=True)("\u00c9COLE [SEP]") == "\u00c9COLE [SEP]"
        for kind, arguments in (("words", {}), ("unicode", {}), ("bpe", {"lowercase": True}), ("wordpieces", {})):
            tokenizer = made(kind, normalise=form, **arguments)
            assert list(map(tokenizer.tokenize, pairs)) == list(map(tokenizer.tokenize, low)), kind
            assert_interns_as_a_dictionary(tokenizer, [*pairs, *low], [len(pairs), len(pairs)])
    cased = make_tokenizer("words", normalise="NFC", lowercase=False)
    assert [cased.tokenize(pair) for pair in pairs] == [
        make_tokenizer("words", lowercase=False).tokenize(p) for p in pairs
    ]


def test_a_file_that_lower_cases_reads_the_lower_case_in_the_form(tmp_path: Path) -> None:
    learned = made("bpe", lowercase=True)
    learned.save(tmp_path)
    tokenizer = make_tokenizer("bpe", bpe=str(tmp_path), normalise="NFC")
    assert tokenizer.tokenize("H\u0331") == tokenizer.tokenize("\u1e96") == learned.tokenize("\u1e96")
    made("bpe").save(tmp_path)
    cased = make_tokenizer("bpe", bpe=str(tmp_path), normalise="NFC")
    assert cased.tokenize("H\u0331") != cased.tokenize("\u1e96")


@settings(max_examples=100)
@given(text=st.text(st.sampled_from(LETTERS + "T\u0308\u0316\u0345\u0391W\u030a")))
def test_the_lower_case_of_a_form_stays_in_it(text: str) -> None:
    for form in FORMS:
        read = TextForm(form, lowers=True)(text)
        assert unicodedata.is_normalized(form, read.lower()) and TextForm(form, lowers=True)(read) == read
        words = make_tokenizer("words", normalise=form).tokenize(text)
        assert all(unicodedata.is_normalized(form, word) for word in words)


def test_a_version_without_a_form_reads_texts_as_they_are() -> None:
    assert make_tokenizer("unicode", version=1).tokenize("H\u0331") == ["h\u0331"]
    assert make_tokenizer("unicode").tokenize("H\u0331 \u039f\u03a3") == ["\u1e96", "\u03bf\u03c2"]


def test_texts_without_a_device_step_have_none() -> None:
    assert made("items", normalise="NFC").portable() is None
    assert make_tokenizer("words", normalise="none").portable() == make_tokenizer("words").portable()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"normalise": "nfc"}, "^tokenizer words: normalise 'nfc'; did you mean 'NFC'.; choose from none, NFC, NFKC$"),
        ({"normalise": True}, "^tokenizer words: normalise True; choose from none, NFC, NFKC$"),
        (
            {"normalize": "NFC"},
            "unknown argument 'normalize'; did you mean 'normalise'.; it takes pattern, lowercase, norm",
        ),
    ],
)
def test_a_wrong_form(arguments: dict, said: str) -> None:
    with pytest.raises(InputError, match=said):
        make_tokenizer("words", **arguments)


def test_ascii_and_plain_readings_change_nothing() -> None:
    text = "plain text"
    assert TextForm("NFKC", LEFT_OUT[3])(text) is text and PLAIN.is_plain and PLAIN.values == {}
    assert PLAIN("e\u0301\ud800") == "e\u0301\ufffd"


def test_a_split_that_is_not_in_one_form_is_noted() -> None:
    composed, parted = ["caf\u00e9", "a"], ["cafe\u0301", "a"]
    assert form_notes({"train": [composed], "test": [["plain"]]}) == []
    (note,) = form_notes({"train": [composed], "dev": [parted], "test": [parted, composed + parted]})
    assert note.startswith("not in one Unicode normal form (NFC): 1 text of dev, 2 texts of test; ")


@pytest.mark.parametrize("kind", ["words", "unicode", "characters", "bytes", "bpe", "wordpieces"])
def test_what_is_read_is_counted_in_the_characters_of_the_text(kind: str) -> None:
    """All tokens reach the whole text, none reach nothing, and one word of two reaches the end of its accents."""
    tokenizer = made(kind, normalise="NFC")
    texts = ["cafe\u0301 nai\u0308ve", "plain text", "\u212b"]
    n_tokens = [len(tokenizer.tokenize(text)) for text in texts]
    assert tokenizer.reach(texts, n_tokens) == [len(text) for text in texts]
    assert tokenizer.reach(texts, [0, 0, 0]) == [0, 0, 0]
    if kind in ("words", "unicode"):
        assert tokenizer.reach(texts, [1, 1, 1]) == [5, 5, 1]
