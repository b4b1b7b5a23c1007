"""A task as type ids: tokenized once for each tokenizer, shared by all models that use it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hashbench.common.once import make_once
from hashbench.data.sources.fingerprints import cache_folder, digest
from hashbench.data.tasks.text_data import TaskData
from hashbench.models.text.tokenizers import Tokenizer
from hashbench.models.text.types import TokenizedTexts, TypeTable

FORMAT = 1  # of the stored ids; a change makes all of them anew


@dataclass(frozen=True)
class EncodedTask:
    """The type table of a task and the ids of each text column of each split."""

    types: TypeTable
    splits: dict[str, tuple[TokenizedTexts, ...]]
    folder: Path  # where codes of these types may be kept


def encode_task(data: TaskData, tokenizer: Tokenizer, folder: Path | None = None) -> EncodedTask:
    """The task as type ids, tokenized now if no worker did before. `folder` holds all encoded tasks."""
    key = digest("task", str(FORMAT), data.fingerprint, tokenizer_fingerprint(tokenizer))
    place = make_once((folder or cache_folder() / "tasks") / key, lambda partial: _build(data, tokenizer, partial))
    splits = {
        split: tuple(_load(place, split, column) for column in range(len(part.texts)))
        for split, part in data.splits.items()
    }
    return EncodedTask(TypeTable.load(place / "types"), splits, place)


def tokenizer_fingerprint(tokenizer: Tokenizer) -> str:
    """SHA-256 of a tokenizer: its recipe, and the pieces where they were learned from a corpus."""
    return digest(json.dumps(tokenizer.recipe(), sort_keys=True), *tokenizer.pieces)


def _build(data: TaskData, tokenizer: Tokenizer, folder: Path) -> None:
    folder.mkdir()
    interner = tokenizer.interner()
    provisional = {
        (split, column): interner.add(texts)
        for split, part in data.splits.items()
        for column, texts in enumerate(part.texts)
    }
    types, remap = interner.finish()
    types.save(folder / "types")
    for (split, column), tokenized in provisional.items():
        np.save(folder / f"{split}-{column}-ids.npy", tokenized.remapped(remap).ids)
        np.save(folder / f"{split}-{column}-offsets.npy", tokenized.offsets)


def _load(folder: Path, split: str, column: int) -> TokenizedTexts:
    name = f"{split}-{column}"
    return TokenizedTexts(np.load(folder / f"{name}-ids.npy"), np.load(folder / f"{name}-offsets.npy"))
