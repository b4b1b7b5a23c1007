"""How much of their texts the models of an experiment have read, as their runs stored it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hashbench.common.showing import percent_text
from hashbench.common.texts_read import NOTED, TextCounts
from hashbench.results.read.measured import Measured
from hashbench.results.read.runs import MeasuredRun, grouped
from hashbench.scores.registry import metric_of
from hashbench.scores.shares import cut_otherwise

WHOLE = "read whole"
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


def texts_line(measured: Measured, readings: Sequence[tuple[str, str, str]]) -> str:
    """The shares that models lost of the texts behind scores (task, metric, split), in words; "" without texts.

    Tasks of which no model's texts were counted are named behind the others; where there are no others, none is.
    """
    parts = []
    whole: dict[str, None] = {}
    unknown: dict[str, None] = {}
    # Finished trainings on a task, or evaluations on a further set
    scored = grouped((run.task, run) for run in measured.runs if run.is_scored and run.state == "done")
    for task, split in dict.fromkeys((task, split) for task, _, split in readings):
        by_share: dict[str, list[str]] = {}
        metrics = [metric for of, metric, on in readings if (of, on) == (task, split)]
        for model, runs in grouped((run.model, run) for run in scored.get(task, ())).items():
            words = [_lost(counts) for counts in counts_on(runs, split)]
            if words and (unread := [run for run in runs if not counts_on([run], split)]):
                words.append(f"{len(unread)} of {len(runs)} runs {NOT_COUNTED}")
            if words or any(is_uncounted(runs, metric, split) for metric in metrics):
                by_share.setdefault(" and ".join(words) or NOT_COUNTED, []).append(model)
        if set(by_share) <= {WHOLE}:
            whole |= dict.fromkeys([task] if by_share else [])
        elif set(by_share) == {NOT_COUNTED}:
            unknown[task] = None
        else:
            shares = "; ".join(f"{words} ({_some(models)})" for words, models in by_share.items())
            parts.append(f"{task}: {shares}")
    parts += [f"{WHOLE}: {', '.join(whole)}"] if whole else []
    if unknown:
        parts.append(NOT_COUNTED + (f": {', '.join(unknown)}" if parts else ""))
    return "; ".join(parts)


def cut_line(measured: Measured, readings: Sequence[tuple[str, str, str]]) -> str:
    """Tasks whose reported texts are cut more or less often than those of train, with the models; or ""."""
    lines: dict[str, list[str]] = {}
    for task, split in dict.fromkeys((task, split) for task, _, split in readings):
        for run in measured.trainings_apart:
            read = run.texts_read if run.task == task and run.state == "done" else None
            if read is not None and (line := cut_otherwise(read, split)):
                lines.setdefault(f"{task}: {line}", []).append(run.model)
    return "; ".join(f"{line} ({_some(list(dict.fromkeys(models)))})" for line, models in lines.items())


def _lost(counts: TextCounts) -> str:
    if not counts.texts_cut:
        return WHOLE
    return f"{percent_text(counts.share_lost)} % of characters lost, {percent_text(counts.share_cut, 0)} % of texts cut"


def _some(models: Sequence[str]) -> str:
    """The first models by name, and the number of the others."""
    return ", ".join(models[:3]) + (f" and {len(models) - 3} more" if len(models) > 3 else "")
