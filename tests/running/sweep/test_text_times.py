"""`check --measure` times a text of each model in turn with the baseline, once for a machine."""

from __future__ import annotations

from typing import Any

import pytest

from hashbench.data.sources.fingerprints import cache_folder
from hashbench.running.runs.materials import Materials
from hashbench.running.sweep import measuring, text_times
from hashbench.running.sweep.plan import plan

MODELS = "models: [hashformer-md-proj, eelbert-tiny]\nbaseline: hashformer-md-proj\n"


def test_times_are_measured_once_for_a_machine(experiment: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    resolved = plan(experiment(MODELS)).resolved
    assert text_times.rows(resolved) == []
    materials = Materials(resolved.sources, cache_folder(), resolved.tasks)
    text_times.take(resolved, materials)
    first, second = text_times.rows(resolved)
    when, compared = text_times.notes(resolved)
    assert when.startswith("measured ") and compared == text_times.COMPARED
    assert list(first) == list(second) == ["model", "cola, ms", "times the baseline's"]
    assert first["cola, ms"] > 0 and second["cola, ms"] > 0
    low, high = map(float, str(first["times the baseline's"]).split(" to "))
    assert low <= high
    monkeypatch.setattr(text_times, "inference_facts", lambda *_: pytest.fail("measured before"))
    text_times.take(resolved, materials)
    monkeypatch.setattr(text_times, "hardware_name", lambda: "another")
    assert text_times.rows(resolved) == [], "times of another machine"


def test_without_a_baseline_nothing_is_timed_and_a_note_says_so(experiment: Any) -> None:
    """No model reads a corpus, so that of the default baseline was not looked for."""
    models = "models: [{name: k2, like: hash-emb-k2-sum, objective: none}]\n"
    resolved = plan(experiment(models)).resolved
    assert text_times.rows(resolved) == []
    text_times.take(resolved, Materials(resolved.sources, cache_folder(), resolved.tasks))
    assert text_times.notes(resolved) == [
        "baseline bert-mlm is none of the models, and its corpus is not read here; set baseline to a model of the file"
    ]
    assert measuring.results(resolved)[-1][0] == text_times.TITLE
    own = plan(experiment(models + "baseline: k2\n")).resolved
    assert text_times.notes(own) == []


def test_a_note_says_when_times_were_measured_and_at_what_load(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_times.time, "time", lambda: 1_000_000.0)
    monkeypatch.setattr(text_times, "usable_cores", lambda: 2)
    old, new = {"at": 1_000_000.0 - 3 * 86_400, "load": 10.06}, {"at": 1_000_000.0 - 120, "load": 0.5}
    assert text_times._when([new]) == "measured 2 min ago, at a load of up to 0.5 on 2 cores"
    both = "measured 2 min to 3 d 0 h ago, at a load of up to 10.1 on 2 cores; other work disturbs times"
    assert text_times._when([old, new]) == both
    assert text_times._when([new, {}]).startswith("measured 2 min ago, some of them at a time that was not noted, at")
    assert text_times._when([{}]) == "measured at a time that was not noted"  # by an earlier release


def test_the_ratio_is_that_of_times_and_not_of_speeds() -> None:
    row = text_times._in_short({"ms": 1.2345, "low": 2.0, "high": 4.0}, "cola")
    assert row == {"cola, ms": 1.23, "times the baseline's": "0.25 to 0.50"}
    assert text_times._in_short(None, "cola") == {"cola, ms": "not measured", "times the baseline's": None}
