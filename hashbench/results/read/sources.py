"""Whether runs that stand side by side were computed by the same code."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

TOPIC = "sources"  # under which a run's notes hold its fingerprints
MOST_NAMES = 3  # of many models or fingerprints so many are named


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
            models.setdefault(run.model, {}).setdefault(own, []).append(column)
    found = [(_joined(names), _versions(columns, names, _some)) for names in _alike(columns)]
    for names in _alike(models):
        found.append((f"{'models' if len(names) > 1 else 'model'} {_some(names)}", _versions(models, names, _joined)))
    return [f"{what}: {len(parts)} versions of the code ({'; '.join(parts)})" for what, parts in found]


def _alike(found: Mapping[str, Mapping[str, Sequence[str]]]) -> list[list[str]]:
    """What has several versions of the code, together where the versions are of the same columns or models."""
    groups: dict[tuple[tuple[str, ...], ...], list[str]] = {}
    for what, versions in found.items():
        if len(versions) > 1:
            groups.setdefault(tuple(tuple(dict.fromkeys(names)) for names in versions.values()), []).append(what)
    return list(groups.values())


def _versions(
    found: Mapping[str, Mapping[str, Sequence[str]]], group: Sequence[str], said: Callable[[Sequence[str]], str]
) -> list[str]:
    """Each version that a group shares: its fingerprints, and what was computed by it."""
    of_all = [list(found[what]) for what in group]
    parts = []
    for place, names in enumerate(found[group[0]].values()):
        fingerprints = _some(list(dict.fromkeys(versions[place] for versions in of_all)), "/")
        parts.append(f"{fingerprints}: {said(list(dict.fromkeys(names)))}")
    return parts


def _some(names: Sequence[str], between: str = ", ") -> str:
    """Names, of many the first.

    >>> _some(["a", "b", "c", "d"]), _some(["a", "b", "c", "d", "e"])
    ('a, b, c, d', 'a, b, c and 2 more')
    """
    shown = names if len(names) <= MOST_NAMES + 1 else names[:MOST_NAMES]
    return between.join(shown) + (f" and {len(names) - len(shown)} more" if len(shown) < len(names) else "")


def _joined(names: Sequence[str]) -> str:
    """Columns with what they begin with said once.

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
