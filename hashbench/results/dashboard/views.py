"""The workspace and the report that show the runs of an experiment, built with `wandb-workspaces`.

Both have the panels of `panels`; in the report each block also has its own filter, so that curves of different tasks
and of pre-training do not meet in one panel.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from typing import Any

import wandb_workspaces.expr as expr
import wandb_workspaces.reports.v2 as wr
import wandb_workspaces.workspaces as ws

from hashbench.results.dashboard.runs import EXPERIMENT, MODEL, Shown, tag, task_tag
from hashbench.results.rendering.registry import render
from hashbench.results.rendering.rows import json_text
from hashbench.results.tables.table import floor_note, table_floor

WIDTH, HEIGHT = 24, 9  # of the grid of a report, in its units
MAX_RUNS = 100  # lines and bars of a panel; W&B shows ten by default
MAX_TITLE = 128  # letters, W&B's limit
SIZES = {"total_params": "all parameters", "emb_params": "parameters of the embedding"}
SPEED_UPS = {
    "speed_up/pretrain": "Pre-training, forward and backward",
    "speed_up/infer": "Inference, the slowest task",
    "speed_up/infer_high": "Inference, the fastest task",
}


@dataclass(frozen=True)
class PanelBlock:
    """Panels under one heading, with the kind and task of the runs that they show."""

    title: str
    note: str  # what a reader must know
    kind: str  # of the runs
    panels: list[Any]
    task: str | None = None


def title_of(shown: Shown) -> str:
    """The title of the experiment's workspace and report."""
    return f"hashbench {shown.measured.experiment.name}"[:MAX_TITLE]


def blocks(shown: Shown) -> list[PanelBlock]:
    """All panels that have numbers: average against parameters, score per task, speed-up, and curves by model."""
    names = {name for run in shown.runs if run.kind == MODEL for name in run.summary}
    scores = {f"score/{column.name}": f"{column.title} {column.subtitle}" for column in shown.table.columns}
    baseline = shown.measured.experiment.baseline
    average = [column for column in shown.table.columns if column.name == "average"]
    floors = [line for column in average for line in floor_note(table_floor(shown.table, column), column)]
    every = [
        PanelBlock(
            "Average against parameters",
            "A point is a model: the mean over tasks of the means over seeds, 0 to 1. Parameters on a log scale."
            + "".join(f" {line}" for line in floors),
            MODEL,
            [
                wr.ScatterPlot(
                    title=f"Average score against {words}",
                    x=wr.SummaryMetric(name),
                    y=wr.SummaryMetric("average"),
                    log_x=True,
                    legend_template="${run:displayName}",
                )
                for name, words in SIZES.items()
                if {"average", name} <= names
            ],
        ),
        PanelBlock(
            "Score per task",
            "Means over seeds, 0 to 1 (correlations -1 to 1).",
            MODEL,
            [_bars(title, name) for name, title in scores.items() if name in names],
        ),
        PanelBlock(
            "Speed-up",
            f"Time of {baseline} over the model's, both measured in turn in one process; 1 is as fast.",
            MODEL,
            [_bars(title, name) for name, title in SPEED_UPS.items() if name in names],
        ),
    ]
    for task in (None, *shown.measured.tasks()):
        kinds = dict.fromkeys(run.kind for run in shown.runs if run.history and run.config["task_name"] == task)
        every += [_curves(shown, kind, task) for kind in kinds]
    return [block for block in every if block.panels]


def _bars(title: str, metric: str) -> wr.BarPlot:
    by_model = wr.Config("model_name")
    return wr.BarPlot(
        title=title, metrics=[metric], groupby=by_model, max_bars_to_show=MAX_RUNS, max_runs_to_show=MAX_RUNS
    )


def _curves(shown: Shown, kind: str, task: str | None) -> PanelBlock:
    """The line plots of runs of one kind and task: metrics of training first, then those of evaluations."""
    runs = [run for run in shown.runs if run.kind == kind and run.config["task_name"] == task]
    names = {name for run in runs for _, values in run.history for name in values}
    panels = [
        wr.LinePlot(
            title=name, x="step", y=[name], title_x="optimizer step", groupby=wr.Config("model_name"),
            groupby_aggfunc="mean", groupby_rangefunc="minmax", max_runs_to_show=MAX_RUNS,
        )
        for name in sorted(names, key=lambda name: (not name.startswith("train/"), name))
    ]  # fmt: skip
    note = "A line is a model: the mean over seeds, with the lowest and highest."
    return PanelBlock(f"Curves by model: {task or 'pre-training'}", note, kind, panels, task)


