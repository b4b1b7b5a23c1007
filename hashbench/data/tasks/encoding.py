"""A task as type ids, tokenized once for each tokenizer and shared by all models that use it.

Counted beside it: tokens that mean "unknown", which are words that no pieces spell, and words that a vocabulary lacks.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from hashbench.common.progress import progress
from hashbench.common.shared import make_once
from hashbench.data.sources.fingerprints import cache_room, digest
from hashbench.data.sources.mapped import large_array
from hashbench.data.tasks.text_data import TaskData
from hashbench.models.coders.base import Coder
from hashbench.models.text.base import Tokenizer
from hashbench.models.text.types import Interner, TokenizedTexts, TypeTable
from hashbench.models.text.unicode import offsets_from

FORMAT = 1  # of the stored ids; a change makes all ids anew
NOTED_UNKNOWN = 0.05  # a share of unknown tokens above which there is a note
TEXTS_AT_ONCE = 1 << 15  # that are tokenized
IDS_AT_ONCE = 1 << 22  # that are looked up
READ_BEFORE = 1_000  # texts of each column that are read where nothing was tokenized yet


@dataclass(frozen=True)
class EncodedTask:
    """The type table of a task and the ids of each text column of each split."""

    types: TypeTable
    splits: dict[str, tuple[TokenizedTexts, ...]]
    folder: Path  # where codes of these types may be kept


def encode_task(data: TaskData, tokenizer: Tokenizer, folder: Path | None = None) -> EncodedTask:
    """The task as type ids, tokenized now if no worker did before. `folder` holds all encoded tasks."""
    key = digest("task", str(FORMAT), data.fingerprint, tokenizer_fingerprint(tokenizer))
    place = make_once((folder or cache_room("tasks")) / key, lambda partial: _build(data, tokenizer, partial))
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
        (split, column): _provisional(interner, texts, split)
        for split, part in data.splits.items()
        for column, texts in enumerate(part.texts)
    }
    types, remap = interner.finish()
    types.save(folder / "types")
    for (split, column), tokenized in provisional.items():
        _write_ids(folder / f"{split}-{column}-ids.npy", tokenized.ids, remap)
        np.save(folder / f"{split}-{column}-offsets.npy", tokenized.offsets)


def _write_ids(path: Path, provisional: np.ndarray, remap: np.ndarray) -> None:
    """Writes final ids as an array of NumPy's format, a block at a time."""
    with path.open("wb") as file:
        header = {"descr": "<i4", "fortran_order": False, "shape": provisional.shape}
        np.lib.format.write_array_header_1_0(file, header)
        for start in range(0, len(provisional), IDS_AT_ONCE):
            remap[provisional[start : start + IDS_AT_ONCE]].astype("<i4", copy=False).tofile(file)


def _provisional(interner: Interner, texts: Sequence[str], split: str) -> TokenizedTexts:
    """A column of texts of a split as provisional ids, some texts at a time."""
    parts = []
    for start in range(0, max(len(texts), 1), TEXTS_AT_ONCE):
        progress(f"tokenizing {split}", step=False)
        parts.append(interner.add(texts[start : start + TEXTS_AT_ONCE]))
    ids = large_array(sum(len(part.ids) for part in parts), np.int32)
    at = 0
    for part in parts:
        ids[at : at + len(part.ids)] = part.ids
        at += len(part.ids)
    return TokenizedTexts(ids, offsets_from(np.concatenate([np.diff(part.offsets) for part in parts])))


def _load(folder: Path, split: str, column: int) -> TokenizedTexts:
    """A column of a split, mapped: most of it is read once."""
    name = f"{split}-{column}"
    arrays = (np.load(folder / f"{name}-{which}.npy", mmap_mode="r") for which in ("ids", "offsets"))
    ids, offsets = map(np.asarray, arrays)  # plain arrays are indexed faster
    return TokenizedTexts(ids, offsets)


class Unknown(NamedTuple):
    """Numbers of unknown tokens and of all tokens."""

    unknown: int
    tokens: int


def counts_of(encoded: EncodedTask, tokenizer: Tokenizer, coder: Coder, codes: np.ndarray) -> dict[str, Unknown]:
    """Numbers of unknown and all tokens of each split, empty if none can be unknown; `codes` (n, c): of the types."""
    if tokenizer.unknown is None and coder.unknown_row is None:
        return {}
    is_unknown = np.zeros(len(encoded.types), bool)  # (n,)
    if tokenizer.unknown is not None:
        strings = encoded.types.strings(np.arange(len(encoded.types)))
        is_unknown |= np.array([string == tokenizer.unknown for string in strings], bool)
    if coder.unknown_row is not None:
        is_unknown |= np.asarray(codes)[:, 0] == coder.unknown_row
    return {
        split: Unknown(
            sum(_n_true(is_unknown, column.ids) for column in columns), sum(len(column.ids) for column in columns)
        )
        for split, columns in encoded.splits.items()
    }


def _n_true(marked: np.ndarray, ids: np.ndarray) -> int:
    """How many of the ids (n,) belong to marked types (t,) bool."""
    steps = range(0, len(ids), IDS_AT_ONCE)
    return sum(int(marked[ids[start : start + IDS_AT_ONCE]].sum()) for start in steps)


def counts_before(data: TaskData, tokenizer: Tokenizer) -> dict[str, Unknown]:
    """Numbers of unknown and of all tokens in the first texts of each split, by a tokenizer that needs no training."""
    counts = {}
    for split, part in data.splits.items():
        tokens = [token for column in part.texts for text in column[:READ_BEFORE] for token in tokenizer.tokenize(text)]
        counts[split] = Unknown(tokens.count(tokenizer.unknown or ""), len(tokens))
    return counts


def unknown_note(counts: Mapping[str, Unknown]) -> str:
    """A note on the splits with many unknown tokens; "" where there is none.

    >>> unknown_note({"train": Unknown(1, 100), "test": Unknown(1_234, 12_340)})
    '1,234 of 12,340 tokens of test (10.0 %)'
    """
    return ", ".join(
        f"{count.unknown:,} of {count.tokens:,} tokens of {split} ({100 * count.unknown / count.tokens:.1f} %)"
        for split, count in counts.items()
        if count.unknown > NOTED_UNKNOWN * count.tokens
    )


def spelled_note(data: TaskData, specials: Sequence[str]) -> str:
    """A note on the texts of each split that spell special tokens; "" where none does."""
    expression = re.compile("|".join(map(re.escape, specials)))
    texts, kinds = Counter[str](), Counter[str]()
    for split, part in data.splits.items():
        for spelled in (expression.findall(text) for column in part.texts for text in column):
            texts[split] += bool(spelled)
            kinds.update(set(spelled))
    counted = [f"{n:,} text{'s' if n > 1 else ''} of {split}" for split, n in texts.items() if n]
    return f"{', '.join(sorted(kinds))} spelled in {', '.join(counted)}" if counted else ""
