"""How much of their texts the models of an experiment have read, as their runs stored it."""

from __future__ import annotations

from collections.abc import Iterable

from hashbench.common.measured import NOTED, TextCounts
from hashbench.common.showing import percent_text
from hashbench.results.read.runs import MeasuredRun
from hashbench.scores.base import metric_of

NOT_COUNTED = "not counted"  # of a run that was stored before texts were counted


def counts_on(runs: Iterable[MeasuredRun], split: str) -> list[TextCounts]:
    """The counts of a split over finished runs, equal ones once, of those that were counted."""
    read = [run.texts_read for run in runs if run.state == "done"]
    return list(dict.fromkeys(of.splits[split] for of in read if of is not None and split in of.splits))


def share_lost(runs: Iterable[MeasuredRun], split: str) -> float | None:
    """The share of a split's characters that finished runs did not read, the largest; None where not counted."""
    return max((counts.share_lost for counts in counts_on(runs, split)), default=None)


def is_uncounted(runs: Iterable[MeasuredRun], metric: str, split: str) -> bool:
    """True where a finished run of a model read texts that nobody counted; other seeds do not speak for it."""
    done = [run for run in runs if run.state == "done" and run.is_scored]
    of = metric_of(metric)
    return (of is None or of.outputs != "rankings") and any(not counts_on([run], split) for run in done)


def unequal_note(first: tuple[str, float | None], second: tuple[str, float | None], where: str) -> str:
    """A note on two sides, each a name and a share of characters lost, that differ by over two points; else "".

    >>> unequal_note(("A", 0.03), ("B", 0.737), "ag_news")
    'not the same share of the texts was read on ag_news: A lost 3.0 % of the characters, B 73.7 %'
    """
    (name, lost), (other, of_other) = first, second
    if lost is None or of_other is None or abs(lost - of_other) <= NOTED:
        return ""
    shares = f"{name} lost {percent_text(lost)} % of the characters, {other} {percent_text(of_other)} %"
    return f"not the same share of the texts was read on {where}: {shares}"
