"""Several labels a text: how data are read, the notes on them, trivial baselines, rows that are held out."""

from __future__ import annotations

import json
import random
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.metrics import f1_score

from hashbench.common.errors import InputError
from hashbench.data.tasks.base import Task
from hashbench.data.tasks.blocks import TaskEntry
from hashbench.data.tasks.catalogue import load_task, own_task
from hashbench.data.tasks.holding_out import order_by_chance
from hashbench.data.tasks.split_facts import class_shares
from hashbench.data.tasks.text_baselines import fitted_hashed_words
from hashbench.data.tasks.text_data import HOLDOUT, TaskData, hold_out, rows_in_order
from hashbench.scores.base import find_metric

EMOTIONS = ("admiration", "anger", "joy", "sadness", "neutral", "fear")


def made(n: int, seed: int, labels: int = 6) -> list[tuple[str, list[int]]]:
    """Texts that say their labels, none to three of them, the first ones most often."""
    chance = random.Random(seed)
    rows = []
    for i in range(n):
        of = sorted({min(int(chance.expovariate(0.5)), labels - 1) for _ in range(chance.choice((0, 1, 1, 2, 3)))})
        rows.append(
            (" ".join([*(f"word{label}" for label in of), f"text{seed}x{i}", f"filler{chance.randrange(9)}"]), of)
        )
    return rows


def jsonl(folder: Path, rows: list[tuple[str, list]], split: str = "train") -> None:
    folder.mkdir(exist_ok=True)
    lines = [json.dumps({"text": text, "labels": labels}) for text, labels in rows]
    (folder / f"{split}.jsonl").write_text("\n".join(lines))


def task(folder: Path, **keys: object) -> Task:
    entry = {"name": "own", "path": str(folder), "text": "text", "label": "labels", "metric": "label_f1_micro", **keys}
    return own_task(TaskEntry.model_validate(entry), folder)


def load(folder: Path, **keys: object) -> TaskData:
    return load_task(task(folder, **keys), ())


def test_names_of_a_parquet_file_are_those_of_its_numbers(tmp_path: Path) -> None:
    """As GoEmotions is: a list of numbers, whose ClassLabel feature names them."""
    rows = [("fine", [2, 0]), ("no", []), ("so", [4])] * 4
    columns = {"text": [text for text, _ in rows], "labels": pa.array([of for _, of in rows], pa.list_(pa.int64()))}
    feature = {"feature": {"names": EMOTIONS, "_type": "ClassLabel"}, "_type": "Sequence"}
    written = {"huggingface": json.dumps({"info": {"features": {"labels": feature}}})}
    pq.write_table(pa.table(columns).replace_schema_metadata(written), tmp_path / "train.parquet")
    data = load(tmp_path)
    assert data.label_names == EMOTIONS and data.n_outputs == 6
    joined = data.with_held_out_rows().splits["train"]
    assert {tuple(of.tolist()) for of in joined.labels} == {(1, 0, 1, 0, 0, 0), (0,) * 6, (0, 0, 0, 0, 1, 0)}
    assert "no row has these labels: 'anger', 'sadness', 'fear'" in data.notes


def test_joined_names_of_a_csv_file_are_lists(tmp_path: Path) -> None:
    rows = "".join(f"text {i},{of}\n" for i, of in enumerate(["earn; acq", "earn", "", "acq;"] * 5))
    for split in ("train", "test"):
        (tmp_path / f"{split}.csv").write_text(f"text,labels\n{rows}")
    data = load(tmp_path, separator=";")
    assert data.label_names == ("acq", "earn")
    assert data.splits["test"].labels[:4].tolist() == [[1, 1], [0, 1], [0, 0], [1, 0]]
    assert "5 rows of test without a label" in data.notes
    other = load(tmp_path, separator=" ; ", labels=["earn", "acq", "acq;", "earn; acq"])
    assert other.fingerprint != data.fingerprint


def test_numbers_have_the_names_of_label_names_json(tmp_path: Path) -> None:
    jsonl(tmp_path, made(40, 0))
    (tmp_path / "label_names.json").write_text(json.dumps(EMOTIONS))
    assert load(tmp_path).label_names == EMOTIONS
    assert load(tmp_path, labels={str(i): f"c{i}" for i in range(6)}).label_names == tuple(f"c{i}" for i in range(6))


def test_notes_name_labels_that_a_split_or_train_lacks(tmp_path: Path) -> None:
    jsonl(tmp_path, [("a", ["x"]), ("b", ["y", "z"]), ("c", [])] * 5)
    jsonl(tmp_path, [("d", ["x", "new", "newer"]), ("e", ["new"]), ("f", [])], "test")
    notes = load(tmp_path).notes
    assert "2 rows of test have a label that train never has: 'new', 'newer'" in notes
    assert "no row of test has these labels, each 0 in label_f1_macro: 'y', 'z'" in notes
    assert "1 row of test without a label" in notes and "5 rows of train without a label" in notes


def test_class_shares_are_of_rows_and_shifts_are_by_label(tmp_path: Path) -> None:
    jsonl(tmp_path, [(f"a{i}", ["x", "y"] if i % 2 else ["x"]) for i in range(400)])
    jsonl(tmp_path, [(f"b{i}", ["x", "y"] if i % 10 else ["x"]) for i in range(400)], "test")
    data = load(tmp_path)
    assert class_shares(data)["y"]["test"] == 0.9 and class_shares(data)["x"]["train"] == 1.0
    assert "class shares differ by more than chance: y 50 % of train and 90 % of test (chi-squared)" in data.notes


