from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers, processors

from hashbench.data.sources.batching import (
    Collator,
    Rows,
    count_batches,
    encode_rows,
    epoch_batches,
    evaluation_batches,
    pad_id,
    truncated,
)
from hashbench.models.embeddings.base import Template
from hashbench.models.text.types import TokenizedTexts

ROBERTA = Template()
BERT = Template(
    specials=("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"),
    single=("[CLS]", "A", "[SEP]"),
    pair=("[CLS]", "A", "[SEP]", "B", "[SEP]"),
    segments=True,
    truncation="longest_first",
)


def texts(*rows: list[int]) -> TokenizedTexts:
    lengths = [len(row) for row in rows]
    ids = np.array([i for row in rows for i in row], np.int32)
    return TokenizedTexts(ids, np.array([0, *np.cumsum(lengths)], np.int64))


def rows_of(encoded) -> list[list[int]]:
    return [encoded.ids[a:b].tolist() for a, b in zip(encoded.offsets[:-1], encoded.offsets[1:], strict=True)]


def test_single_text_in_its_frame() -> None:
    # <s> is special token 0, </s> 2: ids -1 and -3
    assert rows_of(encode_rows([texts([7, 8], [], [9])], ROBERTA, 128)) == [[-1, 7, 8, -3], [-1, -3], [-1, 9, -3]]


def test_single_text_is_cut_to_the_length() -> None:
    assert rows_of(encode_rows([texts([1, 2, 3, 4, 5, 6, 7])], ROBERTA, 5)) == [[-1, 1, 2, 3, -3]]


def test_pair_has_two_separators() -> None:
    assert rows_of(encode_rows([texts([1, 2], []), texts([3], [4])], ROBERTA, 128)) == [
        [-1, 1, 2, -3, -3, 3, -3],
        [-1, -3, -3, 4, -3],
    ]


def test_segments_begin_at_the_second_text() -> None:
    encoded = encode_rows([texts([1, 2], []), texts([3], [4])], BERT, 128)
    assert rows_of(encoded) == [[-3, 1, 2, -4, 3, -4], [-3, -4, 4, -4]]
    assert encoded.second is not None and encoded.second.tolist() == [4, 2]
    assert encode_rows([texts([1])], BERT, 128).second is None


def balanced_by_the_released_code(a: int, b: int, limit: int) -> tuple[int, int]:
    """Kept lengths of a pair, as the released HashFormers code cuts it, for an even limit."""
    if a + b <= limit - 4:
        return a, b
    half = limit // 2 - 2
    if a >= half and b >= half:
        return half, half
    return (a, limit - 4 - a) if a < b else (limit - 4 - b, b)


def longest_first_one_by_one(a: int, b: int, limit: int) -> tuple[int, int]:
    """Kept lengths of a pair when the longer text, or else the second, loses a token until both fit."""
    while a + b > limit - 3:
        a, b = (a - 1, b) if a > b else (a, b - 1)
    return a, b


