"""What an attempt stores of code and machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from hashbench.running.experiment.identity import cpu_name
from hashbench.running.runs import environment


def test_code_outside_of_a_checkout_has_the_version_of_its_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(environment, "packages", lambda: {"hashbench": "0.1.0"})
    assert environment.git_state(tmp_path) == ("release 0.1.0", "")
    monkeypatch.setattr(environment, "packages", dict)
    assert environment.git_state(tmp_path) == ("release unknown", "")


def test_the_machine_is_named_as_in_the_identity_of_timings() -> None:
    assert environment.hardware()["processor"] == cpu_name()
