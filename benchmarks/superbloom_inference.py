"""From bucket distributions to the 20 best of millions of items: Algorithm 1 against scoring every item.

    python benchmarks/superbloom_inference.py                # 5,281,889 items, 50 a bucket, two maps: the paper's
    python benchmarks/superbloom_inference.py --items 500000 --alpha 20 --queries 50

The peer scores all items by one gather a map and takes `torch.topk`, on the same distributions and threads; it is the
plain form, without the suite's rule for ties. Contestants take turns, query by query; medians over queries are printed,
ratios are medians of the ratios of a query. `exact` includes the proof that no other item can enter. With
`--keep-memory` the process keeps freed memory, as the suite's workers do: the peer saves the page faults of its scores.
Distributions are softmaxes of normal scores times `--scale`, 3 by default: a best bucket of some percent, as trained
models have; flatter ones are harder for `exact`.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from hashbench.common.allocator import keep_freed_memory
from hashbench.models.coders.bloom import permutation_map
from hashbench.models.objectives.item_search import ItemSearch

Contestant = Callable[[Tensor], Tensor]  # distributions (1, m, NB) -> scores of the best items (1, k)


def main() -> None:
    """Prints milliseconds a query, ratios to scoring every item, and how much of the whole ranking was found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, default=5_281_889)
    parser.add_argument("--alpha", type=int, default=50)
    parser.add_argument("--maps", type=int, default=2)
    parser.add_argument("--top", type=int, default=20)
    parser.add_argument("--queries", type=int, default=30)
    parser.add_argument("--scale", type=float, default=3.0)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--keep-memory", action="store_true")
    asked = parser.parse_args()
    torch.set_num_threads(asked.threads)
    if asked.keep_memory:
        keep_freed_memory()
    maps = np.stack([permutation_map(asked.items, asked.alpha, 0, j) for j in range(asked.maps)])
    search = ItemSearch(maps, asked.alpha)
    tables = torch.from_numpy(maps)  # (m, N) int64, as index_select likes them best

    def every_item(logs: Tensor) -> Tensor:
        scores = logs[:, 0].index_select(1, tables[0])
        for j in range(1, asked.maps):
            scores += logs[:, j].index_select(1, tables[j])
        return scores.topk(asked.top, dim=1).values

    contestants: dict[str, Contestant] = {
        "every item": every_item,
        "approximate": lambda logs: search.approximate(logs, asked.top, asked.top).scores,
        "exact": lambda logs: search.exact(logs, asked.top, asked.top).scores,
    }
    seconds, recall = compete(contestants, asked.queries, (1, asked.maps, search.n_buckets), asked.scale)
    print(f"{asked.items:,} items, {asked.alpha} a bucket, {asked.maps} maps, top {asked.top}, {asked.queries} queries")
    for name, times in seconds.items():
        ratios = [a / b for a, b in zip(seconds["every item"], times, strict=True)]
        share = 100 * statistics.fmean(recall[name])
        same = 100 * statistics.fmean(each == 1 for each in recall[name])
        spread = f"{statistics.median(ratios):7.1f} x ({min(ratios):.0f} to {max(ratios):.0f})"
        print(
            f"{name:12s} {1000 * statistics.median(times):9.3f} ms {spread} "
            f"{share:6.1f} % of the {asked.top} best items found, {same:.1f} % of rankings equal"
        )


def compete(
    contestants: dict[str, Contestant], queries: int, shape: tuple[int, int, int], scale: float
) -> tuple[dict[str, list[float]], dict[str, list[float]]]:
    """Seconds of each contestant on each query, after one that warms up, and the share of the best items it found."""
    random = torch.Generator().manual_seed(0)
    seconds: dict[str, list[float]] = {name: [] for name in contestants}
    recall: dict[str, list[float]] = {name: [] for name in contestants}
    for number in range(queries + 1):
        logs = (scale * torch.randn(shape, generator=random)).log_softmax(-1)
        reference = None
        for name, contestant in contestants.items():
            began = time.process_time()
            scores = contestant(logs)
            took = time.process_time() - began
            reference = scores if reference is None else reference
            if number:
                seconds[name].append(took)
                recall[name].append(float((scores >= reference[:, -1:]).float().mean()))
    return seconds, recall


if __name__ == "__main__":
    main()
