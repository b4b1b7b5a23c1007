"""Embeddings over neighbours: whose numbers they read, and what they pass on."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from hashbench.common.errors import InputError
from hashbench.models.coders.base import make_coder
from hashbench.models.embeddings.base import PAD, Batch
from hashbench.models.embeddings.lookup import LookupTable
from hashbench.models.embeddings.neighbours import sides, sign_numbers
from hashbench.models.embeddings.over_encoding import BigramHash
from hashbench.models.embeddings.registry import build_embedding, find_model


def test_numbers_do_not_depend_on_the_batch() -> None:
    spec = find_model("bigram-md-proj").small()
    embedding = build_embedding(spec, 16)
    coder = make_coder(spec.code.coder)
    text = ["a", "cat", "sat"]
    found = []
    for order in (["a", "cat", "sat"], ["sat", "x", "cat", "a"]):
        positions = torch.tensor([[0, *(5 + order.index(word) for word in text), 2]])
        batch = Batch(torch.from_numpy(np.array(coder.encode(order))), positions, positions != PAD)
        found.append(embedding.numbers(batch).tolist())  # type: ignore[operator]
    assert found[0] == found[1]
    assert found[0][0][0] == 0 and found[0][0][4] == 2 and len(set(found[0][0])) == 5


def test_the_number_of_a_piece_is_its_row() -> None:
    embedding = BigramHash(8, LookupTable(8, 50), num_buckets=9)
    positions = torch.tensor([[0, 6, 5, 2, PAD]])
    batch = Batch(torch.tensor([[17], [33]]), positions, positions != PAD)
    assert embedding.numbers(batch).tolist() == [[0, 33, 17, 2, BigramHash.missing]]
    assert embedding.id_range == 50


def test_a_vocabulary_keeps_its_range_while_the_table_is_narrowed() -> None:
    embedding = BigramHash(8, LookupTable(8, 50), num_buckets=9)
    embedding.narrow(torch.tensor([[17]]))
    assert len(embedding.base.weight) == 6 and embedding.id_range == 50
    embedding.widen()
    assert len(embedding.base.weight) == 50


def test_sign_vectors_equal_plain_integers() -> None:
    parts = [torch.tensor([[5, 2**31 - 1, -1]]), torch.tensor([[7, 11, 2**31]])]
    prime = 2**31 - 1
    pairs = zip(*(part[0].tolist() for part in parts), strict=True)
    expected = [(x * 5**13 + y * 5**26) % prime % 64 for x, y in pairs]
    assert sign_numbers(parts, 64)[0].tolist() == expected


def test_several_vectors_of_a_token_are_refused() -> None:
    base = LookupTable(8, 50)
    base.tokens_per_item = 2
    with pytest.raises(InputError, match="Table makes several vectors of a token; choose another below"):
        BigramHash(8, base, num_buckets=9)


def test_an_unknown_window() -> None:
    with pytest.raises(InputError, match="window 'right'; choose left or both"):
        sides("right")  # type: ignore[arg-type]