def cut_by_the_library(a: int, b: int, limit: int) -> tuple[int, int]:
    """Kept lengths of a pair as the `tokenizers` library cuts it, with BERT's three special tokens."""
    tokenizer = Tokenizer(models.WordLevel({"a": 0, "b": 1, "[CLS]": 2, "[SEP]": 3}, unk_token="a"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    tokenizer.enable_truncation(limit, strategy="longest_first")
    ids = tokenizer.encode("a " * a, "b " * b).ids
    return ids.count(0), ids.count(1)


@pytest.mark.parametrize(
    ("template", "oracle", "limits"),
    [
        (ROBERTA, balanced_by_the_released_code, (8, 10, 16)),
        (BERT, longest_first_one_by_one, (8, 9, 16)),
        (replace(BERT, truncation="longer_keeps"), cut_by_the_library, (8, 9, 16)),
    ],
    ids=["balanced", "longest_first", "longer_keeps"],
)
def test_truncation_of_pairs(template: Template, oracle, limits: tuple[int, ...]) -> None:
    first, second = (side.ravel() for side in np.meshgrid(np.arange(20), np.arange(20)))
    for limit in limits:
        budget = limit - sum(part not in "AB" for part in template.pair)
        kept = truncated([first, second], budget, template)
        expected = [oracle(int(a), int(b), limit) for a, b in zip(first, second, strict=True)]
        assert list(zip(*(side.tolist() for side in kept), strict=True)) == expected


def test_a_long_pair_fits_the_length_exactly() -> None:
    pair = [texts(list(range(100)), [1]), texts(list(range(100)), list(range(50)))]
    assert encode_rows(pair, ROBERTA, 20).lengths.tolist() == [20, 20]


def test_padding_to_the_longest_row_or_to_a_length() -> None:
    encoded = encode_rows([texts([7, 8], [], [9])], ROBERTA, 128)
    assert encoded.padded(np.array([2, 1]), pad=-2).tolist() == [[-1, 9, -3], [-1, -3, -2]]
    assert encoded.padded(np.array([1]), pad=-2, length=5).tolist() == [[-1, -3, -2, -2, -2]]
    assert encoded.padded(np.array([2]), pad=-2, multiple=4).tolist() == [[-1, 9, -3, -2]]
    assert encoded.padded(np.array([2]), pad=-2, multiple=3).tolist() == [[-1, 9, -3]]


def test_rows_without_any_token_still_have_one_column():
    rows = Rows(np.zeros(1, np.int32), np.array([0, 0, 0]))
    assert rows.padded(np.array([0, 1]), pad=-2).tolist() == [[-2], [-2]]
    assert rows.padded(np.array([0, 1]), pad=-2, multiple=4).tolist() == [[-2] * 4] * 2


def test_pad_id() -> None:
    assert (pad_id(ROBERTA), pad_id(BERT)) == (-2, -1)


LENGTHS = np.random.RandomState(0).randint(3, 60, size=1_003)


@pytest.mark.parametrize("bucketed", [True, False])
def test_an_epoch_holds_every_row_once(bucketed: bool) -> None:
    batches = epoch_batches(LENGTHS, 32, seed=1, epoch=2, bucketed=bucketed)
    assert sorted(np.concatenate(batches).tolist()) == list(range(1_003))
    assert len(batches) == count_batches(1_003, 32) == 32
    assert sorted(map(len, batches)) == [11] + [32] * 31


def test_order_is_a_function_of_seed_and_epoch() -> None:
    def order(seed: int, epoch: int) -> list[int]:
        return np.concatenate(epoch_batches(LENGTHS, 32, seed=seed, epoch=epoch)).tolist()

    assert order(1, 2) == order(1, 2)
    assert len({tuple(order(seed, epoch)) for seed in (0, 1) for epoch in (0, 1)}) == 4


def test_order_is_the_same_in_every_version() -> None:
    # RandomState([0, 0, 1]).permutation(6) of NumPy 2.4; NumPy keeps this legacy stream
    batches = epoch_batches(np.ones(6, np.int64), 2, seed=0, epoch=0, bucketed=False)
    assert np.concatenate(batches).tolist() == [0, 4, 1, 2, 5, 3]


def test_buckets_pad_little_and_mix_batches() -> None:
    lengths = np.random.RandomState(0).randint(3, 60, size=32 * 800)
    batches = epoch_batches(lengths, 32, seed=0, epoch=0)
    tokens = sum(int(lengths[batch].sum()) for batch in batches)
    padded = sum(int(lengths[batch].max()) * len(batch) for batch in batches)
    assert tokens / padded > 0.95  # random batches: about 0.54
    longest = np.array([lengths[batch].max() for batch in batches])
    assert abs(np.corrcoef(longest[1:], longest[:-1])[0, 1]) < 0.15  # neighbours in time are not neighbours in length


@pytest.mark.parametrize(("n", "size", "world"), [(10, 4, 1), (9, 4, 2), (2, 4, 3), (1, 8, 2)])
def test_evaluation_sees_every_row_with_equal_steps(n: int, size: int, world: int) -> None:
    parts = [evaluation_batches(LENGTHS[:n], size, rank, world) for rank in range(world)]
    assert len({len(part) for part in parts}) == 1
    assert all(len(batch) for part in parts for batch in part)
    assert set(np.concatenate([batch for part in parts for batch in part]).tolist()) == set(range(n))


CODES = np.arange(40, dtype=np.int64).reshape(20, 2) * 10


def token_codes(batch, n_specials: int = 5) -> list[list[object]]:
    """Each place of a batch as its special token's number, or its codes."""
    return [
        [p if p < n_specials else batch.codes[p - n_specials].tolist() for p in row] for row in batch.positions.tolist()
    ]


def test_every_place_finds_its_codes() -> None:
    random = np.random.RandomState(0)
    ids = random.randint(-5, 20, size=(7, 13)).astype(np.int32)
    batch = Collator(CODES, ROBERTA)(ids, row_ids=np.arange(7))
    expected = [[-1 - i if i < 0 else CODES[i].tolist() for i in row] for row in ids.tolist()]
    assert token_codes(batch) == expected
    assert len(batch.codes) == len(np.unique(ids[ids >= 0]))


def test_a_collator_forgets_the_last_batch() -> None:
    collate = Collator(CODES, ROBERTA)
    first = np.array([[3, 3, 4]], np.int32)
    collate(first, row_ids=np.array([0]))
    second = collate(np.array([[4, 9, 4]], np.int32), row_ids=np.array([0]))
    assert token_codes(second) == [[CODES[4].tolist(), CODES[9].tolist(), CODES[4].tolist()]]


def test_a_batch_of_special_tokens_alone() -> None:
    batch = Collator(CODES, ROBERTA)(np.array([[-1, -3], [-1, -2]], np.int32), row_ids=np.array([0, 1]))
    assert batch.codes.shape == (0, 2)
    assert batch.positions.tolist() == [[0, 2], [0, 1]]
    assert batch.mask.tolist() == [[True, True], [True, False]]


def test_tensors_of_a_batch() -> None:
    labels = np.array([1.5, 2.5], np.float32)
    ids = np.array([[-1, 7, -3], [-1, -3, -2]], np.int32)
    batch = Collator(CODES, ROBERTA)(ids, row_ids=np.array([4, 9]), labels=labels)
    assert (batch.positions.dtype, batch.mask.dtype, batch.codes.dtype) == (torch.int64, torch.bool, torch.int64)
    assert batch.row_ids is not None and batch.row_ids.tolist() == [4, 9]
    assert batch.labels is not None and batch.labels.dtype == torch.float32
    assert batch.segments is None and len(batch) == 2


def test_segments_are_zero_on_padding() -> None:
    ids = np.array([[-3, 1, -4, 2, -4, -1], [-3, -4, 1, 2, 3, -4]], np.int32)
    batch = Collator(CODES, BERT)(ids, row_ids=np.arange(2), second=np.array([3, 2]))
    assert batch.segments is not None
    assert batch.segments.tolist() == [[0, 0, 0, 1, 1, 0], [0, 0, 1, 1, 1, 1]]


def test_codes_may_be_packed_bits() -> None:
    bits = np.arange(20 * 16, dtype=np.uint8).reshape(20, 16)
    batch = Collator(bits, replace(ROBERTA))(np.array([[-1, 5, 5, -3]], np.int32), row_ids=np.array([0]))
    assert batch.codes.dtype == torch.uint8
    assert batch.codes.tolist() == [bits[5].tolist()]
