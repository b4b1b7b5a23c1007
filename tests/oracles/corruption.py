"""Corruption of token rows in plain Python: one row, one token at a time, with SplitMix64 in plain integers."""

from __future__ import annotations

MASK_64 = 2**64 - 1
GOLDEN = 0x9E3779B97F4A7C15


def splitmix(value: int) -> int:
    """SplitMix64's output function of a state."""
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & MASK_64
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & MASK_64
    return value ^ (value >> 31)


def number(seed: int, epoch: int, row: int, stream: int, column: int) -> int:
    """The 64 bits of a column of a row."""
    key = 0
    for part in (seed, epoch, stream, row):
        key = splitmix((key + part + GOLDEN) & MASK_64)
    return splitmix((key + (column + 1) * GOLDEN) & MASK_64)


def uniform(*names: int) -> float:
    """A number in [0, 1) from the upper 53 bits."""
    return (number(*names) >> 11) / 2**53


def below(limit: int, *names: int) -> int:
    """An integer in 0 .. limit - 1 from the upper 32 bits."""
    return ((number(*names) >> 32) * limit) >> 32


def masked(
    ids: list[int], *, seed: int, epoch: int, row: int, n_types: int, prob: float
) -> tuple[list[int], list[int]]:
    """MLM: with `prob` a token is predicted; 80 % of these become -5 (<mask>), 10 % a random type, 10 % stay."""
    corrupted, labels = [], []
    for column, token in enumerate(ids):
        draw = uniform(seed, epoch, row, 1, column)
        if token < 0 or draw >= prob:
            corrupted.append(token)
            labels.append(-100)
            continue
        labels.append(token)
        if draw < 0.8 * prob:
            corrupted.append(-5)
        elif draw < 0.9 * prob:
            corrupted.append(below(n_types, seed, epoch, row, 2, column))
        else:
            corrupted.append(token)
    return corrupted, labels


def shuffled(
    ids: list[int], *, seed: int, epoch: int, row: int, n_types: int, p: float, q: float, batch_order: list[int] | None
) -> tuple[list[int], list[int]]:
    """S+R: shuffle with p, else random with q. `batch_order` given: the released code's permutation and labels."""
    ordinary = [column for column, token in enumerate(ids) if token >= 0]
    order = sorted(ordinary, key=lambda column: number(seed, epoch, row, 13, column))
    source = dict(zip(ordinary, order, strict=True))
    if batch_order is not None:
        source = dict(enumerate(batch_order))
    corrupted, labels = list(ids), [-100] * len(ids)
    for column in ordinary:
        draw = uniform(seed, epoch, row, 11, column)
        kind = 1 if draw < p else 2 if draw < p + (1 - p) * q else 0
        if kind == 1 and ids[source[column]] >= 0:
            corrupted[column] = ids[source[column]]
        if kind == 2:
            corrupted[column] = below(n_types, seed, epoch, row, 12, column)
        unchanged = corrupted[column] == ids[column]
        labels[column] = 0 if unchanged and batch_order is None else kind
    return corrupted, labels
