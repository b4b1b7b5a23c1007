"""Pydantic's errors on a block of an experiment file, as one sentence in the words of the file."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from hashbench.common.errors import near_match
from hashbench.running.experiment.recipes import GONE
from hashbench.running.experiment.schema import Experiment, fields_of

KINDS = {  # pydantic's error types -> the expected value
    "int": "a whole number",
    "float": "a number",
    "finite_number": "a finite number",
    "string": "text",
    "bool": "true or false",
    "tuple": "a list",
    "dict": "a block of keys",
    "model": "a block of keys",
}
QUOTED = re.compile(r"'([^']*)'")
BOUNDS = {
    "greater_than": "greater than",
    "greater_than_equal": "at least",
    "less_than": "less than",
    "less_than_equal": "at most",
}


def schema_keys(block: type[BaseModel]) -> dict[str, type[BaseModel] | None]:
    """The keys of a block, each with the block it holds, if it holds one."""
    keys: dict[str, type[BaseModel] | None] = {}
    for name, info in fields_of(block).items():
        candidates = (info.annotation, *get_args(info.annotation))
        blocks = [c for c in candidates if isinstance(c, type) and issubclass(c, BaseModel)]
        keys[name] = blocks[0] if blocks else None
    return keys


def unknown_key(prefix: Sequence[str | int], key: str, keys: list[str]) -> str:
    """The sentence for a key that the schema does not have, has in another block, or had."""
    if key in GONE:
        return f"key {place((*prefix, key), quoted=True)} is gone: {GONE[key]}; leave it out"
    places = [] if near_match(key, keys) else places_of(key, Experiment)
    elsewhere = f"; '{key}' stands {' or '.join(places)}" if places else near_match(key, keys)
    return f"unknown key {place((*prefix, key), quoted=True)}{elsewhere} (list: hashbench schema)"


def place(keys: Sequence[str | int], *, quoted: bool = False) -> str:
    """The location of a value in an experiment file, in words; entries of lists are counted from 1.

    >>> place(["finetune", "epochs"], quoted=True), place(["models", 0, "coder", "alpha"]), place(["floors", 1])
    ("'finetune.epochs'", 'coder.alpha of entry 1 of models', 'entry 2 of floors')
    """
    entries = [i for i, key in enumerate(keys) if isinstance(key, int)]
    within = entries[-1] + 1 if entries else 0
    name = ".".join(str(key) for key in keys[within:])
    shown = f"'{name}'" if quoted else name
    if not within:
        return shown
    entry = f"entry {int(keys[within - 1]) + 1} of {place(keys[: within - 1])}"
    return f"{shown} of {entry}" if name else entry


def places_of(key: str, block: type[BaseModel], name: str = "") -> list[str]:
    """The blocks of an experiment file that have a key, in words.

    >>> places_of("keep_weights", Experiment), places_of("sequence_length", Experiment)
    (['at the top level of the file, in no block'], ["in the block 'pretrain'"])
    """
    keys = schema_keys(block)
    here = f"in the block '{name}'" if name else "at the top level of the file, in no block"
    places = [here] if key in keys else []
    for inner_name, inner in keys.items():
        if inner is not None and inner_name not in (
            "models",
            "tasks",
        ):  # lists: the keys of their entries are no keys of the file
            places += places_of(key, inner, f"{name}.{inner_name}".lstrip("."))
    return places


def complaint(
    block: type[BaseModel], values: Mapping[str, Any], error: ValidationError
) -> tuple[tuple[str | int, ...], Callable[[Sequence[str | int]], str]]:
    """The keys of the deepest fault in a block, and a function from the block's key path to the sentence on it."""
    faults = [(_real_keys(values, fault), fault) for fault in error.errors(include_url=False)]
    deepest = max(len(keys) for keys, _ in faults)
    # A union reports a fault for each of its forms; the form that the value came nearest to is the deepest.
    keys = next(keys for keys, _ in faults if len(keys) == deepest)
    at_keys = [fault for other, fault in faults if other == keys]
    if at_keys[0]["type"] == "missing" and (typed := _typed_for(keys, faults)):
        allowed = list(fields_of(_block_of(block, at_keys[0]["loc"])))
        near = near_match(str(typed[-1]), [str(keys[-1])]) and [str(keys[-1])]

        def typo(prefix: Sequence[str | int]) -> str:
            return (
                f"{unknown_key((*prefix, *typed[:-1]), str(typed[-1]), near or allowed)}; key '{keys[-1]}' is missing"
            )

        return typed, typo

    def sentence(prefix: Sequence[str | int]) -> str:
        return _sentence((*prefix, *keys), at_keys, _block_of(block, at_keys[0]["loc"]))

    return keys, sentence


