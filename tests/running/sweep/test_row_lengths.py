"""Tokens of rows of words, measured before a pre-training."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from hashbench.common.texts_read import TextsRead
from hashbench.running.sweep import row_lengths
from tests.commands import call

FILE = """
name: rows
data: builtin
encoder: tiny
models: [hashformer-md-proj, {name: scratch, like: hashformer-md-proj, objective: none}]
baseline: scratch
tasks: [rte]
seeds: [0]
floors: []
pretrain: {corpora: [builtin], steps: 12, batch_size: 4, words_per_row: WORDS, max_documents: 60}
finetune: {max_length: {keep: 1.0, at_most: 512}}
"""


def test_rows_that_are_shorter_than_the_inputs_of_a_task_are_noted(tmp_path: Path) -> None:
    notes = {}
    for words in (8, 200):
        (tmp_path / "e.yaml").write_text(FILE.replace("WORDS", str(words)))
        done = call("check", "e.yaml", "--measure", cwd=tmp_path)
        assert done.code == 0, done.err
        assert "pre-training on rows of words: tokens a row" in done.out
        again = call("check", "e.yaml", cwd=tmp_path)
        assert "pre-training on rows of words: tokens a row" in again.out, "what was measured is printed again"
        notes[words] = [line for line in done.out.splitlines() if "raise pretrain.words_per_row" in line]
    assert notes[200] == []
    (line,) = notes[8]
    assert "rte: fine-tunings read more tokens than" in line and "hashformer-md-proj " in line
    assert "scratch" not in line


def test_inputs_of_just_the_length_of_the_rows_are_trained(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_lengths, "_facts", lambda _: {"m": SimpleNamespace(trained=64)})
    for longest, n_notes in ((64, 0), (65, 1)):
        counts = {("rte", "m"): TextsRead(longest, {}), ("rte", "other"): TextsRead(512, {}), ("cola", "m"): None}
        monkeypatch.setattr(row_lengths, "counted_texts", lambda _, counts=counts: counts)
        assert len(row_lengths.notes(None)) == n_notes  # type: ignore[arg-type]
