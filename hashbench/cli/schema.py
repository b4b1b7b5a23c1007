"""`schema`: the keys of experiment files as JSON Schema."""

from __future__ import annotations

from hashbench.cli.output import print_json


def schema() -> None:
    """Print the JSON Schema of experiment files, from which editors complete keys.

    Example: hashbench schema > experiment.schema.json
    """
    from hashbench.running.experiment.schema import json_schema

    print_json({"$schema": "https://json-schema.org/draft/2020-12/schema", **json_schema()})
