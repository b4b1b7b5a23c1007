"""data/tasks/split_facts.py: counts of texts and labels, and of what models read."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hashbench.data.sources.rows import Repeats
from hashbench.data.tasks.catalogue import find_task
from hashbench.data.tasks.split_facts import (
    class_shares,
    read_splits,
    split_facts,
)
from hashbench.data.tasks.text_data import Split, TaskData
from hashbench.models.coders.base import make_coder
from hashbench.models.text.base import make_tokenizer


def task_of(train: list[str], validation: list[str], name: str = "cola") -> TaskData:
    """A task with these texts, whose labels are 0, 1, 0, 1 and so on."""
    splits = {
        split: Split((texts,), np.arange(len(texts), dtype=np.int64) % 2)
        for split, texts in {"train": train, "validation": validation}.items()
    }
    return TaskData(find_task(name), splits, repr((train, validation)), "here", "own")


def test_rows_words_and_repeats_are_counted() -> None:
    facts = split_facts(task_of(["Don't stop!!", "漢字 ok", "Don't stop!!"], ["漢字 ok", " "]))
    train, validation = facts["train"], facts["validation"]
    assert (train.rows, train.texts, train.empty, validation.empty) == (3, 3, 0, 1)
    # don, t, stop; two characters of Han and ok
    assert (train.words, validation.words) == (3 + 3 + 3, 3)
    assert train.bytes == 2 * 12 + 9 and train.characters == 2 * 12 + 5
    assert train.repeats == Repeats(repeated=1, in_train=0)  # labels 0 and 0
    assert validation.repeats == Repeats(repeated=0, in_train=1)


def test_classes_by_name() -> None:
    assert class_shares(task_of(["a", "b", "c", "d"], ["a"])) == {
        "unacceptable": {"train": 0.5, "validation": 1.0},
        "acceptable": {"train": 0.5, "validation": 0.0},
    }
    assert class_shares(task_of(["a"], ["b"], "stsb")) == {}


WORDS = st.lists(st.lists(st.sampled_from("abcdefgh"), max_size=6).map(" ".join), min_size=1, max_size=4)


@settings(max_examples=25)
@given(train=WORDS, validation=WORDS, buckets=st.integers(1, 5))
def test_shared_codes_against_plain_python(
    tmp_path_factory: pytest.TempPathFactory, train: list[str], validation: list[str], buckets: int
) -> None:
    coder = make_coder("md5-rows", num_buckets=buckets)
    data = task_of(train, validation)
    read = read_splits(data, make_tokenizer("words"), coder, tmp_path_factory.mktemp("tasks"))
    words = {word for text in (*train, *validation) for word in text.split()}
    code_of = {word: tuple(coder.encode([word])[0].tolist()) for word in words}
    n_words = Counter(code_of.values())
    for split, texts in (("train", train), ("validation", validation)):
        tokens = [word for text in texts for word in text.split()]
        shared = [n_words[code_of[word]] > 1 for word in tokens]
        assert read[split].tokens == len(tokens) and read[split].types == len(set(tokens))
        of_types = [n_words[code_of[word]] > 1 for word in set(tokens)]
        if tokens:
            assert read[split].tokens_shared == pytest.approx(np.mean(shared))
            assert read[split].types_shared == pytest.approx(np.mean(of_types))
        else:
            assert read[split].tokens_shared is None and read[split].types_shared is None
        assert read[split].unknown is None


def test_a_coder_that_learns_learns_from_train_alone(tmp_path: Path) -> None:
    read = read_splits(task_of(["a b"], ["a c c"]), make_tokenizer("words"), make_coder("vocabulary"), tmp_path)
    assert read["train"].unknown == (0, 2)
    assert read["validation"].unknown == (2, 3)
