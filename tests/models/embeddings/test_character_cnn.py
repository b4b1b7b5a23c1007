"""CharacterBERT's convolutions against their definition, one place at a time, and the published counts."""

from __future__ import annotations

import pytest
import torch

from hashbench.common.errors import InputError
from hashbench.models.coders.rows import WordBytes
from hashbench.models.embeddings.character_cnn import FULL, CharacterCnn, shared_out


def test_vectors_are_convolved_one_place_at_a_time() -> None:
    torch.manual_seed(0)
    embedding = CharacterCnn(5, [2, 3])
    codes = torch.from_numpy(WordBytes().encode(["cat", ""]))
    for vector, code in zip(embedding.embed_types(codes), codes.tolist(), strict=True):
        letters = [embedding.table[each] * (each != 0) for each in code]
        features = []
        for width, part in enumerate(embedding.convolutions, start=1):
            places = [torch.stack(letters[i : i + width], dim=1) for i in range(50 - width + 1)]  # (16, width)
            found = torch.stack([(part.weight * place).sum((1, 2)) + part.bias for place in places])
            features.append(found.max(0).values.clamp(min=0))
        x = torch.cat(features)
        for layer in embedding.highways:
            plain, gate = (layer.weight @ x + layer.bias).chunk(2)
            x = gate.sigmoid() * x + (1 - gate.sigmoid()) * plain.clamp(min=0)
        torch.testing.assert_close(vector, embedding.last.weight @ x + embedding.last.bias)


def test_published_counts() -> None:
    with torch.device("meta"):
        full = {dim: CharacterCnn(dim) for dim in (128, 768)}
        small = CharacterCnn(128, 128)
    parts = full[768]
    assert parts.table.numel() == 4_208
    assert sum(p.numel() for p in parts.convolutions.parameters()) == 199_168
    assert sum(p.numel() for p in parts.highways.parameters()) == 16_785_408
    counts = {dim: each.embedding_parameters() - 5 * dim for dim, each in full.items()}
    assert counts == {128: 17_251_056, 768: 18_562_416}
    assert small.embedding_parameters() - 5 * 128 == 95_216
    assert parts.multiply_adds() == pytest.approx(9.9e6 + 16_777_216 + 2_048 * 768, rel=0.05)


def test_filters_are_shared_out_and_none_is_lost() -> None:
    assert all(sum(shared_out(n)) == n for n in range(16, 300))
    assert sum(FULL) == 2_048
    with pytest.raises(InputError, match="filters 15; give at least 16"):
        CharacterCnn(8, 15)


@pytest.mark.parametrize("filters", [16, 128, 450])
def test_words_begin_apart_and_large_beside_a_step_of_training(filters: int) -> None:
    torch.manual_seed(0)
    words = [f"{first}{last}" for first in ("ab", "cat", "super", "x", "north") for last in ("s", "ing", "ly", "west")]
    vectors = CharacterCnn(128, filters).embed_types(torch.from_numpy(WordBytes().encode(words))).detach()
    assert float(vectors.std(0).pow(2).mean().sqrt()) > 0.1  # 0.02 with the suite's usual values
    unit = torch.nn.functional.normalize(vectors, dim=1)
    assert float((unit @ unit.T).fill_diagonal_(0).sum() / (20 * 19)) < 0.7  # 0.9 where features keep their mean