def workspace(shown: Shown, *, project: str, entity: str) -> ws.Workspace:
    """The experiment's W&B workspace. Its panels share one set of runs: curves are grouped by kind, task and model."""
    whole = blocks(shown)
    about_models = [block for block in whole if block.kind == MODEL]
    sections = [ws.Section(name=block.title, panels=block.panels, is_open=True) for block in about_models]
    names = dict.fromkeys(panel.y[0] for block in whole if block.kind != MODEL for panel in block.panels)
    if names:
        lines: list[Any] = [wr.LinePlot(title=name, x="step", y=[name], max_runs_to_show=MAX_RUNS) for name in names]
        sections.append(ws.Section(name="Curves by model (a line is a kind of run, a task and a model)", panels=lines))
    tables: list[Any] = [wr.WeavePanelSummaryTable(table_name=name) for name in ("scores", "sizes")]
    sections.append(ws.Section(name="Tables", panels=tables, is_open=True))
    view = ws.Workspace(
        entity=entity,
        project=project,
        name=title_of(shown),
        sections=sections,
        settings=ws.WorkspaceSettings(x_axis="step", max_runs=MAX_RUNS),
        runset_settings=ws.RunsetSettings(
            filters=_filter(shown),
            groupby=[expr.Config(name) for name in ("kind", "task_name", "model_name")],
            pinned_columns=["summary:score", "summary:average", "summary:total_params", "summary:emb_params"],
        ),
    )
    view._internal_name = f"nw-{view_name(shown)}-v"  # its address: the same one again and again
    return view


def view_name(shown: Shown) -> str:
    """Eleven letters that identify the workspace of an experiment in its address."""
    return hashlib.sha256(f"hashbench {shown.measured.experiment.name}".encode()).hexdigest()[:11]


def report(shown: Shown, *, project: str, entity: str) -> wr.Report:
    """The experiment's W&B report: its panels two in a row, its table as it is printed, the origins of its numbers."""
    parts: list[Any] = [wr.P(_opening(shown)), wr.TableOfContents()]
    for block in blocks(shown):
        filters = _filter(shown, kind=block.kind, task=block.task)
        runs = wr.Runset(project=project, entity=entity, name=block.title, filters=filters)
        for index, panel in enumerate(block.panels):
            panel.layout = wr.Layout(x=index % 2 * WIDTH // 2, y=index // 2 * HEIGHT, w=WIDTH // 2, h=HEIGHT)
        parts += [wr.H2(block.title), wr.P(block.note), wr.PanelGrid(runsets=[runs], panels=block.panels)]
    parts += [wr.H2("The table"), wr.MarkdownBlock(render([shown.table], "md"))]
    facts = next(run for run in shown.runs if run.kind == EXPERIMENT).config["said"]
    parts += [wr.H2("What the numbers stand on"), wr.UnorderedList(items=list(facts))]
    about = f"Rebuilt from the results of hashbench: {len(shown.runs)} W&B runs."
    return wr.Report(
        project=project, entity=entity, title=title_of(shown), description=about, blocks=parts, width="fluid"
    )


def _opening(shown: Shown) -> str:
    n = sum(run.kind not in (MODEL, EXPERIMENT) for run in shown.runs)
    unfinished = f"; {shown.n_open} more are not finished" if shown.n_open else ""
    return (
        f"Experiment {shown.measured.experiment.name}: {n} finished runs{unfinished}. Every run of the suite is a W&B "
        f"run; runs of kind '{MODEL}' hold what all runs of a model say together."
    )


def _filter(shown: Shown, *, kind: str | None = None, task: str | None = None) -> str:
    """The W&B filter expression for the experiment's runs of a kind and a task.

    By tags and job type, not by config: names of config keys are written in several ways in filters of W&B.
    """
    parts = [f"Tags() in [{tag(shown.measured.experiment.name)!r}]"]
    parts += [f"Metric('JobType') = {kind!r}"] if kind else []
    parts += [f"Tags() in [{task_tag(task)!r}]"] if task else []
    return " and ".join(parts)


def as_json(view: ws.Workspace | wr.Report) -> str:
    """The view as it is sent, with the library's random ids, of any length, replaced by numbers."""
    text = view._to_model().model_dump_json(by_alias=True, exclude_none=True, indent=1)
    text = re.sub(r'"(createdAt|updatedAt)": "[^"]*"', r'"\1": ""', text)
    numbers: dict[str, int] = {}

    def number(match: re.Match[str]) -> str:
        return f'{match[1]}"{numbers.setdefault(match[2], len(numbers))}"'

    return json_text(json.loads(re.sub(r'("(?:__id__|id)": )"([a-z0-9]+)"', number, text)))
