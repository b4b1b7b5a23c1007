"""An experiment file, read and checked: every fault is one line that names the file and the line in it."""

from __future__ import annotations

import io
import itertools
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from hashbench.common.errors import InputError, located, near_match
from hashbench.common.shipped import experiment_file, experiments, hint_of
from hashbench.data.sources.documents import is_own_corpus
from hashbench.data.tasks.catalogue import find_task, groups, known_tasks
from hashbench.models.names import known_names, unknown_model
from hashbench.running.experiment.claims import checked_claims
from hashbench.running.experiment.complaints import complaint, place, schema_keys, unknown_key
from hashbench.running.experiment.schema import (
    Experiment,
    FloorEntry,
    ModelEntry,
    TaskEntry,
    baseline_names,
    check_no_baseline,
    task_block_types,
)
from hashbench.running.experiment.slurm import SLURM

Block = TypeVar("Block", bound=BaseModel)
KeyPath = tuple[str | int, ...]
HALF = re.compile("[\ud800-\udfff]")  # of a character beyond 16 bits, which no UTF-8 has
LARGEST_INTEGER = 2**63 - 1  # of a whole number: a database stores no larger one
ENTRIES: Mapping[str, type[BaseModel]] = {"models": ModelEntry, "tasks": TaskEntry}  # lists of named blocks
GIVEN = "the experiment"  # one that is no file, in messages
MOST_VALUES, MOST_DEPTH = 50_000, 100  # of a file: aliases of aliases could expand to any number


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
            values = _plain(path, (), {}, itertools.count(1))
    else:
        file = experiment_file(path)
        shown = str(path) if file in experiments().values() else str(file)
        values, lines = _parse(_read(file), shown)
    entries = _own_entries(values.get("models"))
    overridden: dict[KeyPath, str] = {}
    for override in overrides:
        keys, value = _parse_override(override, values)
        if lost := [earlier for at, earlier in overridden.items() if at[: len(keys)] == keys]:
            raise InputError(f"override {override}: takes the place of {lost[0]}, which is given too; leave one out")
        _assign(values, keys, _named_in_file(values, keys, value))
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


def _read(path: Path) -> str:
    """The text of an experiment file. Raises InputError for what is not a readable, non-empty text file."""
    if path.is_dir():
        raise InputError(f"{path}: is a folder; name an experiment file in it{_files_in(path)}")
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        hint = hint_of(path) or _files_in(path.parent) or "; check the path"
        raise InputError(f"{path}: no such file{hint}") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); name a readable experiment file") from None
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise InputError(f"{path}: is not a text file; an experiment is written in YAML (keys: hashbench schema)")
    if not text.strip():
        raise InputError(f"{path}: is empty; an experiment needs at least name and models (keys: hashbench schema)")
    return text


def _files_in(folder: Path) -> str:
    """The end of a message: the experiment files of a folder; "" where there are none."""
    names = sorted(file.name for file in folder.glob("*.yaml")) if folder.is_dir() else []
    return f"; in that folder: {', '.join(names[:8])}" if names else ""


def _parse(text: str, shown: str) -> tuple[dict[str, Any], dict[KeyPath, int]]:
    """YAML 1.2 text -> plain values, and the line of every key and item."""
    from ruamel.yaml import YAML
    from ruamel.yaml.constructor import DuplicateKeyError
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

    for number, line in enumerate(text.splitlines(), start=1):
        if line.startswith("%"):  # by %YAML 1.1 the number 010 would be 8, and no would be false
            raise InputError(f"{shown}:{number}: a line that begins with % is a directive of YAML; leave it out")
    try:
        tree = YAML(typ="rt").load(io.StringIO(text))
    except DuplicateKeyError as error:
        line = error.problem_mark.line + 1
        name = str(error.problem).split('"')[1] if '"' in str(error.problem) else "?"
        raise InputError(f"{shown}:{line}: key '{name}' stands twice; keep one of them") from None
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = " ".join(str(error.problem or error.context).split())
        raise InputError(
            f"{shown}:{mark.line + 1 if mark else 1}: not YAML: {problem}; check quotes and indentation"
        ) from None
    except (YAMLError, ValueError, RecursionError) as error:
        raise InputError(f"{shown}: not YAML: {' '.join(str(error).split())}; check the file") from None
    if not isinstance(tree, Mapping):
        raise InputError(f"{shown}:1: is not a block of keys; write 'name: ...' and so on (keys: hashbench schema)")
    lines: dict[KeyPath, int] = {}
    with located(shown):
        return _plain(tree, (), lines, itertools.count(1)), lines


def _plain(node: Any, keys: KeyPath, lines: dict[KeyPath, int], numbers: Iterator[int]) -> Any:
    """ruamel's nodes -> dicts, lists and scalars; whole floats become integers, so that `1e5` counts as 100000.

    `numbers` counts the nodes, also of merged keys, which have no line. Raises InputError where aliases expand to
    more values than any experiment has.
    """
    if next(numbers) > MOST_VALUES or len(keys) > MOST_DEPTH:
        most = f"{MOST_VALUES:,} values or {MOST_DEPTH} levels"
        raise InputError(f"its aliases stand for more than {most}; write out what is meant")
    if isinstance(node, Mapping):
        for key in node:
            _note_line(node, "key", key, (*keys, str(key)), lines)
        return {str(key): _plain(value, (*keys, str(key)), lines, numbers) for key, value in node.items()}
    if isinstance(node, (list, tuple)):
        for i in range(len(node)):
            _note_line(node, "item", i, (*keys, i), lines)
        return [_plain(value, (*keys, i), lines, numbers) for i, value in enumerate(node)]
    if isinstance(node, bool) or node is None:
        return node
    if isinstance(node, float):
        return int(node) if node.is_integer() and abs(node) <= LARGEST_INTEGER else float(node)
    if isinstance(node, int):
        return int(node)
    return str(node)


