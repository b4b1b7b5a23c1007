"""Spans of tags against seqeval's definition, written down tag by tag."""

from __future__ import annotations

import numpy as np
import pytest

from hashbench.common.errors import InputError
from hashbench.models.text.tags import NO_WORD, TagScheme

TAGS = ["O", "B-a", "I-a", "E-a", "S-a", "B-b", "I-b", "E-b", "S-b"]


def ends(before: str, tag: str, kind_before: str, kind: str) -> bool:
    """seqeval's end_of_chunk: whether a span ended between two words."""
    if before in ("E", "S"):
        return True
    if before in ("B", "I") and tag in ("B", "S", "O"):
        return True
    return before != "O" and kind_before != kind


def starts(before: str, tag: str, kind_before: str, kind: str) -> bool:
    """seqeval's start_of_chunk: whether a span begins with the second of two words."""
    if tag in ("B", "S"):
        return True
    if before in ("E", "S", "O") and tag in ("E", "I"):
        return True
    return tag != "O" and kind_before != kind


def entities(tags: list[str]) -> set[tuple[str, int, int]]:
    """seqeval's get_entities of one sentence: (type, first word, last word)."""
    found, begin = set(), 0
    before, kind_before = "O", ""
    for at, tag in enumerate([*tags, "O"]):
        part, _, kind = tag.partition("-")
        if ends(before, part, kind_before, kind):
            found.add((kind_before, begin, at - 1))
        if starts(before, part, kind_before, kind):
            begin = at
        before, kind_before = part, kind
    return found


def f1(gold: list[list[str]], predicted: list[list[str]]) -> float:
    """seqeval's f1_score, micro-averaged."""
    real = {(row, *span) for row, tags in enumerate(gold) for span in entities(tags)}
    ours = {(row, *span) for row, tags in enumerate(predicted) for span in entities(tags)}
    return 2 * len(real & ours) / (len(real) + len(ours))


def random_rows(seed: int, n: int = 200, longest: int = 9) -> list[list[str]]:
    random = np.random.RandomState(seed)
    return [[TAGS[i] for i in random.randint(0, len(TAGS), random.randint(1, longest + 1))] for _ in range(n)]


def ids(rows: list[list[str]]) -> np.ndarray:
    """Tags as ids (n, W), filled up with "no word"."""
    table = np.full((len(rows), max(map(len, rows))), NO_WORD)
    for row, tags in enumerate(rows):
        table[row, : len(tags)] = [TAGS.index(tag) for tag in tags]
    return table


@pytest.mark.parametrize("seed", range(5))
def test_spans_are_those_of_seqeval(seed: int) -> None:
    rows = random_rows(seed)
    found = TagScheme(TAGS).spans(ids(rows))
    spans = [set() for _ in rows]
    for row, first, last, kind in zip(*found, strict=True):
        spans[row].add(("ab"[kind], int(first), int(last)))
    assert spans == [entities(tags) for tags in rows]


@pytest.mark.parametrize("seed", range(5))
def test_counts_give_the_f1_of_seqeval(seed: int) -> None:
    gold = random_rows(seed)
    random = np.random.RandomState(seed)
    predicted = [[tag if random.rand() < 0.8 else TAGS[random.randint(len(TAGS))] for tag in tags] for tags in gold]
    counts = TagScheme(TAGS).counts(ids(gold), ids(predicted)).sum(axis=0)
    assert 2 * counts[2] / (counts[0] + counts[1]) == pytest.approx(f1(gold, predicted), abs=1e-12)
    words = sum(map(len, gold))
    right = sum(a == b for one, other in zip(gold, predicted, strict=True) for a, b in zip(one, other, strict=True))
    assert counts[3:].tolist() == [words, right]


def test_a_known_case() -> None:
    """Two cities and a date, of which the second city is cut short and the date is missed."""
    gold = ids([["O", "B-a", "O", "B-a", "I-a"], ["B-b"]])
    predicted = ids([["O", "B-a", "O", "B-a", "O"], ["O"]])
    assert TagScheme(TAGS).counts(gold, predicted).tolist() == [[2, 2, 1, 5, 4], [1, 0, 0, 1, 0]]


def test_what_is_predicted_behind_the_last_word_counts_nothing() -> None:
    gold = np.array([[1, NO_WORD, NO_WORD]])
    assert TagScheme(TAGS).counts(gold, np.array([[1, 1, 2]])).tolist() == [[1, 1, 1, 1, 1]]


@pytest.mark.parametrize("tag", ["X-city", "city", "B-", "B", ""])
def test_a_tag_outside_the_scheme(tag: str) -> None:
    with pytest.raises(InputError, match="^tag .* is outside the scheme; a tag is O, or B-, I-, E- or S- and a type"):
        TagScheme(["O", tag])
