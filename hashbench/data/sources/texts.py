"""Batches made from texts at once, with nothing kept on disk: what a running application does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hashbench.data.sources.batching import Collator, encode_rows, evaluation_batches
from hashbench.models.coders.base import Coder
from hashbench.models.embeddings.base import Batch, Template
from hashbench.models.text.base import Tokenizer
from hashbench.models.text.types import Interner


def text_batches(
    columns: Sequence[Sequence[str]],
    tokenizer: Tokenizer,
    coder: Coder,
    template: Template,
    *,
    max_length: int,
    batch_size: int,
    pad_to_max: bool = False,
    interner: Interner | None = None,
) -> Iterator[Batch]:
    """Texts (one column, or two of pairs) -> batches by length; `batch.row_ids` number the rows.

    `interner`: what counts their types; the tokenizer's own, made for corpora, if not given.
    """
    interner = interner or tokenizer.interner()
    provisional = [interner.add(column) for column in columns]
    types, remap = interner.finish()
    rows = encode_rows([column.remapped(remap) for column in provisional], template, max_length)
    collate = Collator(coder.encode_types(types), template)
    length = max_length if pad_to_max else None
    for chosen in evaluation_batches(rows.lengths, batch_size):
        second = None if rows.second is None else rows.second[chosen]
        ids = rows.padded(chosen, collate.pad, length, template.pad_multiple)
        yield collate(ids, row_ids=chosen, second=second)
