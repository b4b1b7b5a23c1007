"""Checks of an exported folder that anybody may have made, before anything in it is imported, built or allocated."""

from __future__ import annotations

import contextlib
import inspect
import json
import math
import stat
import typing
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict, PydanticSchemaGenerationError, TypeAdapter, ValidationError

from hashbench.common.errors import InputError, first_line, near_match

# Of an exported folder: files of its tokenizer, of its fitted coder, and of the user's embedding
TOKENIZER, STATE, OWN = "tokenizer", "coder.npz", "embedding.py"
MODEL_PREFIX, HEAD_PREFIX = "model.", "head."  # of the names of its tensors
# Chosen here, far above every model of the suite
MOST_BYTES = 2**24  # of config.json
MOST_NUMBER = 2**24  # for a size, a count or an id; seeds may be larger
AGAIN = "export it again, or take the folder from where it was made"
WHOLE = "copy the folder with its files, as cp -rL does"


@contextlib.contextmanager
def one_line(where: object, within: object = None) -> Iterator[None]:
    """Turns every error from the block into an InputError of one line: the block reads what a stranger may have made.

    An InputError stays as it is; with `within`, a folder, one that does not name the folder gets `where` before it.
    No list of kinds of errors would be complete: libraries raise their own, one of them (PanicException of code in
    Rust) beside Exception.
    """
    try:
        yield
    except InputError as error:
        if within is None or str(within) in str(error):
            raise
        raise InputError(f"{where}: {error}") from error
    except BaseException as error:
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise  # Ctrl-C and the end of the program
        raise InputError(f"{where}: cannot be used ({type(error).__name__}: {short(error)}); {AGAIN}") from error


def short(error: BaseException) -> str:
    """The first line of an error's message, cut to a length that fits a line."""
    return " ".join(first_line(error).split())[:160]


def plain_file(path: Path, most: int | None = None) -> Path:
    """`path`, if a file is there, and no link, pipe, device or folder. `most`: bytes. Raises InputError."""
    facts = path.lstat()  # of a link itself; opening a pipe would never return
    if not stat.S_ISREG(facts.st_mode):
        kind = "a link" if stat.S_ISLNK(facts.st_mode) else "no file"
        raise InputError(f"{path}: is {kind}, but an exported model has a file there; {WHOLE}")
    if most is not None and facts.st_size > most:
        raise InputError(f"{path}: has {facts.st_size:,} bytes, more than {most:,}; {AGAIN}")
    return path


def plain_files(folder: Path) -> Path:
    """`folder`, if all in it are files and folders. Raises InputError for a link, a pipe or a device."""
    if folder.is_symlink() or folder.exists() and not folder.is_dir():
        raise InputError(f"{folder}: is no folder, but an exported model has one there; {WHOLE}")
    for path in sorted(folder.rglob("*")):
        if path.is_symlink() or not path.is_dir():
            plain_file(path)
    return folder


class WrittenValues(BaseModel):
    """Base of the schema of config.json: exact types, finite numbers, no unknown keys."""

    model_config = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False, arbitrary_types_allowed=True)


def check_values(schema: type[BaseModel], content: bytes, where: object) -> None:
    """Raises InputError where a JSON text does not follow a schema. The message has the first place that does not."""
    try:
        schema.model_validate_json(content)
    except ValidationError as error:
        raise InputError(f"{where}: {complaint(error)}; {AGAIN}") from None


def complaint(error: ValidationError) -> str:
    """The first fault that pydantic found, with its place.

    >>> try:
    ...     TypeAdapter(dict[str, int]).validate_json('{"dim": "x"}', strict=True)
    ... except ValidationError as error:
    ...     complaint(error)
    'dim: input should be a valid integer'
    """
    fault = error.errors(include_url=False, include_context=False, include_input=False)[0]
    place = ".".join(str(part) for part in fault["loc"])[:80]
    sentence = " ".join(fault["msg"].split())[:160]
    return f"{place + ': ' if place else ''}{sentence[:1].lower()}{sentence[1:]}"


def check_numbers(value: object, where: str) -> None:
    """Raises InputError for a number in JSON values that no model has: too large for a size, or not finite."""
    if isinstance(value, float) and not math.isfinite(value):
        raise InputError(f"{where}: {value} is no finite number; {AGAIN}")
    if isinstance(value, int) and abs(value) > MOST_NUMBER:
        raise InputError(f"{where}: {value} is beyond {MOST_NUMBER:,}, larger than any model is; {AGAIN}")
    parts = value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list) else ()
    for key, part in parts:
        if not (isinstance(part, int) and "seed" in str(key)):
            check_numbers(part, f"{where}.{key}")


def check_arguments(cls: type[Any], arguments: Mapping[str, Any], where: str, *others: str) -> None:
    """Raises InputError for an argument that a class does not take, or of another type than it declares.

    `others`: names of further arguments. Types that are not declared, or that pydantic does not know, are not checked.
    """
    try:
        hints = typing.get_type_hints(cls.__init__)
    except (NameError, TypeError, AttributeError):  # a user-defined class whose hints cannot be resolved
        return
    names = list(inspect.signature(cls).parameters)
    for name, value in arguments.items():
        if name in others:
            continue
        if name not in names:
            raise InputError(f"{where}: unknown argument {name[:80]!r}{near_match(name, names)}; {AGAIN}")
        if name not in hints:
            continue
        try:
            # Through JSON, because its strict mode takes lists for tuples but neither "12" nor true for a number.
            kind = TypeAdapter(hints[name], config=ConfigDict(strict=True, arbitrary_types_allowed=True))
            kind.validate_json(json.dumps(value))
        except ValidationError as error:
            raise InputError(f"{where}.{name}: {complaint(error)}; {AGAIN}") from None
        except PydanticSchemaGenerationError:
            continue


def stored_arrays(path: Path) -> dict[str, np.ndarray]:
    """The arrays (n, ...) of an .npz file by name. Raises InputError for packed ones, which may unpack to any size."""
    plain_file(path)
    with zipfile.ZipFile(path) as archive:
        if any(entry.compress_type != zipfile.ZIP_STORED for entry in archive.infolist()):
            raise InputError(f"{path}: is packed, which no export does; {AGAIN}")
    with np.load(path, allow_pickle=False) as arrays:
        return dict(arrays)
