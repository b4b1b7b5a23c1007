"""Keys of experiments that an older version stored: one that it did not know yet has the default of the schema."""

from __future__ import annotations

from collections.abc import Mapping

from hashbench.running.experiment.schema import Experiment


def stored_value(config: Mapping[str, object], key: str) -> object:
    """The value of a key of a stored experiment.

    >>> stored_value({"name": "small", "retries": 3}, "retries"), stored_value({"name": "small"}, "retries")
    (3, 1)
    """
    return config[key] if key in config else Experiment.model_fields[key].default
