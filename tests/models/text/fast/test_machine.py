"""Machine instructions: LLVM's code gives what the plain function gives, and that is what Python says of the bytes."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hashbench.models.text.compiled import Instruction, compiled
from hashbench.models.text.fast import machine
from hashbench.models.text.fast.machine import (
    SCAN_BLOCK,
    copy_block,
    load_number,
    masks,
    prefetch,
    store_number,
    trailing_zeros,
)

BYTES = st.binary(min_size=SCAN_BLOCK + 8, max_size=SCAN_BLOCK + 40)


def plain(name: str) -> object:
    """The plain function behind an instruction, as Python."""
    instruction = getattr(machine, name)
    assert isinstance(instruction, Instruction)
    return instruction.function


PLAIN = {name: plain(name) for name in ("load_number", "store_number", "trailing_zeros", "masks", "copy_block")}


@compiled
def all_of(data: np.ndarray, at: int, lower: bool, target: np.ndarray, out: np.ndarray) -> None:
    """Each instruction once."""
    out[0], out[1], out[2] = masks(data, at)
    out[3] = load_number(data, at)
    out[4] = trailing_zeros(out[0])
    prefetch(out, 0)
    copy_block(data, at, target, at, lower)
    store_number(target, 0, out[3])


def all_plain(data: np.ndarray, at: int, lower: bool, target: np.ndarray, out: np.ndarray) -> None:
    """The same by the plain functions."""
    out[0], out[1], out[2] = PLAIN["masks"](data, at)
    out[3] = PLAIN["load_number"](data, at)
    out[4] = PLAIN["trailing_zeros"](out[0])
    PLAIN["copy_block"](data, at, target, at, lower)
    PLAIN["store_number"](target, 0, out[3])


@given(BYTES, st.integers(0, 8), st.booleans())
def test_instructions_equal_their_plain_functions(text: bytes, at: int, lower: bool) -> None:
    data = np.frombuffer(text, np.uint8)
    results = []
    for run in (all_of, all_plain):
        target, out = np.zeros(128, np.uint8), np.zeros(5, np.uint64)
        run(data, at, lower, target, out)
        results.append((target.tolist(), out.tolist()))
    assert results[0] == results[1]


@given(BYTES)
def test_masks_are_the_classes_of_re(text: bytes) -> None:
    word, space, odd = PLAIN["masks"](np.frombuffer(text, np.uint8), 0)
    for i, byte in enumerate(text[:SCAN_BLOCK]):
        character = chr(byte) if byte < 128 else ""
        is_word = character.isalnum() or character == "_"
        found = tuple(bool(int(bits) >> i & 1) for bits in (word, space, odd))
        assert found == (is_word, character.isspace(), byte == 0 or byte >= 128), byte


def test_the_plain_functions_can_be_compiled() -> None:
    """For a machine on which LLVM's code is not written out."""
    import numba

    data = np.arange(200, dtype=np.uint8)
    by_numba = {name: numba.njit(function) for name, function in PLAIN.items()}
    assert by_numba["load_number"](data, 3) == PLAIN["load_number"](data, 3)
    assert by_numba["masks"](data, 40) == PLAIN["masks"](data, 40)
    assert [by_numba["trailing_zeros"](np.uint64(bits)) for bits in (0, 1, 40)] == [64, 0, 3]
    one, other = np.zeros((2, 80), np.uint8)
    by_numba["copy_block"](data, 33, one, 5, True)
    PLAIN["copy_block"](data, 33, other, 5, True)
    by_numba["store_number"](one, 0, np.uint64(7))
    PLAIN["store_number"](other, 0, np.uint64(7))
    assert one.tolist() == other.tolist()