def test_one_text_under_several_sets_of_labels_is_noted(tmp_path: Path) -> None:
    jsonl(tmp_path, [("same", ["x"]), ("same", ["x", "y"]), ("other", ["y"]), ("more", []), ("more", [])])
    jsonl(tmp_path, [("t", ["x"])], "test")
    notes = load(tmp_path).notes
    assert "texts under several sets of labels: 1 of train (2 rows)" in notes
    assert "repeated: 1 row of train" in notes


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"metric": "accuracy", "separator": ";"}, "separator: accuracy scores one label a row; leave it out, or"),
        ({"metric": "accuracy"}, "a row has one: several labels a row need metric: label_f1_micro"),
        ({"positive": "1"}, "positive is the class that metric f1 counts"),
        ({"metric": "label_f1"}, "unknown metric 'label_f1'; did you mean 'label_f1_mi"),
    ],
)
def test_wrong_keys_are_one_line(tmp_path: Path, keys: dict[str, object], said: str) -> None:
    jsonl(tmp_path, made(20, 0))
    with pytest.raises(InputError, match=said):
        load(tmp_path, **keys)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> TaskData:
    folder = tmp_path_factory.mktemp("labels")
    for split, n, seed in (("train", 300, 0), ("validation", 60, 1), ("test", 60, 2)):
        jsonl(folder, made(n, seed), split)
    return load(folder)


def test_the_majority_is_the_best_constant_of_train(data: TaskData) -> None:
    train = data.splits["train"].labels
    answer = data.task.kind.predictions("majority", data)["test"].outputs
    assert answer.shape == data.splits["test"].labels.shape and (answer == answer[0]).all()
    best = find_metric("label_f1_micro").best_constant(train)
    assert best is not None and np.array_equal(answer[0], best[0])
    alone = np.tile(np.eye(6, dtype=np.uint8)[train.sum(axis=0).argmax()], (len(train), 1))
    halves = np.tile(train.mean(axis=0) > 0.5, (len(train), 1))
    by_this = f1_score(train, np.tile(answer[0], (len(train), 1)), average="micro")
    assert by_this >= max(f1_score(train, of, average="micro", zero_division=0) for of in (alone, halves))


@pytest.mark.parametrize("name", ["bag-of-words", "hashed-words"])
def test_linear_baselines_find_the_labels_that_texts_say(data: TaskData, name: str) -> None:
    facts: dict[str, float] = {}
    result = data.task.kind.predictions(name, data, facts=facts)["test"]
    micro, macro = (row.value for row in data.task.kind.scores(data.task, result))
    assert micro is not None and macro is not None and micro > 0.85 and facts["bytes"] > 0
    assert result.outputs.shape == result.targets.shape


def test_hashed_words_have_a_row_of_weights_for_each_label(data: TaskData) -> None:
    model = fitted_hashed_words(data, 6_000)
    assert model is not None and model.weights.shape == (6, 1_000) and model.multi_label


def test_without_a_label_that_varies_a_bag_of_words_is_the_majority(tmp_path: Path) -> None:
    jsonl(tmp_path, [(f"a{i}", ["x", "y"]) for i in range(20)])
    jsonl(tmp_path, [("b", ["x"]), ("c", ["y"])], "test")
    data = load(tmp_path)
    for name in ("bag-of-words", "hashed-words"):
        assert data.task.kind.predictions(name, data)["test"].outputs.tolist() == [[1, 1]] * 2


def test_held_out_rows_have_the_labels_in_their_proportions_more_than_by_chance() -> None:
    def apart(labels: np.ndarray, order: np.ndarray) -> float:
        tenth = order[: len(order) // 10]
        return float(np.abs(labels[tenth].mean(axis=0) - labels.mean(axis=0)).sum())

    chance = np.random.default_rng(0)
    differences = []
    for seed in range(30):
        labels = (chance.random((400, 12)) < np.geomspace(0.3, 0.01, 12)).astype(np.uint8)
        differences.append((apart(labels, rows_in_order(labels, seed)), apart(labels, order_by_chance(400, seed))))
    drawn, by_chance = np.mean(differences, axis=0)
    assert drawn < 0.8 * by_chance


def test_rare_labels_are_in_a_beginning_as_often_as_their_share() -> None:
    """A hundred labels of three rows each beside a frequent one: a tenth of their rows is in the first tenth."""
    labels = np.zeros((600, 101), np.uint8)
    labels[np.arange(300), np.repeat(np.arange(100), 3)] = 1
    labels[300:, 100] = 1
    rare = [labels[rows_in_order(labels, seed)[:60], :100].sum() for seed in range(20)]
    assert 24 <= np.mean(rare) <= 36


def test_no_label_is_lost_and_the_same_rows_are_held_out_again(tmp_path: Path) -> None:
    jsonl(tmp_path, [*made(200, 3), ("the only one", [7])])
    data = load(tmp_path)
    assert data.splits[HOLDOUT].labels.any(axis=0).sum() > 3 and len(data.splits[HOLDOUT]) == 20
    assert (
        data.splits["train"].labels.any(axis=0) == data.with_held_out_rows().splits["train"].labels.any(axis=0)
    ).all()
    whole = data.with_held_out_rows().splits["train"]
    first, second = (hold_out(data.task, whole).held.texts[0] for _ in range(2))
    assert list(first) == list(second)


def test_fewer_rows_lie_in_more_rows(data: TaskData) -> None:
    few, more = (set(data.on_rows(number, 0).splits["train"].texts[0]) for number in (40, 80))
    assert len(few) == 40 and few < more
