"""The workspace must have the promised panels, over names that the runs really have."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("wandb_workspaces", reason="wandb-workspaces is an extra")

from hashbench.results.dashboard import views  # noqa: E402
from hashbench.results.dashboard.runs import MODEL, shown  # noqa: E402

HEADINGS = [
    "Average against parameters", "Score per task", "Speed-up",
    "Curves by model (a line is a kind of run, a task and a model)",
]  # fmt: skip


def as_data(view) -> dict:
    return json.loads(view._to_model().model_dump_json(by_alias=True, exclude_none=True))


def panels(node) -> list[dict]:
    """Every panel below a node of the JSON."""
    if isinstance(node, list):
        return [panel for one in node for panel in panels(one)]
    if not isinstance(node, dict):
        return []
    return [node] if "viewType" in node else [panel for one in node.values() for panel in panels(one)]


@pytest.fixture
def whole(store):
    return shown(store)


def test_the_promised_sections_are_there(whole) -> None:
    assert list(views.sections(whole)) == HEADINGS


def test_every_panel_reads_a_name_that_a_run_has(whole) -> None:
    of_models = {name for run in whole.runs if run.kind == MODEL for name in run.summary}
    of_curves = {name for run in whole.runs for _, values in run.history for name in values}
    for title, some in views.sections(whole).items():
        for panel in some:
            read = panel.y if hasattr(panel, "y") and isinstance(panel.y, list) else getattr(panel, "metrics", None)
            read = read or [panel.x.name, panel.y.name]
            assert set(read) <= (of_curves if title.startswith("Curves") else of_models), panel.title


def test_the_workspace_has_all_panels_and_one_address(whole) -> None:
    first, again = (as_data(views.workspace(whole, project="p", entity="e")) for _ in range(2))
    assert first["name"] == again["name"]
    assert first["name"] == f"nw-{views.view_name(whole)}-v"
    titles = {panel["config"].get("chartTitle") for panel in panels(first)}
    assert {"Average score against all parameters", "Pre-training, forward and backward", "train/loss"} <= titles
    kinds = {panel["viewType"] for panel in panels(first)}
    assert {"Scatter Plot", "Bar Chart", "Run History Line Plot"} <= kinds
