"""data/tasks/foreign_predictions.py: rows of other programs, matched with examples by texts and label."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hashbench.common.errors import InputError
from hashbench.data.tasks.catalogue import find_task
from hashbench.data.tasks.foreign_predictions import matched
from hashbench.data.tasks.text_data import Split, TaskData
from hashbench.scores.correlations import Spearman

NAMES = ("unacceptable", "acceptable")


def data_of(texts: Sequence[str], labels: Sequence[float], name: str = "cola") -> TaskData:
    kind = np.float32 if name == "stsb" else np.int64
    columns = (list(texts), list(texts)) if name in ("stsb", "rte") else (list(texts),)
    splits = {"train": Split(tuple([["train"]] * len(columns)), np.zeros(1, kind))}
    return TaskData(
        find_task(name), {**splits, "validation": Split(columns, np.array(labels, kind))}, "f", "here", "own"
    )


def write(path: Path, rows: Sequence[object]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def sample(text: str, label: int, chosen: int, **more: object) -> dict[str, Any]:
    """A line of lm-evaluation-harness."""
    answers = [[-1.0 if number == chosen else -2.5, False] for number in range(2)]
    return {"doc": {"sentence": text, "label": label}, "target": str(label), "filtered_resps": answers, **more}


def example(text: str, label: int, answer: int, seed: str = "0", task: str = "cola") -> dict[str, Any]:
    """A line of Every Eval Ever."""
    return {
        "schema_version": "0.3.0", "evaluation_name": task, "input": {"raw": text, "reference": [NAMES[label]]},
        "output": {"raw": [NAMES[answer]]}, "metadata": {"seed": seed},
    }  # fmt: skip


DATA = data_of(["a  b", "c", "d"], [0, 1, 1])
ROWS = [("c", 1, 0), ("a b", 0, 0), ("d", 1, 1)]  # in another order, with other white space


def test_samples_of_the_harness(tmp_path: Path) -> None:
    found = matched(write(tmp_path / "x.jsonl", [sample(*row) for row in ROWS]), DATA, "validation")
    assert found.outputs.tolist() == [0, 0, 1] and found.unused == 0


def test_samples_without_filtered_answers_have_theirs_in_a_list_each(tmp_path: Path) -> None:
    rows = [sample(*row) for row in ROWS]
    for row in rows:
        row["resps"] = [[answer] for answer in row.pop("filtered_resps")]
    assert matched(write(tmp_path / "x.jsonl", rows), DATA, "validation").outputs.tolist() == [0, 0, 1]


def test_choices_in_another_order_than_the_classes(tmp_path: Path) -> None:
    rows = [{**sample(text, label, 1 - chosen), "target": 1 - label} for text, label, chosen in ROWS]
    assert matched(write(tmp_path / "x.jsonl", rows), DATA, "validation").outputs.tolist() == [0, 0, 1]


def test_right_choices_show_by_the_accuracy_where_targets_are_texts(tmp_path: Path) -> None:
    rows = [sample(text, label, chosen, target="yes", acc=float(label == chosen)) for text, label, chosen in ROWS]
    assert matched(write(tmp_path / "x.jsonl", rows), DATA, "validation").outputs.tolist() == [0, 0, 1]
    for row in rows:
        del row["acc"]
    with pytest.raises(InputError, match="no row shows which class of task cola choice 0 is"):
        matched(write(tmp_path / "x.jsonl", rows), DATA, "validation")


def test_a_choice_that_is_right_for_two_classes_is_refused(tmp_path: Path) -> None:
    rows = [{**sample(*row), "target": 0} for row in ROWS]
    with pytest.raises(
        InputError, match="choice 0 is the right one of examples of class 'unacceptable' and 'acceptable'"
    ):
        matched(write(tmp_path / "x.jsonl", rows), DATA, "validation")


def test_generated_answers_are_names_of_classes(tmp_path: Path) -> None:
    rows = [sample(text, label, 0, filtered_resps=[f" {NAMES[chosen]}\n"]) for text, label, chosen in ROWS]
    assert matched(write(tmp_path / "x.jsonl", rows), DATA, "validation").outputs.tolist() == [0, 0, 1]
    rows[1]["filtered_resps"] = ["perhaps"]
    with pytest.raises(InputError, match=r"x.jsonl:2: 'perhaps' is no class of task cola \(unacceptable, acceptable\)"):
        matched(write(tmp_path / "x.jsonl", rows), DATA, "validation")


def test_examples_of_one_task_and_seed(tmp_path: Path) -> None:
    rows = [example(*row) for row in ROWS] + [example(text, label, 1, "1") for text, label, _ in ROWS]
    file = write(tmp_path / "x.jsonl", [*rows, example("c", 1, 1, task="sst2")])
    assert matched(file, DATA, "validation", seed="1").outputs.tolist() == [1, 1, 1]
    with pytest.raises(InputError, match=r"lines 2, 5: 2 rows with other predictions .* \(of several seeds: --seed\)"):
        matched(file, DATA, "validation")
    with pytest.raises(InputError, match="has no prediction of task cola"):
        matched(file, DATA, "validation", seed="7")


def test_plain_rows_with_columns_of_other_names(tmp_path: Path) -> None:
    rows = [{"t": text, "y": NAMES[label], "prediction": NAMES[chosen]} for text, label, chosen in ROWS]
    file = write(tmp_path / "x.jsonl", rows)
    assert matched(file, DATA, "validation", text=["t"], label="y").outputs.tolist() == [0, 0, 1]
    with pytest.raises(
        InputError, match=r"x.jsonl:1: no text 'sentence'; texts there: t, y, prediction \(--text COLUMN\)"
    ):
        matched(file, DATA, "validation")
    with pytest.raises(InputError, match=r"x.jsonl:1: no label 'label'; keys there: t, y, prediction"):
        matched(file, DATA, "validation", text=["t"])


def test_numbers_and_truth_values_count_where_labels_do(tmp_path: Path) -> None:
    numbers = [{"sentence": text, "label": label, "prediction": chosen} for text, label, chosen in ROWS]
    truths = [{"sentence": text, "label": bool(label), "prediction": bool(chosen)} for text, label, chosen in ROWS]
    digits = [{"sentence": text, "label": str(label), "prediction": float(chosen)} for text, label, chosen in ROWS]
    for rows in (numbers, truths, digits):
        assert matched(write(tmp_path / "x.jsonl", rows), DATA, "validation").outputs.tolist() == [0, 0, 1]
    mixed = [{**row, "label": NAMES[int(row["label"])]} for row in numbers]
    with pytest.raises(InputError, match="prediction 0 is a number, and label 'acceptable' a name; write a name"):
        matched(write(tmp_path / "x.jsonl", mixed), DATA, "validation")


def test_values_of_pairs(tmp_path: Path) -> None:
    data = data_of(["a", "b"], [3.8, 5.0], "stsb")
    rows = [{"sentence1": t, "sentence2": t, "label": y, "prediction": 2.5} for t, y in (("b", 5), ("a", 3.799999952))]
    assert matched(write(tmp_path / "x.jsonl", rows), data, "validation").outputs.tolist() == [2.5, 2.5]
    rows[0]["prediction"] = "high"
    with pytest.raises(InputError, match="'high' is no number; task stsb predicts numbers"):
        matched(write(tmp_path / "x.jsonl", rows), data, "validation")


def test_values_keep_the_digits_that_tell_them_apart(tmp_path: Path) -> None:
    data = data_of([str(i) for i in range(20)], list(range(20)), "stsb")
    rows = [{"sentence1": str(i), "sentence2": str(i), "label": float(i)} for i in range(20)]
    scores = {}
    for name, step in (("near", 1e-6), ("far", 1_600_000_000)):
        path = write(tmp_path / f"{name}.jsonl", [row | {"prediction": row["label"] + step} for row in rows])
        outputs = matched(path, data, "validation").outputs
        scores[name] = (outputs.dtype, Spearman().score(data.splits["validation"].labels, outputs))
    assert scores == {"near": (np.float32, 1.0), "far": (np.float64, 1.0)}
    path = write(tmp_path / "x.jsonl", [row | {"prediction": 1e300} for row in rows])
    with pytest.raises(InputError, match=r"prediction 1e\+300 is too large; a regression has numbers below 3\.4e38"):
        matched(path, data, "validation")


def of_classes(names: Sequence[str], order: tuple[str, ...] | None = ()) -> TaskData:
    """Data with a row of each class, which a task of no declared order has unless `order` says another thing."""
    data = data_of([f"text {name}" for name in names], range(len(names)))
    return replace(data, task=replace(data.task, n_classes=len(names), label_names=tuple(names), label_order=order))


def predicted(folder: Path, data: TaskData, predictions: Sequence[object]) -> list[int]:
    names = data.label_names
    rows = [
        {"sentence": f"text {name}", "label": name, "prediction": answer}
        for name, answer in zip(names, predictions, strict=True)
    ]
    return matched(write(folder / "x.jsonl", rows), data, "validation").outputs.tolist()


STARS = ("1", "2", "3", "4", "5")


@pytest.mark.parametrize("order", [STARS, ()])
def test_a_number_is_no_place_where_classes_are_named_by_numbers(tmp_path: Path, order: tuple[str, ...]) -> None:
    data = of_classes(STARS, order)
    for written in ([1, 2, 3, 4, 5], ["1", "2", "3", "4", "5"], [1.0, 2.0, "3.0", " 4", 5]):
        assert predicted(tmp_path, data, written) == [0, 1, 2, 3, 4]
    for written in ([0, 1, 2, 3, 4], ["0", "1", "2", "3", "4"]):
        with pytest.raises(InputError, match=r"x.jsonl:1: '?0'? is no class of task cola \(1, 2, 3, 4, 5\)"):
            predicted(tmp_path, data, written)


def test_a_number_is_a_place_only_where_an_order_is_declared(tmp_path: Path) -> None:
    names = ("no", "yes")
    data = of_classes(names, names)
    rows = [{"sentence": f"text {name}", "label": place, "prediction": place} for place, name in enumerate(names)]
    assert matched(write(tmp_path / "x.jsonl", rows), data, "validation").outputs.tolist() == [0, 1]
    with pytest.raises(InputError, match="0 is no class of task cola"):
        matched(write(tmp_path / "x.jsonl", rows), of_classes(names), "validation")


@pytest.mark.parametrize("answer", ["\u00b2", "\u2460", "9" * 5000, "-1", "1_0", 1e300, [1], {}, None, 2**70])
def test_what_is_no_class_is_refused_in_one_line(tmp_path: Path, answer: object) -> None:
    for data in (of_classes(STARS), of_classes(("a", "b", "c", "d", "e"), ("a", "b", "c", "d", "e"))):
        with pytest.raises(InputError, match=r"x.jsonl:1: .* (is no class of task cola|write a name)") as refused:
            predicted(tmp_path, data, [answer] * 5)
        assert "\n" not in str(refused.value)


@pytest.mark.parametrize("target", ["\u00b2", "9" * 5000])
def test_a_target_that_is_no_number_numbers_no_choice(tmp_path: Path, target: str) -> None:
    rows = [sample(text, label, label, acc=1) | {"target": target} for text, label, _ in ROWS]
    assert matched(write(tmp_path / "x.jsonl", rows), DATA, "validation").outputs.tolist() == [0, 1, 1]


def test_too_few_rows_are_refused_with_counts(tmp_path: Path) -> None:
    file = write(tmp_path / "x.jsonl", [sample(*ROWS[0]), sample("d", 0, 0), sample("x", 1, 1)])
    with pytest.raises(InputError) as raised:
        matched(file, DATA, "validation")
    assert str(raised.value) == (
        f"{file}: 1 of 3 examples of cola validation have a row with their text and label (33.3 %), and all must; "
        "2 of 3 rows belong to no example of the task; the first example without one: 'a  b'"
    )
    with pytest.raises(InputError, match="it has those of train, on which the experiment does not report"):
        matched(write(tmp_path / "x.jsonl", [sample("train", 0, 0)]), DATA, "validation")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("[1]", ":1: is no object"),
        ("{", ":1: is no JSON"),
        ('{"a": 1}', ":1: no prediction in this row; a file has samples of lm-evaluation-harness"),
        ('{"doc": {"sentence": "c", "label": 1}}', ":1: no filtered_resps or resps; log samples with --log_samples"),
        ('{"doc": {"sentence": "c", "label": 1}, "resps": [["x"], ["y"]]}', "is no likelihood of a choice"),
        ("", "has no prediction of task cola"),
    ],
)
def test_wrong_files(tmp_path: Path, line: str, message: str) -> None:
    (tmp_path / "x.jsonl").write_text(line)
    with pytest.raises(InputError) as raised:
        matched(tmp_path / "x.jsonl", DATA, "validation")
    assert message in str(raised.value) and "\n" not in str(raised.value)


@settings(max_examples=40)
@given(
    rows=st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 1), st.integers(0, 1)), min_size=1, max_size=8),
    seed=st.integers(0, 9),
)
def test_scores_do_not_depend_on_the_order_of_rows(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, int, int]], seed: int
) -> None:
    """Of examples with one text and label, each has one of their predictions, whichever."""
    shuffled = random.Random(seed).sample(rows, len(rows))
    data = data_of([text for text, _, _ in rows], [label for _, label, _ in rows])
    file = write(tmp_path_factory.mktemp("rows") / "x.jsonl", [
        {"sentence": text, "label": label, "prediction": answer} for text, label, answer in shuffled
    ])  # fmt: skip
    outputs = matched(file, data, "validation").outputs.tolist()
    assert sorted(zip(*zip(*((t, y) for t, y, _ in rows), strict=True), outputs, strict=True)) == sorted(rows)
