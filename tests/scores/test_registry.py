"""A metric is one file: put into a folder, it is found by name, scored and drawn."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hashbench.common.errors import InputError
from hashbench.data.tasks.blocks import TaskEntry
from hashbench.data.tasks.catalogue import own_task
from hashbench.scores.base import evaluate, find_metric, metric_of, metrics
from hashbench.scores.draws import draw_counts, drawn

METRIC = '''
"""Made up: minus the mean absolute error."""

import numpy as np

from hashbench.scores.base import SummedMetric


class NegativeError(SummedMetric):
    """-|target - output|, averaged."""

    name = "negative_error"
    outputs = "values"

    def score(self, targets, outputs):
        return float(-np.abs(targets - outputs).mean())

    def columns(self, targets, outputs):
        return -np.abs(targets - outputs)[:, None]

    def of_sums(self, n, sums):
        return sums[:, 0] / n


METRICS = (NegativeError(),)
'''


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "metrics").mkdir()
    (tmp_path / "metrics" / "negative_error.py").write_text(METRIC)
    monkeypatch.setenv("HASHBENCH_PLUGINS", str(tmp_path / "metrics"))
    return tmp_path


def test_a_file_in_a_folder_is_a_metric(folder: Path) -> None:
    targets, outputs = np.array([1.0, 2.0, 4.0]), np.array([1.0, 3.0, 2.0])
    assert evaluate(["negative_error"], targets, outputs)["negative_error"].value == -1.0
    draws = drawn("negative_error", targets, [outputs], draws=20, seed=3)[0]
    counts = np.concatenate(list(draw_counts(3, 20, 3)))
    assert draws == pytest.approx(-(counts * np.abs(targets - outputs)).sum(axis=1) / 3)


def test_an_own_data_set_may_ask_for_it(folder: Path) -> None:
    (folder / "train.csv").write_text("text,label\na,0.5\nb,2\n")
    task = own_task(TaskEntry(name="mine", path=".", text="text", metric="negative_error"), folder)
    assert (task.kind.name, task.metrics) == ("regression", ("negative_error", "spearman", "pearson"))


def test_two_metrics_of_one_name_are_refused(folder: Path) -> None:
    (folder / "metrics" / "second.py").write_text(METRIC)
    with pytest.raises(InputError, match=r"second\.py: metric 'negative_error' is already in .*; rename one of them"):
        find_metric("negative_error")


def test_every_metric_says_what_it_scores() -> None:
    by_kind = {kind: list(metrics(kind)) for kind in ("classes", "values", "rankings")}
    expected = {
        "classes": {"accuracy", "f1", "f1_macro", "matthews"},
        "values": {"pearson", "spearman"},
        "rankings": {"rec@1", "rec@10", "rec@20", "mrr", "token_rec@1", "certified"},
    }
    assert all(set(names) >= expected[kind] for kind, names in by_kind.items())
    assert [name for names in by_kind.values() for name in names] == list(dict.fromkeys(sum(by_kind.values(), [])))


def test_a_metric_without_its_kind_of_output_is_one_line_and_no_other_one_suffers(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "metrics" / "third.py").write_text(
        METRIC.replace('"negative_error"', '"third"').replace("    outputs = ", "    scored_by = ")
    )
    words = "classes, values, rankings, spans, pairs, multi-label"
    said = f"outputs is not set; write {words}, or the word of your kind of task"
    reason = f"third.py: METRICS 'third': {said}"
    with pytest.raises(InputError, match=f"unknown metric 'third'.*; not read: .*{reason}$"):
        find_metric("third")
    assert find_metric("accuracy").name == "accuracy" and metric_of("third") is None
    assert capsys.readouterr().err.count("\n") == 1


def test_outputs_may_have_a_word_of_their_own_but_no_slip_of_the_pen(folder: Path) -> None:
    for name, outputs in (("fourth", "label sets"), ("fifth", "value")):
        text = METRIC.replace('"negative_error"', f'"{name}"').replace('"values"', f'"{outputs}"')
        (folder / "metrics" / f"{name}.py").write_text(text)
    assert find_metric("fourth").outputs == "label sets" and list(metrics("label sets")) == ["fourth"]
    with pytest.raises(InputError, match=r"task 'mine': unknown metric 'fouth'; did you mean 'fourth'\?"):
        own_task(TaskEntry(name="mine", path=".", text="text", metric="fouth"), folder)
    with pytest.raises(InputError, match="outputs is 'value'; did you mean 'values'"):
        find_metric("fifth")


@pytest.mark.parametrize("outputs", ["values", "classes", "multi-label"])
@pytest.mark.parametrize("sign", ["-", "+"])
def test_a_metric_of_which_less_is_better_is_refused(folder: Path, outputs: str, sign: str) -> None:
    """All that choose take the highest score for the best, without a word."""
    answers = "outputs.argmax(axis=1)" if outputs == "classes" else "outputs.reshape(len(targets))"
    wrong = f"{sign}1.0 * ({answers} != targets.reshape(len(targets)))"
    text = METRIC.replace('"values"', f'"{outputs}"').replace('"negative_error"', '"error"')
    (folder / "metrics" / "error.py").write_text(text.replace("-np.abs(targets - outputs)", f"({wrong})"))
    if sign == "-":
        assert find_metric("error").outputs == outputs
    else:
        with pytest.raises(InputError, match="'error': wrong answers have a higher score than right ones; more is"):
            find_metric("error")


def test_a_metric_that_ends_in_an_error_is_left_out_with_one_line(folder: Path) -> None:
    text = METRIC.replace('"negative_error"', '"error"').replace("float(-np", "float(-(targets > 0)) + float(np")
    (folder / "metrics" / "error.py").write_text(text)
    with pytest.raises(InputError, match="'error': six answers have no score: TypeError: .*negative"):
        find_metric("error")
