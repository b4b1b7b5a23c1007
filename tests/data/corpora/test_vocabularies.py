"""A vocabulary of several kinds of text is learned once, on the first texts of each."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from hashbench.data.corpora.preparing import LearnedTexts, first_texts, learn_vocabulary
from hashbench.models.text.subwords import SubwordTokenizer


def part(*texts: str, name: str = "a", most: int = 1_000) -> LearnedTexts:
    return LearnedTexts(name, lambda: texts, most)


def test_of_each_part_the_first_texts_are_read_up_to_its_characters() -> None:
    parts = [part("aaaa", "bb", "c", most=5), part("dd"), part("e", "f", most=0)]
    assert list(first_texts(parts)) == ["aaaa", "bb", "dd"]


def test_it_is_learned_on_all_parts_and_once(tmp_path: Path) -> None:
    read: list[str] = []

    def texts(name: str, text: str) -> Iterable[str]:
        read.append(name)
        return [text] * 3

    parts = [
        LearnedTexts("corpus", lambda: texts("corpus", "the cat"), 100),
        LearnedTexts("task", lambda: texts("task", "zzzz"), 100),
    ]
    first, again = (SubwordTokenizer(learn_on=["corpus", "tasks"]) for _ in range(2))
    keys = [learn_vocabulary(tokenizer, 300, parts, tmp_path) for tokenizer in (first, again)]
    assert keys[0] == keys[1] and read == ["corpus", "task"]
    assert again.pieces == first.pieces and {"\u0120cat", "zzzz"} <= set(first.pieces)


@pytest.mark.parametrize(
    ("options", "size", "name"),
    [({}, 300, "other data"), ({}, 301, "a"), ({"lowercase": True}, 300, "a"), ({"prefix_space": True}, 300, "a")],
)
def test_other_data_sizes_or_options_are_another_vocabulary(
    tmp_path: Path, options: dict[str, bool], size: int, name: str
) -> None:
    usual = learn_vocabulary(SubwordTokenizer(learn_on="tasks"), 300, [part("the cat")], tmp_path)
    other = SubwordTokenizer(learn_on="tasks", **options)
    assert learn_vocabulary(other, size, [part("the cat", name=name)], tmp_path) != usual
