"""Main memory: how much this machine has, and errors of torch that say that there was too little."""

from __future__ import annotations

import os

import torch


def main_memory() -> int:
    """Bytes of main memory of this machine, free or not."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def is_out_of_memory(error: BaseException) -> bool:
    """True for an out-of-memory error; those of MPS, CPUs and other processes are recognised by their text."""
    if isinstance(error, torch.OutOfMemoryError | MemoryError):
        return True
    texts = ("out of memory", "can't allocate memory", "not enough memory")
    return isinstance(error, RuntimeError) and any(text in str(error) for text in texts)
