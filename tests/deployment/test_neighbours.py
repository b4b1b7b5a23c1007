"""Where the hidden item of a context is looked for; tests/running/sweep/test_entity_runs.py runs the command."""

from __future__ import annotations

import pytest

from hashbench.deployment import neighbours
from hashbench.models.coders.bloom import Bloom
from hashbench.models.embeddings.base import MASK_ID, NO_LABEL, Batch
from hashbench.models.text.types import TypeTable


@pytest.mark.parametrize("place", [0, 1, 3])
def test_the_item_in_the_place_of_the_mask_is_predicted(place: int, monkeypatch: pytest.MonkeyPatch) -> None:
    coder = Bloom(alpha=2)
    coder.fit(TypeTable.from_counts({f"item {i}": 20 - i for i in range(10)}))
    items = [5, 2, 7]
    items.insert(place, MASK_ID)
    batches: list[Batch] = []
    monkeypatch.setattr(neighbours, "case_distributions", lambda _, __, batch: [batches.append(batch)])
    neighbours._distribution(coder, None, None, items)  # type: ignore[arg-type]
    labels, positions = batches[0].labels, batches[0].positions
    assert labels is not None and (labels != NO_LABEL).any(-1).nonzero().tolist() == [[0, 1 + place]]
    # every visible item has the codes of its own
    visible = [column for column, item in enumerate(items, 1) if item != MASK_ID]
    specials = int(positions[0, visible[0]])
    assert batches[0].codes[positions[0, visible] - specials].tolist() == coder.codes()[[5, 2, 7]].tolist()
