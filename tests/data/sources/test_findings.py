"""Odd rows of data sets are counted."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from hashbench.cli.app import main
from hashbench.data.sources.rows import missing_texts, row_notes
from hashbench.data.tasks.text_data import Split


def split(*rows: tuple[str, int]) -> Split:
    return Split(([text for text, _ in rows],), np.array([label for _, label in rows]))


def test_rows_that_stand_twice_and_texts_that_were_trained_on() -> None:
    splits = {
        "train": split(("a", 0), ("a", 0), ("a", 1), ("b", 1)),  # another label is another row
        "validation": split(("c", 0), ("d", 1)),
        "test": split(("a", 0), ("b", 0), ("b", 0)),
    }
    assert row_notes(splits) == [
        "repeated: 1 row of train, 1 row of test",
        "texts also in train: 3 rows of test",
        "texts under several labels: 1 of train (3 rows)",
    ]
    assert row_notes({"train": split(("a", 0)), "test": split(("b", 0))}) == []


def test_of_pairs_both_texts_count() -> None:
    pairs = {name: Split((["a"], [second]), np.array([0])) for name, second in (("train", "x"), ("test", "y"))}
    assert row_notes(pairs) == []
    some = Split((["x", "", "y"], [" ", "", "z"]), np.zeros(3))
    assert missing_texts({"train": some, "test": pairs["test"]}) == ["missing or empty texts: 2 rows of train"]


def test_check_says_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HASHBENCH_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "own"
    folder.mkdir()
    rows = [
        {"sentence": text, "label": n % 2} for n, text in enumerate(["a", "b", None, "c", "d", "e\u0301", "f", "f"])
    ]
    (folder / "train.jsonl").write_text("\n".join(map(json.dumps, [*rows, rows[0]])))
    (folder / "validation.jsonl").write_text("\n".join(map(json.dumps, rows[:2])))
    Path("own.yaml").write_text(
        "name: own\ndata: builtin\nencoder: tiny\nmodels: [hashformer-md-proj]\nseeds: [0]\n"
        "tasks: [{name: mine, path: own, text: sentence, label: label, metric: accuracy}]\n"
        "pretrain: {corpora: [builtin], steps: 2}\n"
    )
    with pytest.raises(SystemExit) as ended:
        main(["check", "own.yaml"])
    assert not ended.value.code
    lines = capsys.readouterr().out.splitlines()
    assert "mine: missing or empty texts: 1 row of train" in lines
    assert any(line.startswith("mine: not in one Unicode normal form (NFC): 1 text of train; a word") for line in lines)
    assert "mine: repeated: 1 row of train" in lines and "mine: texts also in train: 2 rows of validation" in lines
