"""From the spec of a model to the plain values of config.json, and back."""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from dataclasses import replace
from inspect import getfile
from pathlib import Path
from typing import Any

from hashbench.common.errors import InputError, located
from hashbench.common.own_files import is_own
from hashbench.common.registry import class_of
from hashbench.common.untrusted import OWN, check_arguments, plain_file
from hashbench.deployment.description import OWN_PARTS, Config, check_trusted, coder_arguments
from hashbench.deployment.inputs import CONFIG
from hashbench.models.embeddings.base import (
    CodeSpec,
    Embedding,
    EmbeddingSpec,
    EncoderSpec,
    HeadSpec,
    ModelSpec,
    Template,
    TextSpec,
    TrainingSpec,
)
from hashbench.models.embeddings.registry import load_own, suite_embedding
from hashbench.models.encoders.base import find_architecture

# Embeddings of the suite, in folders of earlier versions too, by a pattern that no path fits.
SUITE_MODULE = re.compile(r"hashbench\.(?:models\.)?embeddings\.[a-z_][a-z0-9_]*")


def _embedding_spec(values: Mapping[str, Any], folder: Path, *, trust_code: bool) -> EmbeddingSpec:
    family, arguments = _embedding_class(values["embedding"], folder, trust_code=trust_code), values["embedding_args"]
    check_arguments(family, arguments, f"{folder / CONFIG}: embedding_args")
    below = values.get("below")
    base = None if below is None else _embedding_spec(below, folder, trust_code=trust_code)
    return EmbeddingSpec(family, arguments, base=base)


def _embedding_class(reference: str, folder: Path, *, trust_code: bool) -> type[Embedding]:
    """The class that a config names: one of the suite's, or with `trust_code` the folder's or an installed one."""
    place, _, name = reference.rpartition(":")
    if place == OWN:
        check_trusted(folder / OWN, trust_code=trust_code)
        return load_own(f"{plain_file(folder / OWN)}:{name}")
    if SUITE_MODULE.fullmatch(place):
        family = suite_embedding(place.rpartition(".")[2], name)
        if family is None:
            remedy = "load it with the version that exported it"
            raise InputError(f"{folder / CONFIG}: embedding {reference[:200]!r} is none of this version's; {remedy}")
        return family
    if not (trust_code and all(part.isidentifier() for part in place.split("."))):
        remedy = "if you trust it, add --trust-code (in Python: trust_code=True)"
        raise InputError(f"{folder / CONFIG}: embedding {reference[:200]!r} is no part of hashbench; {remedy}")
    return load_own(reference)


def copy_own_code(spec: ModelSpec, folder: Path) -> None:
    """Copies the files of a model's user-defined embedding, tokenizer and coder to the folder, each file once.

    Raises InputError where embeddings that are built over each other are in several files.
    """
    families, model = [spec.embedding.family], spec.below()
    while model is not None:
        families.append(model.embedding.family)
        model = model.below()
    files = {getfile(family) for family in families if is_own(family.__module__)}
    if len(files) > 1:
        raise InputError(f"{' and '.join(sorted(files))}: embeddings of one model; put them into one file to export it")
    for file in files:
        shutil.copyfile(file, folder / OWN)
    for what, name in (("tokenizer", spec.text.tokenizer), ("coder", spec.code.coder)):
        cls = class_of(what, name)
        if cls is not None and is_own(cls.__module__) and getfile(cls) not in files:
            shutil.copyfile(getfile(cls), folder / OWN_PARTS[what])


def spec_of(config: Config, folder: Path, *, trust_code: bool = False) -> ModelSpec:
    """The spec of an exported model, of parts that the registry lists. Raises InputError for others.

    A user-defined embedding is refused unless `trust_code`.
    """
    values, where = config.spec, str(folder / CONFIG)
    form = values["template"]
    plain: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in form.items()}
    text = TextSpec(values["tokenizer"], values["tokenizer_args"], Template(**plain))
    code = CodeSpec(values["coder"], coder_arguments(config, folder, trust_code=trust_code))
    encoder = EncoderSpec(values["encoder"], values["encoder_args"])
    with located(where):
        sizes = find_architecture(encoder.kind).sizes
    for shape in list(sizes.values())[:1]:
        check_arguments(type(shape), encoder.args, f"{where}: encoder_args")
        with located(f"{where}: encoder_args"):
            replace(shape, **encoder.args)  # a value out of range
    return ModelSpec(
        config.name,
        _embedding_spec(values, folder, trust_code=trust_code),
        text=text,
        code=code,
        encoder=encoder,
        head=HeadSpec(values["pooling"], values["dense_head"]),
        training=TrainingSpec(objective=None),
        initial_spread=values.get("initial_spread"),
    )
