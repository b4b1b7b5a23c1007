"""An experiment file, read and checked: every fault is one line that names the file and the line in it."""

from __future__ import annotations

import itertools
import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from hashbench.common.errors import InputError, located
from hashbench.common.shipped import experiment_file, experiments
from hashbench.data.sources.documents import is_own_corpus
from hashbench.data.tasks.blocks import TaskEntry
from hashbench.data.tasks.catalogue import find_task, groups
from hashbench.models.names import known_names, unknown_model
from hashbench.running.experiment.claims import checked_claims
from hashbench.running.experiment.complaints import complaint, place
from hashbench.running.experiment.file_blocks import FloorEntry, baseline_names, check_no_baseline
from hashbench.running.experiment.file_values import (
    LARGEST_INTEGER,
    KeyPath,
    assign,
    named_in_file,
    own_entries,
    parsed_file,
    parsed_override,
    plain_values,
    read_file,
)
from hashbench.running.experiment.schema import Experiment, ModelEntry, task_block_types

Block = TypeVar("Block", bound=BaseModel)
HALF = re.compile("[\ud800-\udfff]")  # of a character beyond 16 bits, which no UTF-8 has
GIVEN = "the experiment"  # one that is no file, in messages


@dataclass(frozen=True)
class Loaded:
    """A valid experiment and where it came from."""

    experiment: Experiment
    path: Path  # absolute
    shown: str  # the path as the user wrote it, for messages
    values: Mapping[str, Any]  # the file's own keys with the overrides, before defaults
    lines: Mapping[KeyPath, int] = field(default_factory=dict)  # 1 for the first line
    # key path -> the override as typed
    overrides: Mapping[KeyPath, str] = field(default_factory=dict)
    # The file's own models by name, left out ones too.
    entries: Mapping[str, Any] = field(default_factory=dict)
    trusts_code: bool = True  # False: out of a database, which may come from elsewhere (`code.allow_code`)

    @property
    def folder(self) -> Path:
        """The folder to which the paths in the file are relative."""
        return self.path.parent

    def where(self, *keys: str | int) -> str:
        """`file:line` of a key, or of the nearest block around it; an override is named as such.

        >>> Loaded(None, Path("/x/a.yaml"), "a.yaml", {}, {("pretrain",): 4}).where("pretrain", "steps")
        'a.yaml:4'
        """
        for end in range(len(keys), 0, -1):
            if keys[:end] in self.overrides:
                return f"override {self.overrides[keys[:end]]}"
            if keys[:end] in self.lines:
                return f"{self.shown}:{self.lines[keys[:end]]}"
        return self.shown

    def place_of(self, entry: KeyPath, block: str, key: str) -> KeyPath:
        """The key path of a model's recipe value: in its own entry if it is there, else in the block for all models."""
        own_place = (*entry, block, key)
        return own_place if own_place in self.lines else (block, key)

    def sources(self, data: Sequence[str] | None = None) -> tuple[str, ...]:
        """Where data come from, in order: "hub", "builtin" or absolute folders.

        `data` (relative to the working folder) overrides the file's sources (relative to the file)."""
        listed = self.experiment.data
        names, base = (data, Path.cwd()) if data else ((listed,) if isinstance(listed, str) else listed, self.folder)
        return tuple(name if name in ("hub", "builtin") else _absolute(name, base) for name in names)

    def task_entry(self, name: str) -> TaskEntry | None:
        """The user-defined data set of that name, its path made absolute; None for a task of the suite."""
        for task in () if isinstance(self.experiment.tasks, str) else self.experiment.tasks:
            if isinstance(task, TaskEntry) and task.name == name:
                path = None if task.path is None else _absolute(task.path, self.folder)
                return task.model_copy(update={"path": path})
        return None


