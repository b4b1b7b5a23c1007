"""Where scores come from: data (built in, sampled or whole), starting weights, and the code that computed them."""

from __future__ import annotations

import csv
import functools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Protocol

from hashbench.common.measured import COUNTED
from hashbench.common.showing import FINGERPRINT_LETTERS, few
from hashbench.results.read.measured import Measured
from hashbench.results.read.runs import SCRATCH, MeasuredRun, grouped
from hashbench.scores.base import metric_of

BUILT_IN = ("builtin", "built-in")  # in the origin or a note of generated texts
SAMPLE = "sample"
SOURCES = "sources"  # the topic of a run's notes that holds the fingerprints of its code
# For runs that were stored before they noted it: the class whose F1 GLUE's tasks report
F1_OF = {"mrpc": "equivalent", "qqp": "duplicate"}
UNDEFINED_DRAWS = (
    "Intervals leave out draws without a value (such as draws without an example of the class), which makes them too "
    "narrow for rare classes; share of the draws"
)
GLUE = frozenset(("mnli", "qnli", "qqp", "rte", "sst2", "mrpc", "cola", "stsb", "wnli"))


class FullSets(Protocol):
    """The part of a paper that describes its data: its name and the sizes of the sets that it reports."""

    @property
    def name(self) -> str:
        """The paper's name, under which the database lists the metrics that it reports."""

    @property
    def reported_rows(self) -> Mapping[str, int]:
        """The number of examples in the full reported set, by task."""


@dataclass
class TaskOrigin:
    """The origin of one task's data: fingerprints, sources and notes without repetitions, and the reported examples."""

    fingerprints: list[str]
    origins: list[str]
    notes: list[str]
    n_reported: int | None  # examples that the reported score was computed from

    @property
    def built_in(self) -> bool:
        """True for generated texts."""
        return any(word in text.lower() for text in (*self.origins, *self.notes) for word in BUILT_IN)

    @property
    def samples(self) -> list[str]:
        """The notes that a set is only a sample, without the word 'sample'."""
        return [text.split(":", 1)[-1].strip() for text in self.notes if text.lower().startswith(SAMPLE)]


def task_origins(measured: Measured, paper: FullSets) -> dict[str, TaskOrigin]:
    """The origin of each task's data, from notes of runs, the experiment's record, and the stored predictions."""
    # runs that differ in their seed alone have the same notes
    distinct = {(run.task, run.fingerprint, id(run.origin.notes)): run for run in measured.runs}
    by_task = grouped((run.task, run) for run in distinct.values())
    return {task: _origin(task, by_task[task], measured, paper) for task in measured.tasks()}


def _origin(task: str, runs: Sequence[MeasuredRun], measured: Measured, paper: FullSets) -> TaskOrigin:
    recorded: Mapping[str, Any] | None = measured.record.get("tasks", {}).get(task)
    origins = [] if recorded is None else [str(recorded.get("origin", ""))]
    texts = [] if recorded is None else [*recorded.get("notes", ())]
    for topic, text in [note for run in runs for note in run.origin.notes]:
        if topic == "origin" and text:
            origins.append(text)
        elif topic in ("data", SAMPLE):
            texts.append(text if topic == "data" or text.startswith(SAMPLE) else f"{SAMPLE}: {text}")
    # The notes of runs come first: a command may have named other sources than the experiment file
    if not origins and measured.record.get("sources", measured.experiment.config.get("data")) in (
        "builtin",
        ["builtin"],
    ):
        origins = ["builtin"]
    notes = [note for text in texts for note in text.split("; ") if note]
    fingerprints = [run.fingerprint for run in runs if run.fingerprint]
    fingerprints, origins, notes = (list(dict.fromkeys(some)) for some in (fingerprints, origins, notes))
    split = measured.readings(paper.name).get(task, ("", None))[1]  # None: the paper reads no split of the task
    counts = [n for (_, of, name), n in measured.n_examples.items() if of == task and split in (None, name)]
    origin = TaskOrigin(fingerprints, origins, notes, max(counts, default=None))
    official = paper.reported_rows.get(task)
    if split and official and origin.n_reported not in (None, 0, official) and not (origin.samples or origin.built_in):
        # Another number of examples than the official one is a sample, whatever the notes are
        origin.notes.append(f"sample: {split} {origin.n_reported:,} of {official:,} rows")
    return origin


