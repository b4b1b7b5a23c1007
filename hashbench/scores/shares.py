"""Two samples of counted things that differ by more than chance: classes of two splits, texts that are cut."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hashbench.common.measured import NOTED_LOSS, TextsRead

CHANCE = 0.01  # a p-value below which a difference is more than chance
NAMED_CLASSES = 4  # classes that a note names
LEAST_EXPECTED = 5.0  # counts below which chi-squared is no guide (Cochran 1954, Biometrics 10)


def chance_of(first: Sequence[int] | np.ndarray, second: Sequence[int] | np.ndarray) -> float:
    """The p-value of Pearson's chi-squared test that two samples have the same shares, from their counts (k,) each.

    Classes that are expected fewer than five times in either sample are taken together, the rarest first. 1 where no
    two classes are left to compare.

    >>> round(chance_of([60, 40], [45, 55]), 4), chance_of([10, 0], [10, 0])
    (0.0337, 1.0)
    """
    counts = _pooled(np.array([first, second], dtype=np.float64))
    if counts.shape[1] < 2 or 0 in counts.sum(axis=1):
        return 1.0
    from scipy.special import chdtrc  # a third of a second less than scipy.stats

    expected = _expected(counts)
    return float(chdtrc(counts.shape[1] - 1, ((counts - expected) ** 2 / expected).sum()))


def _expected(counts: np.ndarray) -> np.ndarray:
    """Counts (2, k) as they would be with equal shares."""
    return np.outer(counts.sum(axis=1), counts.sum(axis=0)) / max(1.0, counts.sum())


def _pooled(counts: np.ndarray) -> np.ndarray:
    """Counts (2, k) -> (2, m) in which every class is expected often enough, rare ones taken together."""
    counts = counts[:, counts.sum(axis=0) > 0]
    counts = counts[:, np.argsort(counts.sum(axis=0), kind="stable")]
    while counts.shape[1] > 1 and _expected(counts)[:, 0].min() < LEAST_EXPECTED:
        counts = np.concatenate([counts[:, :1] + counts[:, 1:2], counts[:, 2:]], axis=1)
        counts = counts[:, np.argsort(counts.sum(axis=0), kind="stable")]
    return counts


def class_shift(
    train: np.ndarray, other: np.ndarray, names: Sequence[str], split: str, rows: tuple[int, int] | None = None
) -> str:
    """A note on a split whose class shares differ from train's by more than chance; "" where they do not.

    Counts (k,) of the classes in each. Named are the classes that differ most, among classes that differ by themselves.
    `rows`: of train and of the split, where a row may have several classes or none; then each class is compared by
    itself, with Bonferroni's correction.

    >>> class_shift(np.array([680, 320]), np.array([250, 250]), ["world", "sports"], "test")
    'class shares differ by more than chance: world 68 % of train and 50 % of test, sports 32 % and 50 % (chi-squared)'
    """
    if rows is None and chance_of(train, other) >= CHANCE:
        return ""
    sizes = (int(train.sum()), int(other.sum())) if rows is None else rows
    shares = np.array([train, other]) / np.maximum(1, sizes)[:, None]  # (2, k)
    apart = np.abs(shares[0] - shares[1])
    largest = [int(i) for i in np.argsort(-apart, kind="stable")]
    if rows is None:
        largest = largest[:NAMED_CLASSES]
    chance = CHANCE if rows is None else CHANCE / len(names)
    shown = [
        i
        for i in largest
        if chance_of(*([of[i], n - of[i]] for of, n in zip((train, other), sizes, strict=True))) < chance
    ][:NAMED_CLASSES]
    if not shown and rows is not None:
        return ""
    shown = shown or largest[:1]
    digits = 0 if apart[shown].min() >= 0.01 else 1
    named: list[str] = []
    for i in shown:
        of = ("", "") if named else (" of train", f" of {split}")
        named.append(
            f"{names[i]} {100 * shares[0, i]:.{digits}f} %{of[0]} and {100 * shares[1, i]:.{digits}f} %{of[1]}"
        )
    return f"class shares differ by more than chance: {', '.join(named)} (chi-squared)"


def cut_otherwise(read: TextsRead, reported: str) -> str:
    """A line on a reported split whose texts are cut more or less often than train's; "" where they are not.

    The difference must be more than chance, and more than two points.
    """
    train, other = read.splits.get("train"), read.splits.get(reported)
    if train is None or other is None or abs(train.share_cut - other.share_cut) <= NOTED_LOSS:
        return ""
    if chance_of(*([of.texts_cut, of.texts - of.texts_cut] for of in (train, other))) >= CHANCE:
        return ""
    return f"texts are cut in {100 * train.share_cut:.0f} % of train and {100 * other.share_cut:.0f} % of {reported}"
