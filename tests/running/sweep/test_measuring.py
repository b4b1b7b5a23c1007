from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from hashbench.running.sweep import measuring, text_shares
from hashbench.running.sweep.measuring import Measurement, results, take_all
from hashbench.running.sweep.plan import plan
from hashbench.running.sweep.text_shares import LATER


def test_every_measurement_is_taken_and_only_what_is_known_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[str] = []

    def one(title: str, rows: list[dict[str, Any]], notes: list[str]) -> Measurement:
        return Measurement(title, lambda _, materials: taken.append(title), lambda _: rows, lambda _: notes)

    monkeypatch.setattr(
        measuring,
        "MEASUREMENTS",
        (one("first", [{"model": "k1"}], []), one("second", [], []), one("third", [], ["not known"])),
    )
    resolved = cast(Any, SimpleNamespace(sources=("builtin",), tasks=()))
    take_all(resolved)
    assert taken == ["first", "second", "third"]
    assert results(resolved) == [("first", [{"model": "k1"}], []), ("third", [], ["not known"])]


BPE = "models: [bert-mlm, hashformer-md-proj]\nfinetune: {max_length: 8}\n"


def test_share_of_text_is_counted_once_and_then_printed_by_every_plan(experiment: Any) -> None:
    resolved = plan(experiment(BPE)).resolved
    assert text_shares.rows(resolved) == [] and text_shares.notes(resolved) == [], "nothing is known yet"
    one = plan(experiment(BPE, "models=[hashformer-md-proj]")).resolved
    take_all(one)
    before = text_shares.rows(resolved)
    assert before[0] == {"model": "bert-mlm", "limit": 8, "cola": LATER, "stsb": LATER}
    assert text_shares.notes(resolved)[-1] == text_shares.REMEDY
    take_all(resolved)
    rows = text_shares.rows(resolved)
    assert rows[1] == before[1], "counted once for a tokenizer"
    shares = {row["model"]: float(str(row["stsb"]).split(" / ")[-1]) for row in rows}
    assert shares["bert-mlm"] > shares["hashformer-md-proj"] > 2, "a vocabulary of 500 needs more tokens than words"
    (note,) = [line for line in text_shares.notes(resolved) if line.startswith("stsb: models do not read the same")]
    assert f"bert-mlm {shares['bert-mlm']} %" in note
    assert text_shares.rows(plan(experiment(BPE, "finetune.max_length=9")).resolved) == [], "another limit"
