"""`data list`: what the sources have."""

from __future__ import annotations

import json

from tests.cli.commands import Run


def test_data_list(run: Run) -> None:
    rows = json.loads(run("data", "list", "--data", "builtin", "--format", "json").out)
    assert [row["name"] for row in rows if row["kind"] == "task"].count("cola") == 1
    assert "builtin" in [row["name"] for row in rows if row["kind"] == "corpus"]
