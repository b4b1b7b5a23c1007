"""Named models, of the suite and of plug-ins, and user-defined embeddings.

A family is a file that ends in `MODELS`.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType

from hashbench.common.errors import InputError, first_line, near_match
from hashbench.common.own_files import import_file
from hashbench.common.registry import modules_of, registered
from hashbench.models.coders.base import find_coder
from hashbench.models.embeddings.base import Embedding, ModelSpec
from hashbench.models.names import unknown_model

PACKAGE = "hashbench.models.embeddings"


def models() -> dict[str, ModelSpec]:
    """All named models, in the order of files and of their lists. Raises InputError where two have one name."""
    return dict(registered("model"))


def find_model(name: str) -> ModelSpec:
    """The spec of a name. Raises InputError with the nearest names."""
    named = models()
    if name not in named:
        if name in groups():
            raise InputError(f"{name!r} is a group; name one of its models: {', '.join(groups()[name])}")
        raise InputError(unknown_model(name))
    return named[name]


def groups() -> dict[str, list[str]]:
    """The names of the groups of models, each with its models in order."""
    members: dict[str, list[str]] = {}
    for spec in models().values():
        for group in spec.groups:
            members.setdefault(group, []).append(spec.name)
    return members


def named_models(names: Iterable[str]) -> list[str]:
    """Names of models, with each group replaced by its models; names that are neither stay."""
    members = groups()
    return [model for name in names for model in members.get(name, [name])]


def build_embedding(spec: ModelSpec, dim: int, *, vocabulary_rows: int | None = None) -> Embedding:
    """A freshly drawn embedding of a spec, its sizes in agreement with the coder's.

    `vocabulary_rows`: rows of the table where the coder numbers a vocabulary found in the data (specials included);
    None keeps the spec's number. Raises InputError for an argument that the embedding does not have.
    """
    arguments = embedding_arguments(spec, vocabulary_rows=vocabulary_rows)
    below = spec.below()
    if below is not None:
        arguments["base"] = build_embedding(below, dim, vocabulary_rows=vocabulary_rows)
    parameters = [name for name in inspect.signature(spec.embedding.family).parameters if name != "dim"]
    for key in arguments:
        if key not in parameters:
            follows = spec.embedding.family.following(spec.code.args)
            own = [name for name in parameters if name != "base" and name not in follows]
            choices = f"arguments: {', '.join(own)}" if own else "it has none"
            raise InputError(f"{spec.name}: embedding has no argument {key!r}{near_match(key, own)}; {choices}")
    return spec.embedding.family(dim, **arguments)


def embedding_arguments(spec: ModelSpec, *, vocabulary_rows: int | None = None) -> dict[str, object]:
    """The arguments of a spec's embedding; what follows from its coder and the data replaces its own."""
    family = spec.embedding.family
    arguments = {**spec.embedding.args, **family.following(spec.code.args)}
    if vocabulary_rows is not None and "num_rows" in inspect.signature(family).parameters:
        arguments["num_rows"] = vocabulary_rows
    return arguments


def with_dim(spec: ModelSpec, dim: int) -> ModelSpec:
    """The spec with its coder set to width `dim`; the spec itself where the coder has no such argument."""
    coder = find_coder(spec.code.coder)
    has_dim = coder is not None and "dim" in inspect.signature(coder).parameters
    return spec.with_args(code={"dim": dim}) if has_dim else spec


def load_own(reference: str) -> type[Embedding]:
    """The user-defined class named by "FILE.py:Class" or "package.module:Class". Raises InputError."""
    place, _, name = reference.rpartition(":")
    if not place or not name:
        raise InputError(f"{reference!r}: no embedding; write FILE.py:Class or package.module:Class")
    module = import_file(Path(place)) if place.endswith(".py") else _import_module(place)
    classes = {
        key: value
        for attribute, value in vars(module).items()
        if isinstance(value, type) and issubclass(value, Embedding) and value is not Embedding
        for key in (attribute, value.stored_name())
    }
    if name not in classes:
        remedy = "derive it from hashbench.extend.Embedding"
        raise InputError(f"{place}: no embedding class {name!r}{near_match(name, list(classes))}; {remedy}")
    return classes[name]


def suite_embedding(module: str, name: str) -> type[Embedding] | None:
    """The suite's embedding class of this stored name in a module of hashbench.models.embeddings; None for no such.

    It is the module of today, or where that has no such class, since it was renamed, any other.
    """
    named: dict[str, type[Embedding]] = {}
    for part in modules_of(PACKAGE):
        for value in vars(part).values():
            if isinstance(value, type) and issubclass(value, Embedding) and value.__module__ == part.__name__:
                if value.stored_name() == name:
                    named[part.__name__.rpartition(".")[2]] = value
    return named.get(module) or next(iter(named.values()), None)


def _import_module(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        reason = first_line(error)
        raise InputError(f"{name}: cannot be imported: {reason}; give FILE.py:Class or install it") from error
