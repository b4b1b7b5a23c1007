"""`schema`: the keys of experiment files."""

from __future__ import annotations

import json

from tests.cli.commands import Run


def test_schema_is_json(run: Run) -> None:
    assert "pretrain" in json.loads(run("schema").out)["properties"]
