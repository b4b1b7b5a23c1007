"""Threads of kernels."""

from __future__ import annotations

import os

import pytest

from hashbench.text.compiled import in_threads, slices, thread_count


def test_threads_are_a_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HASHBENCH_THREADS", "3")
    assert thread_count() == 3
    monkeypatch.delenv("HASHBENCH_THREADS")
    assert 1 <= thread_count() <= (os.cpu_count() or 1)


@pytest.mark.parametrize("n", [0, 1, 4096, 100_000])
def test_slices_cover_everything_once(n: int) -> None:
    parts = slices(n)
    assert [i for start, stop in parts for i in range(start, stop)] == list(range(n))


def test_errors_in_threads_are_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(start: int, stop: int) -> None:
        raise ValueError(f"part {start}")

    monkeypatch.setenv("HASHBENCH_THREADS", "2")
    with pytest.raises(ValueError, match="part 0"):
        in_threads(fail, [(0, 1), (1, 2)])
