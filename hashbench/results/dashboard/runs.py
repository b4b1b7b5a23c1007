"""An experiment as W&B shows it, from the database alone: a W&B run for each finished run and each model.

Ids are functions of what a run is, so that the same database makes the same set of W&B runs wherever and however often.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hashbench.common.measured import MetricRow
from hashbench.results.dashboard.live import final_values, metric_name, run_config, run_label, wandb_id
from hashbench.results.read import queries
from hashbench.results.read.measured import PERCENT, Measured, measure
from hashbench.results.read.runs import Entry, MeasuredRun
from hashbench.results.tables.experiment import own_table
from hashbench.results.tables.notes import provenance, warnings
from hashbench.results.tables.request import paper_of
from hashbench.results.tables.table import Row, Table
from hashbench.store.engine import Store

TAG_LETTERS = 64  # W&B refuses a longer tag
MODEL = "model"  # the kind of W&B runs that are for a model, not for a run
# Name at W&B -> column or stored fact of the report; of a range the upper end under `_high`.
SIZES_OF_A_MODEL = {
    "total_params": "total_params",
    "emb_params": "emb_params",
    "weight_bytes": "weight_bytes",
    "peak_bytes": "peak_bytes",
    "pcr/all": "pcr_all",
    "pcr/embedding": "pcr_emb",
    "poep": "poep",
    "speed_up/pretrain": "pt_speedup",
    "speed_up/infer": "infer_speedup",
    "speed_up/infer_high": "infer_speedup",
    "ms/pretrain": "pt_ms",
    "ms/infer": "infer_ms",
    "ms/infer_high": "infer_ms",
}


@dataclass(frozen=True)
class ShownRun:
    """The data of one W&B run: config, curves and summary."""

    id: str
    name: str
    kind: str
    group: str
    tags: tuple[str, ...]
    config: Mapping[str, Any]
    # (optimizer step, values by name), steps rising.
    history: tuple[tuple[int, Mapping[str, float]], ...] = ()
    summary: Mapping[str, str | float] = field(default_factory=dict)

    def fingerprint(self) -> str:
        """SHA-256 of all fields, equal for runs with the same contents."""
        return hashlib.sha256(json.dumps(list(vars(self).values()), sort_keys=True, default=str).encode()).hexdigest()


@dataclass(frozen=True)
class Shown:
    """An experiment with the W&B runs that show it."""

    measured: Measured
    table: Table  # the experiment's own
    runs: tuple[ShownRun, ...]
    n_open: int  # runs that are not finished and therefore not shown


def shown(store: Store, experiment: str | None = None) -> Shown:
    """The W&B runs of the experiment of that name (None: the last swept): finished runs and models."""
    measured = measure(store, experiment)
    paper = paper_of(measured)
    table = own_table(measured, paper)
    metrics: dict[str, list[MetricRow]] = defaultdict(list)
    for point in measured.query(queries.METRICS, experiment=measured.experiment.id):
        value = MetricRow(*(point[name] for name in ("name", "value", "split", "step", "condition", "reason")))
        metrics[point["run_id"]].append(value)
    experiments: dict[str, list[str]] = defaultdict(list)
    for member in measured.query(queries.EXPERIMENTS_OF_RUNS, experiment=measured.experiment.id):
        experiments[member["run_id"]].append(member["name"])
    by_id: dict[str, MeasuredRun] = {}
    for run in measured.runs:  # a run under two labels is shown once, under the first
        by_id.setdefault(run.run_id, run)
    done = [run for run in by_id.values() if run.state == "done"]
    runs = [_finished(measured, run, metrics[run.run_id], experiments=experiments[run.run_id]) for run in done]
    ratios = measured.ratios("own")
    facts = [*warnings(measured, paper, table), *(f"{what}: {of}" for what, of in provenance(measured, paper, table))]
    for entry, row in zip(measured.entries, table.rows, strict=False):
        key = (entry.model, entry.encoder, "average")
        prr = ratios.get(key) if measured.has_one_entry(entry.model) else None
        runs.append(_model(measured, entry, row, table=table, prr=prr, facts=facts))
    return Shown(measured, table, tuple(runs), len(by_id) - len(done))


def _finished(
    measured: Measured, run: MeasuredRun, metrics: Sequence[MetricRow], *, experiments: Sequence[str]
) -> ShownRun:
    """The W&B run of a finished run: curves, final metrics, and `score`, the metric that the experiment reports."""
    summary: dict[str, Any] = {name: value for name, value in final_values(metrics).items() if value is not None}
    for score in measured.scores_of(run):
        if score.own and score.value is not None:
            summary["score"] = score.value
    missing = [f"{metric_name(row.split, row.name, row.condition)}: {row.reason}" for row in metrics if row.reason]
    if missing:
        summary["missing"] = "; ".join(dict.fromkeys(missing))
    summary["seconds"] = run.origin.seconds
    name = measured.experiment.name
    config = run_config(run.spec, model=run.model, task=run.task, encoder=run.encoder, experiment=name) | {
        "run_id": run.run_id,
        "data_fingerprint": run.fingerprint,
        "git_commit": run.origin.git_commit,
        "hardware": run.origin.hardware,
        "packages": dict(run.origin.packages),
        "notes": dict(run.origin.notes),
    }
    label = run_label(run.spec, run.model, run.task, run.seed)
    tags = tuple(map(tag, experiments)) + ((tag(f"task {run.task}"),) if run.task else ())
    return ShownRun(wandb_id(run.run_id), label, run.kind, name, tags, config, _curves(metrics), summary)


def _curves(metrics: Sequence[MetricRow]) -> tuple[tuple[int, Mapping[str, float]], ...]:
    """The run's metrics by step, without metrics that have no step or a special condition."""
    steps: dict[int, dict[str, float]] = {}
    for metric in metrics:
        if metric.split and metric.step > 0 and not metric.condition and metric.value is not None:
            steps.setdefault(metric.step, {})[metric_name(metric.split, metric.name)] = metric.value
    return tuple(sorted(steps.items()))


