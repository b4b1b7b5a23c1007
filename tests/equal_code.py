"""Declares that the code of two commits computes the same, so that reports do not call their runs "different code".

    git worktree add /tmp/before COMMIT && cd /tmp/before && python tests/equal_code.py --write /tmp/before.json
    cd - && python tests/equal_code.py /tmp/before.json

The second command adds a row to `hashbench/results/read/equal_code.csv` for each fingerprint that has changed, for
every kind of run, kind of task and model. Do this only if results are equal bit for bit: do one run of each kind on
both commits and compare metrics and predictions. A change of behaviour gets no row.
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from hashbench.common.errors import InputError  # noqa: E402
from hashbench.data.tasks.catalogue import known_kinds  # noqa: E402
from hashbench.models.embeddings.registry import models  # noqa: E402
from hashbench.running.experiment.load import load_experiment  # noqa: E402
from hashbench.running.experiment.models import resolve_models  # noqa: E402
from hashbench.running.runs.base import kinds  # noqa: E402
from hashbench.running.runs.provenance import files_of, fingerprint, modules_of  # noqa: E402

TABLE = ROOT / "hashbench" / "results" / "read" / "equal_code.csv"


def fingerprints() -> dict[str, str]:
    """Fingerprints by "kind|task" of a run's shared code, and by "kind|task|model" of what a model adds to it."""
    specs = {f"model {name}": spec for name, spec in models().items()}
    for file in sorted((ROOT / "experiments").glob("*.yaml")):
        try:
            resolved = resolve_models(load_experiment(file))
        except InputError:  # it needs the hub
            continue
        specs |= {f"{file.stem} {label}": model.spec for label, model in resolved.items()}
    closures = {modules: files_of(modules) for modules in {frozenset(modules_of(spec)) for spec in specs.values()}}
    digests = {}
    for kind in kinds().values():
        for task, task_kind in [(None, None), *known_kinds().items()]:
            shared = files_of([type(part).__module__ for part in (kind, task_kind) if part is not None])
            digests[f"{kind.name}|{task}"] = fingerprint(shared)
            for name, spec in specs.items():
                if added := closures[frozenset(modules_of(spec))] - shared:
                    digests[f"{kind.name}|{task}|{name}"] = fingerprint(added)
    return digests


def merged(rows: Mapping[str, str], before: Mapping[str, str], now: Mapping[str, str]) -> dict[str, str]:
    """The rows (earlier -> latest fingerprint) with the step from `before` to `now` added.

    Raises ValueError if one fingerprint of `before` is several now: then runs that shared code no longer do.
    """
    step: dict[str, set[str]] = {}
    # Those without a task last: kinds that have one make no such run, and what they share with others is no conflict
    for key in sorted(before.keys() & now.keys(), key=lambda key: "|None" in key):
        if "|None" not in key or before[key] not in step:
            step.setdefault(before[key], set()).add(now[key])
    several = {old: sorted(new) for old, new in step.items() if len(new) > 1}
    if several:
        raise ValueError(f"one fingerprint became several: {several}")
    newest = {old: new.pop() for old, new in step.items()}
    joined = {old: newest.get(latest, latest) for old, latest in rows.items()}
    return dict(sorted((joined | {old: new for old, new in newest.items() if old != new}).items()))


def main() -> int:
    """Writes the fingerprints of this checkout, or the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", nargs="?", type=Path, help="fingerprints of the commit before")
    parser.add_argument("--write", type=Path, help="write the fingerprints of this checkout to this file")
    options = parser.parse_args()
    now = fingerprints()
    if options.write:
        options.write.write_text(json.dumps(now, indent=0))
        return 0
    rows = dict(csv.reader(TABLE.open())) if TABLE.is_file() else {}
    rows = merged(rows, json.loads(options.before.read_text()), now)
    with TABLE.open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(rows.items())
    print(f"{TABLE.relative_to(ROOT)}: {len(rows)} rows")
    return 0


if __name__ == "__main__":
    sys.exit(main())
