"""What scores stand on: their data (built in, sampled or whole) and the weights that trainings started from.

What is not the real thing is said loudly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from hashbench.results.read.measured import Measured
from hashbench.results.read.runs import SCRATCH, MeasuredRun, grouped

BUILT_IN = ("builtin", "built-in")  # how an origin or a note says that texts were generated
SAMPLE = "sample"
SHORT = 8  # letters of a fingerprint
GLUE = frozenset(("mnli", "qnli", "qqp", "rte", "sst2", "mrpc", "cola", "stsb", "wnli"))


class FullSets(Protocol):
    """The paper that an experiment is compared with, as far as its data go."""

    @property
    def name(self) -> str:
        """Under which the metrics are stored that it reads."""

    @property
    def reported_rows(self) -> Mapping[str, int]:
        """Examples of the full reported set of a task."""


@dataclass
class TaskOrigin:
    """What is known of one task's data."""

    fingerprints: list[str] = field(default_factory=list)
    origins: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    n_reported: int | None = None  # examples that the reported score was computed from

    @property
    def built_in(self) -> bool:
        """Whether the texts were generated."""
        return any(word in text.lower() for text in (*self.origins, *self.notes) for word in BUILT_IN)

    @property
    def samples(self) -> list[str]:
        """Notes on rows that are missing, without the word 'sample'."""
        return [text.split(":", 1)[-1].strip() for text in self.notes if text.lower().startswith(SAMPLE)]


def task_origins(measured: Measured, paper: FullSets) -> dict[str, TaskOrigin]:
    """By task: from the notes of its runs, the experiment's record, and the number of stored predictions."""
    recorded = measured.record.get("tasks", {})
    built_in = _whole_experiment_built_in(measured)
    by_task: dict[str, TaskOrigin] = {}
    saying: dict[tuple[str | None, str, int], MeasuredRun] = {}  # runs that differ in their seeds alone say the same
    for run in measured.runs:
        saying.setdefault((run.task, run.fingerprint, id(run.origin.notes)), run)
    distinct = grouped((run.task, run) for run in saying.values())
    for task in measured.tasks():
        by_task[task] = origin = TaskOrigin()
        if task in recorded:
            origin.origins.append(str(recorded[task].get("origin", "")))
            _note(origin, "; ".join(recorded[task].get("notes", ())))
        for run in distinct[task]:
            _add(origin, run)
        _count(origin, task, measured, paper)
        # What the runs noted counts more: a command may have named other sources
        if built_in and not origin.origins:
            origin.origins.append("builtin")
    return by_task


def _whole_experiment_built_in(measured: Measured) -> bool:
    """Whether the experiment file names no other source than the generator and no run says otherwise."""
    sources = measured.record.get("sources", measured.experiment.config.get("data"))
    return sources in ("builtin", ["builtin"])


def _add(origin: TaskOrigin, run: MeasuredRun) -> None:
    """What one run of a task says of its data."""
    if run.fingerprint and run.fingerprint not in origin.fingerprints:
        origin.fingerprints.append(run.fingerprint)
    for topic, text in run.origin.notes:
        if topic == "origin" and text and text not in origin.origins:
            origin.origins.append(text)
        elif topic == "data":
            _note(origin, text)
        elif topic == SAMPLE:
            _note(origin, text if text.startswith(SAMPLE) else f"{SAMPLE}: {text}")


def _note(origin: TaskOrigin, text: str) -> None:
    """Adds notes, several with semicolons between."""
    for note in text.split("; "):
        if note and note not in origin.notes:
            origin.notes.append(note)


def _count(origin: TaskOrigin, task: str, measured: Measured, paper: FullSets) -> None:
    """Number of reported examples; another than the official one is a sample, whatever the notes say."""
    readings = measured.readings(paper.name)
    split = readings[task][1] if task in readings else None  # None: no paper's choice, whatever was predicted
    counts = [n for (_, of, name), n in measured.n_examples.items() if of == task and split in (None, name)]
    origin.n_reported = max(counts, default=None)
    official = paper.reported_rows.get(task)
    known = origin.samples or origin.built_in
    if split and official and origin.n_reported and origin.n_reported != official and not known:
        origin.notes.append(f"sample: {split} {origin.n_reported:,} of {official:,} rows")


def data_warnings(origins: dict[str, TaskOrigin], corpora: Sequence[str], *, published: bool) -> list[str]:
    """What must be said loudly: generated texts and samples."""
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


