"""The exact search of item_search.py on a CPU, compiled.

The buckets of all maps are gone through from the best one down until nothing that is left can enter the ranking (the
threshold algorithm of Fagin, Lotem and Naor, on m lists).

Nearly all of its time is the one reading of the m distributions: some thousands of millions of items are scored.
"""

from __future__ import annotations

import numpy as np

from hashbench.models.text.compiled import compiled, inlined

# Neighbouring buckets of which the highest is known, and neighbouring blocks.
BLOCK = 64


@compiled
def rank_items(
    logs: np.ndarray, elsewhere: np.ndarray, members: np.ndarray, n_items: int, by_sum: bool, k: int
) -> tuple[np.ndarray, np.ndarray]:
    """The k best items of each query and their scores, (Q, k) int64 and float32, higher scores first.

    Of items with equal scores the lower number comes first. Where more items share the last score than there are places
    left, any of them may be in it: the search ends when no item that is left can score more.

    `logs` (Q, m, NB) float32; `members` (m, NB, alpha) int32 the items of each bucket, in the last one perhaps fewer;
    `elsewhere` (m, NB, alpha, m - 1) int32 their buckets in the other maps. Items outside score at most as the last.
    """
    items, scores = np.full((len(logs), k), n_items, np.int64), np.full((len(logs), k), -np.inf, np.float32)
    m, n_buckets = logs.shape[1:]
    done = np.zeros((m, n_buckets), np.bool_)
    taken = np.zeros((m, n_buckets), np.int64)
    n_blocks = (n_buckets + BLOCK - 1) // BLOCK
    blocks = np.empty((m, n_blocks), np.float32)
    groups = np.empty((m, (n_blocks + BLOCK - 1) // BLOCK), np.float32)
    for query in range(len(logs)):
        rounds = rank_one(
            logs[query], elsewhere, members, n_items, by_sum, done, taken, blocks, groups, items[query], scores[query]
        )
        for j in range(m):
            for t in range(rounds):
                done[j, taken[j, t]] = False
    return items, scores


@inlined
def rank_one(
    logs: np.ndarray,
    elsewhere: np.ndarray,
    members: np.ndarray,
    n_items: int,
    by_sum: bool,
    done: np.ndarray,
    taken: np.ndarray,
    blocks: np.ndarray,
    groups: np.ndarray,
    items: np.ndarray,
    scores: np.ndarray,
) -> int:
    """Fills one query's `items` (k,) and `scores` (k,); returns the number of buckets that it took from each map.

    `logs` (m, NB), `elsewhere` (m, NB, alpha, m - 1) and `members` (m, NB, alpha) are read. `done` (m, NB) and `taken`
    (m, NB), which name these buckets, are written, and so are `blocks` (m, n_blocks) and `groups` (m, n_groups).
    """
    m, n_buckets = logs.shape
    for j in range(m):
        for block in range(blocks.shape[1]):
            blocks[j, block] = highest(logs[j], block)
        for group in range(groups.shape[1]):
            groups[j, group] = highest(blocks[j], group)
    for t in range(n_buckets):
        bound = np.float32(0)
        for j in range(m):
            taken[j, t] = best_left(logs[j], done[j], blocks[j], groups[j])
            bound = joined(bound, logs[j, taken[j, t]], j, by_sum)
        if bound <= scores[-1] and items[-1] < n_items:
            return t
        for j in range(m):
            bucket = taken[j, t]
            rank_bucket(logs, elsewhere, members, n_items, by_sum, done, j, bucket, items, scores)
            done[j, bucket] = True
            take_out(logs[j], done[j], blocks[j], groups[j], bucket)
    return n_buckets


@inlined
def rank_bucket(
    logs: np.ndarray,
    elsewhere: np.ndarray,
    members: np.ndarray,
    n_items: int,
    by_sum: bool,
    done: np.ndarray,
    j: int,
    bucket: int,
    items: np.ndarray,
    scores: np.ndarray,
) -> None:
    """Ranks the items of a bucket of map j, but for those that a bucket of another map brought already.

    `logs` and `done` (m, NB), `elsewhere` (m, NB, alpha, m - 1), `members` (m, NB, alpha); `items` and `scores` (k,).
    """
    alpha = members.shape[2]
    for slot in range(min(alpha, n_items - bucket * alpha)):
        score, seen = np.float32(0), False
        for i in range(len(logs)):
            other = bucket
            if i != j:
                other = elsewhere[j, bucket, slot, i - (i > j)]
                seen |= done[i, other]
            score = joined(score, logs[i, other], i, by_sum)
        if score >= scores[-1] and not seen:
            insert(items, scores, members[j, bucket, slot], score)


@inlined
def joined(score: np.float32, value: np.float32, j: int, by_sum: bool) -> np.float32:
    """An item's score over the first j + 1 maps, in float32: `score` over the first j, joined with `value`."""
    if j == 0:
        return value
    return score + value if by_sum else min(score, value)


@inlined
def highest(values: np.ndarray, block: int) -> np.float32:
    """The maximum of the values (n,) in the block with number `block`."""
    highest_value = np.float32(-np.inf)
    for place in range(block * BLOCK, min((block + 1) * BLOCK, len(values))):
        highest_value = max(highest_value, values[place])
    return highest_value


@inlined
def best_left(logs: np.ndarray, done: np.ndarray, blocks: np.ndarray, groups: np.ndarray) -> int:
    """The highest bucket that is not done, of equal ones the first; at least one must be left.

    Of one map: `logs` (NB,), `done` (NB,), `blocks` (n_blocks,), `groups` (n_groups,).
    """
    group = int(np.argmax(groups))
    block = group * BLOCK + int(np.argmax(blocks[group * BLOCK : (group + 1) * BLOCK]))
    best = -1
    for bucket in range(block * BLOCK, min((block + 1) * BLOCK, len(logs))):
        if not done[bucket] and (best < 0 or logs[bucket] > logs[best]):
            best = bucket
    if best < 0:  # all that is left is -inf
        best = int(np.argmin(done))
    return best


@inlined
def take_out(logs: np.ndarray, done: np.ndarray, blocks: np.ndarray, groups: np.ndarray, bucket: int) -> None:
    """Updates the maxima of the block and the group of a bucket that is done.

    Of one map: `logs` (NB,), `done` (NB,), `blocks` (n_blocks,), `groups` (n_groups,).
    """
    block = bucket // BLOCK
    highest_value = np.float32(-np.inf)
    for place in range(block * BLOCK, min((block + 1) * BLOCK, len(logs))):
        if not done[place]:
            highest_value = max(highest_value, logs[place])
    blocks[block] = highest_value
    groups[block // BLOCK] = highest(blocks, block // BLOCK)


@inlined
def insert(items: np.ndarray, scores: np.ndarray, item: int, score: np.float32) -> None:
    """Inserts an item into the ranking, items (k,) and scores (k,), where it is better than the last."""
    place = len(items)
    while place > 0 and (score > scores[place - 1] or (score == scores[place - 1] and item < items[place - 1])):
        place -= 1
    for later in range(len(items) - 1, place, -1):
        items[later], scores[later] = items[later - 1], scores[later - 1]
    if place < len(items):
        items[place], scores[place] = item, score
