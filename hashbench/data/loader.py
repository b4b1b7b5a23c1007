"""Loaders whose place in the data is two numbers, and which make batches ahead in a thread."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from hashbench.embeddings.base import Batch

EpochPlan = Callable[[int], Sequence[np.ndarray]]  # epoch -> row numbers of each batch
Make = Callable[[np.ndarray, int], Batch]  # (row numbers, epoch) -> batch


class BatchLoader:
    """Training batches; the order is a function of the epoch, the state says which batch comes next.

    An iterator goes on where the state is, and ends with the epoch.
    """

    def __init__(self, plan: EpochPlan, make: Make, n_batches: int, prefetch: int = 2) -> None:
        self._plan, self._make, self._n_batches, self._prefetch = plan, make, n_batches, prefetch
        self.epoch = self.position = 0

    def __len__(self) -> int:
        """Batches of a whole epoch, wherever the state is."""
        return self._n_batches

    def __iter__(self) -> Iterator[Batch]:
        epoch, first = self.epoch, self.position
        batches = self._plan(epoch)
        ahead = made_ahead(batches[first:], epoch, self._make, self._prefetch)
        for position, batch in enumerate(ahead, start=first + 1):
            # Before the yield: nobody asks a sized loader for what follows its last batch, so code behind the last
            # yield never runs.
            self.epoch, self.position = (epoch + 1, 0) if position == len(batches) else (epoch, position)
            yield batch

    def state_dict(self) -> dict[str, int]:
        """Epoch, and how many of its batches were handed out; batches made ahead do not count."""
        return {"epoch": self.epoch, "position": self.position}

    def load_state_dict(self, state: dict[str, int]) -> None:
        """Go on behind the batches that were handed out."""
        self.epoch, self.position = state["epoch"], state["position"]


class EvaluationLoader:
    """Batches in one fixed order, from the first on at every iteration."""

    def __init__(self, batches: Sequence[np.ndarray], make: Make, prefetch: int = 2) -> None:
        """`batches`: row numbers (B,) of each."""
        self._batches, self._make, self._prefetch = batches, make, prefetch

    def __len__(self) -> int:
        return len(self._batches)

    def __iter__(self) -> Iterator[Batch]:
        return made_ahead(self._batches, 0, self._make, self._prefetch)


def made_ahead(batches: Sequence[np.ndarray], epoch: int, make: Make, prefetch: int) -> Iterator[Batch]:
    """The batches of row numbers (B,) in order, up to `prefetch` made ahead in a thread; 0: made when asked for."""
    if prefetch == 0:
        yield from (make(rows, epoch) for rows in batches)
        return
    ready: queue.Queue[Batch | BaseException] = queue.Queue(maxsize=prefetch)
    stopped = threading.Event()
    thread = threading.Thread(target=_produce, args=(batches, epoch, make, ready, stopped), daemon=True)
    thread.start()
    try:
        for _ in batches:
            batch = ready.get()
            if isinstance(batch, BaseException):
                raise batch
            yield batch
    finally:
        stopped.set()
        # Makes room for the batch that the thread may hold, so that it ends
        while not ready.empty():
            ready.get_nowait()


def _produce(
    batches: Sequence[np.ndarray],
    epoch: int,
    make: Make,
    ready: queue.Queue[Batch | BaseException],
    stopped: threading.Event,
) -> None:
    """Makes the batches of row numbers (B,) for `ready`, until all are made or `stopped` is set."""
    try:
        for rows in batches:
            if stopped.is_set():
                return
            ready.put(make(rows, epoch))
    except BaseException as error:  # told to the thread that reads, which raises it
        ready.put(error)
