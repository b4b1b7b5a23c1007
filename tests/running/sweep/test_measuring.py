from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hashbench.data.sources.fingerprints import cache_folder
from hashbench.models.text.base import make_tokenizer
from hashbench.running.experiment.resolved import ResolvedExperiment
from hashbench.running.runs.artifacts import ArtifactFolder
from hashbench.running.runs.base import Workplace
from hashbench.running.runs.finetuning import KIND as FINETUNING
from hashbench.running.runs.finetuning import batches_of, length_of
from hashbench.running.runs.materials import Materials
from hashbench.running.sweep.measuring import (
    COUNT_THEM,
    LATER,
    SHARES,
    SIZES,
    SPREADS,
    count_texts,
    measure,
    print_results,
    share_notes,
    share_rows,
)
from hashbench.running.sweep.plan import plan
from hashbench.running.training.machine import Machine


def take(resolved: ResolvedExperiment) -> None:
    count_texts(resolved, Materials(resolved.sources, cache_folder(), resolved.tasks))


def test_what_is_known_is_printed_and_the_rest_measured(experiment: Any, capsys: pytest.CaptureFixture[str]) -> None:
    resolved = plan(experiment(BPE)).resolved
    titles = [SIZES, SHARES, SPREADS]

    def printed() -> list[str]:
        lines = capsys.readouterr().out.splitlines()
        return [line for line in lines if line in titles]

    capsys.readouterr()
    print_results(resolved)
    assert printed() == titles[:1]  # nobody asked for a measurement
    measure(resolved)
    assert printed() == titles
    print_results(resolved)
    assert printed() == titles[:2]


BPE = "models: [bert-mlm, hashformer-md-proj]\nfinetune: {max_length: 8}\n"


def test_share_of_text_is_counted_once_and_then_printed_by_every_plan(experiment: Any) -> None:
    resolved = plan(experiment(BPE)).resolved
    assert share_rows(resolved) == [] and share_notes(resolved) == [], "nothing is known yet"
    one = plan(experiment(BPE, "models=[hashformer-md-proj]")).resolved
    take(one)
    before = share_rows(resolved)
    assert before[0] == {"model": "bert-mlm", "limit": 8, "cola": LATER, "stsb": LATER}
    assert share_notes(resolved)[-1] == COUNT_THEM
    take(resolved)
    rows = share_rows(resolved)
    assert rows[1] == before[1], "counted once for a tokenizer"
    shares = {row["model"]: float(str(row["stsb"]).split(" / ")[-1]) for row in rows}
    assert shares["bert-mlm"] > shares["hashformer-md-proj"] > 2, "a vocabulary of 500 needs more tokens than words"
    (note,) = [line for line in share_notes(resolved) if line.startswith("stsb: models do not read the same")]
    assert f"bert-mlm {shares['bert-mlm']} %" in note
    assert share_rows(plan(experiment(BPE, "finetune.max_length=9")).resolved) == [], "another limit"


def test_length_that_keeps_a_share_of_tokens_is_resolved_for_each_tokenizer(experiment: Any, tmp_path: Path) -> None:
    keep = "models: [hashformer-md-proj, bytes]\nfinetune: {max_length: {keep: 0.9, at_most: 40}}\n"
    resolved = plan(experiment(keep)).resolved
    materials = Materials(resolved.sources, cache_folder(), resolved.tasks)
    found = {}
    for model in resolved.models.values():
        run = FINETUNING.of(resolved, model, resolved.tasks[0], 0)
        place = Workplace(resolved, {run.id: run}, materials, ArtifactFolder(cache_folder()))
        data = materials.task_data("cola")
        batches = batches_of(data, run, place, Machine(folder=tmp_path))
        found[model.label] = length_of(run, place)
        assert batches.row_lengths().max() == found[model.label]
        held_out = batches_of(data.held_out(0), run, place, Machine(folder=tmp_path))
        assert held_out.row_lengths().max() <= found[model.label], "a grid of rates is searched with the same length"
    assert found["hashformer-md-proj"] < found["bytes"] == 40, "bytes need more than are allowed"
    words = [len(make_tokenizer("words").tokenize(text)) for text in data.splits["train"].texts[0]]
    kept = [sum(min(n, found["hashformer-md-proj"] - 2 - less) for n in words) / sum(words) for less in (0, 1)]
    assert kept[0] >= 0.9 > kept[1], "two special tokens, and no token more than the share needs"
    take(resolved)
    caps = [line for line in share_notes(resolved) if line.startswith("cola: at_most")]
    assert caps == ["cola: at_most 40 keeps less than 90 % of train's tokens: bytes"]
    assert {row["model"]: str(row["limit"]).split(", ")[0] for row in share_rows(resolved)} == {
        label: str(length) for label, length in found.items()
    }
