"""The time that a text takes each model beside the baseline, for `check --measure`: as an efficiency run has it."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from filelock import FileLock

from hashbench.common.showing import duration_text
from hashbench.data.tasks.base import LocatedTask
from hashbench.models.text.compiled import usable_cores
from hashbench.running.efficiency.measure import Setting, device_of, inference_facts
from hashbench.running.experiment.identity import canonical, device_block
from hashbench.running.experiment.measured_before import recall, remember
from hashbench.running.experiment.models import ResolvedModel
from hashbench.running.experiment.resolved import ResolvedExperiment, SummaryRow, needs_corpus, task_block
from hashbench.running.experiment.schema import Efficiency
from hashbench.running.runs.efficiency import candidate, recipes_of
from hashbench.running.runs.materials import Materials
from hashbench.running.runs.provenance import hardware_name

KIND = "text-time"  # of a record
TITLE = "time of a text on this machine, weights fresh: ms from text to output, and times the baseline's, 95 % interval"
COMPARED = (
    "each model takes turns with the baseline, one model after the other: ms of two models are of different minutes, "
    "so compare models by the last column"
)
NOT_MEASURED = "not measured"
TEXTS = 16  # of the task: enough for a ratio, few enough for a large encoder on a CPU
OPTIONS = Efficiency(infer_samples=TEXTS, limit_s=3.0)


def take(resolved: ResolvedExperiment, materials: Materials) -> None:
    """Times every model in turn with the baseline, if nobody has; what was measured is kept in the cache."""
    task = _task(resolved)
    if task is None:
        return
    for model in _models(resolved):
        digest = _digest(resolved, model, task)
        if recall(KIND, digest) is not None:
            continue
        setting = Setting(resolved.experiment.encoder, OPTIONS, device_of(resolved.experiment.device), materials.cache)
        timed, baseline = (candidate(of_model, materials) for of_model in (model, resolved.baseline))
        # two measurements at once would time each other
        with FileLock(materials.cache / "measuring.lock"), _threads(resolved.experiment.threads):
            facts = inference_facts(timed, baseline, materials.task_data(task.task.name), setting)
        values = {fact.name: fact.value for fact in facts}
        names = {"ms": "infer_text_ms", "low": "infer_text_ms_speedup_low", "high": "infer_text_ms_speedup_high"}
        moment = {"at": time.time(), "load": os.getloadavg()[0]}
        remember(KIND, digest, {name: values[fact] for name, fact in names.items()} | moment)


def rows(resolved: ResolvedExperiment) -> list[SummaryRow]:
    """A row for each model; none where nothing was measured."""
    task, records = _task(resolved), _records(resolved)
    if task is None or not any(records.values()):
        return []
    return [{"model": label, **_in_short(record, task.task.name)} for label, record in records.items()]


def _records(resolved: ResolvedExperiment) -> dict[str, dict[str, Any] | None]:
    """The record of each model, by label; None for one that was not measured."""
    task = _task(resolved)
    return {} if task is None else {m.label: recall(KIND, _digest(resolved, m, task)) for m in _models(resolved)}


def _in_short(record: dict[str, Any] | None, task: str) -> SummaryRow:
    """The time in milliseconds, and its ratio to the baseline's as an interval."""
    if record is None:
        return {f"{task}, ms": NOT_MEASURED, "times the baseline's": None}
    # Kept is how many times faster the model is
    low, high = (None if record[name] is None else 1.0 / record[name] for name in ("high", "low"))
    ratio = None if low is None or high is None else f"{low:.2f} to {high:.2f}"
    return {f"{task}, ms": float(f"{record['ms']:.3g}"), "times the baseline's": ratio}


def _models(resolved: ResolvedExperiment) -> Iterator[ResolvedModel]:
    """The models; an earlier step of a training takes as long as its end."""
    return (model for model in resolved.models.values() if model.checkpoint is None)


def notes(resolved: ResolvedExperiment) -> list[str]:
    """When the times were measured and how to compare them; or that none are, because the baseline cannot be made."""
    if _has_baseline(resolved):
        records = [record for record in _records(resolved).values() if record is not None]
        return [_when(records), COMPARED] if records else []
    label = resolved.baseline.label
    return [
        f"baseline {label} is none of the models, and its corpus is not read here; set baseline to a model of the file"
    ]


def _when(records: list[dict[str, Any]]) -> str:
    """When records were measured, and the machine's load in that minute."""
    dated = [record for record in records if "at" in record]
    if not dated:
        return "measured at a time that was not noted"
    ages = [duration_text(max(0.0, time.time() - record["at"])) for record in sorted(dated, key=lambda r: -r["at"])]
    when = ages[0] if ages[0] == ages[-1] else f"{ages[0]} to {ages[-1]}"
    load = max(record["load"] for record in dated)
    older = ", some of them at a time that was not noted" if len(dated) < len(records) else ""
    busy = "" if load <= usable_cores() else "; other work disturbs times"
    return f"measured {when} ago{older}, at a load of up to {load:.1f} on {usable_cores()} cores{busy}"


def _has_baseline(resolved: ResolvedExperiment) -> bool:
    """False where the baseline reads a corpus that no model of the experiment reads, so it was not looked for."""
    baseline = resolved.baseline
    return not needs_corpus(baseline.spec) or resolved.corpora.keys() >= set(baseline.pretrain.corpora)


def _task(resolved: ResolvedExperiment) -> LocatedTask | None:
    """The task whose texts are read: the first one that is learned; None where there is none, or no baseline."""
    if not _has_baseline(resolved):
        return None
    return next((task for task in resolved.tasks if task.task.kind.learned), None)


@contextmanager
def _threads(number: int | None) -> Iterator[None]:
    """As many threads as the experiment's runs have, if it says so."""
    before = torch.get_num_threads()
    torch.set_num_threads(number or before)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _digest(resolved: ResolvedExperiment, model: ResolvedModel, task: LocatedTask) -> str:
    """SHA-256 (hex) of all that the times of a model and the baseline depend on, this machine too."""
    experiment = resolved.experiment
    measured = {
        "models": [
            {"model": resolved.model_block(of_model), "corpus": resolved.corpus_block(of_model), **recipes_of(of_model)}
            for of_model in (model, resolved.baseline)
        ],
        "task": {**task_block(task), "data": task.fingerprint},
        "options": OPTIONS.model_dump(),
        "encoder": experiment.encoder,
        "machine": [hardware_name(), torch.__version__, device_block(experiment.device), experiment.threads],
    }
    return hashlib.sha256(canonical(measured).encode()).hexdigest()
