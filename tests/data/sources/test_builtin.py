from __future__ import annotations

import hashlib
import json

import numpy as np
import pytest

from hashbench.data.sources import builtin
from hashbench.data.sources.files import Cells
from hashbench.data.sources.sources import locate_corpus, open_sources
from hashbench.data.tasks.catalogue import find_task, load_task
from hashbench.data.tasks.named.glue import GROUPS
from hashbench.models.text.words import WordTokenizer
from hashbench.scores.base import evaluate

# SHA-256 of rows and documents as JSON: the same on every machine and in every process, or VERSION must rise.
TASKS_SHA256 = "9b0d8229da881b9330981e5162ff4d9e94bb1cc7b56e6d107bfa992df5644b68"
CORPUS_SHA256 = "79eaf1464fe474f2f496ff1587e6a74fbffe8590fe2e73b0499341bd547f998a"


def sha256(value: object) -> str:
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()


def task_table(name: str, split: str) -> dict[str, Cells]:
    return {column: list(cells) for column, cells in builtin.task_table(name, split).items()}


def test_texts_never_change() -> None:
    splits = [(name, split) for name in GROUPS["glue"] for split in ("train", *find_task(name).evaluation_splits)]
    assert sha256([task_table(*split) for split in splits]) == TASKS_SHA256
    assert sha256(builtin.corpus()) == CORPUS_SHA256


def test_what_is_remembered_cannot_be_changed() -> None:
    table = builtin.task_table("cola", "validation")
    assert isinstance(table["sentence"], tuple)
    with pytest.raises(TypeError):
        table["sentence"] = ()  # type: ignore[index]


def test_a_fingerprint_is_of_the_texts_that_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """A remembered one of other texts went into all corpora that the same process made later."""
    before = builtin.corpus_fingerprint()
    monkeypatch.setattr(builtin, "corpus", lambda: ("one text",))
    assert builtin.corpus_fingerprint() != before


@pytest.mark.parametrize("name", GROUPS["glue"])
def test_shaped_like_glue(name: str) -> None:
    task = find_task(name)
    table = task_table(name, "train")
    assert list(table) == [*task.text, "label", "idx"]
    assert 500 <= len(table["label"]) <= 1_000
    kinds = {type(label) for label in table["label"]}
    if name == "stsb":
        assert kinds == {float}
        assert 0.0 <= min(table["label"]) < max(table["label"]) <= 5.0  # type: ignore[type-var, operator]
    else:
        assert set(table["label"]) == set(range(task.n_classes or 0))


def test_splits_share_no_row() -> None:
    train, dev = (task_table("mnli", split) for split in ("train", "validation_matched"))
    both = set(zip(train["premise"], train["hypothesis"], strict=True))
    assert not both & set(zip(dev["premise"], dev["hypothesis"], strict=True))


@pytest.mark.e2e
@pytest.mark.parametrize("name", GROUPS["glue"])
def test_words_beat_the_majority_by_far(name: str) -> None:
    data = load_task(find_task(name), open_sources("builtin"))
    metric = {"stsb": "spearman"}.get(name, "accuracy")
    for split in data.task.evaluation_splits:
        targets = data.splits[split].labels
        floor, words = (
            evaluate([metric], targets, data.task.kind.predictions(kind, data)[split].outputs)[metric].value
            for kind in ("majority", "bag-of-words")
        )
        assert words is not None and words > (floor or 0.0) + 0.1


def test_says_that_scores_are_not_glue_scores() -> None:
    data = load_task(find_task("rte"), open_sources("builtin"))
    assert data.notes == ("built-in data: a generated toy language; these are not GLUE scores",)
    assert (data.kind, data.origin) == ("builtin", "built-in data")


def test_corpus_speaks_the_language_of_the_tasks() -> None:
    tokenize = WordTokenizer().tokenize
    documents = list(locate_corpus("builtin", open_sources("builtin")).documents())
    assert len(documents) == 3_000
    known = {word for text in documents for word in tokenize(text)}
    words = [word for text in task_table("sst2", "validation")["sentence"] for word in tokenize(str(text))]
    assert np.mean([word in known for word in words]) > 0.95


def test_stems_have_several_forms() -> None:
    words = {word for text in builtin.corpus() for word in WordTokenizer().tokenize(text)}
    assert sum(word + "in" in words for word in words) > 100
