"""Corpora that are made ahead of a sweep."""

from __future__ import annotations

from pathlib import Path

import pytest

from hashbench.running.experiment.load import load_experiment
from hashbench.running.sweep.housekeeping import prepared_corpora
from hashbench.running.sweep.plan import plan

EXPERIMENT = """\
name: ahead
data: builtin
encoder: tiny
models:
  - hashformer-md-proj
  - {name: proj-64, like: hashformer-lsh-proj}
  - {name: streamed, like: hashformer-md-proj, pretrain: {streaming: true}}
tasks: [cola]
pretrain: {corpora: [builtin], steps: 2, batch_size: 2, sequence_length: 16}
"""


def test_each_corpus_comes_once_and_a_stream_is_only_mentioned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HASHBENCH_CACHE", str(tmp_path / "cache"))
    Path("ahead.yaml").write_text(EXPERIMENT)
    said: list[str] = []
    corpora = list(prepared_corpora(plan(load_experiment("ahead.yaml", [])), said.append))
    assert [corpus.folder.is_relative_to(tmp_path / "cache" / "corpora") for corpus in corpora] == [True]
    assert len(corpora[0].ids) > len(corpora[0].types) > 0
    assert "preparing for hashformer-md-proj ..." in said and "preparing for proj-64 ..." in said
    assert "streamed reads its corpora as a stream: nothing to prepare" in said
