"""Ways in which a file is damaged: by a disk that fills up, a machine that loses power, a bit that turns."""

from collections.abc import Callable
from pathlib import Path


def truncate(path: Path) -> None:
    """Half of it is left."""
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])


def empty(path: Path) -> None:
    path.write_bytes(b"")


def flip(path: Path) -> None:
    """One bit in the middle, size and times as before."""
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 4
    path.write_bytes(data)


DAMAGES: dict[str, Callable[[Path], None]] = {"truncated": truncate, "emptied": empty, "bit flipped": flip}
