"""Tokenization of corpus shards on all nodes of a Ray cluster.

Each shard is a task of one CPU. Its files come back through Ray and are laid down where the preparation goes on, so
nodes share no folder; what they read must have the same path on each of them, or come from the hub. A shard whose node
dies is done again by Ray: it is the same wherever it is made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import ray
from ray.exceptions import RayError, RayTaskError

from hashbench.common.errors import InputError
from hashbench.common.shared import make_once
from hashbench.data.corpora.tokenizing import (
    ShardFacts,
    ShardFiles,
    ShardJob,
    TokenizedShard,
    files_of_shard,
    make_shard,
)
from hashbench.running.sweep.executors.on_ray import connect, first_words, signals_as_raised

AHEAD = 2  # shards under way for each CPU: one is tokenized, one waits
TRIES = 3  # of a shard whose node dies


class RayShardWorkers:
    """Tokenizes corpus shards on the CPUs of all nodes of a Ray cluster."""

    def tokenize(
        self, jobs: Sequence[tuple[ShardJob, Path]], done: Callable[[ShardFacts], None]
    ) -> Iterator[tuple[int, ShardFacts]]:
        """Yields the number of each job and the facts on its shard, as soon as its folder is written here.

        Raises InputError for a shard that cannot be read on its node, and where the cluster is lost.
        """
        for number, (job, folder) in enumerate(jobs):
            if folder.exists():
                yield number, make_shard(job, folder)
        waiting = [number for number, (_, folder) in enumerate(jobs) if not folder.exists()]
        if not waiting:
            return
        connect()
        task = ray.remote(files_of_shard).options(num_cpus=1, max_retries=TRIES, scheduling_strategy="SPREAD")
        under_way: dict[Any, int] = {}
        most = AHEAD * max(1, int(ray.cluster_resources().get("CPU", 1.0)))
        while waiting or under_way:
            while waiting and len(under_way) < most:
                number = waiting.pop(0)
                under_way[task.remote(jobs[number][0])] = number
            with signals_as_raised():
                ready, _ = ray.wait(list(under_way))
            for answer in ready:
                number = under_way.pop(answer)
                yield number, _laid_down(answer, jobs[number][1])


def _laid_down(answer: Any, folder: Path) -> ShardFacts:
    """Writes the shard that a node sent; returns the facts on it. Raises InputError for what went wrong there."""
    try:
        files: ShardFiles = ray.get(answer)
    except RayError as error:
        if isinstance(error, RayTaskError) and isinstance(error.cause, InputError):
            raise error.cause from None
        what = f"{type(error).__name__}: {first_words(error)}"
        remedy = "start it again, it goes on behind the finished ones"
        raise InputError(f"a shard was lost on Ray ({what}); {remedy}") from error

    def build(part: Path) -> None:
        for name, content in files.items():
            (part / name).parent.mkdir(parents=True, exist_ok=True)
            (part / name).write_bytes(content)

    return TokenizedShard(make_once(folder, build)).facts
