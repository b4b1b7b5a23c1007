"""data/tasks/items.py: how items are numbered, split and scored."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hashbench.common.errors import InputError
from hashbench.data.tasks.base import SplitOutputs
from hashbench.data.tasks.items import EntitiesBlock, LinkSet, item_kind, number_items, protocol_of, split_pages
from hashbench.data.tasks.kinds.classification import KIND as CLASSES
from hashbench.data.tasks.kinds.entities import ENTITIES, KIND
from hashbench.models.text.types import TokenizedTexts, TypeTable

# Cases of two pages: page, rank of the right item, certified, right bucket in each of two maps
OUTPUTS = np.array(
    [[7, 1, 1, 1, 1], [7, 2, 1, 1, 0], [7, 11, 0, 0, 0], [8, 0, 0, 0, 1]],
    np.int32,
)
TARGETS = np.array([0, 5, 9, 2])


def scores(outputs: np.ndarray, targets: np.ndarray = TARGETS) -> dict[tuple[str, str], float | None]:
    rows = KIND.scores(ENTITIES, SplitOutputs(outputs, targets))
    found = {(row.name, row.condition): row.value for row in rows}
    assert len(found) == len(rows)
    return found


def test_every_metric_of_the_cases_by_hand() -> None:
    found = scores(OUTPUTS)
    assert found["rec@1", ""] == 1 / 4
    assert found["rec@10", ""] == 2 / 4
    assert found["rec@20", ""] == 3 / 4
    assert found["mrr", ""] == pytest.approx((1 + 1 / 2 + 1 / 11) / 4)
    assert found["token_rec@1", ""] == (1 + 1 / 2 + 0 + 1 / 2) / 4
    assert found["certified", ""] == 2 / 4


def test_pages_alike_are_the_mean_of_the_pages_means() -> None:
    found = scores(OUTPUTS)
    assert found["rec@1", "pages alike"] == pytest.approx((1 / 3 + 0) / 2)
    assert found["mrr", "pages alike"] == pytest.approx(((1 + 1 / 2 + 1 / 11) / 3 + 0) / 2)
    assert ("certified", "pages alike") not in found


def test_tenths_of_the_cases_go_by_the_frequency_of_their_items() -> None:
    """In the order of their numbers the four cases lie in tenths 1, 3, 6 and 8; empty tenths have no score."""
    found = scores(OUTPUTS)
    tenths = {condition: value for (name, condition), value in found.items() if name == "rec@10"}
    del tenths[""], tenths["pages alike"]
    assert tenths == {"tenth=1": 1.0, "tenth=3": 0.0, "tenth=6": 1.0, "tenth=8": 0.0}


def test_each_map_has_its_share_of_right_buckets() -> None:
    found = scores(OUTPUTS)
    assert (found["token_rec@1", "map=1"], found["token_rec@1", "map=2"]) == (2 / 4, 2 / 4)
    assert ("token_rec@1", "map=3") not in found


def test_a_ranking_without_maps_has_no_scores_of_training() -> None:
    names = {name for name, _ in scores(OUTPUTS[:, :3])}
    assert names == {"rec@1", "rec@10", "rec@20", "mrr"}


def some_pages() -> TokenizedTexts:
    """Four pages: b a; c; b; d d."""
    return TokenizedTexts(np.array([1, 0, 2, 1, 3, 3], np.int32), np.array([0, 2, 3, 4, 6]))


def test_items_are_numbered_by_links_on_training_pages_then_by_name() -> None:
    table, ids = number_items(["a", "b", "c", "d"], some_pages(), train=np.array([0, 2]))
    assert table.strings() == ["b", "a", "c", "d"] and table.counts.tolist() == [2, 1, 0, 0]
    assert table.strings(ids) == ["b", "a", "c", "b", "d", "d"]


def test_pages_are_split_without_overlap_and_alike_for_a_seed() -> None:
    pages = np.arange(100, 200)
    protocol = EntitiesBlock(test_share=0.2, validation_share=0.25)
    parts = split_pages(pages, protocol, "links")
    assert {name: len(part) for name, part in parts.items()} == {"test": 20, "validation": 20, "train": 60}
    assert np.array_equal(np.sort(np.concatenate(list(parts.values()))), pages)
    assert all((np.diff(part) > 0).all() for part in parts.values())
    again = split_pages(pages, protocol, "links")
    other = split_pages(pages, protocol.model_copy(update={"split_seed": 1}), "links")
    assert np.array_equal(again["test"], parts["test"]) and not np.array_equal(other["test"], parts["test"])


def test_too_few_pages_are_refused() -> None:
    assert {name: len(part) for name, part in split_pages(np.arange(3), EntitiesBlock(), "x").items()} == {
        "test": 1, "validation": 1, "train": 1,
    }  # fmt: skip
    with pytest.raises(InputError, match="^links: 2 pages with 2 links or more cannot be split; give more pages"):
        split_pages(np.arange(2), EntitiesBlock(), "links")


def link_set(**protocol: object) -> LinkSet:
    return LinkSet(
        replace(ENTITIES, protocol=EntitiesBlock(**protocol)),  # type: ignore[arg-type]
        TypeTable.from_counts({"a": 4, "b": 3, "c": 2, "d": 1}),
        some_pages(),
        {"train": np.array([0, 3]), "validation": np.array([1]), "test": np.array([2])},
        "fingerprint",
        "made up",
        "folder",
    )


def test_the_links_of_a_split_are_those_of_its_pages() -> None:
    links = link_set().links_of("train")
    assert [links.text(page).tolist() for page in range(len(links))] == [[1, 0], [3, 3]]


def test_a_coder_is_fitted_anew_where_the_split_changes() -> None:
    assert link_set().training_fingerprint == link_set().training_fingerprint
    assert link_set().training_fingerprint != link_set(split_seed=1).training_fingerprint


def test_the_protocol_is_the_experiments_or_the_default() -> None:
    assert protocol_of(replace(ENTITIES, protocol=None)) == EntitiesBlock()
    assert protocol_of(link_set(split_seed=4).task).split_seed == 4
    assert KIND.protocol_spec(replace(ENTITIES, protocol=None)) == {}
    assert KIND.protocol_spec(link_set(split_seed=4).task)["entities"]["split_seed"] == 4


def test_a_task_of_texts_is_none_of_items() -> None:
    assert item_kind(ENTITIES) is KIND
    with pytest.raises(AssertionError):
        item_kind(replace(ENTITIES, kind=CLASSES))
