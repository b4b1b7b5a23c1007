"""How many tokens of a task mean "unknown": words that no pieces spell, and words that a vocabulary lacks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from hashbench.data.tasks.encoding import EncodedTask
from hashbench.data.tasks.text_data import TaskData
from hashbench.models.coders.base import Coder
from hashbench.models.text.base import Tokenizer

NOTED = 0.05  # a share of unknown tokens above which it is said
READ_BEFORE = 1_000  # texts of each column that are read where nothing was tokenized yet


class Unknown(NamedTuple):
    """Unknown tokens, and all tokens."""

    unknown: int
    tokens: int


def counts_of(encoded: EncodedTask, tokenizer: Tokenizer, coder: Coder, codes: np.ndarray) -> dict[str, Unknown]:
    """The tokens of each split; codes (n, c) of the types. Nothing where no token can be unknown."""
    if tokenizer.unknown is None and coder.unknown_row is None:
        return {}
    is_unknown = np.zeros(len(encoded.types), bool)  # (n,)
    if tokenizer.unknown is not None:
        strings = encoded.types.strings(np.arange(len(encoded.types)))
        is_unknown |= np.array([string == tokenizer.unknown for string in strings], bool)
    if coder.unknown_row is not None:
        is_unknown |= np.asarray(codes)[:, 0] == coder.unknown_row
    return {
        split: Unknown(sum(int(is_unknown[each.ids].sum()) for each in columns), sum(len(each.ids) for each in columns))
        for split, columns in encoded.splits.items()
    }


def counts_before(data: TaskData, tokenizer: Tokenizer) -> dict[str, Unknown]:
    """The tokens of the first texts of each split, as a tokenizer that needs no training makes them."""
    found = {}
    for split, part in data.splits.items():
        tokens = [token for column in part.texts for text in column[:READ_BEFORE] for token in tokenizer.tokenize(text)]
        found[split] = Unknown(tokens.count(tokenizer.unknown or ""), len(tokens))
    return found


def unknown_note(counts: Mapping[str, Unknown]) -> str:
    """The splits with many unknown tokens; "" where there is none.

    >>> unknown_note({"train": Unknown(1, 100), "test": Unknown(1_234, 12_340)})
    '1,234 of 12,340 tokens of test (10.0 %)'
    """
    return ", ".join(
        f"{found.unknown:,} of {found.tokens:,} tokens of {split} ({100 * found.unknown / found.tokens:.1f} %)"
        for split, found in counts.items()
        if found.unknown > NOTED * found.tokens
    )
