"""From type ids to batches: rows with special tokens, the order of an epoch, padding, distinct types.

Ids of ordinary tokens are type ids; special token k of a template is the id -1 - k.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch

from hashbench.data.sources.mapped import large_array
from hashbench.models.coders.base import Coder
from hashbench.models.embeddings.base import NO_LABEL, Batch, Template
from hashbench.models.text.base import Tokenizer
from hashbench.models.text.types import Interner, TokenizedTexts
from hashbench.models.text.unicode import offsets_from, ranges

# Batches that are sorted by length together; more pad less and mix less.
POOL_BATCHES = 50
# A small data set has smaller pools, so that its batches are not the same in every epoch
MIN_POOLS = 8
ORDER = 1  # stream of random numbers
ROWS_AT_ONCE = 1 << 14  # that are laid end to end
# What is left of two texts that are both longer than half: by whether the first is the longer one (n,), the half
# rounded down and the half rounded up.
HALVES: Mapping[str, Callable[[np.ndarray, int, int], tuple[np.ndarray | int, np.ndarray | int]]] = {
    "balanced": lambda is_longer, less, more: (less, less),
    "longest_first": lambda is_longer, less, more: (more, less),
    "longer_keeps": lambda is_longer, less, more: (np.where(is_longer, more, less), np.where(is_longer, less, more)),
}


@dataclass(frozen=True)
class Rows:
    """Inputs with their special tokens, laid end to end, never padded."""

    ids: np.ndarray  # (total,) int32
    offsets: np.ndarray  # (n + 1,) int64
    # (n,) int64: where in a row segment 1 begins, None where there is one segment
    second: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def lengths(self) -> np.ndarray:
        """Tokens of each row, special ones included, (n,)."""
        return np.diff(self.offsets)

    def padded(self, rows: np.ndarray, pad: int, length: int | None = None, multiple: int = 1) -> np.ndarray:
        """The rows numbered `rows` (B,) as ids (B, L) int32, filled up with `pad`.

        L is `length`, or the length of the longest row, rounded up to a positive multiple of `multiple`.
        """
        starts, ends = self.offsets[rows], self.offsets[rows + 1]
        longest = max(1, length or int((ends - starts).max()))
        columns = np.arange(-(-longest // multiple) * multiple)
        places = starts[:, None] + columns  # (B, L)
        inside = places < ends[:, None]
        if not len(self.ids):  # no text has a token, and the template adds none
            return np.full(places.shape, pad, np.int32)
        return np.where(inside, self.ids[np.minimum(places, len(self.ids) - 1)], np.int32(pad))


def encode_rows(columns: Sequence[TokenizedTexts], template: Template, max_length: int) -> Rows:
    """Rows of one text column, or of two as pairs, truncated to `max_length` tokens, with the template's specials."""
    form = template.pair if len(columns) == 2 else template.single
    texts = {name: column for name, column in zip("AB", columns, strict=False) if name in form}
    kept = dict(zip(texts, kept_tokens([np.diff(c.offsets) for c in columns], template, max_length), strict=True))
    n, n_specials = len(columns[0]), sum(part not in texts for part in form)
    offsets = offsets_from(np.sum([kept[part] for part in form if part in texts], axis=0) + n_specials)
    ids = large_array(int(offsets[-1]), np.int32)
    second = np.empty(n, np.int64) if template.segments and "B" in texts else None
    for start in range(0, n, ROWS_AT_ONCE):  # since numbers of all places would take four times the ids
        rows = slice(start, start + ROWS_AT_ONCE)
        firsts = offsets[:-1][rows]
        widths = np.stack([kept[part][rows] if part in texts else np.ones(len(firsts), np.int64) for part in form])
        begins = firsts + np.cumsum(widths, axis=0) - widths  # (parts, rows): where each part begins
        for part, begin, width in zip(form, begins, widths, strict=True):
            if part in texts:
                source = texts[part]
                ids[ranges(begin, width)] = source.ids[ranges(source.offsets[:-1][rows], width)]
            else:
                ids[begin] = special_id(template, part)
        if second is not None:
            second[rows] = begins[form.index("B")] - firsts
    return Rows(ids, offsets, second)


