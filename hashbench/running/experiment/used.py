"""Models by the key `use` of an entry: a user-defined embedding, or transformers:NAME, a model of that library."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hashbench.common.errors import InputError
from hashbench.data.sources.weights import locate_weights
from hashbench.models.embeddings.base import (
    SPECIALS,
    CodeSpec,
    EmbeddingSpec,
    EncoderSpec,
    HeadSpec,
    ModelSpec,
    Template,
    TextSpec,
    TrainingSpec,
)
from hashbench.models.embeddings.library import LibraryTable
from hashbench.models.embeddings.registry import load_own
from hashbench.models.encoders.library import NO_SHAPE, encoder_of, library_config, pooler_path, shape_of, table_of
from hashbench.models.encoders.transformer import SHAPES
from hashbench.models.text.library import LibraryTokens, TokenLayout, library
from hashbench.running.experiment.completing import FINETUNE_LEARNING_RATE

# What an own embedding gets that names no coder: needs no fit, works for any text.
OWN_CODER = "md5-bits"
TRANSFORMERS = "transformers:"  # begins `use` of a model of that library
SETTLED = ("tokenizer", "coder", "embedding", "encoder", "objective", "free_size")  # in which it leaves no choice


def spec_of_use(label: str, reference: str, folder: Path) -> ModelSpec:
    """The model that `use: REFERENCE` means; paths in it are relative to `folder`. Raises InputError."""
    if reference.startswith(TRANSFORMERS):
        return of_transformers(label, reference.removeprefix(TRANSFORMERS), folder)
    file, colon, name = reference.rpartition(":")
    own = f"{folder / Path(file).expanduser()}:{name}" if colon and file.endswith(".py") else reference
    return ModelSpec(label, EmbeddingSpec(load_own(own)), code=CodeSpec(OWN_CODER))


def settled_keys(reference: str) -> tuple[str, ...]:
    """The keys that an entry with this `use` must not have."""
    return SETTLED if reference.startswith(TRANSFORMERS) else ()


def of_transformers(label: str, name: str, folder: Path) -> ModelSpec:
    """A model with an encoder of transformers, named by a folder or on the hub. Raises InputError for what is none."""
    if not name:
        raise InputError("transformers: names no model; write transformers:NAME or transformers:./FOLDER")
    library()
    path = folder / Path(name).expanduser()
    weights = str(path) if path.exists() else name
    located = locate_weights(weights)
    config = located.config()
    parsed = library_config(config)
    model = encoder_of(parsed)
    layout = LibraryTokens(located.place).layout()
    shape = shape_of(parsed)
    kept = {key: value for key, value in config.items() if key not in NO_SHAPE}
    return ModelSpec(
        name=label,
        text=TextSpec("transformers", {"name": located.place}, _template(layout, parsed)),
        code=CodeSpec("vocabulary"),
        embedding=_table(model, layout),
        encoder=EncoderSpec("transformers", {**shape, "library": kept}),
        head=HeadSpec(dense_dropout=pooler_path(parsed) is None),
        training=TrainingSpec(None, weights=weights, finetune={"learning_rate": _rate(shape["dim"])}),
        summary=f"{located.shown} of transformers with its own tokenizer",
    )


def _template(layout: TokenLayout, config: Any) -> Template:
    names: dict[int | str, str] = {"A": "A", "B": "B"}
    for number, special in zip(layout.specials, SPECIALS, strict=True):
        names.setdefault(number, special)
    return Template(
        single=tuple(names[part] for part in layout.single),
        pair=tuple(names[part] for part in layout.pair),
        segments=layout.segments and (getattr(config, "type_vocab_size", None) or 0) > 1,
        truncation=layout.truncation,
    )


def _table(model: Any, layout: TokenLayout) -> EmbeddingSpec:
    """The spec of the embedding table of a transformers model, which is on the meta device."""
    located = table_of(model)
    assert located is not None  # encoder_of has looked
    path, table = located
    shape = {"path": path, "specials": list(layout.specials), "width": table.embedding_dim}
    few = {"rows": 64, "specials": list(range(len(SPECIALS)))}
    return EmbeddingSpec(LibraryTable, {**shape, "rows": table.num_embeddings}, small=few)


def _rate(dim: int) -> float:
    """The suite's fine-tuning learning rate for the widest encoder size that is not wider than `dim`."""
    fitting = [size for size, shape in SHAPES.items() if shape["dim"] <= dim]
    return FINETUNE_LEARNING_RATE[fitting[-1] if fitting else next(iter(SHAPES))]
