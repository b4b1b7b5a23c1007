"""models/embeddings/superbloom.py: m tokens an item, and the counts of the paper's tables."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from hashbench.models.embeddings.base import MASK, PAD, SPECIALS, START, Batch
from hashbench.models.embeddings.registry import build_embedding, find_model, groups
from hashbench.models.embeddings.superbloom import Superbloom, SuperbloomText
from hashbench.models.objectives.entities import EntityHead, EntityObjective
from hashbench.running.efficiency.parameters import count
from hashbench.running.training.model import build_model

# Superbloom, tables 1, 3 and 7: whole model and table, from the shapes printed there (bias a token, biased layers,
# dense layer before the output, three special items); in units of 2^20 they are the printed 248, 123, 132, 13 ... M.
COUNTS = {
    "superbloom-baseline": (260_122_964, 253_530_816),
    "superbloom-sampled-softmax": (2_747_703_908, 2_704_328_704),
    "superbloom-a50": (248_123_986, 162_264_576),
    "superbloom-baseline-l1": (129_357_347, 128_000_768),
    "superbloom-baseline-l12": (138_044_707, 128_000_768),
    "superbloom-d256l1": (13_708_118, 12_801_536),
    "superbloom-d384l1": (21_176_150, 19_202_304),
    "superbloom-d256l12": (22_395_478, 12_801_536),
    "superbloom-hash10-00": (35_245_478, 25_601_536),
    "superbloom-hash10-01": (35_245_478, 25_601_536),
    "superbloom-hash10-11": (35_245_478, 25_601_536),
    "superbloom-hash20-00": (22_395_478, 12_801_536),
    "superbloom-hash20-01": (22_395_478, 12_801_536),
    "superbloom-hash20-11": (22_395_478, 12_801_536),
}


# Table 4, with 512 positions, 2 segments, a pooler and the next-sentence head; in units of 2^20 the printed 62.6 and
# 254.4; the hashed ones lack the rows of some 980 special items (62.3 and 246.3 are printed).
TEXT_COUNTS = {
    "superbloom-text-baseline-h64": (65_641_605, 64_000_192),
    "superbloom-text-baseline-h256": (266_742_597, 256_000_768),
    "superbloom-text-hash40-h512": (64_273_240, 25_603_072),
    "superbloom-text-hash20-h1024": (256_292_520, 102_406_144),
}
# The same with 985 special items: what the printed numbers fit.
WITH_RESERVED = {"superbloom-text-hash40-h512": 65_280_772, "superbloom-text-hash20-h1024": 258_305_620}


@pytest.mark.e2e
@pytest.mark.parametrize("name", COUNTS | TEXT_COUNTS)
def test_parameters_of_the_papers_models(name: str) -> None:
    counts = count(find_model(name))
    assert (counts.total, counts.embedding) == (COUNTS | TEXT_COUNTS)[name]


def test_every_model_of_the_group_is_counted() -> None:
    assert set(groups()["superbloom"]) == set(COUNTS)
    assert set(groups()["superbloom-text"]) == set(TEXT_COUNTS)


@pytest.mark.parametrize("name", WITH_RESERVED)
def test_reserved_items_give_the_printed_counts(name: str) -> None:
    spec = find_model(name)
    assert count(spec.with_args(code={"special_items": 985})).total == WITH_RESERVED[name]


def test_what_is_counted_is_what_is_trained() -> None:
    """Model and head together, with a vocabulary of 10 items in buckets of 2."""
    spec = find_model("superbloom-a50").small()
    model = build_model(spec, "tiny", seed=0, vocabulary_rows=16)
    head = EntityHead(16, 16, 2, EntityObjective())
    stored = sum(parameter.numel() for part in (model, head) for parameter in part.parameters())
    assert count(spec, "tiny", vocabulary_rows=16).total == stored


def test_what_is_counted_is_what_is_trained_on_text() -> None:
    spec = find_model("superbloom-text-hash40-h512").small()
    model = build_model(spec, "tiny", seed=0, vocabulary_rows=16)
    head = EntityHead(16, 16, 2, EntityObjective(), next_sentence=True)
    stored = sum(parameter.numel() for part in (model, head) for parameter in part.parameters())
    assert count(spec, "tiny", vocabulary_rows=16).total == stored


def test_tokens_of_an_item_stand_side_by_side() -> None:
    table = Superbloom(4, items=10, alpha=2, maps=2)  # rows: 2 x 5 hashed, then [CLS] x 2, [MASK] x 2, [SEP] x 2
    codes, first = torch.tensor([[1, 7], [4, 9]]), len(SPECIALS)
    positions = torch.tensor([[START, first + 1, MASK, first, PAD]])
    found = table(Batch(codes, positions, positions != PAD))
    rows = [10, 11, 4, 9, 12, 13, 1, 7, 14, 15]
    assert torch.equal(found[0], table.weight[rows])


def test_tokens_of_an_item_share_its_position_and_segment() -> None:
    table = SuperbloomText(4, items=10, alpha=2, maps=2)
    codes, first = torch.tensor([[1, 7], [4, 9]]), len(SPECIALS)
    positions = torch.tensor([[START, first + 1, first]])
    found = table(Batch(codes, positions, positions >= 0, segments=torch.tensor([[0, 0, 1]])))[0]
    for place, (rows, segment) in enumerate([([10, 11], 0), ([4, 9], 0), ([1, 7], 1)]):
        expected = table.weight[rows] + table.positions[place] + table.segments[segment]
        torch.testing.assert_close(found[2 * place : 2 * place + 2], expected)
    alone = table(Batch(codes, positions, positions >= 0))[0]
    torch.testing.assert_close(alone[4:], table.weight[[1, 7]] + table.positions[2] + table.segments[0])


def test_a_model_of_page_links_has_neither() -> None:
    assert [name for name, _ in Superbloom(4, items=10, alpha=2).named_parameters()] == ["weight"]


def test_an_unknown_word_has_a_row_of_its_own_where_items_are_reserved() -> None:
    special = Superbloom(4, items=10, alpha=2, maps=2, special_items=5).special_codes()
    assert special.tolist() == [[10, 11], [14, 15], [14, 15], [16, 17], [12, 13]]


def test_padding_and_end_have_the_row_of_the_separator() -> None:
    special = Superbloom(4, items=10, alpha=2, maps=2).special_codes()
    assert special.tolist() == [[10, 11], [14, 15], [14, 15], [12, 13], [12, 13]]


def test_one_row_an_item_without_sharing() -> None:
    table = Superbloom(4, items=10, alpha=1, maps=1)
    assert table.weight.shape == (13, 4) and table.special_codes()[:, 0].tolist() == [10, 12, 12, 11, 11]


def test_sizes_follow_the_coder_and_the_data() -> None:
    spec = find_model("superbloom-hash10-00")
    assert build_embedding(spec, 8).tokens_per_item == 2
    table = build_embedding(spec, 8, vocabulary_rows=2 * (414 + 3))
    assert isinstance(table, Superbloom) and table.n_buckets == 414


def test_input_and_output_are_tied() -> None:
    table = Superbloom(4, items=10, alpha=2)
    assert table.output_matrix() is table.weight and table.embedding_parameters() == 64


def test_rows_of_different_items_differ() -> None:
    vectors = Superbloom(8, items=100, alpha=10).embed_types(torch.from_numpy(np.array([[3, 15], [3, 16]])))
    assert vectors.shape == (2, 2, 8) and torch.equal(vectors[0, 0], vectors[1, 0])
    assert not torch.equal(vectors[0, 1], vectors[1, 1])
