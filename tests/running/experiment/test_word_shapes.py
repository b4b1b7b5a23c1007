"""Notes on words that fall apart or run together, and a tokenizer that leaves a text empty."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from hashbench.common.errors import InputError
from hashbench.running.experiment.word_shapes import word_shapes


def data(*texts: str) -> Any:
    """What is read of a task's data."""
    return SimpleNamespace(task=SimpleNamespace(name="own"), splits={"train": SimpleNamespace(texts=(list(texts),))})


def model(label: str, tokenizer: str, **args: object) -> Any:
    return SimpleNamespace(label=label, spec=SimpleNamespace(text=SimpleNamespace(tokenizer=tokenizer, args=args)))


HINDI, CHINESE = "हिन्दी में लिखा है", "我们今天去北京，明天回来"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (HINDI, "words fall apart: 93 % of tokens are one character"),
        (CHINESE, "words run together: 100 % of tokens join letters of a script without"),
    ],
)
def test_the_released_pattern_is_noted_and_unicode_is_not(text: str, said: str) -> None:
    models = [model("a", "words"), model("b", "words"), model("c", "unicode"), model("d", "characters")]
    (note,) = word_shapes(data(text), models)
    assert note.startswith(f"a, b: {said}") and note.endswith("where no white space is written")


def test_nothing_is_said_of_english() -> None:
    assert word_shapes(data("Most words of a language are longer than that"), [model("a", "words")]) == []


def test_a_tokenizer_that_leaves_a_text_empty() -> None:
    said = r"^task 'own': row 2 of train, 'ไทย', has no token under tokenizer words \(pattern '\[a-z\]\+'\); take"
    with pytest.raises(InputError, match=said):
        word_shapes(data("abc", "ไทย"), [model("a", "words", pattern="[a-z]+")])
    assert word_shapes(data("abc", "!!", ""), [model("a", "words", pattern="[a-z]+")]) == []