def kept_tokens(lengths: Sequence[np.ndarray], template: Template, max_length: int) -> list[np.ndarray]:
    """How many tokens of each text column of `lengths` (n,) a row of at most `max_length` tokens has: (n,) of each."""
    form = template.pair if len(lengths) == 2 else template.single
    return truncated(lengths, max_length - (len(form) - len(lengths)), template)


def truncated(lengths: Sequence[np.ndarray], budget: int, template: Template) -> list[np.ndarray]:
    """How many tokens of each text are kept so that a row holds at most `budget`: (n,) of each of `lengths` (n,).

    balanced: of a pair that is too long both are cut to half where both are longer, else only the longer one is
    (released HashFormers code). longest_first: the longer one loses a token until they fit (BERT), which is the same
    but for an odd budget, where the first text keeps one more. longer_keeps: likewise, but of an odd budget the longer
    text keeps one more, of equally long ones the second (the `tokenizers` library).
    """
    if len(lengths) == 1:
        return [np.minimum(lengths[0], budget)]
    first, second = lengths
    half = budget // 2
    half_first, half_second = HALVES[template.truncation](first > second, half, budget - half)
    too_long = first + second > budget
    both = too_long & (first >= half_first) & (second >= half_second)
    cut_first = np.where(both, half_first, np.where(too_long & (first > second), budget - second, first))
    cut_second = np.where(both, half_second, np.where(too_long & (first <= second), budget - first, second))
    return [cut_first, cut_second]


def special_id(template: Template, name: str) -> int:
    """The id of the template's special token called `name`."""
    return -1 - template.specials.index(name)


def pad_id(template: Template) -> int:
    """The id of the padding token, which templates spell <pad> or [PAD]."""
    return special_id(template, next(name for name in template.specials if name.strip("<[]>").lower() == "pad"))


