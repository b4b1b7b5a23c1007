"""An experiment as a sweep of Weights & Biases: its agents then call hashbench with one model, task and seed each."""

from __future__ import annotations

import io
import math
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hashbench.common.atomic import replace_text
from hashbench.common.errors import InputError
from hashbench.common.secrecy import argument_shown
from hashbench.models.embeddings.registry import groups
from hashbench.running.experiment.load import Loaded
from hashbench.running.experiment.models import resolve_baseline, resolve_models
from hashbench.running.experiment.tasks import find_tasks

AXES = ("models", "tasks", "seeds")


def wandb_sweep(loaded: Loaded, options: Sequence[str] = ()) -> dict[str, Any]:
    """A Weights & Biases sweep: a grid over models, tasks and seeds whose points together are the experiment's runs.

    A value is written as hashbench takes it behind `models=`: as a list of one. `options`: of hashbench sweep.
    """
    resolve_baseline(loaded, resolve_models(loaded))
    # As models= takes them: with a name come all its budgets and checkpoints.
    names: list[str] = []
    for entry in loaded.experiment.models:
        names += groups().get(entry, [entry]) if isinstance(entry, str) else [entry.name]
    values: dict[str, list[object]] = {
        "models": list(dict.fromkeys(names)),
        "tasks": [task.name for task in find_tasks(loaded)],
        "seeds": list(loaded.experiment.seeds),
    }
    kept = [override for keys, override in loaded.overrides.items() if keys[0] not in AXES]
    return {
        "program": "hashbench",
        "project": loaded.experiment.tracking.project,
        "name": loaded.experiment.name,
        "method": "grid",
        "parameters": {axis: {"values": [f"[{value}]" for value in values[axis]]} for axis in AXES},
        "command": ["${program}", "sweep", loaded.shown, *kept, *options, "${args_no_hyphens}"],
    }


def sweep_options(data: Sequence[str], db: str | None) -> list[str]:
    """The options of `hashbench sweep` for sources of data and a database (None: the default one).

    Raises InputError for an address with a password.

    >>> sweep_options(["~/data", "hub"], "other.db")
    ['--data', '~/data', '--data', 'hub', '--db', 'other.db']
    """
    if db is not None and argument_shown(db) != db:
        raise InputError(f"{argument_shown(db)}: its password does not go into a file; set HASHBENCH_DB instead")
    sources = [part for source in data for part in ("--data", source)]
    return sources if db is None else [*sources, "--db", db]


def write_wandb_sweep(loaded: Loaded, path: Path, options: Sequence[str] = ()) -> int:
    """Writes the sweep as YAML; returns the number of its points. Raises InputError for an unwritable file."""
    from ruamel.yaml import YAML

    sweep = wandb_sweep(loaded, options)
    text = io.StringIO()
    yaml = YAML()
    yaml.width = 1_000  # one value a line
    yaml.dump(sweep, text)
    whole = shlex.join(("hashbench", "sweep", loaded.shown, *loaded.overrides.values(), *options))
    head = (
        f"# {loaded.experiment.name}: a grid of calls of hashbench, which share what is done already in one database.\n"
        f"# wandb sweep {path.name}; then wandb agent in the folder where hashbench sweep would be called.\n"
        f"# The table of all of them, and what no grid has: {whole}\n"
    )
    try:
        replace_text(path, head + text.getvalue())
    except OSError as error:
        raise InputError(f"--export-wandb {path}: {error.strerror}; give a file in a folder that exists") from error
    return math.prod(len(axis["values"]) for axis in sweep["parameters"].values())
