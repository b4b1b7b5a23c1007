"""No task, further set or model may have the name of a column of any table, or of a trivial baseline."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from hashbench.common.errors import InputError
from hashbench.common.registry import registered
from hashbench.data.tasks.catalogue import known_tasks
from hashbench.models.names import known_names
from hashbench.results.papers.paper import layouts
from hashbench.results.read.measured import measure
from hashbench.results.reserved import check_apart, check_model_name, check_name, reserved_columns
from hashbench.results.tables.experiment import OF_TEXTS
from hashbench.results.tables.request import ReportRequest, ReportSource
from hashbench.running.experiment.load import _check_reserved, load_experiment
from hashbench.running.experiment.schema import ModelEntry, TaskEntry, baseline_names
from hashbench.store.engine import open_store
from hashbench.store.status import experiments

EXAMPLE = Path(__file__).parents[2] / "results.db.example"
BASELINES = list(baseline_names())


def _refused(name: str) -> bool:
    try:
        check_name(name, "task", baselines=BASELINES, remedy="rename it")
    except InputError:
        return True
    return False


def _names() -> list[str]:
    """A name for each reserved one; of a pattern one that it matches."""
    return sorted(name.replace("[0-9]*", "5").replace("*", "x") for name in reserved_columns())


def _printed() -> Iterator[str]:
    """Names of the columns, without those of the experiment's own tasks and models, of every table of the example."""
    store = open_store(EXAMPLE)
    for experiment in experiments(store):
        measured = measure(store, experiment.name)
        source = ReportSource(store, ReportRequest(experiment.name, all_metrics=True, full=True), read_before=measured)
        # The columns of papers are looked at below
        for file in [file for name, file in registered("table").items() if name != "paper"]:
            try:
                made = file.make(source)
            except InputError:  # nothing of this table was measured
                continue
            columns = [column for table in made for column in table.columns if column.task is None]
            yield from (column.name for column in columns if column.name not in measured.labels())


@pytest.mark.e2e
def test_the_columns_of_every_printed_table_are_reserved() -> None:
    printed = set(_printed())
    assert {"average", "total_params", "run_minutes", "at_0.05", "swap", "rec@1_ceiling", "bytes_per_token"} <= printed
    assert [name for name in sorted(printed) if not _refused(name)] == []


def test_the_columns_of_every_paper_are_reserved_in_any_case() -> None:
    names = {column.name for layout in layouts() for column in layout.columns if column.name != column.task}
    assert [name for name in names if not _refused(name.upper())] == []


@pytest.mark.parametrize("what", ["task", "model"])
def test_check_refuses_every_reserved_name(what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.yaml").write_text("name: x\nmodels: [bert-mlm]\n")
    loaded, accepted = load_experiment("a.yaml"), []
    for name in [*_names(), *BASELINES]:
        entry = TaskEntry.model_construct(name=name) if what == "task" else ModelEntry.model_construct(name=name)
        experiment = loaded.experiment.model_copy(update={f"{what}s": (entry,)})
        try:
            _check_reserved(replace(loaded, experiment=experiment))
            accepted.append(name)
        except InputError as error:
            assert str(error).startswith("a.yaml") and "\n" not in str(error)
    assert accepted == []


@pytest.mark.e2e
def test_a_further_set_may_have_no_reserved_name_either() -> None:
    from hashbench.running.sweep.further import _check_name  # here, since it imports Lightning

    nowhere = SimpleNamespace(places=[])
    for name in [*_names(), *BASELINES]:
        with pytest.raises(InputError, match="--name NAME|a task of the suite"):
            _check_name(None, nowhere, SimpleNamespace(task=name))  # type: ignore[arg-type]


def test_the_message_says_what_is_reserved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.yaml").write_text("name: x\nmodels:\n  - bert-mlm\n  - {name: majority, like: bert-mlm}\n")
    with pytest.raises(InputError) as refused:
        load_experiment("a.yaml")
    assert str(refused.value) == (
        "a.yaml:4: model 'majority': is the name of a trivial baseline (majority, bag-of-words, hashed-words, "
        "bag-of-pairs, bag-of-pairs-2, popularity, co-occurrence, most-frequent-tag, unigrams, shorter-sentence); "
        "choose another name"
    )
    Path("a.yaml").write_text("name: x\nmodels: [bert-mlm]\ntasks:\n  - sst2\n  - {name: Average, path: d, text: t}\n")
    with pytest.raises(InputError) as refused:
        load_experiment("a.yaml")
    assert str(refused.value).startswith(
        "a.yaml:5: task 'Average': is the name of a column of table encoders (reserved are average, total_params, "
        "emb_params, run_minutes and "
    )


@pytest.mark.parametrize(
    ("name", "where"),
    [
        ("run_minutes", "table own"), ("bytes_per_token", "table budgets"), ("swap", "table robustness"),
        ("tenth=3", "table links"), ("script_latin", "table scripts"), ("pcr_emb", "table paper"),
        ("verdict", "report claims"), ("prr_mine", "claims"), ("mine_over_examples", "tables as CSV and JSON"),
    ],
)  # fmt: skip
def test_the_message_names_the_table_that_has_the_column(name: str, where: str) -> None:
    with pytest.raises(InputError, match=rf"task '{name}': is the name of a column of {where} \(reserved are average"):
        check_name(name, "task", baselines=BASELINES, remedy="rename it")


def test_a_model_may_not_have_the_name_of_a_task() -> None:
    with pytest.raises(InputError, match="model 'sst2': is the name of a task; rename it"):
        check_model_name("sst2", "model", baselines=BASELINES, tasks=["sst2"], remedy="rename it")


def test_no_task_and_no_model_of_the_suite_is_reserved() -> None:
    assert [name for name in known_names().models if _refused(name)] == []
    assert [name for name in known_tasks() if _refused(name)] == []


@pytest.mark.parametrize("name", ["mine", "my-set", "glue_average", "averages", "at_home", "small"])
def test_other_names_are_free(name: str) -> None:
    assert not _refused(name)


def test_a_task_may_not_be_named_like_the_metric_of_another() -> None:
    check_apart(["mine", "mine_too", "other_accuracy"], ["mine", "mine_too"], "task", remedy="rename it")
    for name in ("mine_accuracy", "mine_f1_macro", "mine_accuracy_validation", *(f"mine_{of[0]}" for of in OF_TEXTS)):
        with pytest.raises(InputError, match=f"task '{name}': is the name of a column of task 'mine'; rename it"):
            check_apart([name], ["mine", name], "task", remedy="rename it")
