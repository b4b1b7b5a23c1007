"""running/experiment/tasks.py: tasks by name or path, and those that a vocabulary is learned on."""

from __future__ import annotations

from pathlib import Path

import pytest

from hashbench.common.errors import InputError
from hashbench.running.experiment.tasks import find_tasks, learned_tasks, task_of

MODELS = "models: [bert-mlm]\n"


@pytest.fixture
def own_folder(tmp_path: Path) -> Path:
    (tmp_path / "own").mkdir()
    for split in ("train", "test"):
        (tmp_path / "own" / f"{split}.csv").write_text("words,label\ngood,1\nbad,0\n" * 5)
    return tmp_path / "own"


def test_groups_and_own_data_sets_in_the_order_of_the_file(experiment, own_folder: Path) -> None:
    tasks = find_tasks(experiment(MODELS, f"tasks=[{{name: mine, path: {own_folder}, text: words}}, cola]"))
    assert [task.name for task in tasks] == ["mine", "cola"]
    group = [task.name for task in find_tasks(experiment(MODELS, "tasks=glue"))]
    assert group[0] == "cola" and {"sst2", "stsb", "rte"} < set(group) and len(group) == len(set(group))


def test_a_task_that_stands_twice_is_named_with_its_line(experiment) -> None:
    with pytest.raises(InputError, match=r"tasks=\[glue, cola\]: task 'cola' stands twice; rename one of them"):
        find_tasks(experiment(MODELS, "tasks=[glue, cola]"))


def test_an_unknown_task_is_named_with_its_line(experiment) -> None:
    with pytest.raises(InputError, match=r"unknown task 'cula'; did you mean 'cola'"):
        find_tasks(experiment(MODELS, "tasks=[cula]"))


def test_one_task_by_its_name_is_the_one_of_the_list(experiment, own_folder: Path) -> None:
    loaded = experiment(MODELS, f"tasks=[cola, {{name: mine, path: {own_folder}, text: words, max_rows: 3}}]")
    cola, mine = find_tasks(loaded)
    assert task_of(loaded, "cola") == cola and task_of(loaded, "mine") == mine
    assert (mine.text, mine.max_rows, mine.folder) == (("words",), 3, own_folder)


def test_a_block_of_the_experiment_is_the_protocol_of_its_task(experiment) -> None:
    loaded = experiment(MODELS + "entities: {segment_items: 6}\n", "tasks=[entities]")
    (entities,) = find_tasks(loaded)
    assert entities.protocol is not None and entities.protocol.segment_items == 6
    assert task_of(loaded, "entities") == entities
    assert task_of(experiment(MODELS), "cola").protocol is None


def learned_names(loaded, *learn_on: str) -> list[str]:
    return [task.name for task in learned_tasks(loaded, learn_on)]


def test_a_vocabulary_is_learned_on_the_tasks_of_the_file_or_on_those_it_names(experiment, own_folder: Path) -> None:
    loaded = experiment(MODELS, f"tasks=[sst2, {{name: mine, path: {own_folder}, text: words}}, cola, entities]")
    assert learned_names(loaded, "corpus") == []
    assert learned_names(loaded, "corpus", "tasks") == ["cola", "mine", "sst2"]  # links have no texts
    assert learned_names(loaded, "tasks", "sst2") == ["cola", "mine", "sst2"]
    assert learned_names(loaded, "mine", "rte") == ["mine", "rte"]  # whether or not it is among the tasks
    assert set(learned_names(loaded, "glue")) > {"cola", "mnli"}


@pytest.mark.parametrize(
    ("tasks", "learn_on", "message"),
    [
        ("[cola]", "cula", "unknown task 'cula'; did you mean 'cola'"),
        ("[cola, entities]", "entities", "learn_on: task 'entities' is .*: it has no training texts"),
        ("[entities]", "tasks", "learn_on: tasks: no task of this experiment has training texts"),
    ],
)
def test_what_has_no_training_texts_is_refused(experiment, tasks: str, learn_on: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        learned_names(experiment(MODELS, f"tasks={tasks}"), learn_on)
