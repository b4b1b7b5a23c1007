"""`claims:` in an experiment file: a list or a CSV beside it; checked when the file is read."""

from __future__ import annotations

from pathlib import Path

import pytest

from hashbench.common.errors import InputError
from hashbench.running.experiment.claims import absent_from
from hashbench.running.experiment.load import load_experiment
from hashbench.running.sweep.plan import plan
from tests.running.experiment.conftest import Load

MODELS = "models: [hashformer-md-proj, hashformer-lsh-proj]\n"
ONE = "  - {id: own-1a, kind: greater, left: hashformer-lsh-proj, right: hashformer-md-proj, column: average}\n"


def test_a_list_is_kept_as_written(experiment: Load) -> None:
    claims = experiment(MODELS + "claims:\n" + ONE).experiment.claims
    assert not isinstance(claims, str)
    assert [(one.id, one.left, one.unit, one.bound) for one in claims] == [
        ("own-1a", "hashformer-lsh-proj", "percent", 0.0)
    ]


def test_the_rows_of_a_csv_stand_in_its_place(experiment: Load, tmp_path: Path) -> None:
    head = "id,kind,left,right,column,bound,unit\n"
    (tmp_path / "own.csv").write_text(head + "1,difference_at_least,a,0,cola,0.5,percent\n")
    claims = experiment(MODELS + "claims: own.csv\n").experiment.claims
    assert not isinstance(claims, str)
    assert [(one.id, one.right, one.bound) for one in claims] == [("1", "0", 0.5)]


def test_what_only_the_papers_claims_say_is_read_over(experiment: Load, tmp_path: Path) -> None:
    (tmp_path / "own.csv").write_text("id,kind,left,right,column,unit,published_holds\n1,greater,a,0,cola,percent,no\n")
    for lines in ("claims:\n" + ONE.replace("}", ", published_holds: no}"), "claims: own.csv\n"):
        claims = experiment(MODELS + lines).experiment.claims
        assert not isinstance(claims, str)
        assert [claim.kind for claim in claims] == ["greater"] and not hasattr(claims[0], "published_holds")


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ("claims:\n" + ONE.replace("greater", "better"), "a.yaml:10: claim 'own-1a': unknown kind 'better'"),
        (
            "claims:\n" + ONE.replace("kind", "knid"),
            "a.yaml:10: unknown key 'knid' of entry 1 of claims; did you mean 'kind'? (list: hashbench schema); "
            "key 'kind' is missing",
        ),
        ("claims: none.csv\n", "none.csv: No such file or directory; name a CSV file"),
    ],
)
def test_a_fault_is_one_line_with_its_place(experiment: Load, lines: str, said: str) -> None:
    with pytest.raises(InputError) as error:
        experiment(MODELS + lines)
    assert said in str(error.value) and "\n" not in str(error.value)
    assert str(error.value).startswith("a.yaml:")


def test_the_small_superbloom_has_its_papers_claims_in_small() -> None:
    file = Path(__file__).parents[3] / "experiments" / "superbloom_entities_tiny.yaml"
    claims = load_experiment(file).experiment.claims
    assert not isinstance(claims, str)
    assert {one.id for one in claims} >= {"size-1a", "depth-3a", "density-5"}


def test_what_a_claim_names_and_the_experiment_lacks_is_noted_before_the_sweep(experiment: Load) -> None:
    rows = (
        '  - {id: fine, kind: greater, left: a, right: ab-c, column: "mean(rte,cola_accuracy,average,emb_params)"}\n'
        "  - {id: model, kind: greater, left: a, right: ab-d, column: prr_rte}\n"
        "  - {id: column, kind: greater, left: a, right: ab-c, column: rtee}\n"
        "  - {id: task, kind: greater, left: a, right: ab-c, column: mnli}\n"
    )
    claims = experiment(MODELS + "claims:\n" + rows).experiment.claims
    assert not isinstance(claims, str)
    known = (["a", "ab-c"], {"rte": ("accuracy",), "cola": ("matthews", "accuracy")}, ["a.yaml:9"] * len(claims))
    with pytest.raises(InputError, match=r"^a.yaml:9: claim 'model': no model 'ab-d' in this experiment; did you mean"):
        absent_from(claims, *known)
    assert absent_from(claims, *known, selected=True) == [
        "claim model will not be decided: no model 'ab-d' in this experiment; did you mean 'ab-c'?",
        "claim column will not be decided: no column 'rtee'; did you mean 'rte'?",
        "claim task will not be decided: no column 'mnli'",
    ]


NUMBERED = """
models: [{name: "128", like: hashformer-md-proj}, {name: "256", like: hashformer-lsh-proj}]
baseline: "128"
"""


def claims_on(left: str, right: str) -> str:
    """The key `claims` with one claim on the average."""
    return f"claims:\n  - {{id: c1, kind: greater, left: {left}, right: {right}, column: average}}\n"


def test_check_refuses_a_number_that_is_no_model(experiment: Load) -> None:
    assert not [note for note in plan(experiment(NUMBERED + claims_on("256", "'128'")), dry=True).notes if "c1" in note]
    with pytest.raises(InputError, match=r"^a.yaml:\d+: claim 'c1': no model '512'; where a model's name is a number"):
        plan(experiment(NUMBERED + claims_on("512", "128")), dry=True)


def test_check_refuses_a_model_that_is_none_unless_the_call_selects_models(experiment: Load) -> None:
    file = MODELS + "baseline: hashformer-md-proj\n" + claims_on("hashformer-lsh-proj", "mine")
    with pytest.raises(InputError, match=r"^a.yaml:\d+: claim 'c1': no model 'mine' in this experiment; it has hashf"):
        plan(experiment(file), dry=True)
    notes = plan(experiment(file, "models=[hashformer-md-proj]"), dry=True).notes
    assert any("claim c1 will not be decided: no model 'hashformer-lsh-proj'" in note for note in notes)
    of_paper = MODELS + "baseline: hashformer-md-proj\n" + claims_on("hashformer-lsh-proj", "hashformer-md-pool")
    assert any("claim c1 will not be decided" in note for note in plan(experiment(of_paper), dry=True).notes)
