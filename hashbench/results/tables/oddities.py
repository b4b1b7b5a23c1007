"""What is odd in the runs under a table, counted: constant predictions, and tokens that a model does not know."""

from __future__ import annotations

from hashbench.results.read.measured import Measured


def constant_predictions(measured: Measured) -> str:
    """'bert-sr: cola 2 of 3, rte 1 of 3 seeds': trainings whose predictions are one for every example."""
    counts: dict[str, dict[str, list[bool]]] = {}  # model -> task -> whether each finished training is constant
    for run in measured.trainings():
        if run.state == "done":
            is_constant = run.run_id in measured.constant_runs
            counts.setdefault(run.model, {}).setdefault(str(run.task), []).append(is_constant)
    parts = []
    for model, tasks in counts.items():
        words = [f"{task} {sum(found)} of {len(found)}" for task, found in tasks.items() if any(found)]
        if words:
            parts.append(f"{model}: {', '.join(words)}")
    return f"{'; '.join(parts)} seeds" if parts else ""


def noted(measured: Measured, key: str) -> str:
    """Models and tasks whose trainings left a note under a key: `unknown_tokens`, many of which are unknown; `words`,
    which fall apart under the tokenizer or run together."""
    found: dict[tuple[str, str], list[str]] = {}
    for run in measured.trainings():
        note = dict(run.origin.notes).get(key, "")
        if note and run.model not in found.setdefault((str(run.task), note), []):
            found[str(run.task), note].append(run.model)
    return "; ".join(f"{', '.join(models)} on {task}: {note}" for (task, note), models in found.items())
