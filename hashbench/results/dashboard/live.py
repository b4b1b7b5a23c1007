"""W&B tracking during a run, which it never delays for long: all calls are on one other thread with a time limit."""

from __future__ import annotations

import logging
import os
import queue
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from hashbench.common.extras import explained
from hashbench.common.measured import MetricRow
from hashbench.results.read.runs import BASELINE_RUN

log = logging.getLogger(__name__)

Mode = Literal["off", "offline", "online"]
# The default of `tracking.project`. Not in the schema, since the dashboard imports nothing that trains and reads
# experiments that older versions stored without the key.
PROJECT = "hashbench"
START_TIMEOUT_S = 30.0  # online without a network, wandb's own init blocks for 100 s
FINISH_TIMEOUT_S = 60.0  # an upload of the tail may take a while; the database has the numbers already


def wandb_id(run_id: str) -> str:
    """The W&B id of a run: the first letters of the run's id, so that no run is at W&B twice."""
    return run_id[:32]


def run_label(spec: Mapping[str, object], model: str, task: str | None, seed: int | None) -> str:
    """A run's name at W&B and in lines of progress: model, task and seed, with its kind unless it trains on a task.

    >>> run_label({"kind": "finetune", "model": {}}, "bert-mlm", "cola", 1)
    'bert-mlm cola seed 1'
    >>> run_label({"kind": "pretrain", "model": {}}, "bert-mlm", None, 0)
    'bert-mlm pretrain'
    >>> run_label({"kind": "pretrain", "model": {}}, "bert-mlm", None, 1)  # one of several
    'bert-mlm pretrain seed 1'
    >>> run_label({"kind": "robustness"}, "bert-mlm", "cola", 1)
    'bert-mlm cola robustness seed 1'
    >>> run_label({"kind": "robustness", "baseline_run": "3fa2"}, "bag-of-words", "cola", None)
    'bag-of-words cola robustness'
    """
    kind = str(spec["kind"])
    if BASELINE_RUN in spec:
        return f"{model} {task} {kind}"
    if task is None or seed is None:
        return f"{model} {task or kind}{f' seed {seed}' if seed else ''}"
    return f"{model} {task} {'' if 'model' in spec else f'{kind} '}seed {seed}"


def metric_name(split: str, name: str, condition: str = "") -> str:
    """The name of a stored metric at W&B: 'split/name', so that W&B shows a section for each split.

    >>> metric_name("validation", "accuracy"), metric_name("", "total_params"), metric_name("test", "rec@1", "beam=10")
    ('validation/accuracy', 'total_params', 'test/rec@1 beam=10')
    """
    return (f"{split}/{name}" if split else name) + (f" {condition}" if condition else "")


def final_values(metrics: Sequence[MetricRow]) -> dict[str, float | None]:
    """The W&B summary of a run: each metric at the reported evaluation (`best_step`), else at the last one.

    Losses of training are curves alone. None: undefined there.
    """
    best = next((metric.value for metric in metrics if (metric.split, metric.name) == ("", "best_step")), None)
    reported = [metric for metric in metrics if best is None or not metric.split or metric.step <= best]
    return {
        metric_name(metric.split, metric.name, metric.condition): metric.value
        for metric in sorted(reported, key=lambda metric: metric.step)
        if metric.split != "train"
    }


def run_config(
    spec: Mapping[str, object], *, model: str, task: str | None, encoder: str, experiment: str
) -> dict[str, object]:
    """The config by which W&B groups and filters runs: the run's spec and the names of model, task and experiment."""
    return {**spec, "model_name": model, "task_name": task, "encoder": encoder, "experiment": experiment}


@dataclass(frozen=True)
class TrackedRun:
    """The facts that W&B gets when a run begins."""

    project: str
    group: str
    run_id: str  # there, see `wandb_id`
    name: str
    kind: str
    config: Mapping[str, object]
    folder: Path  # of the files


class Tracker:
    """One W&B run for one run of the sweep. A failure is one warning, and the tracker is silent from then on."""

    def __init__(
        self,
        mode: Mode,
        run: TrackedRun,
        *,
        start_timeout_s: float = START_TIMEOUT_S,
        finish_timeout_s: float = FINISH_TIMEOUT_S,
    ) -> None:
        self._finish_timeout_s = finish_timeout_s
        self._failed = mode == "off"
        self._calls: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._run: object = None
        if self._failed:
            return
        self._thread = threading.Thread(target=self._work, name="tracking", daemon=True)
        self._thread.start()
        started = threading.Event()

        def start() -> None:
            try:
                self._run = _start_run(mode, run)
            finally:
                started.set()

        self._calls.put(start)
        if not started.wait(start_timeout_s) and not self._failed:
            self._give_up(f"no answer within {start_timeout_s:g} s")

    @property
    def active(self) -> bool:
        """True while calls still reach W&B."""
        return not self._failed

    def record(self, values: Mapping[str, float], step: int, before: int) -> None:
        """Sends values at an optimizer step. W&B's x-axis is this step, so that a resumed run continues its curves.

        `before`: the number of points before, in all attempts. It is W&B's own `_step`: offline, W&B cannot know where
        an earlier attempt ended, and of two points with one `_step` its server keeps one.
        """
        if not self._failed:
            self._calls.put(lambda: self._run.log({**values, "step": step}, step=before))  # type: ignore[attr-defined]

    def finish(self, final: Mapping[str, float | None] | None) -> None:
        """Writes the final values to the summary and ends the W&B run, waiting no longer than the time limit.

        `final` None: the attempt was interrupted or failed, and ends so there.
        """
        if self._failed:
            return

        def end() -> None:
            values = {name: value for name, value in (final or {}).items() if value is not None}
            self._run.summary.update(values)  # type: ignore[attr-defined]
            self._run.finish(exit_code=1 if final is None else 0)  # type: ignore[attr-defined]

        self._calls.put(end)
        self._calls.put(None)
        self._thread.join(self._finish_timeout_s)
        if self._thread.is_alive():
            self._give_up(f"not finished within {self._finish_timeout_s:g} s")

    def _work(self) -> None:
        while (call := self._calls.get()) is not None and not self._failed:
            try:
                call()
            except (Exception, SystemExit) as error:  # whatever a foreign service throws must not end a run
                self._give_up(f"{type(error).__name__}: {error}")

    def _give_up(self, reason: str) -> None:
        log.warning("Weights & Biases is left out of this run: %s", " ".join(reason.split())[:300])
        self._failed = True


def _start_run(mode: Mode, tracked: TrackedRun) -> object:
    """The W&B run that `wandb.init` starts under the run's own id, without prompts and without a console capture."""
    with explained():
        import wandb

    # An agent's: wandb would put the pre-training and the fine-tuning under its one id.
    for variable in ("WANDB_SWEEP_ID", "WANDB_RUN_ID", "WANDB_SWEEP_PARAM_PATH"):
        os.environ.pop(variable, None)
    tracked.folder.mkdir(parents=True, exist_ok=True)
    run = wandb.init(
        mode="online" if mode == "online" else "offline",
        project=tracked.project,
        group=tracked.group,
        id=tracked.run_id,
        name=tracked.name,
        job_type=tracked.kind,
        config=dict(tracked.config),
        dir=str(tracked.folder.resolve()),
        resume="allow",
        reinit="create_new",  # else a run that was never finished would be given back instead
        settings=wandb.Settings(silent=True, console="off", x_disable_stats=True),
    )
    run.define_metric("step")
    run.define_metric("*", step_metric="step")
    return run
