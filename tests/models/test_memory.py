"""models/memory.py: which errors say that memory was too small, and how much there is."""

from __future__ import annotations

import pytest
import torch

from hashbench.models.memory import is_out_of_memory, main_memory


def test_a_machine_has_more_memory_than_this_process_needs() -> None:
    assert 2**27 < main_memory() < 2**50


def test_what_torch_says_of_a_tensor_beyond_all_memory() -> None:
    with pytest.raises(RuntimeError) as error:
        torch.empty(2**50)
    assert is_out_of_memory(error.value)
