from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from hashbench.common.errors import InputError
from hashbench.data.tasks.blocks import TaskEntry
from hashbench.data.tasks.catalogue import expand_tasks, find_task, known_tasks
from hashbench.data.tasks.named.glue import GROUPS
from hashbench.scores.base import metrics

# HashFormers paper, table 5: steps between evaluations at batch 32.
PAPER_INTERVALS = {
    "mnli": 2455, "qnli": 655, "qqp": 2275, "rte": 48, "sst2": 421, "mrpc": 69, "cola": 162, "stsb": 108,
}  # fmt: skip
PAPER_METRICS = {
    "mnli": "accuracy", "qqp": "f1", "cola": "matthews", "stsb": "spearman",
    "qnli": "accuracy", "rte": "accuracy", "sst2": "accuracy", "mrpc": "accuracy",
}  # fmt: skip


def test_the_eight_tasks() -> None:
    assert sorted(GROUPS["glue"]) == sorted(PAPER_INTERVALS)


def test_a_task_of_values_has_one_output_and_no_other_has() -> None:
    values = {task.name for task in known_tasks().values() if task.kind.name == "regression"}
    assert values == {"stsb", "jsts"} == {task.name for task in known_tasks().values() if task.n_classes == 1}


@pytest.mark.parametrize("name", PAPER_INTERVALS)
def test_evaluation_interval_is_the_papers(name: str) -> None:
    task = find_task(name)
    steps_per_epoch = -(-task.official_rows["train"] // 32)
    assert task.evaluation_every(steps_per_epoch) == PAPER_INTERVALS[name]


def test_evaluations_per_epoch_override_the_rule() -> None:
    assert find_task("cola").evaluation_every(268, per_epoch=1) == 268
    assert find_task("cola").evaluation_every(10, per_epoch=3) == 4


@pytest.mark.parametrize("name", PAPER_METRICS)
def test_paper_metric_is_the_one_to_select_by(name: str) -> None:
    assert find_task(name).select_metric == PAPER_METRICS[name]


@pytest.mark.parametrize("task", known_tasks().values(), ids=lambda task: task.name)
def test_every_metric_of_a_task_exists(task) -> None:
    kinds = ["rankings"] if task.kind.reads_items else ["classes", "values", "spans", "pairs"]
    assert set(task.metrics) <= set(metrics(*kinds))
    assert task.select_metric in task.metrics


def test_mnli_selects_on_both_sets_and_reports_on_matched() -> None:
    task = find_task("mnli")
    assert task.select_splits == ("validation_matched", "validation_mismatched")
    assert task.report_splits == ("validation_matched",)
    assert task.evaluation_splits == ("validation_matched", "validation_mismatched")


def test_unknown_task_names_the_nearest() -> None:
    with pytest.raises(InputError, match=r"unknown task 'colla'; did you mean 'cola'\? \(list: hashbench data list\)"):
        find_task("colla")


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("sib201", "did you mean 'sib200:...'?"),
        ("sib200:tha_Thia", "did you mean 'sib200:tha_Thai'?"),
        ("sib200:fra_Latn", "there are eng_Latn, deu_Latn, "),  # half of its letters are those of another language
    ],
)
def test_an_unknown_one_of_many_alike(name: str, hint: str) -> None:
    with pytest.raises(InputError) as error:
        find_task(name)
    assert hint in str(error.value)


def test_unknown_task_lists_what_there_is_where_nothing_is_near() -> None:
    with pytest.raises(InputError, match="unknown task 'xyzzy'; known are cola, sst2, mrpc"):
        find_task("xyzzy")


def test_glue_stands_for_the_eight(tmp_path: Path) -> None:
    assert [task.name for task in expand_tasks("glue", tmp_path)] == list(GROUPS["glue"])
    assert [task.name for task in expand_tasks(["wnli", "cola"], tmp_path)] == ["wnli", "cola"]


def test_a_task_named_twice_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="'cola' stands there twice"):
        expand_tasks(["glue", "cola"], tmp_path)


def test_own_data_set_is_found_from_the_experiment_file(tmp_path: Path) -> None:
    (tmp_path / "sets").mkdir()
    (tmp_path / "sets" / "train.csv").write_text("text,label\na,0\n")
    entry = TaskEntry(name="mine", path="sets", text="text")
    assert expand_tasks([entry], tmp_path)[0].folder == tmp_path / "sets"


@pytest.mark.e2e
def test_tasks_are_listed_without_what_trains() -> None:
    """A wrong name in an experiment is found before torch, Lightning and scikit-learn are imported."""
    heavy = "sorted({'torch', 'lightning', 'sklearn', 'scipy', 'datasets', 'pandas'} & set(sys.modules))"
    program = f"import sys; from hashbench.data.tasks.catalogue import known_tasks; known_tasks(); print({heavy})"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_an_own_data_set_of_the_hub_is_of_texts(tmp_path: Path) -> None:
    """It is located on the hub alone, whatever the sources are; a page-link set is a folder."""
    entry = TaskEntry(name="mine", hub="acme/news@c0ffee", config="en", text="text", splits={"train": "a"})
    (task,) = expand_tasks([entry], tmp_path)
    assert task.is_own and task.folder is None and task.hub is not None
    assert (task.hub.repository, task.hub.revision, task.hub.config) == ("acme/news", "c0ffee", "en")
    assert task.hub.splits == (("train", "a"),)
    links = TaskEntry(name="mine", hub="acme/links", text="page", links="links")
    with pytest.raises(InputError, match=r"^task 'mine': a page-link set of your own is a folder; give path in place"):
        expand_tasks([links], tmp_path)