def _typed_for(
    missing: tuple[str | int, ...], faults: Sequence[tuple[tuple[str | int, ...], Mapping[str, Any]]]
) -> tuple[str | int, ...]:
    """The unknown key beside a missing one that was probably meant for it; () where every key is known."""
    beside = [
        keys for keys, fault in faults if fault["type"] == "extra_forbidden" and keys and keys[:-1] == missing[:-1]
    ]
    near = [keys for keys in beside if near_match(str(keys[-1]), [str(missing[-1])])]
    return next(iter(near or beside), ())


def _real_keys(values: Any, fault: Mapping[str, Any]) -> tuple[str | int, ...]:
    """The keys of a fault in the file: pydantic's location without names of union members."""
    keys: list[str | int] = []
    for i, part in enumerate(fault["loc"]):
        last = i == len(fault["loc"]) - 1
        if isinstance(values, Mapping) and (part in values or (last and fault["type"] == "missing")):
            keys.append(part)
            values = values.get(part)
        elif isinstance(values, list) and isinstance(part, int):
            keys.append(part)
            values = values[part] if part < len(values) else None
    return tuple(keys)


def _block_of(block: type[BaseModel], loc: Sequence[str | int]) -> type[BaseModel]:
    """The block of the schema in which the last part of a pydantic location is a key."""
    for part in loc[:-1]:
        inner = schema_keys(block).get(str(part)) if isinstance(part, str) else None
        named = _members(block).get(str(part))
        block = inner or named or block
    return block


def _members(block: type[BaseModel]) -> dict[str, type[BaseModel]]:
    """The blocks in the fields of a block, by class name as pydantic's locations have it."""
    members: dict[str, type[BaseModel]] = {}
    todo = [info.annotation for info in block.model_fields.values()]
    while todo:
        annotation = todo.pop()
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            members[annotation.__name__] = annotation
            members[f"function-after[_one_origin(), {annotation.__name__}]"] = annotation
        todo.extend(get_args(annotation))
    return members


def _sentence(keys: Sequence[str | int], faults: Sequence[Mapping[str, Any]], block: type[BaseModel]) -> str:
    name = place(keys)
    fault = next((fault for fault in faults if fault["type"] == "value_error"), faults[0])
    kind, context = fault["type"], fault.get("ctx", {})
    if kind == "missing" and isinstance(keys[-1], int):
        return f"{place(keys[:-1])}: has too few values; add entry {keys[-1] + 1}"
    if kind == "extra_forbidden":
        return unknown_key(keys[:-1], str(keys[-1]), list(fields_of(block)))
    if kind == "missing":
        remedies: Mapping[str, str] = getattr(block, "if_missing", {})
        remedy = remedies.get(str(keys[-1]), "add it")
        return f"key {place(keys, quoted=True)} is missing; {remedy} (keys: hashbench schema)"
    if kind == "value_error":
        return f"{name}: {context['error']}"
    if "too_short" in kind and len(faults) == 1:
        fault_in_words = "must not be empty" if not context.get("actual_length") else f"has {context['actual_length']}"
        return f"{name}: {fault_in_words}; give at least {context['min_length']}"
    wanted = " or ".join(dict.fromkeys(_wanted(fault) for fault in faults))
    names = [name for other in faults if other["type"] == "literal_error" for name in QUOTED.findall(_wanted(other))]
    near = near_match(fault["input"], names) if isinstance(fault["input"], str) else ""
    is_text = wanted == "a list" and isinstance(fault["input"], str)
    remedy = f"; write {_listed(fault['input'], block, str(keys[-1]))}" if is_text else "; correct the value"
    return f"{name}: must be {wanted}, not {_shown(fault['input'])}{near or remedy}"


def _listed(text: str, block: type[BaseModel], key: str) -> str:
    """The list that a text in its place may be meant as; of numbers, of which it is none, an example."""
    field = fields_of(block).get(key)
    of_text = field is None or "str" in str(field.annotation)
    of_numbers = all(part.strip(" -").replace(".", "", 1).isdigit() for part in text.split(","))
    return f"[{text}]" if of_text or of_numbers else "a list of numbers, as [0, 1]"


def _wanted(fault: Mapping[str, Any]) -> str:
    kind, context = fault["type"], fault.get("ctx", {})
    if kind in BOUNDS:
        return f"{BOUNDS[kind]} {next(value for key, value in context.items() if key in ('gt', 'ge', 'lt', 'le'))}"
    if kind == "literal_error":
        return str(context["expected"])
    if kind == "string_too_long":
        return f"text of at most {context['max_length']} character{'s' * (context['max_length'] > 1)}"
    if kind == "too_short":
        return f"a list of at least {context['min_length']}"
    if kind == "too_long":
        return f"a list of at most {context['max_length']}"
    if kind == "string_pattern_mismatch":
        return "letters, digits, '.', '_' and '-', a letter or digit first"
    stem = kind.rsplit("_", 1)[0]
    return KINDS.get(stem) or KINDS.get(kind) or fault["msg"]


def _shown(value: Any) -> str:
    text = "nothing" if value is None else repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
