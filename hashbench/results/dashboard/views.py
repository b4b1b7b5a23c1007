"""The workspace that shows the runs of an experiment, built with `wandb-workspaces`."""

from __future__ import annotations

import hashlib
from typing import Any

import wandb_workspaces.expr as expr
import wandb_workspaces.reports.v2 as wr
import wandb_workspaces.workspaces as ws

from hashbench.results.dashboard.runs import MODEL, Shown, tag

MAX_RUNS = 100  # lines and bars of a panel; W&B shows ten by default
MAX_TITLE = 128  # letters, W&B's limit
SIZES = {"total_params": "all parameters", "emb_params": "parameters of the embedding"}
SPEED_UPS = {
    "speed_up/pretrain": "Pre-training, forward and backward",
    "speed_up/infer": "Inference, the slowest task",
    "speed_up/infer_high": "Inference, the fastest task",
}


def workspace(shown: Shown, *, project: str, entity: str) -> ws.Workspace:
    """The experiment's W&B workspace. Its panels share one set of runs: curves are grouped by kind, task and model."""
    view = ws.Workspace(
        entity=entity,
        project=project,
        name=f"hashbench {shown.measured.experiment.name}"[:MAX_TITLE],
        sections=[ws.Section(name=title, panels=panels, is_open=True) for title, panels in sections(shown).items()],
        settings=ws.WorkspaceSettings(x_axis="step", max_runs=MAX_RUNS),
        runset_settings=ws.RunsetSettings(
            filters=f"Tags() in [{tag(shown.measured.experiment.name)!r}]",
            groupby=[expr.Config(name) for name in ("kind", "task_name", "model_name")],
            pinned_columns=["summary:score", "summary:average", "summary:total_params", "summary:emb_params"],
        ),
    )
    view._internal_name = f"nw-{view_name(shown)}-v"  # its address: the same one again and again
    return view


def view_name(shown: Shown) -> str:
    """Eleven letters that identify the workspace of an experiment in its address."""
    return hashlib.sha256(f"hashbench {shown.measured.experiment.name}".encode()).hexdigest()[:11]


def sections(shown: Shown) -> dict[str, list[Any]]:
    """The panels that have numbers, by heading: average against parameters, scores, speed-up, curves."""
    names = {name for run in shown.runs if run.kind == MODEL for name in run.summary}
    scores = {f"score/{column.name}": f"{column.title} {column.subtitle}" for column in shown.table.columns}
    points = dict.fromkeys(name for run in shown.runs for _, values in run.history for name in values)
    panels: dict[str, list[Any]] = {
        "Average against parameters": [
            wr.ScatterPlot(
                title=f"Average score against {words}", x=wr.SummaryMetric(name), y=wr.SummaryMetric("average"),
                log_x=True, legend_template="${run:displayName}",
            )
            for name, words in SIZES.items() if {"average", name} <= names
        ],
        "Score per task": [_bars(title, name) for name, title in scores.items() if name in names],
        "Speed-up": [_bars(title, name) for name, title in SPEED_UPS.items() if name in names],
        "Curves by model (a line is a kind of run, a task and a model)": [
            wr.LinePlot(title=name, x="step", y=[name], max_runs_to_show=MAX_RUNS) for name in points
        ],
    }  # fmt: skip
    return {title: some for title, some in panels.items() if some}


def _bars(title: str, metric: str) -> wr.BarPlot:
    return wr.BarPlot(
        title=title, metrics=[metric], groupby=wr.Config("model_name"), max_bars_to_show=MAX_RUNS,
        max_runs_to_show=MAX_RUNS,
    )  # fmt: skip
