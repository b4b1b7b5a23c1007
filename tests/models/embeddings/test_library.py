"""The table of a model of transformers."""

from __future__ import annotations

import pytest
import torch

from hashbench.common.errors import InputError
from hashbench.models.embeddings.base import Batch, Published
from hashbench.models.embeddings.library import LibraryTable, tensor_at

SPECIALS = [3, 0, 4, 2, 5]  # start, padding, end, unknown, mask


def table() -> LibraryTable:
    torch.manual_seed(0)
    return LibraryTable(8, rows=20, path="embeddings.words", specials=SPECIALS)


def batch() -> Batch:
    """Two rows of special tokens and of the tokens 9 and 4, whose codes are 14 and 9."""
    positions = torch.tensor([[0, 5, 6, 2], [0, 6, 2, 1]])
    return Batch(torch.tensor([[14], [9]]), positions, positions != 1)


def test_codes_and_special_tokens_are_rows_in_the_librarys_order() -> None:
    made = table()
    ids = torch.tensor([[3, 9, 4, 4], [3, 4, 4, 0]])
    assert torch.equal(made(batch()), made.weight[ids])
    assert torch.equal(made.special_rows(), made.weight[SPECIALS])
    assert torch.equal(made.embed_types(torch.tensor([[0], [4], [5]])), made.weight[[3, 5, 0]])


def test_a_narrowed_table_gives_the_same_and_comes_back_whole() -> None:
    made, whole = table(), table()
    made.narrow(batch().codes)
    assert len(made.weight) == 6  # five special rows, of which the end is a type too, and row 9
    assert torch.equal(made(batch()), whole(batch()))
    with torch.no_grad():
        made.weight += 1
    made.widen()
    changed = (made.weight != whole.weight).all(1).nonzero()[:, 0].tolist()
    assert changed == [0, 2, 3, 4, 5, 9] and made.embedding_parameters() == 160


def test_a_width_of_its_own() -> None:
    assert LibraryTable(8, rows=20, path="a", specials=SPECIALS, width=4).weight.shape == (20, 4)


@pytest.mark.parametrize("before", ["", "bert.", "model.encoder."])
def test_the_table_is_found_whatever_stands_before_its_name(before: str) -> None:
    tensors = {f"{before}embeddings.words.weight": torch.ones(20, 8), "embeddings.words.bias": torch.ones(1)}
    found = table().from_published(Published(tensors, {}, "weights w"))
    assert torch.equal(found["weight"], torch.ones(20, 8))
    assert tensor_at(Published(tensors, {}, "weights w"), "words.scale") is None


def test_weights_without_it_are_refused() -> None:
    with pytest.raises(InputError, match=r"weights w: no tensor 'embeddings\.words\.weight'; these are no weights of"):
        table().from_published(Published({}, {}, "weights w"))
