"""running/sweep/publishing.py: texts of stored outputs, only where the data at hand are theirs; terms of the data."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from hashbench.common.errors import InputError
from hashbench.data.tasks.catalogue import find_task
from hashbench.data.tasks.text_data import Split, TaskData
from hashbench.running.sweep import publishing
from hashbench.running.sweep.publishing import StoredTexts, terms

LABELS = np.array([0, 1, 1])
DATA = TaskData(
    find_task("rte"),
    {"validation": Split((["a", "b", "c"], ["d", "e", "f"]), LABELS)},
    "f" * 64, "folder data", "folder",
)  # fmt: skip


def sample_of(targets: np.ndarray) -> Any:
    run = SimpleNamespace(run_id="r", fingerprint=DATA.fingerprint)
    return SimpleNamespace(task="rte", split="validation", targets=targets, scores={0: SimpleNamespace(run=run)})


def test_texts_of_the_rows_of_stored_outputs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(publishing, "task_data_of_run", lambda *_: DATA)
    texts = StoredTexts(None, ["hub"])  # type: ignore[arg-type]
    split = texts(sample_of(LABELS))
    assert list(split.texts) == [("a", "d"), ("b", "e"), ("c", "f")]
    assert split.classes == DATA.label_names
    assert texts.terms == [terms(DATA)] and "nyu-mll/glue" in texts.terms[0]
    with pytest.raises(InputError, match="the rows of validation are not those of the stored outputs"):
        texts(sample_of(LABELS[::-1].copy()))


def test_terms_of_generated_and_own_data() -> None:
    assert "free" in terms(replace(DATA, kind="builtin"))
    own = replace(DATA, kind="own", origin="own data set x", task=replace(DATA.task, folder=Path("x")))
    assert "texts of own data set x; its terms decide" in terms(own)
