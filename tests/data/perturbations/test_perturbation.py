"""data/perturbations/base.py: seeded noise in texts, a function of seed, kind, rate and text alone."""

from __future__ import annotations

import concurrent.futures
import math
import random
from string import ascii_lowercase

import pytest

from hashbench.common.errors import InputError
from hashbench.common.invisible import ZERO_WIDTH_SPACE
from hashbench.data.perturbations.base import WORD, counted, n_words, perturbations, perturbed
from hashbench.data.perturbations.letters import KEYBOARD, derived, inflected, insert, misspellings, unseen_form
from hashbench.running.experiment.file_blocks import Robustness
from hashbench.running.experiment.schema import json_schema
from tests.oracles import perturbation as oracle

KINDS = perturbations()
TEXTS = [
    "The movie was really good, wasn't it?",
    "a gorgeous , witty , seductive movie .",
    "He said that their government would recieve 3.5 million dollars before Tuesday.",
    "naïve Straße 日本語 🙂 don’t",
    "x",
    "",
    "12 34 !!",
]
SEEN = frozenset("the movie was really good that government would million dollars before movies said".split())
RATES = [0.0, 0.05, 0.1, 0.2, 0.5, 1.0]


def changed(text: str, kind: str, rates=RATES, seed: int = 0) -> list[str]:
    return perturbed(text, kind, rates, seed=seed, seen=SEEN)


def places(before: str, after: str) -> list[int]:
    """Which words differ."""
    one, other = WORD.findall(before), WORD.findall(after)
    assert len(one) == len(other)
    return [i for i, (a, b) in enumerate(zip(one, other, strict=True)) if a != b]


def test_every_letter_is_inserted_at_every_place() -> None:
    expected = {f"{'ab'[:i]}{letter}{'ab'[i:]}" for i in range(3) for letter in ascii_lowercase}
    assert {insert("ab", draw) for draw in range(1_000)} == expected


@pytest.mark.parametrize("kind", KINDS)
def test_at_rate_0_a_text_stays_as_it_is(kind: str) -> None:
    assert [changed(text, kind, [0.0])[0] for text in TEXTS] == TEXTS
    assert [changed(text, kind)[0] for text in TEXTS] == TEXTS  # among other rates too


@pytest.mark.e2e
@pytest.mark.parametrize("kind", KINDS)
def test_a_text_is_changed_in_the_same_way_in_any_order_and_process(kind: str) -> None:
    expected = [changed(text, kind) for text in TEXTS]
    order = list(range(len(TEXTS)))
    random.Random(0).shuffle(order)
    assert {i: changed(TEXTS[i], kind) for i in order} == dict(enumerate(expected))
    with concurrent.futures.ProcessPoolExecutor(2) as pool:
        assert list(pool.map(changed, TEXTS, [kind] * len(TEXTS))) == expected
    for one, lines in zip(TEXTS, expected, strict=True):  # and whatever the other rates are
        assert [changed(one, kind, [rate])[0] for rate in RATES] == lines


def test_the_seed_and_the_kind_decide_too() -> None:
    text = TEXTS[2]
    assert changed(text, "swap", [0.5], seed=1) != changed(text, "swap", [0.5], seed=2)
    assert places(text, changed(text, "swap", [0.5])[0]) != places(text, changed(text, "keyboard", [0.5])[0])


@pytest.mark.parametrize("kind", KINDS)
def test_a_higher_rate_changes_what_a_lower_one_changes_and_more(kind: str) -> None:
    for text in TEXTS:
        if kind == "delete" and text == "x":
            continue
        lines = changed(text, kind)
        words = [WORD.findall(line.replace(ZERO_WIDTH_SPACE, "z")) for line in lines]  # which parts no word
        for low, high in zip(words, words[1:], strict=False):
            if len(low) != len(high):
                continue  # a single apostrophe left a word
            for before, one, other in zip(words[0], low, high, strict=True):
                assert one in (before, other), "a change is kept as the rate rises"


@pytest.mark.parametrize("kind", [name for name in KINDS if name not in ("case", "distortion")])
def test_as_many_words_are_counted_as_differ(kind: str) -> None:
    for text in TEXTS:
        copies = counted(text, kind, RATES, seed=0, seen=SEEN)
        assert [copy for copy, _ in copies] == changed(text, kind)
        assert [n for _, n in copies] == [len(places(text, copy.replace(ZERO_WIDTH_SPACE, "z"))) for copy, _ in copies]


