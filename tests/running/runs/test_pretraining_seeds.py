"""Several pre-trainings of a model: fine-tunings start from them in turn, and one pre-training is one draw."""

from __future__ import annotations

from pathlib import Path

import pytest

from hashbench.running.experiment.load import load_experiment
from hashbench.running.sweep.plan import Plan, plan
from tests.commands import call, finish

FILE = """
name: seeds
data: builtin
encoder: tiny
models: [hashformer-md-proj, bert-sr, {name: scratch, like: hashformer-md-proj, objective: none}]
baseline: bert-sr
tasks: [rte, cola]
seeds: [0, 1, 2, 3]
floors: []
pretrain: {corpora: [builtin], steps: 12, batch_size: 4, words_per_row: 16, max_documents: 60, seeds: [7, 4]}
finetune: {steps: 2, batch_size: 8, max_length: 16, evaluations_per_epoch: 1}
"""


def planned(folder: Path, text: str = FILE, *overrides: str) -> Plan:
    (folder / "e.yaml").write_text(text)
    return plan(load_experiment(folder / "e.yaml", overrides))


def starts(made: Plan) -> dict[tuple[str, str, int], int | None]:
    """Of each fine-tuning (model, task, seed): the seed of its pre-training."""
    seeds = {run.id: run.seed for run in made.runs if run.kind == "pretrain"}
    return {
        (run.model, str(run.task), int(run.seed or 0)): seeds[run.needs[0]] if run.needs else None
        for run in made.runs
        if run.kind == "finetune"
    }


def test_fine_tunings_take_turns_alike_for_every_model_and_task(tmp_path: Path) -> None:
    made = planned(tmp_path)
    pretrainings = [(run.model, run.seed) for run in made.runs if run.kind == "pretrain"]
    assert pretrainings == [("hashformer-md-proj", 7), ("bert-sr", 7), ("hashformer-md-proj", 4), ("bert-sr", 4)]
    for (model, _, seed), start in starts(made).items():
        assert start == (None if model == "scratch" else (4, 7)[seed % 2])


def test_what_a_fine_tuning_starts_from_does_not_depend_on_the_other_seeds(tmp_path: Path) -> None:
    whole = {(run.model, run.task, run.seed): run.id for run in planned(tmp_path).runs}
    for seeds in ("seeds=[2]", "seeds=[3,0]"):
        some = planned(tmp_path, FILE, seeds)
        assert all(whole[run.model, run.task, run.seed] == run.id for run in some.runs)


def test_a_pretraining_is_the_same_run_as_one_of_a_file_with_its_seed_alone(tmp_path: Path) -> None:
    ids = {run.id for run in planned(tmp_path).runs}
    alone = planned(tmp_path, FILE.replace("seeds: [7, 4]", "seed: 7"), "seeds=[1]")
    assert {run.id for run in alone.runs if run.kind in ("pretrain", "finetune")} <= ids


@pytest.mark.parametrize("written", ["seeds: [1, 3]", "seeds: [1, 2], seed: 3"])
def test_seeds_that_cannot_be(tmp_path: Path, written: str) -> None:
    (tmp_path / "e.yaml").write_text(FILE.replace("seeds: [7, 4]", written))
    done = call("check", "e.yaml", cwd=tmp_path)
    assert done.code == 2 and "take 2 with other remainders modulo 2" in done.err


def test_each_start_has_weights_of_its_own_and_is_one_draw_in_intervals(tmp_path: Path) -> None:
    (tmp_path / "e.yaml").write_text(FILE.replace(" bert-sr,", "").replace("bert-sr", "scratch"))
    done = finish("sweep", "e.yaml", "tasks=[rte]", "--db", "r.db", cwd=tmp_path)
    assert done.code == 0, done.err
    compared = call("compare", "hashformer-md-proj", "scratch", "--db", "r.db", "--format", "json", cwd=tmp_path).out
    assert '"seeds": 2' in compared
    table = " ".join(call("report", "--provenance", "--db", "r.db", cwd=tmp_path).out.split())
    assert "seeds 4, 7" in table and "seeds 0, 1, 2, 3" in table
    assert "NOT JUMPED: hashformer-md-proj (seed 7: 0." in table and "seed 4: 0." in table
    assert "mean ± sd over all fine-tunings, of 2 pre-trainings (n - 1), 4 seeds each" in table
    assert "tokens of pre-training 0.0 M" in table
    assert "pre-training steps 12; batch_size 4; words_per_row 16; sequence_length 512" in table
    assert "Models have 2 pre-trainings. The fine-tunings of one count as one, their mean" in table
