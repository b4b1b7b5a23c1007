"""Experiments as the store keeps them."""

from __future__ import annotations

import json
from pathlib import Path

from hashbench.errors import InputError
from hashbench.experiment.load import Loaded
from hashbench.experiment.schema import Experiment
from hashbench.store.engine import Store
from hashbench.store.status import experiments, runs


def experiment_of(store: Store, run_id: str) -> tuple[Loaded, str, tuple[str, ...]]:
    """The experiment that a run belongs to, as the store keeps it, the run's label there, and the sources that its
    sweep had, none where that is not known."""
    for stored in experiments(store):
        for row in runs(store, stored.id):
            if row.run_id == run_id:
                values = {key: stored.config[key] for key in Experiment.model_fields if key in stored.config}
                experiment = Experiment.model_validate_json(json.dumps(values))
                loaded = Loaded(experiment, Path.cwd() / "store.yaml", store.name, values)
                return loaded, row.model, tuple(stored.config.get("provenance", {}).get("sources", ()))
    raise InputError(f"{store.name}: run {run_id[:8]} belongs to no experiment; name another")
