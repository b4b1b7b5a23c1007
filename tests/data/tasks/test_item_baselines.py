"""Rankings without training."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from hashbench.data.tasks.items import EntitiesBlock, LinkSet, in_folder, ranks_of
from hashbench.data.tasks.kinds.entities import ENTITIES, KIND
from hashbench.data.tasks.link_batches import Cases


@pytest.fixture
def links(page_links: Path) -> LinkSet:
    task = replace(ENTITIES, protocol=EntitiesBlock(segment_items=6))
    located = in_folder(page_links / "entities", task, "folder", "folder")
    assert located is not None
    return located.load()


def test_popularity_ranks_items_by_links_on_training_pages(links: LinkSet) -> None:
    outputs, cases = KIND.predictions("popularity", links)["test"].outputs, KIND.cases(links, "test")
    counts = links.items.counts
    for rank, target in zip(outputs[:, 1], cases.targets, strict=True):
        above = (counts > counts[target]).sum() + (counts[:target] == counts[target]).sum()
        assert rank == 1 + above
    assert np.array_equal(outputs[:, 0], cases.page_rows)


def test_co_occurrence_ranks_by_the_sum_of_cosines(links: LinkSet) -> None:
    """From sets of training pages, in plain Python."""
    outputs, cases = KIND.predictions("co-occurrence", links)["test"].outputs, KIND.cases(links, "test")
    train = links.links_of("train")
    pages: dict[int, set[int]] = {item: set() for item in range(len(links.items))}
    for page in range(len(train)):
        for item in train.text(page).tolist():
            pages[item].add(page)
    for case in (0, 7, len(cases) - 1):
        context = [item for item in cases.contexts(np.array([case]))[0].tolist() if item >= 0]
        scores = [
            sum(len(pages[a] & pages[b]) / max(1, len(pages[a]) * len(pages[b])) ** 0.5 for a in context if a != b)
            for b in range(len(links.items))
        ]
        own, target = scores[cases.targets[case]], int(cases.targets[case])
        above = sum(s > own + 1e-9 for s in scores) + sum(abs(s - own) < 1e-9 for s in scores[:target])
        assert abs(int(outputs[case, 1]) - 1 - above) <= 1  # sums of floats in another order may part a tie


def test_neighbours_beat_popularity_on_topics(links: LinkSet) -> None:
    ranks = {name: KIND.predictions(name, links)["test"].outputs[:, 1] for name in KIND.baselines}
    hits = {name: (each <= 10).mean() for name, each in ranks.items()}
    assert hits["co-occurrence"] > 0.9 > 0.5 > hits["popularity"]


def test_ranks_count_what_is_above_and_equal_ones_before() -> None:
    scores = np.array([[0.5, 0.9, 0.5, 0.1], [0.0, 0.0, 0.0, 0.0]])
    assert ranks_of(scores, np.array([2, 3])).tolist() == [3, 4]


def test_baselines_are_tested_on_the_cases_of_the_models(links: LinkSet) -> None:
    targets = KIND.predictions("popularity", links)["test"].targets
    same = Cases(links.links_of("test"), links.splits["test"], EntitiesBlock(segment_items=6))
    assert np.array_equal(targets, same.targets)
