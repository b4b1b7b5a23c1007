"""The values of an experiment file with their lines, and those of overrides, before any check of keys."""

from __future__ import annotations

import io
import itertools
import re
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from hashbench.common.errors import InputError, located, near_match
from hashbench.common.shipped import hint_of
from hashbench.data.tasks.blocks import TaskEntry
from hashbench.data.tasks.catalogue import known_tasks
from hashbench.running.experiment.complaints import schema_keys, unknown_key
from hashbench.running.experiment.schema import Experiment, ModelEntry
from hashbench.running.experiment.slurm import SLURM

KeyPath = tuple[str | int, ...]
ENTRIES: Mapping[str, type[BaseModel]] = {"models": ModelEntry, "tasks": TaskEntry}  # lists of named blocks
MOST_VALUES, MOST_DEPTH = 50_000, 100  # of a file: aliases of aliases could expand to any number
LARGEST_INTEGER = 2**63 - 1  # of a whole number: a database stores no larger one


def read_file(path: Path) -> str:
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


def parsed_file(text: str, shown: str) -> tuple[dict[str, Any], dict[KeyPath, int]]:
    """YAML 1.2 text -> plain values, and the line of every key and item."""
    from ruamel.yaml.constructor import DuplicateKeyError
    from ruamel.yaml.error import MarkedYAMLError, ReusedAnchorWarning, YAMLError

    for number, line in enumerate(text.splitlines(), start=1):
        if line.startswith("%"):  # by %YAML 1.1 the number 010 would be 8, and no would be false
            raise InputError(f"{shown}:{number}: a line that begins with % is a directive of YAML; leave it out")
    try:
        tree = _tree(text)
    except ReusedAnchorWarning as warning:
        again = re.findall(r"line (\d+)", str(warning))[-1]
        raise InputError(f"{shown}:{again}: {_anchor_twice(warning)}") from None
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
        return plain_values(tree, (), lines, itertools.count(1)), lines


def _tree(text: str) -> Any:
    """ruamel's nodes of a text. Raises ReusedAnchorWarning for two anchors of one name: their aliases are misread."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import ReusedAnchorWarning

    with warnings.catch_warnings():
        warnings.simplefilter("error", ReusedAnchorWarning)
        return YAML(typ="rt").load(io.StringIO(text))


def _anchor_twice(warning: Warning) -> str:
    name = str(warning).split("'")[1]
    return f"anchor '&{name}' stands twice; give one of them another name"


def plain_values(node: Any, keys: KeyPath, lines: dict[KeyPath, int], numbers: Iterator[int]) -> Any:
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
        return {str(key): plain_values(value, (*keys, str(key)), lines, numbers) for key, value in node.items()}
    if isinstance(node, (list, tuple)):
        for i in range(len(node)):
            _note_line(node, "item", i, (*keys, i), lines)
        return [plain_values(value, (*keys, i), lines, numbers) for i, value in enumerate(node)]
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


def parsed_override(override: str, values: Mapping[str, Any]) -> tuple[KeyPath, Any]:
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
    from ruamel.yaml.error import ReusedAnchorWarning, YAMLError

    try:
        with located(where):
            return plain_values(_tree(text), (), {}, itertools.count(1))
    except ReusedAnchorWarning as warning:
        raise InputError(f"{where}: {_anchor_twice(warning)}") from None
    except (YAMLError, RecursionError):
        raise InputError(f"{where}: the value is not YAML; put it in quotes") from None


def assign(values: dict[str, Any], keys: KeyPath, value: Any) -> None:
    """Puts a value at a key path; blocks on the way that are absent or a single name are made."""
    block: Any = values
    for i, key in enumerate(keys[:-1]):
        inner = block[int(key)] if isinstance(block, list) else block.get(key)
        if isinstance(inner, str):  # a model by its name, or in an entry a coder by its kind
            block[key] = {"name" if i == 1 else "kind": inner} if keys[0] in ENTRIES else {}
        elif not isinstance(inner, dict) and not (i == 0 and keys[0] in ENTRIES):
            block[key] = {}  # an absent block, or `efficiency: true`
        block = block[key]
    block[keys[-1]] = value


def named_in_file(values: Mapping[str, Any], keys: KeyPath, value: Any) -> Any:
    """The value of an override; in lists of models or tasks, names of the file's entries become these entries."""
    listed = values.get(str(keys[0]))
    if keys not in (("models",), ("tasks",)) or not isinstance(value, list) or not isinstance(listed, list):
        return value
    entries = own_entries(listed)
    return [entries.get(entry, entry) if isinstance(entry, str) else entry for entry in value]


def own_entries(listed: Any) -> dict[str, Any]:
    """The entries of a list of models or tasks that are blocks of keys, by their names."""
    blocks = [entry for entry in listed if isinstance(entry, dict)] if isinstance(listed, list) else []
    return {entry["name"]: entry for entry in blocks if isinstance(entry.get("name"), str)}
