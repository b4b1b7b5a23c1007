"""Freed memory stays with the process when asked."""

from __future__ import annotations

import gc
import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st

from hashbench.common import process as allocator
from hashbench.common.errors import InputError

NICE = "import os; from hashbench.common.process import keep_niceness; os.nice({}); keep_niceness()"
AUTOGROUP = Path("/proc/self/autogroup")
# Page faults of allocating, touching and freeing 40 MB ten times.
FAULTS = """
import resource, sys
import numpy as np
from hashbench.common.process import keep_freed_memory
assert keep_freed_memory(sys.argv[1] == "keep")
np.ones(5_000_000)
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(10):
    np.ones(5_000_000)
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def faults(mode: str) -> int:
    path = ":".join(path for path in ["", *sys.path] if path is not None)
    found = subprocess.run(
        [sys.executable, "-c", FAULTS, mode], capture_output=True, text=True, check=True, env={"PYTHONPATH": path}
    )
    return int(found.stdout)


@pytest.mark.e2e
@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc has the setting")
def test_kept_memory_is_not_faulted_in_again() -> None:
    assert faults("keep") < 0.2 * faults("default")


def test_other_systems_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(allocator.sys, "platform", "darwin")
    assert allocator.keep_freed_memory() is False


def test_numpy_has_one_thread_unless_the_user_chose(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    allocator.one_thread_of_numpy()
    assert os.environ["OPENBLAS_NUM_THREADS"] == "1"
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "4")
    allocator.one_thread_of_numpy()
    assert os.environ["OPENBLAS_NUM_THREADS"] == "4"


@pytest.mark.parametrize(
    ("own", "in_force"),
    [
        ({}, {"ONEDNN_PRIMITIVE_CACHE_CAPACITY": "128", "LRU_CACHE_CAPACITY": "128"}),
        ({"LRU_CACHE_CAPACITY": "9"}, {"ONEDNN_PRIMITIVE_CACHE_CAPACITY": "128", "LRU_CACHE_CAPACITY": "9"}),
        (
            {"ONEDNN_PRIMITIVE_CACHE_CAPACITY": "7"},
            {"ONEDNN_PRIMITIVE_CACHE_CAPACITY": "7", "LRU_CACHE_CAPACITY": "128"},
        ),
        # oneDNN prefers the first of its two names, which would hide the user's
        (
            {"DNNL_PRIMITIVE_CACHE_CAPACITY": "0"},
            {"DNNL_PRIMITIVE_CACHE_CAPACITY": "0", "LRU_CACHE_CAPACITY": "128"},
        ),
    ],
)
def test_few_operations_are_kept_unless_the_user_chose(
    own: dict[str, str], in_force: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "environ", dict(own))
    allocator.keep_few_prepared()
    assert os.environ == in_force


def test_nothing_is_collected_meanwhile_and_again_afterwards():
    with allocator.collecting_nothing():
        assert not gc.isenabled()
        with allocator.collecting_nothing():  # one within another ends nothing
            pass
        assert not gc.isenabled()
    assert gc.isenabled()
    with pytest.raises(KeyError), allocator.collecting_nothing():
        raise KeyError
    assert gc.isenabled()


@pytest.mark.parametrize(
    ("keep", "settings"),
    # malloc.h: M_MMAP_MAX is -4, M_TRIM_THRESHOLD -1; glibc's defaults are 65,536 mappings and 128 KiB
    [(True, [(-4, 0), (-1, 2**31 - 1)]), (False, [(-4, 65_536), (-1, 131_072)])],
)
def test_no_allocation_is_a_mapping_of_its_own_while_memory_is_kept(
    keep: bool, settings: list[tuple[int, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[tuple[int, int]] = []

    class Library:
        def __init__(self, _: None) -> None:
            self.mallopt = lambda *call: calls.append(call) or 1

    monkeypatch.setattr(allocator.sys, "platform", "linux")
    monkeypatch.setattr(allocator.ctypes, "CDLL", Library)
    assert allocator.keep_freed_memory(keep) is True
    assert calls == settings


def test_a_machine_has_more_memory_than_this_process_needs() -> None:
    assert 2**27 < allocator.main_memory() < 2**50


def test_what_torch_says_of_a_tensor_beyond_all_memory() -> None:
    with pytest.raises(RuntimeError) as error:
        torch.empty(2**50)
    assert allocator.is_out_of_memory(error.value)


@pytest.mark.parametrize(("text", "number"), [("", None), ("1", 1), ("16", 16), ("007", 7), ("65536", 65_536)])
def test_threads_are_a_whole_number(text: str, number: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HASHBENCH_THREADS", text)
    assert allocator.wanted_threads() == number
    monkeypatch.delenv("HASHBENCH_THREADS")
    assert allocator.wanted_threads() is None


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1))
@example("abc").via("reported")
@example("0")
@example("-1")
@example("1.5")
@example("\u00b2")
@example("\u0664")
@example("1_000")
@example(" ")
@example("9" * 5_000)
def test_any_other_text_is_one_line(text: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(allocator.os, "environ", {"HASHBENCH_THREADS": text})
        if text.isascii() and text.isdigit() and 1 <= len(text.lstrip("0")) < 6 and int(text) <= 65_536:
            assert allocator.wanted_threads() == int(text)
            return
        with pytest.raises(InputError) as error:
            allocator.wanted_threads()
    assert str(error.value).startswith("HASHBENCH_THREADS: ") and "\n" not in str(error.value)
    assert str(error.value).endswith(" is no whole number from 1 to 65536; correct it, or unset it")


@pytest.mark.skipif(not AUTOGROUP.exists(), reason="this system does not schedule sessions as groups")
@pytest.mark.parametrize("value", [0, 7, 19])
def test_a_new_session_yields_as_its_nice_value_says(value: int) -> None:
    code = f"{NICE.format(value)}; print(open('/proc/self/autogroup').read())"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, start_new_session=True
    )
    assert done.stdout.split()[-1] == str(value), done.stderr
