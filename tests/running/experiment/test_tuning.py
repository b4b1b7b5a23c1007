"""running/experiment/tuning.py: what a file declares of how values were chosen, for which models, and wrong input."""

from __future__ import annotations

import pytest

from hashbench.common.errors import InputError
from hashbench.running.experiment.models import resolve_models
from hashbench.running.experiment.tuning import declared
from hashbench.running.sweep.plan import plan

FILE = """
models:
  - bert-mlm
  - {name: proj, like: hashformer-md-proj, finetune: {learning_rate: 1e-3}}
  - name: fast
    like: hashformer-md-proj
    finetune: {learning_rate: 1e-2}
    tuned: {finetune.learning_rate: {tried: [1e-3, 1e-2], on: validation, by: cola}}
finetune: {learning_rate: 3e-4, per_task: {cola: {epochs: 2}}}
tuned:
  finetune.learning_rate: {tried: [1e-4, 3e-4], on: test}
  finetune.per_task.cola.epochs: {tried: [2, 4], on: held-out tenth of train}
"""


def _declared(loaded):
    return declared(loaded, resolve_models(loaded))


def test_a_declaration_holds_for_the_models_that_do_not_set_the_value(experiment) -> None:
    known = _declared(experiment(FILE))
    rows = {label: {name: tuning.on for name, tuning in of.items()} for label, of in known.items()}
    shared = {"finetune.per_task.cola.epochs": "held-out tenth of train"}
    assert rows["bert-mlm"] == {"finetune.learning_rate": "test", **shared}
    assert rows["proj"] == shared  # its own rate is not the one that was declared
    assert rows["fast"] == {"finetune.learning_rate": "validation", **shared}
    assert known["fast"]["finetune.learning_rate"].by == "cola"


def test_what_the_command_line_gives_is_not_declared(experiment) -> None:
    known = _declared(experiment(FILE, "finetune.learning_rate=5e-5"))
    assert list(known["bert-mlm"]) == ["finetune.per_task.cola.epochs"]


def test_other_models_than_the_files_may_lack_a_declared_value(experiment) -> None:
    lines = "models: [hashformer-md-proj, proformer]\ntuned: {embedding.own_weight: {tried: [2, 8], on: validation}}\n"
    assert list(_declared(experiment(lines))["proformer"]) == ["embedding.own_weight"]
    assert _declared(experiment(lines, "models=[hashformer-md-proj]")) == {"hashformer-md-proj": {}}


def test_a_spread_is_declared_under_its_name_for_models_that_do_not_set_another(experiment) -> None:
    lines = """
models: [bert-mlm, {name: proj, like: hashformer-md-proj, initial_spread: 0.02}]
initial_spread: matched
tuned: {initial_spread: {tried: [matched, 0.005], on: validation}}
"""
    known = _declared(experiment(lines))
    assert list(known["bert-mlm"]) == ["initial_spread"] and known["proj"] == {}
    assert _declared(experiment(lines, "initial_spread=0.1")) == {"bert-mlm": {}, "proj": {}}
    with pytest.raises(InputError, match="'bert-mlm' has matched, which is not among the tried"):
        _declared(experiment(lines.replace("[matched, 0.005]", "[0.01, 0.005]")))


def test_run_ids_do_not_know_it(experiment) -> None:
    with_it, without = plan(experiment(FILE)), plan(experiment(FILE.partition("\ntuned:")[0]))
    assert [run.id for run in with_it.runs] == [run.id for run in without.runs]
    assert with_it.resolved.tuning_of("bert-mlm")["finetune.learning_rate"] == {
        "tried": [1e-4, 3e-4], "on": "test", "by": "",
    }  # fmt: skip
    assert without.resolved.tuning_of("bert-mlm") == {}


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("finetune.learing_rate: {tried: [1], on: test}",
         "a.yaml:10: tuned: no recipe value 'finetune.learing_rate' here; did you mean 'finetune.learning_rate'"),
        ("finetune.per_task.rte.epochs: {tried: [1], on: test}",
         "a.yaml:10: tuned: no recipe value 'finetune.per_task.rte.epochs' here; did you mean 'finetune.epochs'"),
        ("data: {tried: [1], on: test}",
         "a.yaml:10: tuned: no recipe value 'data' here; names begin with pretrain, finetune, finetune.per_task.TASK"),
        ("finetune.epochs: {tried: [3, 4], on: validation}",
         "a.yaml:10: tuned.finetune.epochs: 'bert-mlm' has 5, which is not among the tried 3, 4; add it, or"),
        ("finetune.learning_rate: {tried: [1.0e-3], on: validation}",
         "a.yaml:10: tuned.finetune.learning_rate: a list of rates is searched by the sweep itself"),
        ("finetune.epochs: {tried: [5], on: dev}",
         "a.yaml:10: tuned.finetune.epochs.on: must be 'validation', 'held-out tenth of train', 'test' or 'dev that is "
         "reported', not 'dev'; correct the value"),
        ("finetune.epochs: {tried: [], on: test}",
         "a.yaml:10: tuned.finetune.epochs.tried: must not be empty; give at least 1"),
        ("finetune.epochs: {on: test}",
         "a.yaml:10: key 'tuned.finetune.epochs.tried' is missing; add it (keys: hashbench schema)"),
        ("finetune.epochs: {tried: [5], on: test, who: me}",
         "a.yaml:10: unknown key 'tuned.finetune.epochs.who' (list: hashbench schema)"),
    ],
)  # fmt: skip
def test_wrong_declarations(experiment, lines: str, message: str) -> None:
    with pytest.raises(InputError) as error:
        _declared(experiment(f"models: [bert-mlm]\ntuned:\n  {lines}\nfinetune: {{learning_rate: [1e-4, 1e-3]}}\n"))
    assert str(error.value).startswith(message)
    assert "\n" not in str(error.value)


def test_a_model_entry_declares_only_what_the_model_has(experiment) -> None:
    loaded = experiment("models: [{name: hashformer-md-proj, tuned: {coder.alpha: {tried: [5], on: test}}}]\n")
    with pytest.raises(InputError, match=r"a.yaml:8: tuned: no recipe value 'coder.alpha' here"):
        _declared(loaded)
