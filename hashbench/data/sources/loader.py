"""Data loaders that can be resumed and make batches ahead in a thread, and the base classes of training data.

The number of batches is known without a loader, so that the length of a schedule never touches a loader's state.
"""

from __future__ import annotations

import queue
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

import numpy as np
from lightning.pytorch import LightningDataModule

from hashbench.data.sources.batching import count_batches, epoch_batches
from hashbench.models.embeddings.base import Batch

EpochPlan = Callable[[int], Sequence[np.ndarray]]  # epoch -> row numbers of each batch
Make = Callable[[np.ndarray, int], Batch]  # (row numbers, epoch) -> batch
Prefetched = TypeVar("Prefetched")


class BatchLoader:
    """Training batches; the order is a function of the epoch, the state says which batch comes next.

    An iterator goes on where the state is, and ends with the epoch.
    """

    def __init__(self, plan: EpochPlan, make: Make, n_batches: int, prefetch: int = 2) -> None:
        self._plan, self._make, self._n_batches, self._prefetch = plan, make, n_batches, prefetch
        self.epoch = self.position = 0

    def __len__(self) -> int:
        """Batches of a whole epoch, whatever the state."""
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
        """The epoch, and how many of its batches were handed out; batches made ahead do not count."""
        return {"epoch": self.epoch, "position": self.position}

    def load_state_dict(self, state: dict[str, int]) -> None:
        """Sets the epoch and batch from which the next iteration continues."""
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
    """The batches that `make` makes of row numbers (B,), up to `prefetch` made ahead in a thread; 0: made on demand."""
    return ahead((make(rows, epoch) for rows in batches), prefetch)


def ahead(items: Iterator[Prefetched], prefetch: int) -> Iterator[Prefetched]:
    """The items in their order, up to `prefetch` of them made ahead in a thread; 0: made on demand."""
    if prefetch == 0:
        yield from items
        return
    ready: queue.Queue[tuple[Prefetched] | BaseException | None] = queue.Queue(maxsize=prefetch)
    stopped = threading.Event()
    threading.Thread(target=_produce, args=(items, ready, stopped), daemon=True).start()
    try:
        while (item := ready.get()) is not None:
            if isinstance(item, BaseException):
                raise item
            yield item[0]
    finally:
        stopped.set()
        # Makes room for what the thread may hold, so that it ends
        while not ready.empty():
            ready.get_nowait()


def _produce(
    items: Iterator[Prefetched], ready: queue.Queue[tuple[Prefetched] | BaseException | None], stopped: threading.Event
) -> None:
    """Puts the items, and None behind the last, into `ready`, until `stopped` is set."""
    try:
        for item in items:
            ready.put((item,))
            if stopped.is_set():
                return
        ready.put(None)
    except BaseException as error:  # handed to the thread that reads, which raises it
        ready.put(error)


class LoadedData(LightningDataModule, ABC):
    """Base LightningDataModule of all trainings; every process makes all rows of each batch."""

    def __init__(self, *, batch_size: int, seed: int, rank: int = 0, world_size: int = 1, prefetch: int = 2) -> None:
        """`batch_size`: rows of all processes. `rank`: number of this process among the `world_size` that train."""
        super().__init__()
        self.batch_size, self.seed, self.prefetch = batch_size, seed, prefetch
        self.rank, self.world_size = rank, world_size

    @abstractmethod
    def train_dataloader(self) -> Iterable[Batch]:
        """A loader of the training batches with `state_dict` and `load_state_dict`, as Lightning resumes it."""

    def val_dataloader(self) -> object:
        """The loader, or a list of loaders, that a training is evaluated on; this base has none."""
        return []

    @property
    def bucketed(self) -> bool:
        """True where batches are made of rows of similar length."""
        return True

    @abstractmethod
    def longest_batch(self) -> Batch:
        """The longest rows as one batch (B, L) of all processes: the most that a step can cost."""


class TrainingData(LoadedData):
    """Base of training data with numbered rows, each once in an epoch.

    Every process makes whole batches, corruption and padding included, so that they are the same whatever the number of
    processes. Which rows of a batch a process computes is decided where its loss is weighted (`training/module.py`);
    evaluations are shared out here.
    """

    @abstractmethod
    def row_lengths(self) -> np.ndarray:
        """Tokens or items of each training row (n,)."""

    @abstractmethod
    def training_maker(self) -> Make:
        """The function that makes a batch from numbers of training rows (B,) and an epoch."""

    def row_sizes(self) -> np.ndarray:
        """The numbers (n,) by which training rows are sorted, so that a batch has rows of similar length."""
        return self.row_lengths()

    @property
    def n_rows(self) -> int:
        """Number of training rows, each once in an epoch."""
        return len(self.row_lengths())

    @property
    def steps_per_epoch(self) -> int:
        """Number of training batches of an epoch."""
        return count_batches(self.n_rows, self.batch_size)

    def train_dataloader(self) -> BatchLoader:
        """Batches whose order, contents and corruption are functions of (seed, epoch, row) alone."""
        return BatchLoader(self._plan, self.training_maker(), self.steps_per_epoch, self.prefetch)

    def longest_batch(self) -> Batch:
        """The longest rows, in that order, as one batch (B, L) of epoch 0: the most that a step can cost."""
        rows = np.argsort(-self.row_lengths(), kind="stable")[: self.batch_size]
        return self.training_maker()(rows, 0)

    def _plan(self, epoch: int) -> list[np.ndarray]:
        """Row numbers (B,) of each batch of an epoch."""
        sizes = self.row_sizes()
        return epoch_batches(sizes, self.batch_size, seed=self.seed, epoch=epoch, bucketed=self.bucketed)
