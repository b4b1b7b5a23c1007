"""An exported model as the beginning of a training (`weights: FOLDER`): it must be the model of the experiment."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from inspect import getfile
from pathlib import Path
from typing import Any

import numpy as np

from hashbench.common.errors import InputError
from hashbench.common.own_files import is_own
from hashbench.common.untrusted import OWN, STATE, TOKENIZER, one_line, stored_arrays
from hashbench.data.sources.fingerprints import file_fingerprint
from hashbench.data.sources.weights import CONFIG, RANDOM, read_config
from hashbench.models.embeddings.base import ModelSpec, is_export
from hashbench.models.embeddings.registry import embedding_arguments
from hashbench.models.encoders.base import encoder_config
from hashbench.models.text.base import find_tokenizer, lasting

# What of an export's spec a training may change: the head is new. Dropout, which has no weights, may change too.
FREE = {"pooling", "dense_head", "initial_spread"}


def export_at(weights: str | None) -> Path | None:
    """The folder of published weights if it is an exported model; None for others, and for one that is not there."""
    if weights in (None, RANDOM) or not (path := Path(str(weights)) / CONFIG).is_file():
        return None
    return path.parent if is_export(read_config(path)) else None


def with_vocabulary_of(weights: str, argument: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a tokenizer of pieces with the vocabulary of published weights as `argument`.

    Of an export it is the folder of its tokenizer, whose files have the options of the training; equal ones are left
    out.
    """
    folder = export_at(weights)
    if folder is None:
        return {**arguments, argument: weights}
    stored = read_config(folder / CONFIG)["spec"].get("tokenizer_args")
    options = stored if isinstance(stored, dict) else {}
    others = {key: value for key, value in arguments.items() if key not in options or options[key] != value}
    return {**others, argument: str(folder / TOKENIZER)}


def state_at(weights: str | None) -> dict[str, np.ndarray]:
    """The arrays (n, ...) of the fitted coder of an export, by name; {} where it has none."""
    folder = export_at(weights)
    if folder is None or not (folder / STATE).exists():
        return {}
    with one_line(folder / STATE):
        return stored_arrays(folder / STATE)


def spread_at(weights: str) -> Any:
    """The `initial_spread` with which an exported model began, whose factors are among its weights; None for others."""
    folder = export_at(weights)
    return None if folder is None else read_config(folder / CONFIG)["spec"].get("initial_spread")


def check_same(spec: ModelSpec, size: str, folder: Path) -> None:
    """Raises InputError where a model is not that of an exported folder, with the first value that differs."""
    where = f"weights {folder}"
    with one_line(where):
        stored = read_config(folder / CONFIG)["spec"]
        written = json.loads(json.dumps(spec_values(spec, size, stored["embedding_args"].get("num_rows"))))
        values, own = dict(_flat(stored)), dict(_flat(written))
        kind = find_tokenizer(spec.text.tokenizer)
        has_pieces = kind is not None and kind.argument is not None  # then the folder's files are its tokenizer
        for key in sorted({*values, *own} - FREE):
            is_free = "dropout" in key or (has_pieces and key.startswith("tokenizer_args."))
            if values.get(key) != own.get(key) and not is_free:
                there, here = (repr(of[key]) if key in of else "absent" for of in (values, own))
                difference = f"{key} is {there} there, {here} here"
                raise InputError(f"{where}: {difference}; write the model as it was exported, or take other weights")
        code = getfile(spec.embedding.family)
        if is_own(spec.embedding.family.__module__) and file_fingerprint(folder / OWN) != file_fingerprint(Path(code)):
            raise InputError(f"{where}: {OWN} is not {code}; take the file that the model was trained with")


def _flat(values: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in values.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{before}{key}.")
        else:
            yield f"{before}{key}", value


def spec_values(spec: ModelSpec, size: str, vocabulary_rows: int | None) -> dict[str, Any]:
    """A spec as plain values, copied, with all defaults written out, since a later version may change them."""
    return {
        **_embedding_values(spec, vocabulary_rows),
        "tokenizer": spec.text.tokenizer,
        "tokenizer_args": lasting(spec.text.tokenizer, spec.text.args),
        "coder": spec.code.coder,
        "coder_args": dict(spec.code.args),
        "encoder": spec.encoder.kind,
        "encoder_args": asdict(encoder_config(spec.encoder.kind, size, **spec.encoder.args)),
        "pooling": spec.head.pooling,
        "dense_head": spec.head.dense,
        "template": asdict(spec.text.template),
        **({} if spec.initial_spread is None else {"initial_spread": spec.initial_spread}),
    }


def _embedding_values(spec: ModelSpec, vocabulary_rows: int | None) -> dict[str, Any]:
    """The plain values of an embedding; the embedding that it is built over is under "below"."""
    family, below = spec.embedding.family, spec.below()
    place = OWN if is_own(family.__module__) else family.__module__
    values = {
        "embedding": f"{place}:{family.stored_name()}",
        "embedding_args": embedding_arguments(spec, vocabulary_rows=vocabulary_rows),
    }
    return values if below is None else {**values, "below": _embedding_values(below, vocabulary_rows)}
