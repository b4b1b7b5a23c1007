"""The export of a finished run of the database to a folder."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from hashbench.common.errors import InputError, first_line
from hashbench.common.measured import TextsRead
from hashbench.common.showing import RUN_ID_LETTERS, tell
from hashbench.common.untrusted import OWN, STATE, TOKENIZER
from hashbench.data.sources.fingerprints import usable_cache_folder
from hashbench.data.sources.sources import open_sources
from hashbench.data.tasks.catalogue import load_task
from hashbench.data.tasks.text import text_kind
from hashbench.data.tasks.text_data import TaskData
from hashbench.deployment.description import MULTI_LABEL, OWN_PARTS, Config, read_config
from hashbench.deployment.encoding import Reader, fitted_reader
from hashbench.deployment.inputs import CONFIG
from hashbench.deployment.writing import (
    CardFacts,
    Sizes,
    TrainedModel,
    model_card,
    write,
    write_card,
    write_description,
)
from hashbench.models.objectives.base import TaskHead, task_head
from hashbench.models.objectives.heads import ClassificationHead
from hashbench.models.text.pieces import commits_of
from hashbench.running.efficiency.parameters import count
from hashbench.running.experiment.exported import spec_values
from hashbench.running.experiment.load import Loaded
from hashbench.running.experiment.models import ResolvedModel
from hashbench.running.experiment.stored_models import StoredModel, model_of_run
from hashbench.running.experiment.tasks import task_of
from hashbench.running.experiment.tuning import tuning_of
from hashbench.running.runs.artifacts import ArtifactFolder, kept_files
from hashbench.running.runs.evaluation import ExportedModel
from hashbench.running.runs.finetuning import KIND as FINETUNING
from hashbench.running.runs.pretraining import KIND as PRETRAINING
from hashbench.running.runs.provenance import commits_in
from hashbench.scores.base import metric_of
from hashbench.store.engine import Store, open_results
from hashbench.store.status import attempts, best_scores, done_ids, find_run, predictions, run_spec


@dataclass(frozen=True)
class ExportedRun:
    """An export's result: its sizes, and the task that the model learned, None for a pre-training."""

    sizes: Sizes
    task: TaskData | None
    runs_code: bool = False  # whether the folder has code of a user-defined part


def export_run(
    db: str, prefix: str, folder: Path, data: Sequence[str] | None, *, half: bool = False, trust_code: bool = False
) -> ExportedRun:
    """Exports a run's model to `folder`. Raises InputError for an unfinished run, and one without model or weights.

    `half`: its trained weights are stored as float16.
    """
    store = open_results(db)
    run_id = find_run(store, prefix)
    spec = run_spec(store, run_id)
    if spec["kind"] not in (PRETRAINING.name, FINETUNING.name):
        kind = spec["kind"]
        raise InputError(f"--run {prefix}: {kind} runs have no model to export; name a pre-training or a fine-tuning")
    if not done_ids(store, [run_id]):
        raise InputError(f"--run {prefix}: is not finished; go on with its sweep first (see hashbench status)")
    files = kept_files(
        store, run_id, ArtifactFolder.of_environment(usable_cache_folder()), with_head=spec["kind"] == FINETUNING.name
    )
    stored = model_of_run(store, run_id, trust_code=trust_code)
    loaded, model = stored.loaded, stored.model
    trained, task = _trained(store, run_id, stored, data, files)
    if task is not None and not (kind := text_kind(task.task)).exported:
        learned = f"it learned {kind.description}, which exported models do not read"
        raise InputError(f"--run {prefix}: {learned}; name another")
    if task is not None and not _has_usual_outputs(task_head(text_kind(task.task).head)):
        own = f"its kind of task, {task.task.kind.name}, has a head with outputs of its own"
        raise InputError(f"--run {prefix}: {own}, which exported models do not have; name another")
    sizes = _sizes(trained, model, write(trained, folder, half=half))
    runs_code = any((folder / name).exists() for name in (OWN, *OWN_PARTS.values()))
    facts = replace(_facts(store, run_id, loaded, model), runs_code=runs_code)
    write_card(folder, model_card(trained.config, model.spec, facts, sizes))
    return ExportedRun(sizes, task, runs_code)


def _has_usual_outputs(head: type[TaskHead]) -> bool:
    """True for a head whose outputs are those of the head that exported folders have; its loss may be another."""
    return head.outputs is ClassificationHead.outputs and getattr(head, "forward", None) is ClassificationHead.forward


def _trained(
    store: Store, run_id: str, stored: StoredModel, data: Sequence[str] | None, files: Mapping[str, Path]
) -> tuple[TrainedModel, TaskData | None]:
    """(a run's model with its files, the task that it learned): the data that its tokenizer needs are read."""
    loaded, model, sources = stored.loaded, stored.model, stored.sources(data)
    reader = fitted_reader(loaded, replace(model, spec=model.spec.without_training()), sources)
    spec, task = run_spec(store, run_id), None
    if spec["kind"] == FINETUNING.name:
        task = load_task(task_of(loaded, spec["task"]["name"]), open_sources(sources))
    config = _config(run_id, loaded.experiment.encoder, model, reader, task, _length(store, run_id, model, task))
    noted = commits_in(_notes(store, run_id))
    text = reader.model.spec.text.args | reader.model.spec.code.args
    config = replace(config, commits=noted or commits_of(text))
    places = files.get("weights", Path()), files.get("head")
    return TrainedModel(config, reader.model.spec, reader.tokenizer, reader.coder, *places), task


