"""The workspace and the report that show the runs of an experiment, built with `wandb-workspaces`.

Both have the panels of `panels`; in the report each block also has its own filter, so that curves of different tasks
and of pre-training do not meet in one panel.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hashbench.dashboard.runs import EXPERIMENT, MODEL, Shown, tag, task_tag
from hashbench.rendering.registry import render

if TYPE_CHECKING:
    import wandb_workspaces.reports.v2 as wr
    import wandb_workspaces.workspaces as ws

WIDTH, HEIGHT = 24, 9  # of the grid of a report, in its units
MAX_RUNS = 100  # lines and bars of a panel; W&B shows ten unless told
MAX_TITLE = 128  # letters, W&B's limit


@dataclass(frozen=True)
class Block:
    """Some panels under a heading, and which runs they are of."""

    title: str
    said: str  # what a reader must know
    kind: str  # of the runs
    panels: tuple[Any, ...]
    task: str | None = None


def title_of(shown: Shown) -> str:
    """Of the workspace and the report; of one name there is one of each in a project."""
    return f"hashbench {shown.measured.experiment.name}"[:MAX_TITLE]


def blocks(shown: Shown) -> list[Block]:
    """Average against parameters, score per task, speed-up, curves by model; without those that have no numbers."""
    found = [_against_parameters(shown), _score_per_task(shown), _speed_up(shown), *_curves(shown)]
    return [block for block in found if block.panels]


def _names(shown: Shown, kind: str, task: str | None = None) -> set[str]:
    """Names of final metrics that runs of a kind (and task) have."""
    of = [run for run in shown.runs if run.kind == kind and (task is None or run.config["task_name"] == task)]
    return {name for run in of for name in run.summary}


def _against_parameters(shown: Shown) -> Block:
    import wandb_workspaces.reports.v2 as wr

    names = _names(shown, MODEL)
    sizes = [("total_params", "all parameters"), ("emb_params", "parameters of the embedding")]
    panels = [
        wr.ScatterPlot(
            title=f"Average score against {words}",
            x=wr.SummaryMetric(name),
            y=wr.SummaryMetric("average"),
            log_x=True,
            legend_template="${run:displayName}",
        )
        for name, words in sizes
        if {"average", name} <= names
    ]
    said = "A point is a model: the mean over tasks of the means over seeds, 0 to 1. Parameters on a log scale."
    return Block("Average against parameters", said, MODEL, tuple(panels))


def _score_per_task(shown: Shown) -> Block:
    titles = {column.name: (column.title, column.subtitle) for column in shown.table.columns}
    scores = [f"score/{name}" for name in titles if f"score/{name}" in _names(shown, MODEL)]
    panels = [_bars(" ".join(titles[name.removeprefix("score/")]), name) for name in scores]
    return Block("Score per task", "Means over seeds, 0 to 1 (correlations -1 to 1).", MODEL, tuple(panels))


def _speed_up(shown: Shown) -> Block:
    words = {
        "speed_up/pretrain": "Pre-training, forward and backward",
        "speed_up/infer": "Inference, the slowest task",
        "speed_up/infer_high": "Inference, the fastest task",
    }
    panels = [_bars(title, name) for name, title in words.items() if name in _names(shown, MODEL)]
    baseline = shown.measured.experiment.baseline
    said = f"Time of {baseline} over the model's, both measured in turn in one process; 1 is as fast."
    return Block("Speed-up", said, MODEL, tuple(panels))


def _bars(title: str, metric: str) -> Any:
    import wandb_workspaces.reports.v2 as wr

    by_model = wr.Config("model_name")
    return wr.BarPlot(
        title=title, metrics=[metric], groupby=by_model, max_bars_to_show=MAX_RUNS, max_runs_to_show=MAX_RUNS
    )


def _curves(shown: Shown) -> list[Block]:
    """One block for pre-training and one for each task: the loss of training, and each metric that was evaluated."""
    found = [_curves_of(shown, "pretrain", None, "Curves by model: pre-training")]
    for task in shown.measured.tasks():
        kinds = dict.fromkeys(run.kind for run in shown.runs if run.history and run.config["task_name"] == task)
        found += [_curves_of(shown, kind, task, f"Curves by model: {task}") for kind in kinds]
    return found


def _curves_of(shown: Shown, kind: str, task: str | None, title: str) -> Block:
    import wandb_workspaces.reports.v2 as wr

    runs = [run for run in shown.runs if run.kind == kind and run.config["task_name"] == task]
    names = dict.fromkeys(name for run in runs for _, values in run.history for name in values)
    panels = [
        wr.LinePlot(
            title=name,
            x="step",
            y=[name],
            title_x="optimizer step",
            groupby=wr.Config("model_name"),
            groupby_aggfunc="mean",
            groupby_rangefunc="minmax",
            max_runs_to_show=MAX_RUNS,
        )
        for name in sorted(names, key=lambda name: (not name.startswith("train/"), name))
    ]
    said = "A line is a model: the mean over seeds, with the lowest and highest."
    return Block(title, said, kind, tuple(panels), task)


def workspace(shown: Shown, *, project: str, entity: str) -> ws.Workspace:
    """A saved view of the project. Its panels share one set of runs: curves are grouped by kind, task and model."""
    import wandb_workspaces.expr as expr
    import wandb_workspaces.reports.v2 as wr
    import wandb_workspaces.workspaces as ws

    found = blocks(shown)
    names = dict.fromkeys(panel.y[0] for block in found if block.kind != MODEL for panel in block.panels)
    lines: list[Any] = [wr.LinePlot(title=str(name), x="step", y=[name], max_runs_to_show=MAX_RUNS) for name in names]
    sections = [
        ws.Section(name=block.title, panels=list(block.panels), is_open=True) for block in found if block.kind == MODEL
    ]
    if names:
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
    """Eleven letters that stand for the workspace of an experiment in its address."""
    return hashlib.sha256(f"hashbench {shown.measured.experiment.name}".encode()).hexdigest()[:11]


def report(shown: Shown, *, project: str, entity: str) -> wr.Report:
    """The experiment as a page: what it stands on, its panels, its table as it is printed."""
    import wandb_workspaces.reports.v2 as wr

    parts: list[Any] = [wr.P(_opening(shown)), wr.TableOfContents()]
    said = next(run for run in shown.runs if run.kind == EXPERIMENT).config["said"]
    for block in blocks(shown):
        runs = wr.Runset(
            project=project, entity=entity, name=block.title, filters=_filter(shown, kind=block.kind, task=block.task)
        )
        grid = wr.PanelGrid(runsets=[runs], panels=list(_laid_out(block.panels)))
        parts += [wr.H2(block.title), wr.P(block.said), grid]
    parts += [wr.H2("The table"), wr.MarkdownBlock(render([shown.table], "md"))]
    parts += [wr.H2("What the numbers stand on"), wr.UnorderedList(items=list(said))]
    about = f"Rebuilt from the results of hashbench: {len(shown.runs)} W&B runs."
    return wr.Report(
        project=project, entity=entity, title=title_of(shown), description=about, blocks=parts, width="fluid"
    )


def _opening(shown: Shown) -> str:
    n = sum(run.kind not in (MODEL, EXPERIMENT) for run in shown.runs)
    left = f"; {shown.n_open} more are not finished" if shown.n_open else ""
    return (
        f"Experiment {shown.measured.experiment.name}: {n} finished runs{left}. Every run of the suite is a W&B run; "
        f"runs of kind '{MODEL}' hold what all runs of a model say together."
    )


def _laid_out(panels: Iterable[Any]) -> Iterable[Any]:
    """Panels two in a row."""
    import wandb_workspaces.reports.v2 as wr

    for index, panel in enumerate(panels):
        panel.layout = wr.Layout(x=index % 2 * WIDTH // 2, y=index // 2 * HEIGHT, w=WIDTH // 2, h=HEIGHT)
        yield panel


def _filter(shown: Shown, *, kind: str | None = None, task: str | None = None) -> str:
    """The runs of the experiment (shared ones carry the tags of all that have them), of a kind and a task.

    By tags and job type, not by config: names of config keys are written in several ways in filters of W&B.
    """
    parts = [f"Tags() in [{tag(shown.measured.experiment.name)!r}]"]
    parts += [f"Metric('JobType') = {kind!r}"] if kind else []
    parts += [f"Tags() in [{task_tag(task)!r}]"] if task else []
    return " and ".join(parts)


def as_json(view: ws.Workspace | wr.Report) -> str:
    """What would be sent, with the library's random ids of panels and runsets replaced by numbers."""
    text = view._to_model().model_dump_json(by_alias=True, exclude_none=True, indent=1)
    text = re.sub(r'"(createdAt|updatedAt)": "[^"]*"', r'"\1": ""', text)
    numbers: dict[str, str] = {}

    def number(match: re.Match[str]) -> str:
        random_id = match.group(2)
        numbers.setdefault(random_id, str(len(numbers)))
        return f'{match.group(1)}"{numbers[random_id]}"'

    return json.dumps(json.loads(re.sub(r'("(?:__id__|id)": )"([a-z0-9]{8,13})"', number, text)), indent=1) + "\n"
