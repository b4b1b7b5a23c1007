from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

from hashbench.data.tasks.base import Task
from hashbench.data.tasks.catalogue import find_task, known_kinds
from hashbench.data.tasks.text import text_kind
from hashbench.data.tasks.text_baselines import PairFeatures, PairNumbers, bag_of_words, majority, overlap_numbers
from hashbench.data.tasks.text_data import Split, TaskData
from hashbench.models.text.unicode import well_formed
from hashbench.models.text.words import WordTokenizer


def data(train: list[str], labels: list[float], dev: list[str], kind: str = "classification") -> TaskData:
    dtype = np.float32 if kind == "regression" else np.int64
    splits = {
        "train": Split((train,), np.array(labels, dtype)),
        "validation": Split((dev,), np.zeros(len(dev), dtype)),
    }
    return TaskData(Task("mine", known_kinds()[kind], ("text",)), splits, "f", "here", "own")


def predicted(task: TaskData) -> np.ndarray:
    return text_kind(task.task).predictions("bag-of-words", task)["validation"].outputs


def test_majority_is_the_most_frequent_class_of_train() -> None:
    assert majority(data(["a"] * 5, [2, 1, 2, 0, 1], ["x", "y"]), ["validation"])["validation"].tolist() == [1, 1]


def test_majority_of_a_regression_is_the_mean() -> None:
    found = majority(data(["a"] * 3, [1.0, 2.0, 6.0], ["x"], "regression"), ["validation"])["validation"]
    assert found.tolist() == [3.0]


TRAIN = ["good film", "bad film", "very good", "very bad", "GOOD!!", "bad..."]


def test_bag_of_words_knows_words_whatever_their_case() -> None:
    task = data(TRAIN, [1, 0, 1, 0, 1, 0], ["Good thing", "a BAD thing", "!!", "..."])
    assert predicted(task).tolist() == [1, 0, 1, 0]


def test_bag_of_words_knows_pairs_of_words() -> None:
    train = ["not good", "good not", "not good x", "good not y"] * 3
    task = data(train, [0, 1, 0, 1] * 3, ["not good", "good not"])
    assert bag_of_words(task, ["validation"])["validation"].tolist() == [0, 1]


def test_a_word_that_is_repeated_counts_less_each_time() -> None:
    """Four times one word weigh 1 + ln 4 = 2.4 (sublinear), less than three words of the other class once each."""
    words = ["good", "fine", "nice", "awful", "dull", "weak"]
    assert predicted(data(words, [1, 1, 1, 0, 0, 0], ["good good good good awful dull weak"])).tolist() == [0]


def test_bag_of_words_regression() -> None:
    task = data(TRAIN, [1.0, 0.0, 1.0, 0.0, 1.0, 0.0], ["good", "bad"], "regression")
    found = predicted(task)
    assert found.dtype == np.float64 and found[0] > 0.7 and found[1] < 0.3


@pytest.mark.parametrize("text", ["", " ", "\ud800 \0 \U0001f600", "x" * 100_000])
def test_odd_texts(text: str) -> None:
    assert predicted(data([text, "a word"], [0, 1], [text])).tolist() == [0]


def test_texts_without_a_word_have_the_majority() -> None:
    wordless = data(["", "", ""], [1, 0, 1], ["", "word"])
    assert predicted(wordless).tolist() == [1, 1]


def test_one_class_in_train() -> None:
    assert predicted(data(["a", "b"], [1, 1], ["c"])).tolist() == [1]


def pairs(
    train: list[tuple[str, str]], labels: list[float], dev: list[tuple[str, str]], kind: str,
    baseline: str = "bag-of-pairs", **options: Any,
) -> np.ndarray:  # fmt: skip
    """What a trivial baseline of pairs predicts of `dev`."""
    dtype = np.float32 if kind == "regression" else np.int64
    splits = {
        name: Split(tuple(list(column) for column in zip(*rows, strict=True)), np.array(values, dtype))
        for name, rows, values in (("train", train, labels), ("validation", dev, [0] * len(dev)))
    }
    task = TaskData(Task("mine", known_kinds()[kind], ("one", "two")), splits, "f", "here", "own")
    return text_kind(task.task).predictions(baseline, task, **options)["validation"].outputs