def compared_with_run(
    store: Store, exported: ExportedModel, data: Sequence[str] | None, *, trust_code: bool = False
) -> ExportedModel:
    """An exported model, without `parts` unless an export of its run would write the same beside the weights.

    If its weights are the run's but its tokenizer, lengths or classes are not, it counts as a further model.
    """
    if not done_ids(store, [exported.run]):
        return exported
    run = f"run {exported.run[:RUN_ID_LETTERS]}"
    try:
        stored = model_of_run(store, exported.run, trust_code=trust_code)
        trained, _ = _trained(store, exported.run, stored, data, {})
        with tempfile.TemporaryDirectory() as folder:
            write_description(trained, Path(folder))
            other = [name for name in DESCRIPTION if _parts(exported.folder / name) != _parts(Path(folder) / name)]
        why = f"{', '.join(other)}: not as an export of {run} has it" if other else ""
    except InputError as error:
        why = f"cannot be compared with {run} ({first_line(error)})"
    if not why:
        return exported
    tell(f"{exported.folder}: {why}; it counts as a further model")
    return replace(exported, parts={})


DESCRIPTION = (CONFIG, TOKENIZER, STATE, OWN, *OWN_PARTS.values())  # what an export writes beside weights and card
UNREAD = ("name", "commits", "format")  # of config.json: no part of what a model computes


def _parts(place: Path) -> object:
    """The contents of a file or folder of an exported model, equal for equal ones."""
    if place.is_dir():
        return {path.relative_to(place): path.read_bytes() for path in place.rglob("*") if path.is_file()}
    if not place.exists():
        return {}  # as a folder without files
    if place.suffix == ".npz":
        with np.load(place, allow_pickle=False) as arrays:
            return {name: (arrays[name].dtype.str, arrays[name].tolist()) for name in arrays.files}
    if place.name == CONFIG:
        return {key: value for key, value in vars(read_config(place.parent)).items() if key not in UNREAD}
    return place.read_bytes()


def _length(store: Store, run_id: str, model: ResolvedModel, task: TaskData | None) -> int:
    """The tokens of an input that a run was trained with, special tokens included."""
    recipe = model.finetune if task is None else model.recipe(task.task.name)
    read = None if isinstance(recipe.max_length, int) else TextsRead.of_notes(_notes(store, run_id))
    return recipe.longest if read is None else read.max_length


def _notes(store: Store, run_id: str) -> Mapping[str, str]:
    """The notes of a finished run."""
    return next((attempt.notes for attempt in reversed(attempts(store, run_id)) if attempt.state == "done"), {})


def _config(
    run_id: str, size: str, model: ResolvedModel, reader: Reader, task: TaskData | None, max_length: int
) -> Config:
    spec = reader.model.spec
    config = Config(model.label, run_id, size, spec_values(spec, size, reader.coder.num_rows), max_length)
    if task is None:
        return config
    name, is_pair, order = task.task.name, task.task.is_pair, task.task.label_order or ()
    problem_type = MULTI_LABEL if task.task.kind.multi_label else None
    return replace(
        config, task=name, is_pair=is_pair, n_outputs=task.n_outputs, labels=task.label_names, label_order=order,
        problem_type=problem_type,
    )  # fmt: skip


def _sizes(trained: TrainedModel, model: ResolvedModel, weight_bytes: int) -> Sizes:
    size, n_outputs, rows = trained.config.size, trained.config.n_outputs, trained.coder.num_rows
    in_paper = count(model.spec, size, vocabulary_rows=rows)
    texts = trained.config.n_texts
    deployed = count(model.spec, size, vocabulary_rows=rows, n_classes=n_outputs, n_texts=texts, deployed=True)
    return Sizes(in_paper, deployed, weight_bytes)


def _facts(store: Store, run_id: str, loaded: Loaded, model: ResolvedModel) -> CardFacts:
    """The facts of a run for its model card."""
    spec = run_spec(store, run_id)
    source = spec["pretrain"] if spec["kind"] == FINETUNING.name else run_id
    scores = [dict(row) for row in best_scores(store, run_id)]
    return CardFacts(
        spec=spec,
        pretrain=None if source is None else run_spec(store, source),
        scores=scores,
        constant=constant_splits(store, run_id, scores),
        notes=_notes(store, run_id),
        tuned={name: tuning.model_dump(mode="json") for name, tuning in tuning_of(loaded, model).items()},
        origin=f"experiment {loaded.experiment.name}",
    )


def constant_splits(store: Store, run_id: str, scores: Sequence[Mapping[str, Any]]) -> list[str]:
    """The splits of a run's scores on which its stored outputs are one answer for every text."""
    constant = []
    for split, name in {row["split"]: row["metric"] for row in scores}.items():
        metric, stored = metric_of(name), predictions(store, run_id, split, "best")
        if metric is not None and stored is not None and metric.is_constant(stored.outputs):
            constant.append(split)
    return constant
