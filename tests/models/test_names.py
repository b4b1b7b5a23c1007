"""The names that are known without torch."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hashbench.models import names
from hashbench.models.embeddings.registry import groups, models
from hashbench.models.names import Names, known_names, unknown_model


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    file = tmp_path / "cache" / "names.json"
    monkeypatch.setattr(names, "NAMES_FILE", file)
    return file


def test_names_are_those_of_the_registry_and_are_kept(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert known_names() == Names(tuple(models()), tuple(groups()))
    monkeypatch.setattr(names, "_listed", lambda: pytest.fail("listed a second time"))
    assert "hashformer-md-proj" in known_names().models and "hashformers" in known_names().groups


def test_a_changed_file_is_listed_again(kept: Path) -> None:
    known_names()
    written = json.loads(kept.read_text())
    written["state"][0][1] = "0" * 64
    kept.write_text(json.dumps({**written, "models": ["stale"]}))
    assert "stale" not in known_names().models


@pytest.mark.parametrize("text", ["", "{", "{}"])
def test_a_damaged_file_is_made_again(kept: Path, text: str) -> None:
    kept.parent.mkdir()
    kept.write_text(text)
    assert known_names().models == tuple(models())


def test_names_of_plug_ins_are_listed(kept: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(names.VARIABLE, str(tmp_path))
    known_names()
    assert not kept.exists()


def test_an_unknown_name_names_its_nearest() -> None:
    assert unknown_model("hashformer-md-prj").startswith("unknown model 'hashformer-md-prj'; did you mean")
    assert unknown_model("mine", ["mine2"]) == ("unknown model 'mine'; did you mean 'mine2'? (list: hashbench models)")