def load_experiment(path: str | Path | Mapping[str, Any], overrides: Sequence[str] = ()) -> Loaded:
    """The experiment of a YAML file, of a name as `experiment_file` reads it, or of a mapping in the form of a file.

    `overrides` are `key=value`; a key reaches into a model or task by its name, as in `models.mine.finetune.epochs=3`.
    Raises InputError, one line with file and line.
    """
    values: dict[str, Any]
    lines: dict[KeyPath, int]
    if isinstance(path, Mapping):
        file, shown, lines = Path(GIVEN), GIVEN, {}
        with located(shown):
            values = plain_values(path, (), {}, itertools.count(1))
    else:
        file = experiment_file(path)
        shown = str(path) if file in experiments().values() else str(file)
        values, lines = parsed_file(read_file(file), shown)
    entries = own_entries(values.get("models"))
    overridden: dict[KeyPath, str] = {}
    for override in overrides:
        keys, value = parsed_override(override, values)
        if lost := [earlier for at, earlier in overridden.items() if at[: len(keys)] == keys]:
            raise InputError(f"override {override}: takes the place of {lost[0]}, which is given too; leave one out")
        assign(values, keys, named_in_file(values, keys, value))
        overridden[keys] = override
        # An override replaces the whole value, so lines inside of it are no longer places.
        lines = {place: line for place, line in lines.items() if place[: len(keys)] != keys}
    _make_corpora_absolute(values, file.resolve().parent)
    draft = Loaded(Experiment.model_construct(), file.resolve(), shown, values, lines, overridden)
    _check_stored(values, draft)
    types = task_block_types()
    experiment = validate(Experiment, {key: value for key, value in values.items() if key not in types}, draft)
    blocks = {key: validate(block, values.get(key, {}), draft, key) for key, block in types.items()}
    experiment = experiment.with_task_blocks(blocks)
    listed = [] if isinstance(experiment.claims, str) else range(len(experiment.claims))
    places = [draft.where("claims", i) for i in listed]
    claims = checked_claims(experiment.claims, draft.folder, draft.where("claims"), places)
    experiment = experiment.model_copy(update={"claims": claims})
    loaded = Loaded(experiment, draft.path, shown, values, lines, overridden, entries)
    _check_names(loaded)
    _check_known(loaded)
    _check_baselines(loaded)
    return loaded


def _check_stored(values: object, loaded: Loaded, keys: KeyPath = ()) -> None:
    """Raises InputError for a whole number or a text that no database can store, in whatever block, keys included."""
    for text in (values, *values) if isinstance(values, dict) else (values,):
        if isinstance(text, str) and (half := HALF.search(text)):
            where = f"{loaded.where(*keys)}: {place(keys)}" if keys else loaded.where()
            raise InputError(f"{where}: holds {ascii(half[0])}, half of a character; write the whole character")
    if isinstance(values, int) and abs(values) > LARGEST_INTEGER:
        raise InputError(
            f"{loaded.where(*keys)}: {place(keys)}: is beyond {LARGEST_INTEGER}, the largest number; take a smaller"
        )
    parts = values.items() if isinstance(values, dict) else enumerate(values) if isinstance(values, list) else ()
    for key, part in parts:
        _check_stored(part, loaded, (*keys, key))


def validate(block: type[Block], values: Mapping[str, Any], loaded: Loaded, *prefix: str | int) -> Block:
    """`values` as a checked block of the schema; `prefix` is the key path of the block in the file."""
    try:
        # Through JSON, because its strict mode takes lists for tuples but neither "12" nor true for a number.
        return block.model_validate_json(json.dumps(values, default=str), strict=True)
    except ValidationError as error:
        keys, sentence = complaint(block, values, error)
        raise InputError(f"{loaded.where(*prefix, *keys)}: {sentence(prefix)}") from None


