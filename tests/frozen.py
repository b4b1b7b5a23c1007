"""What stored results say, in a file, so that a change of the code can be held against it.

    python tests/frozen.py --data FOLDER --data builtin --write tests/frozen.json.gz
    python tests/frozen.py --data FOLDER --data builtin --against tests/frozen.json.gz

The first at the commit that is the reference, the second after a change: a line for each difference.
It holds each cell of every table, each verdict and difference with its interval of the example database, each planned
run of the files in `experiments/`, and the fingerprints of their data. Words and layout are left out. Numbers are equal
within a billionth, since processors round sums differently.

A rule that changes numbers on purpose writes the file anew, and its commit names them.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import io
import json
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
DATABASE = ROOT / "results.db.example"
PAPERS = {
    "hashformers": "1,2,3,4,5,6",
    "eelbert": "1,2,3,4,5",
    "superbloom": "1,2,3,4,5,6,7,figure-3",
    "proformer": "1,2,3,4",
}
TABLES = ("budgets", "encoders", "links", "pairs", "paper", "robustness", "scripts")
# Of a table's cell, a claim and a difference: what identifies it, and what it says
CELL = ("paper", "table", "experiment", "encoder", "model", "column")
SAYS = ("value", "value_high", "std", "n", "unit", "published", "rating", "signs")
CLAIM = ("id", "paper")
DECIDED = ("verdict", "because", "value", "low", "high", "exact", "seeds", "n_examples", "published_holds")
KEPT = ("task", "metric", "perturbation", "rate", "model", "measure", "versus")
TASK = ("model", "task", "metric", "split")
DIFFERENCE = ("a", "b", "a-b", "low", "high", "decided", "seeds", "examples")

GROUPS = ("cells", "claims", "robustness", "differences", "planned", "data")

Facts = dict[str, Any]  # name of a fact -> its value, JSON


def frozen(data: list[str], groups: Sequence[str] = GROUPS) -> dict[str, Facts]:
    """All facts by their group, of these groups alone."""
    experiments = asked("list")
    names = [str(row["experiment"]) for row in experiments]
    models = {row["experiment"]: [name for name in row["models"].split(", ") if name] for row in experiments}
    planned, fingerprints = planned_runs(data) if {"planned", "data"} & set(groups) else ({}, {})
    facts: dict[str, Callable[[], Facts]] = {
        "cells": lambda: dict(fact for name in names for fact in cells(name)),
        "claims": lambda: dict(fact for name in names for fact in claims(name)),
        "robustness": lambda: dict(fact for name in names for fact in robustness(name)),
        "differences": lambda: dict(fact for name in names for fact in differences(name, models[name])),
        "planned": lambda: planned,
        "data": lambda: fingerprints,
    }
    return {group: facts[group]() for group in groups}


def asked(*arguments: str) -> Any:
    """What a command prints as JSON; an empty list where it refuses, such as a table without any cell."""
    from hashbench.cli.app import main as command

    out = io.StringIO()
    with redirect_stdout(out), redirect_stderr(io.StringIO()), contextlib.suppress(SystemExit):
        command([*arguments, "--db", str(DATABASE), "--format", "json"])
    return json.loads(out.getvalue() or "[]")


def cells(name: str) -> Iterator[tuple[str, Any]]:
    """Each cell of the experiment's own tables and of those of each paper."""
    for options in ([], ["--all-metrics"], *(["--table", table] for table in TABLES)):
        for cell in asked("report", name, *options):
            yield fact(cell, CELL, SAYS, prefix=" ".join(options))
    for paper, tables in PAPERS.items():
        for cell in asked("report", name, "--paper", paper, "--table", tables):
            yield fact(cell, CELL, SAYS, prefix=name)


def claims(name: str) -> Iterator[tuple[str, Any]]:
    """Each claim's verdict with its difference and interval."""
    for paper in ("", *PAPERS):
        for group in asked("report", "claims", name, *(["--paper", paper] if paper else [])):
            for claim in group["claims"]:
                yield fact(claim, CLAIM, DECIDED, prefix=name)


def robustness(name: str) -> Iterator[tuple[str, Any]]:
    """Each score on noisy texts, and the share of it that is kept, with its interval."""
    for row in asked("report", "robustness", name):
        yield fact(row, KEPT, ("value", "low", "high", "n_seeds", "n_examples"), prefix=name)


