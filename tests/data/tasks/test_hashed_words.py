"""The trivial baseline hashed-words: its features against plain Python, what is chosen, bytes, odd texts, threads."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.utils import murmurhash3_32
from threadpoolctl import threadpool_limits

from hashbench.common.errors import InputError
from hashbench.data.sources.sources import open_sources
from hashbench.data.tasks.base import Task
from hashbench.data.tasks.blocks import BY_GROUPS, BY_ROWS
from hashbench.data.tasks.catalogue import find_task, known_kinds, load_task
from hashbench.data.tasks.text import text_kind
from hashbench.data.tasks.text_baselines import bucket_values, fitted_hashed_words
from hashbench.data.tasks.text_data import Split, TaskData
from hashbench.models.portable.hashed_words import murmur32
from hashbench.models.text.words import WordTokenizer

TEXTS = st.text(max_size=30) | st.sampled_from(
    ["", "a", "ÉCOLE école", "東京 東京", "\ud800 x", "not good", "\0", "!!! ?"]
)


def task_of(train: list[str], labels: list[float], kind: str = "classification") -> TaskData:
    targets = np.array(labels, np.float32 if kind == "regression" else np.int64)
    splits = {name: Split((train,), targets) for name in ("train", "validation")}
    metric = {"classification": ("accuracy",), "regression": ("spearman",)}[kind]
    names = tuple(f"class {number}" for number in range(int(max(labels)) + 1)) if kind == "classification" else ()
    task = Task(
        "mine", known_kinds()[kind], ("text",), metrics=metric, select_metric=metric[0], n_classes=len(names) or None,
        label_names=names,
    )  # fmt: skip
    return TaskData(task, splits, "f", "here", "own")


def values_of(text: str, buckets: int, *, pairs: bool) -> list[float]:
    """The value of each bucket of a text, one feature after the other."""
    words = WordTokenizer().tokenize(text)
    counts = [0] * buckets
    for feature in words + ([f"{a} {b}" for a, b in zip(words, words[1:], strict=False)] if pairs else []):
        h = murmurhash3_32(feature, seed=0)
        counts[abs(h) % buckets] += 1 if h >= 0 else -1
    return [math.copysign(math.log(1 + abs(n)), n) if n else 0.0 for n in counts]


@given(st.lists(TEXTS, min_size=1, max_size=5), st.integers(1, 50), st.booleans())
@settings(max_examples=60, deadline=None)
def test_values_are_those_of_plain_python(texts: list[str], buckets: int, pairs: bool) -> None:
    found = bucket_values(texts, buckets, pairs=pairs).toarray()
    np.testing.assert_allclose(found, [values_of(text, buckets, pairs=pairs) for text in texts], atol=1e-12)


@given(st.binary(max_size=40))
def test_the_hash_of_a_device_is_that_of_scikit_learn(data: bytes) -> None:
    assert murmur32(data) == murmurhash3_32(data, seed=0)


@given(st.lists(TEXTS, min_size=1, max_size=12), st.integers(1, 3), st.integers(3, 300))
@settings(max_examples=60, deadline=None)
def test_any_texts_have_a_prediction_of_a_class_of_train(texts: list[str], classes: int, size: int) -> None:
    labels = [number % classes for number in range(len(texts))]
    task = task_of(texts, labels)
    (result,) = text_kind(task.task).predictions("hashed-words", task, ["validation"], bytes=size).values()
    assert len(result.outputs) == len(texts) and set(result.outputs.tolist()) <= set(labels)


@pytest.mark.parametrize(("classes", "outputs"), [(2, 1), (3, 3), (5, 5)])
def test_bytes_are_buckets_times_outputs(classes: int, outputs: int) -> None:
    """Two classes have one output: the sign of its score decides."""
    labels = [number % classes for number in range(60)]
    model = fitted_hashed_words(task_of([f"w{label} x" for label in labels], labels), 1_000)
    assert model is not None and model.weights.dtype == np.int8 and model.weights.shape == (outputs, 1_000 // outputs)
    assert model.weights.size <= 1_000


def test_its_bytes_are_noted() -> None:
    facts: dict[str, float] = {}
    task = task_of(["good", "bad"] * 20, [1, 0] * 20)
    text_kind(task.task).predictions("hashed-words", task, ["validation"], bytes=512, facts=facts)
    assert facts == {"bytes": 512}


def test_fewer_bytes_than_classes_are_refused() -> None:
    labels = [number % 5 for number in range(60)]
    with pytest.raises(InputError, match="hashed-words: 4 bytes have no bucket for each of 5 classes; give it more"):
        fitted_hashed_words(task_of([f"w{label}" for label in labels], labels), 4)


def test_pairs_are_read_where_they_help_on_the_held_out_tenth() -> None:
    """Each word is as frequent in both classes, so that only their order tells the classes apart."""
    texts, labels = ["alpha beta", "beta alpha"] * 50, [0, 1] * 50
    ordered = fitted_hashed_words(task_of(texts, labels), 4_096)
    single = fitted_hashed_words(task_of(["good", "bad"] * 50, labels), 4_096)
    assert ordered is not None and ordered.pairs and ordered.predict(texts).tolist() == labels
    assert single is not None and not single.pairs


def test_it_is_the_same_however_an_experiment_holds_out_rows() -> None:
    """Its run's id does not name the rule: copies of each text would choose otherwise by rows."""
    rng = np.random.default_rng(0)
    words = [f"w{number}" for number in range(40)]
    texts = [" ".join(rng.choice(words, 6)) for _ in range(60)]
    copies = [f"{text} {'x ' * more}" for text in texts for more in range(20)]
    labels = [float(label) for label in rng.integers(0, 2, 60) for _ in range(20)]
    data = task_of(copies, labels)
    by_rows, by_groups = (
        fitted_hashed_words(replace(data, task=replace(data.task, hold_out=rule)), 512) for rule in (BY_ROWS, BY_GROUPS)
    )
    assert by_rows is not None and by_groups is not None
    assert by_rows.pairs == by_groups.pairs and np.array_equal(by_rows.weights, by_groups.weights)


def test_a_regression_predicts_values() -> None:
    texts = ["good film", "bad film"] * 30
    model = fitted_hashed_words(task_of(texts, [1.0, -1.0] * 30, "regression"), 4_096)
    assert model is not None and model.weights.shape == (1, 4_096)
    high, low = model.predict(["good", "bad"])
    assert high > 0 > low


@pytest.mark.parametrize("name", ["sst2", "stsb"])
def test_it_is_the_same_bit_for_bit_on_any_number_of_threads(name: str) -> None:
    task = load_task(find_task(name), open_sources("builtin"))
    models = []
    for threads in (1, 2):
        with threadpool_limits(threads):
            models.append(fitted_hashed_words(task, 20_000))
    first, second = models
    assert first is not None and second is not None and first.pairs == second.pairs
    for part in ("weights", "scales", "intercepts"):
        assert getattr(first, part).tobytes() == getattr(second, part).tobytes()


def test_texts_without_a_word_or_one_class_have_the_majority() -> None:
    assert fitted_hashed_words(task_of(["", " "], [0, 1]), 100) is None
    task = task_of(["a", "b"], [1, 1])
    (result,) = text_kind(task.task).predictions("hashed-words", task, ["validation"]).values()
    assert result.outputs.tolist() == [1, 1]
