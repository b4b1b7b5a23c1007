"""running/sweep/dry_run.py: for which machine an estimate is, and what fits on a card."""

from __future__ import annotations

from pathlib import Path

import pytest

from hashbench.cli.sweep import sweep
from hashbench.common.errors import InputError
from hashbench.running.efficiency.cards import CARDS, Placed, TrainingStep
from hashbench.running.runs.artifacts import ArtifactFolder
from hashbench.running.runs.durations import likely_rows
from hashbench.running.sweep.dry_run import memory_of, print_plan
from hashbench.running.sweep.plan import plan
from hashbench.running.sweep.runner import write_down
from hashbench.store.engine import open_store
from hashbench.store.finishing import finish
from hashbench.store.queue import claim
from hashbench.store.result import Result

MODELS = "models: [bert-mlm, hashformer-md-proj]\nefficiency: true\n"


def printed(experiment, capsys, card: str | None, *changes: str) -> list[str]:
    print_plan(plan(experiment(MODELS, *changes)), "none.db", 1, card and CARDS[card])
    return capsys.readouterr().out.splitlines()


def test_an_estimate_names_its_machine(experiment, capsys) -> None:
    lines = printed(experiment, capsys, None)
    assert " on this machine (" in lines[-1] and " cores)" in lines[-1]
    assert not any("memory of" in line for line in lines)


def test_an_estimate_for_a_card_names_it_and_its_ground(experiment, capsys) -> None:
    lines = printed(experiment, capsys, "h100")
    assert lines[-2].startswith("estimated time: ") and lines[-2].endswith(" on H100 SXM")
    assert "nothing was measured on this card" in lines[-1]


def test_each_model_and_training_has_a_line_of_memory(experiment, capsys) -> None:
    lines = printed(experiment, capsys, "rtx4090")
    start = lines.index("memory of RTX 4090, 24 GB, of which 90% are used:")
    assert [line.split()[:2] for line in lines[start + 1 : -2]] == [
        [kind, model] for kind in ("pretrain", "finetune") for model in ("bert-mlm", "hashformer-md-proj")
    ]
    assert all(" GB" in line for line in lines[start + 1 : -2])


def test_the_rows_of_an_own_file_are_counted(experiment, capsys, tmp_path) -> None:
    table = "text,label\n" + "".join(f"a text,{'no' if i % 2 else 'yes'}\n" for i in range(60))
    (tmp_path / "own").mkdir()
    for split in ("train", "validation"):
        (tmp_path / "own" / f"{split}.csv").write_text(table)
    entry = f"{{name: own, path: {tmp_path / 'own'}, text: text, label: label"
    plans = [plan(experiment(MODELS, f"tasks=[rte, {entry}{more}}}]")) for more in ("", ", max_rows: 9")]
    rows = [likely_rows(planned.resolved.tasks) for planned in plans]
    assert [each["own"] for each in rows] == [61, 9] and rows[0]["rte"] == rows[1]["rte"] > 9


@pytest.mark.parametrize(
    ("rows", "auto", "checkpointing", "words"),
    [
        (128, False, False, "128 x 512 tokens: 9.0 GB"),
        (16, True, False, "128 x 512 tokens in parts of 16: 9.0 GB"),
        (64, False, False, "128 x 512 tokens in parts of 64: 99.0 GB, too much; write micro_batch_size: auto"),
        (None, True, False, "128 x 512 tokens: one row takes 99.0 GB, too much; take activation_checkpointing: true"),
        (None, True, True, "128 x 512 tokens: one row takes 99.0 GB, too much; take shorter inputs or another card"),
    ],
)
def test_what_does_not_fit_is_said_with_a_remedy(rows, auto: bool, checkpointing: bool, words: str) -> None:
    step = TrainingStep(128, 512, 512, 12, 768, 3072, 10**8, 0, 0.0, False, checkpointing=checkpointing)
    placed = Placed(step, 128, rows, 99e9 if "99" in words else 9e9, auto)
    assert memory_of(placed, CARDS["rtx4090"]) == words


def test_finished_runs_whose_weights_are_gone_are_counted(experiment, capsys, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("HASHBENCH_CACHE", str(tmp_path / "cache"))
    planned = plan(experiment(MODELS))
    db = str(tmp_path / "r.db")
    store = open_store(db)
    sweep_id = write_down(store, planned, {})
    while held := claim(store, sweep_id, worker="w", lease_s=60, max_attempts=1, kinds=("pretrain",)):
        finish(store, held, Result(seconds=40.0))
    store.close()
    pretrained = [run for run in planned.runs if run.kind == "pretrain"]
    print_plan(planned, db, 1)
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if "weights are gone: made again, about " in line] == lines[: len(pretrained)]
    assert f"{len(pretrained)} done, {len(pretrained)} of them made again, since weights are gone" in "\n".join(lines)
    for run in pretrained:
        weights = ArtifactFolder(tmp_path / "cache").files(run.id).weights
        weights.parent.mkdir(parents=True)
        weights.write_bytes(b"")
    print_plan(planned, db, 1)
    assert "gone" not in capsys.readouterr().out


def test_on_without_a_dry_run_is_refused() -> None:
    with pytest.raises(InputError, match="^--on: an estimate for another machine needs --dry-run; add it, or leave"):
        sweep(Path("any.yaml"), on="h100", dry_run=False)