def counted_classes(measured: Measured, readings: Iterable[tuple[str, str, str]]) -> list[str]:
    """A line for each metric of (task, metric, split) that counts one class of two, with the class of each task."""
    noted = {
        (run.task, topic.removeprefix(COUNTED)): text
        for run in measured.runs
        for topic, text in run.origin.notes
        if topic.startswith(COUNTED)
    }
    classes: dict[str, dict[str, str]] = {}
    for task, name, _ in readings:
        metric = metric_of(name)
        if metric is not None and metric.counted_class is not None:
            name_of_class = noted.get((task, metric.name)) or F1_OF.get(task) or f"number {metric.counted_class}"
            classes.setdefault(metric.name, {})[task] = name_of_class
    return [
        f"{metric} is of class {', '.join(f'{name} ({task})' for task, name in of_tasks.items())}."
        for metric, of_tasks in classes.items()
    ]


def data_warnings(origins: dict[str, TaskOrigin], corpora: Sequence[str], *, published: bool) -> list[str]:
    """Warnings about generated texts and sampled data sets. `published`: published values are beside the scores."""
    built_in = [task for task, origin in origins.items() if origin.built_in]
    lines = []
    if built_in:
        which = "" if len(built_in) == len(origins) else f" ({', '.join(built_in)})"
        beside = "; the published values beside them were measured on other data" if published else ""
        what = "GLUE scores" if GLUE.issuperset(built_in) else "scores on the data sets of these names"
        lines.append(f"BUILT-IN DATA{which}: generated texts, these are not {what}{beside}.")
    samples = [f"{task} ({'; '.join(o.samples)})" for task, o in origins.items() if o.samples and not o.built_in]
    if samples:
        beside = " or with the published values" if published else ""
        lines.append(f"SAMPLED DATA: {', '.join(samples)}; not comparable with scores on the full sets{beside}.")
    if any(word in corpus.lower() for corpus in corpora for word in BUILT_IN) and not built_in:
        lines.append("BUILT-IN CORPUS: pre-trained on generated texts.")
    return lines


def starts(runs: Iterable[MeasuredRun]) -> list[str]:
    """The starting weights of trainings on a task without a pre-training run: a line for each kind, with its models."""
    by_words = grouped((_start(run), run.model) for run in runs)
    return [f"{words} for {', '.join(sorted(set(models)))}{more}" for (words, more), models in by_words.items()]


def _start(run: MeasuredRun) -> tuple[str, str]:
    """The starting weights of a run in words: the text before the names of its models, and the text after them."""
    if run.from_scratch:
        return "none", f" (random weights: {SCRATCH})"
    if run.weights is None:
        return "none", ""
    return (
        f"published weights {run.spec['settings']['weights']} (sha256 {run.weights['sha256'][:FINGERPRINT_LETTERS]})",
        "",
    )


def scratch_warning(runs: Sequence[MeasuredRun]) -> list[str]:
    """The warning of models from scratch; none where there is no such model."""
    models = sorted({run.model for run in runs if run.from_scratch})
    if not models:
        return []
    return [f"FROM SCRATCH: {', '.join(models)}: random weights, trained on the task alone; not the published model."]


def different_sources(runs: Iterable[tuple[str, str | None, str, Mapping[str, str]]]) -> list[str]:
    """Sentences on kinds of run and tasks, and on models, whose finished runs were computed by different code.

    `runs`: kind, task, model and notes. Notes hold two fingerprints, of the kind's files and of the files that
    the model adds, with a blank between them.

    >>> codes = {"a": "1f 2e", "b": "9d 2e"}
    >>> different_sources([("finetune", "cola", model, {"sources": code}) for model, code in codes.items()])
    ['finetune on cola: 2 versions of the code (1f: a; 9d: b)']
    """
    first = equal_codes()
    of_columns, of_models = [], []
    for kind, task, model, notes in runs:
        shared, own = (first.get(code, code) for code in notes.get(SOURCES, "").partition(" ")[::2])
        column = f"{kind} on {task}" if task else kind
        of_columns += [(column, (shared, model))] if shared else []
        of_models += [(f"model {model}", (own, column))] if own else []
    versions = {what: grouped(pairs) for what, pairs in grouped((*of_columns, *of_models)).items()}
    return [
        f"{what}: {len(codes)} versions of the code ("
        + "; ".join(f"{code}: {few(tuple(dict.fromkeys(members)))}" for code, members in codes.items())
        + ")"
        for what, codes in versions.items()
        if len(codes) > 1
    ]


@functools.cache
def equal_codes() -> Mapping[str, str]:
    """The first recorded fingerprint of equal code, by fingerprint, for code versions declared equal.

    `tests/equal_code.py` makes the file: rows of an earlier and the latest fingerprint.
    """
    text = (files("hashbench.results.read") / "equal_code.csv").read_text(encoding="utf-8")
    rows = list(csv.reader(text.splitlines()))
    first = {latest: earlier for earlier, latest in reversed(rows)}
    return {code: first[latest] for earlier, latest in rows for code in (earlier, latest)}
