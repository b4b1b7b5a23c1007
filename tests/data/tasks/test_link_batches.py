"""data/tasks/link_batches.py: segments, cases and batches."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch

from hashbench.data.tasks.item_batches import PADDING, ItemSettings, with_specials
from hashbench.data.tasks.items import EntitiesBlock, LinkSet, in_folder
from hashbench.data.tasks.kinds.entities import ENTITIES
from hashbench.data.tasks.link_batches import Cases, EntityData, segments
from hashbench.models.coders.bloom import Bloom
from hashbench.models.embeddings.base import MASK_ID, Template
from hashbench.models.objectives.entities import EntityObjective, corrupt
from hashbench.models.text.types import TokenizedTexts

PAGES = TokenizedTexts(np.arange(100, 145, dtype=np.int32), np.array([0, 3, 43, 45]))  # of 3, 40 and 2 links


def links_of(folder: Path, **protocol: object) -> LinkSet:
    located = in_folder(folder / "entities", replace(ENTITIES, protocol=EntitiesBlock(**protocol)), "folder", "folder")  # type: ignore[arg-type]
    assert located is not None
    return located.load()


def data_of(links: LinkSet, **changes: object) -> tuple[EntityData, Bloom]:
    coder = Bloom(alpha=4)
    coder.fit_links(links.items, None)
    settings = ItemSettings(partial(corrupt, objective=EntityObjective()), Template(), 16, seed=0, prefetch=0)
    return EntityData(links, coder.codes(), replace(settings, **changes)), coder


@pytest.mark.parametrize("segment", ["subset", "contiguous"])
def test_a_segment_holds_different_links_of_its_page(segment: str) -> None:
    protocol = EntitiesBlock(segment_items=8, segment=segment)  # type: ignore[arg-type]
    found = segments(PAGES, np.array([1, 0, 2]), protocol, seed=0, epoch=0)
    assert found.shape == (3, 8)
    assert len(set(found[0].tolist())) == 8 and found[0].min() >= 103 and found[0].max() < 143
    assert sorted(found[1].tolist()) == [PADDING] * 5 + [100, 101, 102]
    assert sorted(found[2].tolist()) == [PADDING] * 6 + [143, 144]


def test_a_contiguous_segment_is_a_window_that_reaches_both_ends() -> None:
    protocol = EntitiesBlock(segment_items=30, segment="contiguous")
    starts = set()
    for epoch in range(200):
        row = segments(PAGES, np.array([1]), protocol, seed=0, epoch=epoch)[0]
        assert (np.diff(row) == 1).all()
        starts.add(int(row[0]))
    assert starts == set(range(103, 114))


def test_subsets_reach_every_link() -> None:
    seen = {
        int(each)
        for epoch in range(60)
        for each in segments(PAGES, np.array([1]), EntitiesBlock(segment_items=8), seed=0, epoch=epoch)[0]
    }
    assert seen == set(range(103, 143))


def test_a_segment_depends_on_seed_epoch_and_page_alone() -> None:
    protocol = EntitiesBlock(segment_items=8)
    together = segments(PAGES, np.array([0, 1]), protocol, seed=5, epoch=2)
    assert np.array_equal(segments(PAGES, np.array([1]), protocol, seed=5, epoch=2)[0], together[1])
    assert not np.array_equal(segments(PAGES, np.array([1]), protocol, seed=5, epoch=3)[0], together[1])


def test_the_frame_closes_each_row_behind_its_last_item() -> None:
    ids = np.array([[7, 8, 9], [7, PADDING, PADDING]], np.int32)
    assert with_specials(ids, Template()).tolist() == [[-1, 7, 8, 9, -3], [-1, 7, -3, -2, -2]]


def test_every_link_of_a_page_is_hidden_once_and_never_in_its_context() -> None:
    cases = Cases(PAGES, np.array([4, 5, 6]), EntitiesBlock(segment_items=8))
    assert len(cases) == 45 and np.array_equal(cases.targets, PAGES.ids)
    assert np.bincount(cases.page_rows).tolist() == [0, 0, 0, 0, 3, 40, 2]
    contexts = cases.contexts(np.arange(45))
    assert (contexts[:, 0] == MASK_ID).all()
    for target, row in zip(cases.targets, contexts, strict=True):
        context = row[row >= 0].tolist()
        assert target not in context and len(set(context)) == len(context)
    assert (contexts[10] >= 0).sum() == 7 and (contexts[0] >= 0).sum() == 2 and (contexts[44] >= 0).sum() == 1


def test_a_case_is_the_same_in_any_batch() -> None:
    cases = Cases(PAGES, np.arange(3), EntitiesBlock(segment_items=8))
    together = cases.contexts(np.arange(45))
    assert np.array_equal(cases.contexts(np.array([20]))[0], together[20])


def test_some_cases_a_page_and_some_in_all() -> None:
    one = Cases(PAGES, np.arange(3), EntitiesBlock(cases_per_page=1))
    assert one.page.tolist() == [0, 1, 2]
    limited = Cases(PAGES, np.arange(3), EntitiesBlock(), limit=9)
    assert len(limited) == 9 and len(set(limited.links.tolist())) == 9


def test_batches_hold_tokens_of_the_items_to_predict(page_links: Path) -> None:
    links = links_of(page_links, segment_items=6)
    data, coder = data_of(links)
    batches = list(data.train_dataloader())
    assert sum(len(batch) for batch in batches) == len(links.splits["train"]) and len(batches) == data.steps_per_epoch
    known = {tuple(code) for code in coder.codes().tolist()}
    for batch in batches:
        assert batch.labels is not None and batch.labels.shape == (*batch.positions.shape, 2)
        predicted = (batch.labels[..., 0] >= 0).sum(1)
        assert bool((predicted == 1).all())  # 15 % of six
        assert {tuple(code) for code in batch.labels[batch.labels[..., 0] >= 0].tolist()} <= known


def test_cases_are_the_same_for_other_coders_and_seeds(page_links: Path) -> None:
    links = links_of(page_links)
    one, other = data_of(links)[0], data_of(links, seed=9, batch_size=3)[0]
    assert np.array_equal(one.cases["test"].contexts(np.arange(5)), other.cases["test"].contexts(np.arange(5)))
    first = next(iter(one.case_loader("test")))
    assert first.row_ids is not None and first.labels is not None
    assert torch.equal(first.row_ids, torch.arange(len(first))) and bool((first.labels[:, 1] >= 0).all())
    assert int((first.labels[..., 0] >= 0).sum()) == len(first)


def test_an_epoch_holds_every_page_once_whatever_the_process(page_links: Path) -> None:
    links = links_of(page_links)
    for rank in (0, 1):
        data = data_of(links, rank=rank, world_size=2)[0]
        rows = torch.cat([batch.row_ids for batch in data.train_dataloader()])  # type: ignore[misc]
        assert sorted(rows.tolist()) == list(range(len(links.splits["train"])))