def starts(runs: Sequence[MeasuredRun]) -> list[str]:
    """What to say of the starts of trainings on a task without a pre-training, models of one start together."""
    by_words: dict[str, list[str]] = {}
    for run in runs:
        if run.from_scratch:
            words = f"none for {{}} (random weights: {SCRATCH})"
        elif run.weights is not None:
            name = run.spec["settings"]["weights"]
            words = f"published weights {name} (sha256 {run.weights['sha256'][:SHORT]}) for {{}}"
        else:
            words = "none for {}"
        models = by_words.setdefault(words, [])
        if run.model not in models:
            models.append(run.model)
    return [words.format(", ".join(sorted(models))) for words, models in by_words.items()]


def scratch_warning(runs: Sequence[MeasuredRun]) -> list[str]:
    """The line that must be said loudly of models from scratch; none where there is no such model."""
    models = sorted({run.model for run in runs if run.from_scratch})
    if not models:
        return []
    return [f"FROM SCRATCH: {', '.join(models)}: random weights, trained on the task alone; not the published model."]


TOPIC = "sources"  # under which a run's notes hold its fingerprints
MOST_NAMES = 3  # of many models or fingerprints so many are named


class SourcesOfRun(NamedTuple):
    """A finished run and the fingerprints of its code: of its kind's files, and of those that its model adds."""

    kind: str
    task: str | None
    model: str
    sources: str  # both, with a blank between them; "" for a run that noted none


def sources_of(kind: str, task: str | None, model: str, notes: Mapping[str, str]) -> SourcesOfRun:
    """A run with what its notes say of its code."""
    return SourcesOfRun(kind, task, model, notes[TOPIC] if TOPIC in notes else "")


def different_sources(runs: Iterable[SourcesOfRun]) -> list[str]:
    """One sentence for each column, and for each model, whose runs were computed by different code.

    >>> old, new = SourcesOfRun("finetune", "cola", "a", "1f 2e"), SourcesOfRun("finetune", "cola", "b", "9d 2e")
    >>> different_sources([old, new])
    ['finetune on cola: 2 versions of the code (1f: a; 9d: b)']
    """
    columns: dict[str, dict[str, list[str]]] = {}
    models: dict[str, dict[str, list[str]]] = {}
    for run in runs:
        shared, _, own = run.sources.partition(" ")
        column = f"{run.kind} on {run.task}" if run.task else run.kind
        if shared:
            columns.setdefault(column, {}).setdefault(shared, []).append(run.model)
        if own:
            models.setdefault(run.model, {}).setdefault(own, []).append(column)
    found = [(_joined(names), _versions(columns, names, _some)) for names in _alike(columns)]
    for names in _alike(models):
        found.append((f"{'models' if len(names) > 1 else 'model'} {_some(names)}", _versions(models, names, _joined)))
    return [f"{what}: {len(parts)} versions of the code ({'; '.join(parts)})" for what, parts in found]


def _alike(found: Mapping[str, Mapping[str, Sequence[str]]]) -> list[list[str]]:
    """What has several versions of the code, together where the versions are of the same columns or models."""
    groups: dict[tuple[tuple[str, ...], ...], list[str]] = {}
    for what, versions in found.items():
        if len(versions) > 1:
            groups.setdefault(tuple(tuple(dict.fromkeys(names)) for names in versions.values()), []).append(what)
    return list(groups.values())


def _versions(
    found: Mapping[str, Mapping[str, Sequence[str]]], group: Sequence[str], said: Callable[[Sequence[str]], str]
) -> list[str]:
    """Each version that a group shares: its fingerprints, and what was computed by it."""
    of_all = [list(found[what]) for what in group]
    parts = []
    for place, names in enumerate(found[group[0]].values()):
        fingerprints = _some(list(dict.fromkeys(versions[place] for versions in of_all)), "/")
        parts.append(f"{fingerprints}: {said(list(dict.fromkeys(names)))}")
    return parts


def _some(names: Sequence[str], between: str = ", ") -> str:
    """Names, of many the first.

    >>> _some(["a", "b", "c", "d"]), _some(["a", "b", "c", "d", "e"])
    ('a, b, c, d', 'a, b, c and 2 more')
    """
    shown = names if len(names) <= MOST_NAMES + 1 else names[:MOST_NAMES]
    return between.join(shown) + (f" and {len(names) - len(shown)} more" if len(shown) < len(names) else "")


def _joined(names: Sequence[str]) -> str:
    """Columns with what they begin with said once.

    >>> _joined(["finetune on cola", "finetune on sst2", "pretrain"])
    'finetune on cola, sst2, pretrain'
    """
    said: list[str] = []
    before = ""
    for name in names:
        start, on, rest = name.partition(" on ")
        said.append(rest if on and start == before else name)
        before = start if on else ""
    return ", ".join(said)
