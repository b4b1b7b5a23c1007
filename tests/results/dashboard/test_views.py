"""The workspace and the report must have the promised panels, over names that the runs really have."""

from __future__ import annotations

import itertools
import json

import pytest

pytest.importorskip("wandb_workspaces", reason="wandb-workspaces is an extra")

from hashbench.results.dashboard import views  # noqa: E402
from hashbench.results.dashboard.runs import shown  # noqa: E402

HEADINGS = [
    "Average against parameters", "Score per task", "Speed-up", "Curves by model: pre-training",
    "Curves by model: cola", "Curves by model: sst2",
]  # fmt: skip


def as_data(view) -> dict:
    return json.loads(views.as_json(view))


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


def test_the_promised_blocks_are_there(whole) -> None:
    assert [block.title for block in views.blocks(whole)] == HEADINGS


def test_every_panel_reads_a_name_that_a_run_of_its_block_has(whole) -> None:
    for block in views.blocks(whole):
        runs = [run for run in whole.runs if run.kind == block.kind]
        names = {name for run in runs for name in run.summary}
        names |= {name for run in runs for _, values in run.history for name in values}
        assert runs and names and block.panels, block.title
        for panel in block.panels:
            read = panel.y if hasattr(panel, "y") and isinstance(panel.y, list) else getattr(panel, "metrics", None)
            read = read or [panel.x.name, panel.y.name]
            assert set(read) <= names, panel.title


def test_the_report_filters_each_block(whole) -> None:
    data = as_data(views.report(whole, project="p", entity=""))
    grids = [block for block in data["spec"]["blocks"] if block["type"] == "panel-grid"]
    filters = [
        [(one["key"]["name"], one["value"]) for one in grid["metadata"]["runSets"][0]["filters"]["filters"]]
        for grid in grids
    ]
    assert filters[0] == [("tags", ["made-up"]), ("jobType", "model")]
    assert filters[-1] == [("tags", ["made-up"]), ("jobType", "finetune"), ("tags", ["task sst2"])]
    assert len(grids) == len(HEADINGS)
    places = [[(panel["layout"]["x"], panel["layout"]["y"]) for panel in panels(grid)] for grid in grids]
    longest = max(places, key=len)
    assert len(longest) > 2  # two in a row
    for row in range(0, len(longest) - 1, 2):
        (left, top), (right, beside) = longest[row : row + 2]
        assert left == 0 < right and top == beside == row // 2 * views.HEIGHT
    assert "hashformer-lsh-proj" in json.dumps(data["spec"]["blocks"][-5:])  # the table as it is printed


def test_the_workspace_has_all_panels_and_one_address(whole) -> None:
    first, again = (as_data(views.workspace(whole, project="p", entity="e")) for _ in range(2))
    assert first == again and first["name"] == f"nw-{views.view_name(whole)}-v"
    titles = {panel["config"].get("chartTitle") for panel in panels(first)}
    assert {"Average score against all parameters", "Pre-training, forward and backward", "train/loss"} <= titles
    kinds = {panel["viewType"] for panel in panels(first)}
    assert {"Scatter Plot", "Bar Chart", "Run History Line Plot"} <= kinds


@pytest.mark.parametrize("view, entity", [(views.report, ""), (views.workspace, "e")])
def test_a_view_is_the_same_again_whatever_ids_are_drawn(whole, view, entity, monkeypatch) -> None:
    """The library draws an id from the digits of a random number, so an id may have one character or twelve."""
    draws = (float(f"0.{n}1" if n % 3 else f"0.{n}987654321098") for n in itertools.count(1))
    monkeypatch.setattr("random.random", lambda: next(draws))
    texts = [views.as_json(view(whole, project="p", entity=entity)) for _ in range(3)]
    assert len(set(texts)) == 1
