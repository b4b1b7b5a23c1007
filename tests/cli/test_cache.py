"""`cache list` and `cache clean` as a user calls them."""

from __future__ import annotations

from pathlib import Path

from hashbench.common.cache import using
from tests.cli.commands import Run, fails


def test_list_and_clean(run: Run) -> None:
    cache = Path("cache")
    (cache / "codes").mkdir(parents=True)
    (cache / "codes" / "codes-a.npy").write_bytes(b"0" * 2_000_000)
    listed = run("cache", "list")
    assert listed.code == 0 and "codes" in listed.out and "2.0" in listed.out and "codes of types" in listed.out
    assert str(cache.absolute()) in listed.err
    assert "0 entries" in run("cache", "clean").out
    planned = run("cache", "clean", "--older-than", "0", "--dry-run")
    assert "codes/codes-a.npy" in planned.out and "1 entries of 2.0 MB would be removed" in planned.out
    with using(cache):
        fails(run("cache", "clean", "--older-than", "0"), "a sweep is using this cache")
    assert run("cache", "clean", "--older-than", "0").code == 0 and not (cache / "codes" / "codes-a.npy").exists()


def test_an_empty_cache(run: Run) -> None:
    assert run("cache", "list").code == 0
    assert "0 entries of 0.0 MB removed" in run("cache", "clean").out
