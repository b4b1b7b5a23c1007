"""The points of the exported grid must together be the runs of the experiment, each by a call that works."""

from __future__ import annotations

import itertools
import shlex
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from hashbench.cli.app import main
from hashbench.common.errors import InputError
from hashbench.running.experiment.load import load_experiment
from hashbench.running.experiment.models import resolve_models
from hashbench.running.experiment.wandb_sweep import AXES, sweep_options, wandb_sweep, write_wandb_sweep
from hashbench.running.sweep.plan import plan

MODELS = "models: [bert-mlm, {name: proj-64, like: hashformer-lsh-proj, coder: {bits: 64}}]\n"


def calls(sweep) -> list[list[str]]:
    """The command lines of an agent, one a point of the grid."""
    utils = pytest.importorskip("wandb.sdk.launch.sweeps.utils", reason="wandb is an extra")
    values = [sweep["parameters"][axis]["values"] for axis in AXES]
    found = []
    for point in itertools.product(*values):
        arguments = {axis: {"value": value} for axis, value in zip(AXES, point, strict=True)}
        filled = utils.create_sweep_command_args({"args": arguments})["args_no_hyphens"]
        command = ["hashbench" if part == "${program}" else part for part in sweep["command"]]
        found.append([*command[:-1], *filled])
        assert command[-1] == "${args_no_hyphens}"
    return found


def ids(call: list[str]) -> set[str]:
    """What `hashbench sweep FILE KEY=VALUE ...` would run."""
    assert call[:2] == ["hashbench", "sweep"]
    return {run.id for run in plan(load_experiment(call[2], call[3:])).runs}


@pytest.mark.e2e
@pytest.mark.parametrize("baseline", ["bert-mlm", "proj-64"])
def test_the_points_together_are_the_experiment(experiment, baseline) -> None:
    loaded = experiment(f"{MODELS}baseline: {baseline}\nefficiency: true\n")
    points = calls(wandb_sweep(loaded))
    assert points[0][3:] == ["models=[bert-mlm]", "tasks=[cola]", "seeds=[0]"] and len(points) == 2 * 2 * 2
    together = set().union(*map(ids, points))
    missing = {run.kind for run in plan(loaded).runs if run.id not in together}
    # its times are of all tasks, so that a call with one of them measures another thing; the whole call does this one
    assert missing <= {"efficiency"}
    assert {run.id for run in plan(loaded).runs if run.kind != "efficiency"} <= together


def test_other_overrides_stay_and_those_of_the_axes_become_values(experiment) -> None:
    loaded = experiment(MODELS, "models=[proj-64]", "seeds=[3,4]", "finetune.epochs=1")
    sweep = wandb_sweep(loaded, ["--data", "builtin"])
    assert sweep["command"][2:] == ["a.yaml", "finetune.epochs=1", "--data", "builtin", "${args_no_hyphens}"]
    values = {axis: sweep["parameters"][axis]["values"] for axis in AXES}
    assert values == {"models": ["[proj-64]"], "tasks": ["[cola]", "[stsb]"], "seeds": ["[3]", "[4]"]}


def test_an_own_data_set_is_named_on_its_axis(experiment, tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    for split in ("train", "validation"):
        (tmp_path / "d" / f"{split}.csv").write_text("sentence,label\na,0\nb,1\n")
    own = "{name: mine, path: d, text: sentence}"
    sweep = wandb_sweep(experiment("models: [bert-mlm]\n", f"tasks=[cola,{own}]"))
    assert sweep["parameters"]["tasks"]["values"] == ["[cola]", "[mine]"]


def test_a_name_stands_once_for_its_checkpoints_and_budgets(experiment) -> None:
    """Labels such as bert-mlm@50 are of a table; `models=` takes names."""
    loaded = experiment(
        "models: [bert-mlm, {name: proj-64, like: hashformer-lsh-proj, pretrain: {checkpoints: [1]}}]\n"
    )
    assert "proj-64@1" in resolve_models(loaded)
    assert wandb_sweep(loaded)["parameters"]["models"]["values"] == ["[bert-mlm]", "[proj-64]"]


def test_the_command_writes_it_and_runs_nothing(experiment, tmp_path: Path, capsys) -> None:
    experiment(MODELS)
    with pytest.raises(SystemExit) as left:
        main(["sweep", "a.yaml", "seeds=[7]", "--db", "other.db", "--export-wandb", "sweep.yaml"])
    out = capsys.readouterr().out
    assert (left.value.code, out) == (0, "sweep.yaml: 4 combinations of a model, a task and a seed\n")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.yaml", "sweep.yaml"]
    text = (tmp_path / "sweep.yaml").read_text()
    written = YAML(typ="safe").load(text)
    assert (written["method"], written["parameters"]["seeds"]) == ("grid", {"values": ["[7]"]})
    assert written["command"][3:5] == ["--db", "other.db"]
    whole = shlex.split(next(line for line in text.splitlines() if "table of all" in line).split(": ")[1])
    assert whole == ["hashbench", "sweep", "a.yaml", "seeds=[7]", "--db", "other.db"]


def test_a_password_goes_into_no_file() -> None:
    with pytest.raises(InputError, match=r"^postgresql://me:\*\*\*@host/r: its password does not go into a file; set"):
        sweep_options([], "postgresql://me:s3cr3t@host/r")


def test_a_file_that_cannot_be_written(experiment) -> None:
    with pytest.raises(InputError, match=r"--export-wandb none/s.yaml: No such file.*; give a file in a folder that"):
        write_wandb_sweep(experiment(MODELS), Path("none/s.yaml"))
