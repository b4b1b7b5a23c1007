from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from hashbench.running.sweep import measuring
from hashbench.running.sweep.measuring import Measurement, results, take_all


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
