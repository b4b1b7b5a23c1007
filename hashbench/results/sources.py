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
        f"{_joined(names)}: {len(parts)} versions of the code ({'; '.join(parts)})"
        for parts, names in (_alike(columns) | _alike(models)).items()
    ]


def _alike(found: dict[str, dict[str, list[str]]]) -> dict[tuple[str, ...], list[str]]:
    """What has several versions of the code, by its parts; columns that fall into the same models share a line."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for what, versions in found.items():
        if len(versions) > 1:
            groups.setdefault(tuple(", ".join(dict.fromkeys(names)) for names in versions.values()), []).append(what)
    return {
        tuple(f"{_once(list(found[what])[place] for what in group)}: {part}" for place, part in enumerate(parts)): group
        for parts, group in groups.items()
    }


def _once(versions: Iterable[str]) -> str:
    """The fingerprints of one part, each once."""
    return "/".join(dict.fromkeys(versions))


def _joined(names: list[str]) -> str:
    """Names with what they begin with said once.

    >>> _joined(["finetune on cola", "finetune on sst2", "pretrain"])
    'finetune on cola, sst2, pretrain'
    """
    said: list[str] = []
    before = ""
    for name in names:
        start, on, rest = name.partition(" on ")
        said.append(rest if on and start == before else name)
        before = start if on else ""
    return ", ".join(said)