def _note_line(node: Any, kind: str, key: Any, keys: KeyPath, lines: dict[KeyPath, int]) -> None:
    try:
        lines[keys] = getattr(node.lc, kind)(key)[0] + 1
    except (AttributeError, KeyError, TypeError):
        pass  # a merged key (<<) has no place; `where` takes the block's line


def _parse_override(override: str, values: Mapping[str, Any]) -> tuple[KeyPath, Any]:
    """`key.key=value` -> the keys and the value, read by the rules of the file, as `values` were."""
    name, equals, text = override.partition("=")
    if not equals or not name:
        data = f"; a further folder is given as --data {override}" if Path(override).is_dir() else ""
        raise InputError(f"override {override}: is not of the form key=value; as in finetune.epochs=3{data}")
    keys: tuple[str, ...] = tuple(name.split("."))
    block: type[BaseModel] = Experiment
    if len(keys) > 1 and keys[0] in ENTRIES:
        return _into_entry(override, name, values), parse_value(f"override {override}", text)
    if len(keys) == 2 and keys[0] == SLURM:  # whose keys are those of another program
        return keys, parse_value(f"override {override}", text)
    for depth, key in enumerate(keys):
        inner_blocks = schema_keys(block)
        if key not in inner_blocks:
            raise InputError(f"override {override}: {unknown_key(keys[:depth], key, list(inner_blocks))}")
        inner = inner_blocks[key]
        if depth + 1 < len(keys) and inner is None:
            name = ".".join(keys[: depth + 1])
            raise InputError(f"override {override}: '{name}' is given whole, as {name}=VALUE; or change the file")
        block = inner or block
    return keys, parse_value(f"override {override}", text)


def _into_entry(override: str, name: str, values: Mapping[str, Any]) -> KeyPath:
    """The key path of `models.NAME.KEY` or `tasks.NAME.KEY`, numbered; names may have dots."""
    listed, _, rest = name.partition(".")
    entries = values[listed] if isinstance(values.get(listed), list) else []
    names = [entry.get("name") if isinstance(entry, Mapping) else entry for entry in entries]
    meant = [entry for entry in names if isinstance(entry, str) and rest.startswith(f"{entry}.")]
    if not meant:
        if rest in names:
            raise InputError(f"override {override}: name a key of {rest!r}, as {listed}.{rest}.KEY=VALUE")
        wanted = rest.partition(".")[0]
        there = f"it has {', '.join(map(str, names))}" if names else f"the file has no list of {listed}"
        raise InputError(
            f"override {override}: no entry {wanted!r} of {listed}{near_match(wanted, list(map(str, names))) or ';'} "
            f"{there}; write {listed}.NAME.KEY=VALUE"
        )
    entry = max(meant, key=len)
    keys = rest.removeprefix(f"{entry}.").split(".")
    allowed = schema_keys(ENTRIES[listed])
    if keys[0] not in allowed:
        raise InputError(f"override {override}: {unknown_key((listed, names.index(entry)), keys[0], list(allowed))}")
    if listed == "tasks" and entry in known_tasks():
        raise InputError(
            f"override {override}: {entry!r} is a task of the suite, which has no keys of its own; how it is "
            f"fine-tuned is given as finetune.per_task={{{entry}: {{...}}}}"
        )
    return (listed, names.index(entry), *keys)


def parse_value(where: str, text: str) -> Any:
    """A value as an experiment file would hold it. Raises InputError, which begins with `where`, for no YAML."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    try:
        with located(where):
            return _plain(YAML(typ="rt").load(io.StringIO(text)), (), {}, itertools.count(1))
    except (YAMLError, RecursionError):
        raise InputError(f"{where}: the value is not YAML; put it in quotes") from None


def _assign(values: dict[str, Any], keys: KeyPath, value: Any) -> None:
    block: Any = values
    for i, key in enumerate(keys[:-1]):
        inner = block[int(key)] if isinstance(block, list) else block.get(key)
        if isinstance(inner, str):  # a model by its name, or in an entry a coder by its kind
            block[key] = {"name" if i == 1 else "kind": inner} if keys[0] in ENTRIES else {}
        elif not isinstance(inner, dict) and not (i == 0 and keys[0] in ENTRIES):
            block[key] = {}  # an absent block, or `efficiency: true`
        block = block[key]
    block[keys[-1]] = value


def _named_in_file(values: Mapping[str, Any], keys: KeyPath, value: Any) -> Any:
    """The value of an override; in lists of models or tasks, names of the file's entries become these entries."""
    listed = values.get(str(keys[0]))
    if keys not in (("models",), ("tasks",)) or not isinstance(value, list) or not isinstance(listed, list):
        return value
    entries = _own_entries(listed)
    return [entries.get(entry, entry) if isinstance(entry, str) else entry for entry in value]


def _own_entries(listed: Any) -> dict[str, Any]:
    """The entries of a list of models or tasks that are blocks of keys, by their names."""
    blocks = [entry for entry in listed if isinstance(entry, dict)] if isinstance(listed, list) else []
    return {entry["name"]: entry for entry in blocks if isinstance(entry.get("name"), str)}


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
