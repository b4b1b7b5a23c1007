"""Kernels, which wait for their first call, and their threads."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from hashbench.models.text.compiled import Kernel, in_threads, slices, thread_count


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


@pytest.mark.e2e
def test_numba_is_loaded_by_the_first_call_of_a_kernel() -> None:
    code = (
        "import sys; from hashbench.models.coders import md5 as kernels; print('numba' in sys.modules);"
        "import numpy as np; words = np.zeros(16, np.uint32);"
        "kernels.load_block(np.frombuffer(b'abcd', np.uint8), 0, 4, words);"
        "print('numba' in sys.modules, hex(words[0]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True", "0x64636261"]


@pytest.mark.parametrize("cache", [True, False])
def test_without_a_place_beside_the_program_machine_code_goes_to_our_cache_or_nowhere(
    cache: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a container of another user: the package is read-only, and there is no home folder."""
    import numba
    from numba.core import caching

    monkeypatch.setattr(numba.config, "CACHE_DIR", "")
    own = caching.CacheImpl._locator_classes
    monkeypatch.setattr(caching.CacheImpl, "_locator_classes", [cls for cls in own if "UserProvided" in cls.__name__])
    monkeypatch.setenv("HASHBENCH_CACHE", str(tmp_path) if cache else "")
    kernel = Kernel(_doubled)
    assert kernel(21) == 42
    assert bool(list(tmp_path.rglob("*.nbi"))) == cache


def _doubled(number: int) -> int:
    return 2 * number