def _model(
    measured: Measured,
    entry: Entry,
    row: Row,
    *,
    table: Table,
    prr: tuple[float | None, int] | None,
    facts: Sequence[str],
) -> ShownRun:
    """The W&B run of a model: means over seeds, the average, sizes, ratios to the baseline, and their origins."""
    name = measured.experiment.name
    summary: dict[str, Any] = _sizes(measured, entry)
    for column in table.columns:
        value = row.cells[column.name].value
        if value is not None and column.measure in ("score", "average"):
            summary[column.name if column.measure == "average" else f"score/{column.name}"] = value / PERCENT
    if prr is not None and prr[0] is not None and not entry.is_baseline:
        summary["prr"], summary["prr_tasks"] = prr
    config = {
        "kind": MODEL, "model_name": entry.model, "task_name": None, "encoder": entry.encoder,
        "settings": entry.settings, "floor": entry.is_baseline, "experiment": name,
        "baseline": measured.experiment.baseline, "said": list(facts),
    }  # fmt: skip
    label = entry.model + (f" ({entry.settings})" if entry.settings else "")
    return ShownRun(_derived(MODEL, name, entry.encoder, label), label, MODEL, name, (tag(name),), config, (), summary)


def _sizes(measured: Measured, entry: Entry) -> dict[str, float]:
    """The measured sizes, times and ratios of a model in their natural range."""
    sizes: dict[str, float] = {}
    for title, name in SIZES_OF_A_MODEL.items():
        fact = measured.fact(entry, name) if not entry.is_baseline else None
        if fact is not None and fact.value is not None:
            high = fact.value_high if title.endswith("_high") else None
            sizes[title] = fact.value if high is None else high
    return sizes


def tag(text: str) -> str:
    """A W&B tag: of an experiment, on all of its runs, also on those shared with other experiments, or of a task."""
    return text[:TAG_LETTERS]


def _derived(*parts: str) -> str:
    """The W&B id of a model, which is no run of the sweep."""
    return wandb_id(hashlib.sha256(json.dumps(parts).encode()).hexdigest())