def _make_corpora_absolute(values: object, base: Path) -> None:
    """Changes corpora that are named by their files to absolute paths, in every block that has a list of them."""
    if isinstance(values, dict):
        listed = values["corpora"] if "corpora" in values else None
        if isinstance(listed, list):
            own = [isinstance(name, str) and is_own_corpus(name) for name in listed]
            values["corpora"] = [
                _absolute(name, base) if is_own else name for name, is_own in zip(listed, own, strict=True)
            ]
    for value in values.values() if isinstance(values, dict) else values if isinstance(values, list) else ():
        _make_corpora_absolute(value, base)


def _absolute(name: str, base: Path) -> str:
    return os.path.normpath(base / Path(name).expanduser())


def _check_names(loaded: Loaded) -> None:
    """Raises InputError for a model, task, seed or trivial baseline that the experiment lists twice."""
    experiment = loaded.experiment
    tasks = () if isinstance(experiment.tasks, str) else experiment.tasks
    lists: dict[str, Sequence[object]] = {
        "models": experiment.models, "tasks": tasks, "seeds": experiment.seeds, "floors": experiment.floors,
    }  # fmt: skip
    for key, entries in lists.items():
        names = [getattr(entry, "name", entry) for entry in entries]
        for i, name in enumerate(names):
            if name in names[:i]:
                raise InputError(f"{loaded.where(key, i)}: '{name}' stands twice in {key}; keep one of them")
    for i, entry in enumerate(experiment.floors):
        labels = [floor.label for floor in entry.floors] if isinstance(entry, FloorEntry) else []
        for label in labels:
            if labels.count(label) > 1:
                raise InputError(f"{loaded.where('floors', i, 'bytes')}: '{label}' stands twice; keep one of its sizes")


def _check_known(loaded: Loaded) -> None:
    """Raises InputError for unknown names of models and tasks. The plan, which needs torch, checks all else."""
    experiment, registered_names = loaded.experiment, known_names()
    for i, entry in enumerate(experiment.models):
        if isinstance(entry, str):
            _check_model(loaded, entry, ("models", i), registered_names.groups)
        elif entry.use is None:
            key = "name" if entry.like is None else "like"
            _check_model(loaded, entry.like or entry.name, ("models", i, key), ())
    own = [*loaded.entries, *(entry.name for entry in experiment.models if isinstance(entry, ModelEntry))]
    # One with more behind its name may be an own model at one of its budgets, or a model at a checkpoint.
    longer = tuple(f"{name}-" for name in own) + tuple(f"{name}@" for name in (*own, *registered_names.models))
    if experiment.baseline not in own and not experiment.baseline.startswith(longer):
        _check_model(loaded, experiment.baseline, ("baseline",), own)
    tasks = [experiment.tasks] if isinstance(experiment.tasks, str) else experiment.tasks
    for i, task in enumerate(tasks):
        if isinstance(task, str) and task not in groups():
            with located(loaded.where("tasks", i)):
                find_task(task)


def _check_baselines(loaded: Loaded) -> None:
    """Raises InputError for a model named like a trivial baseline."""
    floors = [floor.label for floor in loaded.experiment.all_floors]
    for i, entry in enumerate(loaded.experiment.models):
        with located(loaded.where("models", i, "name")):
            name = entry if isinstance(entry, str) else entry.name
            check_no_baseline(name, "model", remedy="choose another name", others=floors)


def _check_model(loaded: Loaded, name: str, place: KeyPath, others: Sequence[str]) -> None:
    if name not in known_names().models and name not in known_names().groups:
        entries = [entry.name for entry in loaded.experiment.models if isinstance(entry, ModelEntry)]
        if place[-1] == "like" and name in entries:
            raise InputError(
                f"{loaded.where(*place)}: like: {name!r} is an entry of this file; like takes a model of the suite, "
                "so write what that entry has here too"
            )
        if name in baseline_names():
            raise InputError(
                f"{loaded.where(*place)}: {name!r} is a trivial baseline, not a model; leave it out: tasks run their "
                "own (key floors)"
            )
        raise InputError(f"{loaded.where(*place)}: {unknown_model(name, others)}")
