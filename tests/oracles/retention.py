"""Oracle: HashFormers' performance retention ratio, eq. 4, in plain Python (Xue and Aletras 2022, section 4.4)."""

from __future__ import annotations

Scores = dict[tuple[str, str], list[float | None]]  # (model, task) -> one score per seed, None where undefined


def mean(values: list[float]) -> float | None:
    total = 0.0
    for value in values:
        total += value
    return total / len(values) if values else None


def means(scores: Scores) -> dict[tuple[str, str], float | None]:
    """Mean over the seeds that have a score."""
    return {cell: mean([value for value in seeds if value is not None]) for cell, seeds in scores.items()}


def ratio(score: float | None, baseline: float | None) -> float | None:
    if score is None or baseline is None or baseline <= 0:
        return None
    return score / baseline


def retention(scores: Scores, baseline: str) -> dict[tuple[str, str], float | None]:
    """(model, task or 'average') -> ratio; the average is the ratio of the average scores over shared tasks."""
    cells = means(scores)
    found: dict[tuple[str, str], float | None] = {}
    for model in sorted({model for model, _ in cells}):
        ours, theirs = [], []
        for other, task in cells:
            if other != model or (baseline, task) not in cells:
                continue
            found[model, task] = ratio(cells[model, task], cells[baseline, task])
            if cells[model, task] is not None and cells[baseline, task] is not None:
                ours.append(cells[model, task])
                theirs.append(cells[baseline, task])
        if ours:
            found[model, "average"] = ratio(mean(ours), mean(theirs))
    return found
