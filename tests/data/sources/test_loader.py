from __future__ import annotations

import threading

import numpy as np
import pytest
import torch

from hashbench.data.sources.loader import BatchLoader, EvaluationLoader
from hashbench.models.embeddings.base import Batch

N_BATCHES = 7


def plan(epoch: int) -> list[np.ndarray]:
    order = np.random.RandomState(epoch).permutation(2 * N_BATCHES)
    return [order[i : i + 2] for i in range(0, len(order), 2)]


def make(rows: np.ndarray, epoch: int) -> Batch:
    empty = torch.empty(0)
    return Batch(empty, empty, empty, labels=torch.tensor(epoch), row_ids=torch.from_numpy(rows))


def loader(prefetch: int) -> BatchLoader:
    return BatchLoader(plan, make, N_BATCHES, prefetch)


def seen(batch: Batch) -> tuple[int, ...]:
    assert batch.row_ids is not None and batch.labels is not None
    return (int(batch.labels), *batch.row_ids.tolist())


def sized(batches: BatchLoader) -> list[tuple[int, ...]]:
    """One epoch as Lightning takes it: as many items as the length says, never asking for one more."""
    iterator = iter(batches)
    return [seen(next(iterator)) for _ in range(N_BATCHES)]


REFERENCE = [(epoch, *rows.tolist()) for epoch in range(3) for rows in plan(epoch)]


@pytest.mark.parametrize("prefetch", [0, 1, 2, 100])
def test_epochs_follow_each_other(prefetch: int) -> None:
    batches = loader(prefetch)
    assert [item for _ in range(3) for item in sized(batches)] == REFERENCE
    assert batches.state_dict() == {"epoch": 3, "position": 0}
    assert len(batches) == N_BATCHES


@pytest.mark.parametrize("prefetch", [0, 3])
def test_a_full_iteration_ends_with_the_epoch(prefetch: int) -> None:
    batches = loader(prefetch)
    assert [seen(batch) for batch in batches] == REFERENCE[:N_BATCHES]
    assert [seen(batch) for batch in batches] == REFERENCE[N_BATCHES : 2 * N_BATCHES]


@pytest.mark.parametrize("prefetch", [0, 3])
def test_state_counts_what_was_handed_out_and_resumes_exactly_there(prefetch: int) -> None:
    assert len(REFERENCE) == 21
    for stop in range(2 * N_BATCHES + 1):
        batches = loader(prefetch)
        given, iterator = [], iter(batches)
        for i in range(stop):
            if i and i % N_BATCHES == 0:
                iterator = iter(batches)
            given.append(seen(next(iterator)))
        state = batches.state_dict()
        assert state == {"epoch": stop // N_BATCHES, "position": stop % N_BATCHES}
        resumed = loader(prefetch)
        resumed.load_state_dict(state)
        assert len(resumed) == N_BATCHES
        while resumed.epoch < 3:
            given += [seen(batch) for batch in resumed]
        assert given == REFERENCE


def test_the_state_is_read_when_the_first_batch_is_asked_for() -> None:
    batches = loader(0)
    iterator = iter(batches)  # Lightning makes iterators before it restores a state
    batches.load_state_dict({"epoch": 1, "position": 3})
    assert seen(next(iterator)) == REFERENCE[N_BATCHES + 3]


@pytest.mark.parametrize("prefetch", [0, 2])
def test_an_error_in_the_making_reaches_the_reader(prefetch: int) -> None:
    def fail(rows: np.ndarray, epoch: int) -> Batch:
        raise ZeroDivisionError("in the thread")

    with pytest.raises(ZeroDivisionError, match="in the thread"):
        next(iter(BatchLoader(plan, fail, N_BATCHES, prefetch)))


def test_an_abandoned_iterator_ends_its_thread() -> None:
    before = set(threading.enumerate())
    iterator = iter(loader(1))
    next(iterator)
    (ours,) = set(threading.enumerate()) - before
    iterator.close()  # type: ignore[attr-defined]
    ours.join(timeout=5)
    assert not ours.is_alive()


def test_batches_are_made_ahead() -> None:
    made: list[int] = []
    three = threading.Event()

    def counted(rows: np.ndarray, epoch: int) -> Batch:
        made.append(1)
        if len(made) == 3:
            three.set()
        return make(rows, epoch)

    iterator = iter(BatchLoader(plan, counted, N_BATCHES, prefetch=2))
    next(iterator)
    assert three.wait(timeout=10)  # the first, and two more that nobody asked for


def test_evaluation_begins_anew_each_time() -> None:
    batches = EvaluationLoader(plan(0), make, prefetch=2)
    next(iter(batches))
    assert [seen(batch) for batch in batches] == REFERENCE[:N_BATCHES] == [seen(batch) for batch in batches]
    assert len(batches) == N_BATCHES
    assert not hasattr(batches, "state_dict")