ALIKE = [("a b c", "c b a"), ("d e f", "D E F!"), ("g h i", "i g h"), ("k l m", "k l m")]
APART = [("a b c", "d e f"), ("d e f", "g h i"), ("g h i", "k l m"), ("k l m", "a b c")]
NEW = [("x y z", "z y x"), ("x y z", "u v w"), ("", ""), ("a b c", "")]


def test_bag_of_pairs_sees_what_two_texts_share() -> None:
    """Also of words that train lacks nothing is shared; each word is as frequent in both classes."""
    found = pairs(ALIKE + APART, [1] * 4 + [0] * 4, [("a b", "b a"), ("a b", "k l"), *NEW], "classification")
    assert found[:2].tolist() == [1, 0] and len(found) == 6
    values = pairs(ALIKE + APART, [5.0] * 4 + [0.0] * 4, [("a b", "b a"), ("a b", "k l")], "regression")
    assert values[0] > 3 > 2 > values[1]


def test_numbers_of_a_pair_are_those_of_its_sets_of_words() -> None:
    rows = [("a b c", "c b d"), ("a", "a"), ("", "b a a")]
    first, second = ([one for one, _ in rows], [two for _, two in rows])
    train = Split((first, second), np.zeros(3, np.int64))
    features = PairFeatures(train)
    numbers = features._shared(*map(features._words.transform, train.texts))
    for (one, two), found in zip(rows, numbers.tolist(), strict=True):
        left, right = set(one.split()), set(two.split())
        both, either = len(left & right), len(left | right)
        shares = [both / max(1, len(left)), both / max(1, len(right)), both / either]
        logarithms = np.log1p([len(left), len(right), both]).tolist()
        assert found[1:] == pytest.approx([*shares, *logarithms]) and (found[0] > 0) == (both > 0)
    assert numbers[1, 0] == pytest.approx(1.0)  # the same word twice: the largest cosine


def test_bag_of_pairs_without_words_or_classes_is_the_majority() -> None:
    assert pairs([("", "")] * 3, [1, 0, 1], [("a", "b")], "classification").tolist() == [1]
    assert pairs(ALIKE, [1] * 4, [("a", "b")], "classification").tolist() == [1]


def test_only_tasks_of_pairs_have_the_bag_of_pairs() -> None:
    names = {task: find_task(task).kind.baselines_of(find_task(task)) for task in ("sst2", "qnli", "stsb")}
    assert names == {
        "sst2": ["majority", "bag-of-words", "hashed-words"],
        "qnli": ["majority", "bag-of-words", "hashed-words", "bag-of-pairs", "bag-of-pairs-2"],
        "stsb": ["majority", "bag-of-words", "hashed-words", "bag-of-pairs", "bag-of-pairs-2"],
    }


PAIR_TEXT = st.text(max_size=20) | st.sampled_from(
    ["", "a", "The cat sat.", "the CAT", "東京 です", "Σίσυφος", "\ud800", "!!"]
)


def plain_numbers(one: str, other: str) -> list[float]:
    """The nine overlap numbers of a pair, from their definitions."""
    one, other = (text.encode("utf-8", "replace").decode().lower() for text in (one, other))
    words = [set(re.findall(r"\w+", text)) for text in (one, other)]
    parts = [
        {text[at : at + 4] for at in range(len(text)) if at + 4 <= len(text) or at == 0} - {""} for text in (one, other)
    ]

    def over(shared: float, size: float) -> float:
        return shared / size if size else 0.0

    shared = len(words[0] & words[1])
    numbers = []
    for a, b in (words, parts):
        numbers += [over(len(a & b), math.sqrt(len(a) * len(b))), over(len(a & b), len(a | b))]
    numbers += [over(shared, len(words[0])), over(shared, len(words[1]))]
    numbers += [math.log(1 + len(words[0])), math.log(1 + len(words[1]))]
    return [*numbers, over(abs(len(one) - len(other)), max(len(one), len(other)))]


