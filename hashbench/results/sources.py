"""Whether runs that stand side by side were computed by the same code."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

TOPIC = "sources"  # under which a run's notes hold its fingerprints


class SourcesOfRun(NamedTuple):
    """A finished run and the fingerprints of its code: of its kind's files, and of those that its model adds."""

    kind: str
    task: str | None
    model: str
    sources: str  # both, with a blank between them; "" for a run that noted none


def sources_of(kind: str, task: str | None, model: str, notes: Mapping[str, str]) -> SourcesOfRun:
    """A run with what its notes say of its code."""
    return SourcesOfRun(kind, task, model, notes[TOPIC] if TOPIC in notes else "")


def different_sources(runs: Iterable[SourcesOfRun]) -> list[str]:
    """One sentence for each column, and for each model, whose runs were computed by different code.

    >>> old, new = SourcesOfRun("finetune", "cola", "a", "1f 2e"), SourcesOfRun("finetune", "cola", "b", "9d 2e")
    >>> different_sources([old, new])
    ['finetune on cola: 2 versions of the code (1f: a; 9d: b)']
    """
    columns: dict[str, dict[str, list[str]]] = {}
    models: dict[str, dict[str, list[str]]] = {}
    for run in runs:
        shared, _, own = run.sources.partition(" ")
        column = f"{run.kind} on {run.task}" if run.task else run.kind
        if shared:
            columns.setdefault(column, {}).setdefault(shared, []).append(run.model)
        if own:
            models.setdefault(f"model {run.model}", {}).setdefault(own, []).append(column)
    return [
        f"{what}: {len(versions)} versions of the code ({_listed(versions)})"
        for what, versions in (columns | models).items()
        if len(versions) > 1
    ]


def _listed(versions: dict[str, list[str]]) -> str:
    return "; ".join(f"{version}: {', '.join(dict.fromkeys(names))}" for version, names in versions.items())