def framed(rows: Sequence[np.ndarray], template: Template) -> np.ndarray:
    """Ids of B texts, each (n,), with the special tokens of a single text around them, padded: (B, L) int32."""
    place, multiple = template.single.index("A"), template.pad_multiple
    before, after = (
        [special_id(template, name) for name in side]
        for side in (template.single[:place], template.single[place + 1 :])
    )
    longest = len(before) + max(map(len, rows)) + len(after)
    ids = np.full((len(rows), -(-longest // multiple) * multiple), pad_id(template), np.int32)
    ids[:, : len(before)] = before
    for i, row in enumerate(rows):
        end = len(before) + len(row)
        ids[i, len(before) : end] = row
        ids[i, end : end + len(after)] = after
    return ids


def epoch_batches(
    lengths: np.ndarray, batch_size: int, *, seed: int, epoch: int, bucketed: bool = True
) -> list[np.ndarray]:
    """Row numbers (B,) of each batch of an epoch: a function of (seed, epoch) and the lengths (n,) alone.

    Bucketed: rows are shuffled, sorted by length within pools of about 50 batches, cut, and the batches are shuffled.
    """
    # NumPy keeps this stream the same in all versions
    random = np.random.RandomState([seed, epoch, ORDER])
    order = random.permutation(len(lengths))
    n_batches = count_batches(len(lengths), batch_size)
    if bucketed:
        pool = min(POOL_BATCHES, max(1, n_batches // MIN_POOLS)) * batch_size
        for start in range(0, len(order), pool):
            part = order[start : start + pool]
            order[start : start + pool] = part[np.argsort(lengths[part], kind="stable")]
    batches = [order[start : start + batch_size] for start in range(0, len(order), batch_size)]
    return [batches[i] for i in random.permutation(n_batches)] if bucketed else batches


def count_batches(n_rows: int, batch_size: int) -> int:
    """Number of batches of an epoch, the last perhaps smaller.

    >>> count_batches(100, 32), count_batches(97, 32)
    (4, 4)
    """
    return -(-n_rows // batch_size)


def evaluation_batches(lengths: np.ndarray, batch_size: int, rank: int = 0, world_size: int = 1) -> list[np.ndarray]:
    """Row numbers (B,) of this process's batches of an evaluation, sorted by length (n,), so that little is padded.

    Every process gets the same number of batches; where rows are too few one repeats the first of the batch, so
    predictions are put in order by row id.
    """
    order = np.argsort(lengths, kind="stable")
    batches = [order[start : start + batch_size] for start in range(0, len(order), batch_size)]
    return [batch[rank::world_size] if len(batch) > rank else batch[:1] for batch in batches]


class Collator:
    """Makes a `Batch` of padded ids. It keeps a scratch array, so every thread needs its own."""

    def __init__(self, codes: np.ndarray, template: Template) -> None:
        """`codes` (n_types, c), perhaps memory-mapped."""
        self.codes = np.asarray(codes)
        self.n_specials = len(template.specials)
        self.pad = pad_id(template)
        self._last_place = np.zeros(len(codes), np.int64)

    def __call__(
        self,
        ids: np.ndarray,
        *,
        row_ids: np.ndarray,
        labels: np.ndarray | None = None,
        label_codes: np.ndarray | None = None,
        second: np.ndarray | None = None,
    ) -> Batch:
        """Ids (B, L), rows (B,), labels (B,) or (B, L), codes of types that these number (t, k), beginnings of segment
        1 (B,) -> a batch of tensors."""
        types, places = self.distinct(ids)
        mask = ids != self.pad
        segments = None if second is None else (np.arange(ids.shape[1]) >= second[:, None]) & mask
        return Batch(
            codes=torch.from_numpy(self.codes[types]),
            positions=torch.from_numpy(places),
            mask=torch.from_numpy(mask),
            segments=None if segments is None else torch.from_numpy(segments.astype(np.int64)),
            labels=None if labels is None else torch.from_numpy(labels),
            label_codes=None if label_codes is None else torch.from_numpy(label_codes),
            row_ids=torch.from_numpy(row_ids),
            padded=not mask.all(),
        )

    def distinct(self, ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The distinct types (n,) of ids (B, L), and positions (B, L) into special tokens followed by these types.

        No sorting: the last index of each type is kept, and types come in the order of these indexes.
        """
        flat = ids.ravel()  # (B L,)
        ordinary = flat >= 0
        present = flat[ordinary]
        places = np.arange(len(present))
        self._last_place[present] = places
        last = self._last_place[present]
        is_last = last == places
        rank = np.cumsum(is_last) - 1
        positions = (-1 - flat).astype(np.int64)  # special tokens: their own number
        positions[ordinary] = self.n_specials + rank[last]
        return present[is_last], positions.reshape(ids.shape)


class PretrainingObjective(Protocol):
    """An objective of pre-training, as those who make its rows need it."""

    @property
    def corrupt(self) -> Callable[..., Any]:
        """Function (ids (B, L), row_ids (B,), *, seed, epoch, n_types, **arguments) -> ids and labels, both (B, L)."""

    @property
    def probe(self) -> Callable[[np.ndarray, np.ndarray], Any] | None:
        """Function (ids (B, L), words (B, L)) -> the text of each row (n,), ids (n, L) and labels (n, L)."""

    @property
    def targets(self) -> str | None:
        """The form of labels that are types: rows of a vocabulary, or signatures; None: labels are no types."""


def with_targets(labels: np.ndarray, targets: np.ndarray | None, by_code: bool = False) -> dict[str, np.ndarray]:
    """Labels (B, L) as `labels` int64 of a batch. `targets` (n_types, k): what is predicted of types, None: no types.

    Labels that are types become rows of a vocabulary, `targets` (n_types, 1); or with `by_code` numbers of the
    batch's distinct types, whose codes are `label_codes` (t, k).
    """
    rows = labels.astype(np.int64)
    if targets is None:
        return {"labels": rows}
    labelled = labels != NO_LABEL
    if not by_code:
        rows[labelled] = targets[labels[labelled], 0]
        return {"labels": rows}
    types, rows[labelled] = np.unique(labels[labelled], return_inverse=True)
    return {"labels": rows, "label_codes": targets[types]}


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