def plain_cosine(train: list[str], one: str, other: str, features: Callable[[str], list[str]]) -> float:
    """The cosine of two texts' sublinear TF-IDF, whose documents are the texts of train."""
    documents = [set(features(text)) for text in train]

    def vector(text: str) -> dict[str, float]:
        counts = Counter(features(text))
        idf = {f: math.log((1 + len(train)) / (1 + sum(f in document for document in documents))) + 1 for f in counts}
        return {f: (1 + math.log(n)) * idf[f] for f, n in counts.items()}

    a, b = vector(one), vector(other)
    norms = math.sqrt(sum(v * v for v in a.values())) * math.sqrt(sum(v * v for v in b.values()))
    return sum(v * b.get(f, 0.0) for f, v in a.items()) / norms if norms else 0.0


def characters(text: str) -> list[str]:
    """The n-grams of 3 to 5 characters of each word with a blank on both sides; of a shorter one itself."""
    grams = []
    for word in (f" {part} " for part in text.lower().split()):
        for n in (3, 4, 5):
            grams += [word[at : at + n] for at in range(max(1, len(word) - n + 1))]
            if len(word) <= n:
                break
    return grams


@given(st.lists(st.tuples(PAIR_TEXT, PAIR_TEXT), min_size=1, max_size=4))
@settings(max_examples=80, deadline=None)
def test_nine_numbers_are_those_of_plain_python(rows: list[tuple[str, str]]) -> None:
    texts = [[well_formed(text) for text in column] for column in zip(*rows, strict=True)]
    expected = [plain_numbers(*row) for row in zip(*texts, strict=True)]
    np.testing.assert_allclose(overlap_numbers(*texts), expected, atol=1e-12)


def test_three_cosines_are_those_of_plain_python() -> None:
    rows = [
        ("The cat sat on the mat.", "A cat sat, sat there!"), ("a b c", "the of and"), ("new words", "old WORDS"),
        ("x", "x"), ("", "y"), ("naïve 東京 です", "東京 です naive"),
    ]  # fmt: skip
    columns = tuple(list(column) for column in zip(*rows, strict=True))
    train = Split(tuple(column[:3] for column in columns), np.zeros(3, np.int64))
    found = PairNumbers(train)._unscaled(Split(columns, np.zeros(len(rows), np.int64)))
    documents = [text for column in train.texts for text in column]
    words = WordTokenizer(r"\w+").tokenize
    forms = [words, lambda text: [word for word in words(text) if word not in ENGLISH_STOP_WORDS], characters]
    expected = [[*plain_numbers(*row), *(plain_cosine(documents, *row, form) for form in forms)] for row in rows]
    np.testing.assert_allclose(found, expected, atol=1e-9)


@given(st.lists(st.tuples(PAIR_TEXT, PAIR_TEXT), min_size=2, max_size=6))
@settings(max_examples=30, deadline=None)
def test_any_pairs_have_a_prediction(rows: list[tuple[str, str]]) -> None:
    labels = [number % 2 for number in range(len(rows))]
    found = pairs(rows, labels, rows, "classification", "bag-of-pairs-2")
    assert len(found) == len(rows) and set(found.tolist()) <= {0, 1}
    values = pairs(rows, [float(label) for label in labels], rows, "regression", "bag-of-pairs-2")
    assert np.isfinite(values).all()


def test_equal_texts_share_all() -> None:
    for text in ("a", "the cat", "東", "!?"):
        numbers = overlap_numbers([text], [text])[0]
        words = 1.0 if re.findall(r"\w", text) else 0.0
        assert numbers[:6].tolist() == [words, words, 1.0, 1.0, words, words] and numbers[8] == 0.0


def test_version_2_sees_what_two_texts_share_and_notes_its_bytes() -> None:
    found = pairs(
        ALIKE + APART, [1] * 4 + [0] * 4, [("a b", "b a"), ("a b", "k l"), *NEW], "classification", "bag-of-pairs-2"
    )
    assert found[:3].tolist() == [1, 0, 1] and found[3] == 0
    assert pairs([("", "")] * 3, [1, 0, 1], [("a", "b")], "classification", "bag-of-pairs-2").tolist() == [1]
    facts: dict[str, float] = {}
    pairs(ALIKE + APART, [1] * 4 + [0] * 4, NEW, "classification", "bag-of-pairs-2", facts=facts)
    assert facts == {"bytes": 3 * 65_536 + 4 * 12}
