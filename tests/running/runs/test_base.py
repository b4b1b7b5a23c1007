"""running/runs/base.py: how the trainings of a plan lie on a card; test_toy_kind.py has the interface itself."""

from __future__ import annotations

from hashbench.running.efficiency.cards import CARDS, Placed
from hashbench.running.runs.base import TrainingKind, kind_of
from hashbench.running.sweep.plan import plan


def placed(experiment, card: str, *changes: str) -> dict[str, Placed]:
    planned = plan(experiment("models: [bert-mlm]\nefficiency: false\n", *changes))
    kinds = {run.kind: (kind_of(run), run) for run in planned.runs}
    return {
        name: kind.placed(CARDS[card], run, planned.resolved)
        for name, (kind, run) in kinds.items()
        if isinstance(kind, TrainingKind)
    }


def test_runs_are_placed_as_their_recipes_ask(experiment) -> None:
    there = placed(experiment, "l4", "pretrain.micro_batch_size=auto", "finetune.micro_batch_size=3")
    assert there["finetune"].rows == 3 and not there["finetune"].auto
    assert there["pretrain"].auto and there["pretrain"].rows == there["pretrain"].share
    assert all(each.fits(CARDS["l4"]) for each in there.values())
    halves = placed(experiment, "l4", "devices=2", "device=cpu")
    assert halves["pretrain"].share == -(-there["pretrain"].share // 2)
