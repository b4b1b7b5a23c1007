from __future__ import annotations

from pathlib import Path

import pytest

from hashbench.common.cache import rooms
from hashbench.running.experiment.measured_before import recall, remember


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HASHBENCH_CACHE", str(tmp_path))
    return tmp_path


def test_record_is_found_under_its_kind_and_digest_alone(cache: Path) -> None:
    remember("tokens", "ab12", {"train": {"texts": 3}})
    assert recall("tokens", "ab12") == {"train": {"texts": 3}}
    assert recall("tokens", "ab13") is None
    assert recall("spread", "ab12") is None


def test_later_record_replaces_the_earlier_one(cache: Path) -> None:
    remember("tokens", "ab12", {"texts": 3})
    remember("tokens", "ab12", {"texts": 4})
    assert recall("tokens", "ab12") == {"texts": 4}


def test_damaged_record_is_set_aside_and_not_known(cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    remember("tokens", "ab12", {"texts": 3})
    (record,) = (cache / "measured").iterdir()
    record.write_text(record.read_text().replace("3", "4"))
    assert recall("tokens", "ab12") is None
    assert "is damaged" in capsys.readouterr().err


def test_cache_lists_the_records_with_their_purpose(cache: Path) -> None:
    remember("tokens", "ab12", {"texts": 3})
    assert [(room.name, room.holds) for room in rooms(cache)] == [
        ("measured", "what was measured of models before their runs")
    ]
