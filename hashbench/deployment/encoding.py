"""The codes of a text's tokens as a model sees them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypedDict

import numpy as np
import torch

from hashbench.common.errors import InputError
from hashbench.data.sources.fingerprints import usable_cache_folder
from hashbench.data.sources.sources import open_sources
from hashbench.data.tasks.catalogue import available
from hashbench.models.coders.base import Coder
from hashbench.models.embeddings.registry import build_embedding, find_model
from hashbench.models.objectives.base import reads_items
from hashbench.models.text.base import Tokenizer
from hashbench.running.experiment.load import Loaded
from hashbench.running.experiment.models import ResolvedModel, model_of
from hashbench.running.experiment.recipes import Pretrain
from hashbench.running.experiment.resolved import needs_corpus, read_without_corpus
from hashbench.running.experiment.schema import Experiment


class Encoded(TypedDict):
    """A token with its codes, as `hashbench encode --format json` prints it."""

    token: str
    codes: list[int] | list[float]
    bits: str | None


@dataclass(frozen=True)
class Reader:
    """The parts of a model that turn a text into codes: spec, tokenizer and fitted coder."""

    model: ResolvedModel
    tokenizer: Tokenizer
    coder: Coder


def reader_of_model(name: str, data: Sequence[str] | None, note: Callable[[str], None]) -> Reader:
    """The reader of a named model, fitted where it must be on the corpora of `data`, else on the built-in corpus.

    `note` is called with a line where that is the built-in corpus.
    """
    values = {"name": "encode", "models": (name,), "data": tuple(data or ("builtin",))}
    experiment = Experiment.model_validate(values)
    loaded = Loaded(experiment, Path.cwd() / "encode.yaml", "--model", {})
    find_model(name)  # its message, without a file that nobody wrote
    model = model_of(loaded, name)
    sources = loaded.sources(data)
    opened = open_sources(sources)  # a missing folder is an error even where nothing is read of it
    if reads_items(model.spec):
        raise InputError(f"encode: '{name}' has codes of items, not of words; see hashbench neighbours --help")
    unfitted = model.spec.without_training()  # codes need no weights
    if not needs_corpus(unfitted):
        return fitted_reader(loaded, replace(model, spec=unfitted), sources)
    corpora = [entry.name for entry in available(opened) if entry.kind == "corpus"]
    if not corpora:
        raise InputError(
            f"--data {' '.join(sources)}: no corpus to fit the dictionary of '{name}' on; name a folder with corpora/"
        )
    if data is None:
        note("dictionary fitted on the built-in corpus; --data FOLDER takes another")
    pretrain = Pretrain.model_validate({"corpora": tuple(corpora)})
    return fitted_reader(loaded, replace(model, spec=unfitted, pretrain=pretrain), sources)


def fitted_reader(loaded: Loaded, model: ResolvedModel, sources: Sequence[str]) -> Reader:
    """The tokenizer and coder of a model, fitted on its corpora where they learn anything from text."""
    if not (needs_corpus(model.spec) or model.learned_on):
        return Reader(model, *read_without_corpus(model.spec))
    # Imported here: it brings the training packages, which take seconds.
    from hashbench.running.runs.materials import Materials

    texts = Materials(sources, usable_cache_folder()).texts(model)
    return Reader(model, texts.tokenizer, texts.coder)


def encode_texts(reader: Reader, texts: Sequence[str]) -> list[Encoded]:
    """Records `{token, codes, bits}`, one for each token: rows or codewords in `codes`, bits in hexadecimal.

    Raises InputError for a text without a token.
    """
    by_text = [list(reader.tokenizer.tokenize(text)) for text in texts]
    for place, (text, of_text) in enumerate(zip(texts, by_text, strict=True), start=1):
        if not of_text:
            raise InputError(f"text {place}: no token in {text!r}; give a text with a word")
    tokens = [token for of_text in by_text for token in of_text]
    codes = reader.coder.encode(tokens)
    numbers = _numbers(reader, codes)
    has_bits = reader.coder.bits is not None
    return [
        {"token": token, "codes": numbers[i], "bits": code.tobytes().hex() if has_bits else None}
        for i, (token, code) in enumerate(zip(tokens, codes, strict=True))
    ]


def _numbers(reader: Reader, codes: np.ndarray) -> list[list[int]] | list[list[float]]:
    """Codes (n, c) -> a list for each token: table rows, or codewords that the embedding reads in bits, or the vector.

    The lists are empty for an embedding that reads bits without codewords.
    """
    if reader.coder.bits is None:
        rows: list[list[int]] | list[list[float]] = codes.tolist()
        return rows
    embedding = build_embedding(reader.model.spec, dim=1)
    bits = torch.from_numpy(np.unpackbits(codes, axis=1)).float()  # (n, T)
    codewords: list[list[int]] = embedding.codewords(bits).tolist()
    return codewords