def test_the_share_of_words_is_the_rate() -> None:
    """Over many texts of any length, to within a few standard deviations of the rounding of single texts."""
    generator = random.Random(3)
    vocabulary = [f"{a}{b}{c}" for a in "bcdf" for b in "aeiou" for c in "lmnrt"]
    texts = [" ".join(generator.choices(vocabulary, k=generator.randint(1, 30))) for _ in range(2_000)]
    total = sum(map(n_words, texts))
    for rate in (0.05, 0.1, 0.2):
        found = sum(len(places(text, changed(text, "swap", [rate])[0])) for text in texts)
        assert math.isclose(found / total, rate, abs_tol=0.5 * 4 * math.sqrt(len(texts)) / total)


def test_words_that_cannot_be_changed_are_passed_over() -> None:
    assert changed("a b c movie", "swap", [0.25])[0].startswith("a b c ")  # the budget of one word finds the one
    texts = [f"qqq {i} movie zzz" for i in range(20)]
    wrong = set(misspellings()["movie"])
    full = [changed(text, "misspelling", [1.0])[0] for text in texts]
    assert all(line.split()[2] in wrong and line.split()[0] == "qqq" for line in full)


@pytest.mark.parametrize(
    ("kind", "is_right"),
    [
        ("swap", oracle.is_swap),
        ("delete", oracle.is_deletion),
        ("insert", oracle.is_insertion),
        ("keyboard", oracle.is_typo),
        ("case", lambda before, after: before != after and before.lower() == after.lower()),
        ("misspelling", lambda before, after: after.lower() in misspellings()[before.lower()]),
    ],
)
def test_a_change_is_of_its_kind(kind: str, is_right) -> None:
    generator = random.Random(1)
    words = [*misspellings(), "Movie", "THE", "it", "Hannah", "don't"]
    for word in generator.sample(words, 150) + words[-4:]:
        after = KINDS[kind].change(word, generator.getrandbits(64))
        assert after is None or is_right(word, after), (word, after)
    assert KINDS["swap"].change("aa", 0) is KINDS["delete"].change("a", 0) is KINDS["case"].change("日本", 0) is None


def test_neighbours_of_keys_are_those_of_a_keyboard() -> None:
    letters = "abcdefghijklmnopqrstuvwxyz"
    assert {a: "".join(sorted(b)) for a, b in KEYBOARD.items()} == {
        a: "".join(b for b in letters if oracle.beside(a, b)) for a in letters
    }


def test_the_case_of_a_word_is_kept_by_misspellings() -> None:
    assert changed("THE", "misspelling", [1.0])[0].isupper()
    assert changed("The", "misspelling", [1.0])[0].istitle()


def test_the_list_of_misspellings_is_sound() -> None:
    known = misspellings()
    assert len(known) > 300
    for word, wrong in known.items():
        assert word == word.lower() and wrong and len(set(wrong)) == len(wrong)
        assert not set(wrong) & set(known), f"a misspelling of {word} is a word of the list"


def test_unseen_words_are_forms_that_nobody_saw() -> None:
    for draw in range(20):
        form = unseen_form("movie", draw, SEEN)
        assert form is not None and form not in SEEN and form in inflected("movie")
    all_inflections = SEEN | set(inflected("movie"))
    assert unseen_form("movie", 0, all_inflections) in derived("movie")
    assert unseen_form("movie", 0, all_inflections | set(derived("movie"))) is None
    assert unseen_form("zyx", 0, SEEN) is None, "unseen already"
    assert unseen_form("the", 0, SEEN) is None, "a word of grammar"
    with pytest.raises(ValueError, match="needs the words"):
        perturbed("movie", "unseen", [1.0], seed=0)


def test_an_unknown_kind() -> None:
    with pytest.raises(InputError, match="unknown perturbation 'swop'; did you mean 'swap'"):
        perturbed("a text", "swop", [1.0], seed=0)


def test_the_schema_knows_the_same_kinds() -> None:
    known = json_schema()["$defs"]["Robustness"]["properties"]["perturbations"]["items"]["enum"]
    assert known == list(KINDS) and set(Robustness().perturbations) <= set(KINDS)
