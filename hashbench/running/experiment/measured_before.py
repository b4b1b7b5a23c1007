"""Records of measurements before a run, kept in the cache: `check --measure` writes them, every plan prints them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hashbench.data.sources.fingerprints import cache_folder, cache_room, read_note, write_note

FOLDER = "measured"  # in the cache


def remember(kind: str, digest: str, record: Mapping[str, Any]) -> None:
    """Keeps a record (plain JSON) of a kind of measurement. `digest`: SHA-256 (hex) of all that it was measured on."""
    write_note(_place(cache_room(FOLDER), kind, digest), record)


def recall(kind: str, digest: str) -> dict[str, Any] | None:
    """The record that `remember` kept under this kind and digest; None where nothing was measured yet."""
    return read_note(_place(cache_folder() / FOLDER, kind, digest))


def _place(room: Path, kind: str, digest: str) -> Path:
    return room / f"{kind}-{digest}.json"