def differences(name: str, models: list[str]) -> Iterator[tuple[str, Any]]:
    """The difference of the first model and each other one, by task."""
    for other in models[1:]:
        for row in asked("compare", name, models[0], other):
            yield fact(row, TASK, DIFFERENCE, prefix=f"{name} {models[0]} - {other}")


def fact(row: dict[str, Any], names: tuple[str, ...], values: tuple[str, ...], *, prefix: str) -> tuple[str, Any]:
    """A row as its name and what it says."""
    name = " | ".join([prefix, *(str(row.get(part)) for part in names)])
    return name, {value: row.get(value) for value in values}


def planned_runs(data: list[str]) -> tuple[Facts, Facts]:
    """Ids of the planned runs of each file, if it has a plan here, and fingerprints of the data of its tasks."""
    from hashbench.common.errors import InputError
    from hashbench.running.experiment.load import load_experiment
    from hashbench.running.sweep.plan import plan

    runs: Facts = {}
    fingerprints: Facts = {}
    for file in sorted((ROOT / "experiments").glob("*.yaml")):
        try:
            planned = plan(load_experiment(file), data=data, dry=True, here=False)
        except InputError:
            runs[file.stem] = "no plan: something that it reads is not at hand"
            continue
        for run in planned.runs:
            # What is measured on this machine has its name in the id.
            run_id = "" if run.kind == "efficiency" else run.id
            runs[f"{file.stem} | {run.kind} | {run.model} | {run.task} | {run.seed} | {run_id}"] = True
        for entry in planned.resolved.tasks:
            fingerprints[f"{file.stem} | {entry.task.name}"] = entry.fingerprint
        for name, corpus in planned.resolved.corpora.items():
            fingerprints[f"{file.stem} | corpus {name}"] = corpus.fingerprint
    return runs, fingerprints


def compared(before: dict[str, Facts], now: dict[str, Facts]) -> Iterator[str]:
    """A line for each fact that is another one, is gone, or is new."""
    for group in before.keys() | now.keys():
        old, new = before.get(group, {}), now.get(group, {})
        for name in sorted(old.keys() | new.keys()):
            if name not in new:
                yield f"{group}: gone: {name}: {old[name]}"
            elif name not in old:
                yield f"{group}: new: {name}: {new[name]}"
            elif not equal(old[name], new[name]):
                yield f"{group}: {name}: {changes(old[name], new[name])}"


def changes(old: Any, new: Any) -> str:
    """What changed of a fact, in a line."""
    if not isinstance(old, dict) or not isinstance(new, dict):
        return f"{old} -> {new}"
    return ", ".join(f"{key} {old.get(key)} -> {new.get(key)}" for key in old if not equal(old.get(key), new.get(key)))


def equal(old: Any, new: Any) -> bool:
    """True where two JSON values are the same, numbers within a billionth."""
    if isinstance(old, dict) and isinstance(new, dict):
        return old.keys() == new.keys() and all(equal(old[key], new[key]) for key in old)
    if isinstance(old, list) and isinstance(new, list):
        return len(old) == len(new) and all(map(equal, old, new))
    if isinstance(old, float) and isinstance(new, float):
        return math.isclose(old, new, rel_tol=1e-9, abs_tol=1e-9)
    return bool(old == new)


def main() -> int:
    """Writes the facts, or prints how they differ from those written before; 1 where they do."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", action="append", required=True, help="the folder of the data; repeat it for several")
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument("--write", type=Path)
    where.add_argument("--against", type=Path)
    parser.add_argument("--only", action="append", choices=GROUPS, help="a group to compare; repeat it for several")
    options = parser.parse_args()
    if options.write is not None and options.only:
        parser.error("--only: what is written has all groups")
    facts = frozen(options.data, options.only or GROUPS)
    if options.write is not None:
        with gzip.GzipFile(options.write, "wb", mtime=0) as file:  # the same bytes for the same facts
            file.write(json.dumps(facts, indent=0, sort_keys=True).encode())
        print({group: len(of_group) for group, of_group in facts.items()})
        return 0
    before = json.loads(gzip.decompress(options.against.read_bytes()))
    lines = list(compared({group: before[group] for group in facts}, facts))
    print(*lines, f"{len(lines)} differences", sep="\n")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
