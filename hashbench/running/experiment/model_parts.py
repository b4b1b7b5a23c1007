"""Checks that the parts of a model fit together: embedding and coder, sizes, memory, values of the encoder."""

from __future__ import annotations

import warnings

import numpy as np
import torch

from hashbench.common.errors import InputError, first_line
from hashbench.common.own_files import is_own
from hashbench.common.process import is_out_of_memory, main_memory
from hashbench.common.registry import registered
from hashbench.models.coders.base import find_coder, make_coder
from hashbench.models.embeddings.base import Embedding, ModelSpec, stored
from hashbench.models.embeddings.registry import build_embedding, models, with_dim
from hashbench.models.encoders.base import Encoder, encoder_config, encoder_outline
from hashbench.models.layers import on_meta
from hashbench.running.experiment.contract import batch_of, error_line, fault_of_forward, fault_of_shape, written_at
from hashbench.running.experiment.load import Loaded
from hashbench.running.experiment.models import ResolvedModel
from hashbench.running.experiment.recipes import Finetune, Pretrain

FLOAT_BYTES = 4  # of a weight when it is made


def check_memory(loaded: Loaded, spec: ModelSpec, encoder: Encoder) -> None:
    """Raises InputError for a model whose weights are larger than the memory of this machine, without making them.

    If its runs are carried out elsewhere, only the small embedding is looked at that is tried here.
    """
    elsewhere = registered("executor")[loaded.experiment.executor].elsewhere
    dim = encoder.config.dim
    try:
        with on_meta(), warnings.catch_warnings(action="ignore"):
            embedding = stored(build_embedding(with_dim(spec.small() if elsewhere else spec, dim), dim))
    except Exception as error:
        if "overflow" in str(error):
            raise InputError(
                f"its embedding is larger than any memory, with dim {dim:,}; take smaller values"
            ) from error
        return  # `small_embedding` raises it again with its reason
    rest = 0 if elsewhere else stored(encoder)
    needed, memory = FLOAT_BYTES * (embedding + rest), main_memory()
    if needed > memory:
        raise InputError(
            f"its weights take {needed / 1e9:,.1f} GB ({embedding:,} parameters of the embedding, {rest:,} of the "
            f"encoder), and this machine has {memory / 1e9:,.1f} GB of memory; take smaller values"
        )


def small_embedding(full: ModelSpec, dim: int) -> Embedding:
    """A model's embedding with few rows, tried on two codes. Raises InputError where it does not fit its coder.

    Or where one of a user gives vectors of another shape than its encoder reads.

    Codes of zeros alone do not show all: row numbers fit where bytes are looked up, until one is beyond 255. So codes
    must be of a kind (packed bytes, whole numbers, floats) that named models with this embedding have.
    """
    spec = with_dim(full.small(), dim)
    coder = make_coder(spec.code.coder, **spec.code.args)
    codes = torch.from_numpy(np.zeros((2, coder.width), coder.dtype))  # 0 is a code of every coder
    kinds = {np.dtype(cls.dtype).kind for name in _usual_coders(spec) if (cls := find_coder(name)) is not None}
    if kinds and np.dtype(coder.dtype).kind not in kinds:
        raise InputError(_other_codes(full, dim))
    fault, own = "", is_own(spec.embedding.family.__module__)
    try:
        embedding = build_embedding(spec, dim)
        with warnings.catch_warnings(action="ignore"):  # torch's own words beside the error
            embedding.embed_types(codes)
            if own:
                fault = fault_of_shape(embedding, codes, dim) or fault_of_forward(embedding, batch_of(codes), dim)
    except InputError:
        raise
    except Exception as error:  # a user-defined class may raise anything
        family = spec.embedding.family.stored_name()
        if is_out_of_memory(error):
            raise InputError(
                f"{family} with dim {dim:,} takes more memory than is free; take smaller values"
            ) from error
        reason = first_line(error) if isinstance(error, (TypeError, ValueError, RuntimeError)) else error_line(error)
        raise InputError(f"{_other_codes(full, dim)} ({reason})") from error
    if fault:
        where = written_at(spec.embedding.family, fault.split()[0])
        at = f"{where}; " if where else ""
        raise InputError(
            f"{spec.embedding.family.stored_name()}: {fault} ({at}hashbench check --embedding FILE.py:Class)"
        )
    return embedding


def _usual_coders(spec: ModelSpec) -> list[str]:
    """The coders of the named models that have the embedding of a model."""
    return sorted({other.code.coder for other in models().values() if other.embedding.family is spec.embedding.family})


def _other_codes(spec: ModelSpec, dim: int) -> str:
    """The message that a model's embedding does not take the codes of its coder, with the coders to choose from."""
    coder = make_coder(spec.code.coder, **with_dim(spec, dim).code.args)
    usual = [name for name in _usual_coders(spec) if name != spec.code.coder]
    choice = (
        f"coder {' or '.join(usual)}, or other arguments" if usual else "another coder (coder: NAME) or other arguments"
    )
    numbers = f"{coder.width} {'number' if coder.width == 1 else 'numbers'} of {np.dtype(coder.dtype)} a type"
    family = spec.embedding.family.stored_name()
    return f"{family} does not take the codes of coder {spec.code.coder}, {numbers}; choose {choice}"


def check_sizes(spec: ModelSpec, dim: int) -> None:
    """Raises InputError for an argument with which the embedding cannot be made, or one that leaves a tensor empty."""
    arguments = ", ".join(f"{key} {value!r}" for key, value in spec.embedding.args.items()) or "its arguments"
    try:
        with on_meta(), warnings.catch_warnings(action="ignore"):  # torch's own words on an empty tensor
            sizes = [parameter.numel() for parameter in build_embedding(with_dim(spec, dim), dim).parameters()]
    except (TypeError, ValueError, RuntimeError, ArithmeticError) as error:
        reason = first_line(error)
        if "meta" in reason:  # a user-defined embedding may compute with its values when it is built
            return
        raise InputError(f"the embedding cannot be made with {arguments}: {reason}; correct the values") from error
    if 0 in sizes:
        raise InputError(f"with {arguments} a table or layer of the embedding is empty; every size must be at least 1")


def check_coder(spec: ModelSpec) -> None:
    """Raises InputError for a coder that cannot encode the types of the model's tokenizer."""
    coder = make_coder(spec.code.coder, **spec.code.args)
    if coder.reads not in (None, spec.text.tokenizer):
        raise InputError(
            f"coder {spec.code.coder} can tell apart the types of tokenizer {coder.reads} alone, "
            f"not of {spec.text.tokenizer}; write tokenizer: {coder.reads}, or another coder"
        )
    if coder.needs_fit or not is_own(type(coder).__module__):
        return
    try:
        coder.encode(["play", ""])
    except Exception as error:  # a user-defined class may raise anything
        what = f"coder {spec.code.coder} cannot encode: {error_line(error)}"
        raise InputError(f"{what}; correct it (hashbench check --coder FILE.py:Class)") from error


def check_segments(spec: ModelSpec, encoder: Encoder) -> None:
    """Raises InputError where pairs have two segments, and the encoder has one row for them."""
    rows = encoder.segment_rows
    if spec.text.template.segments and rows is not None and rows < 2:
        raise InputError(
            f"encoder: type_rows {rows}, but pairs of this model have two segments; write encoder: "
            f"{{kind: {spec.encoder.kind}, type_rows: 2}}"
        )


def check_precision(model: ResolvedModel, encoder: Encoder) -> None:
    """Raises InputError where states between layers are wanted in bf16, and the encoder has none that pass by."""
    of_training = [model.pretrain] if model.spec.training.objective is not None else []
    recipes: list[Pretrain | Finetune] = [*of_training, model.finetune, *model.per_task.values()]
    if not encoder.has_residual and any(recipe.precision == "bf16-residual" for recipe in recipes):
        raise InputError(
            f"precision bf16-residual keeps in bf16 what layers add to, and encoder {model.spec.encoder.kind} has "
            "nothing of the kind; write bf16"
        )


def check_encoder_values(spec: ModelSpec, size: str) -> None:
    """Raises InputError for an encoder value that must be a number and is none."""
    own = encoder_config(spec.encoder.kind, size)
    for key, value in spec.encoder.args.items():
        wanted = isinstance(getattr(own, key, None), int | float)  # an unknown key is named where the encoder is made
        if wanted and (isinstance(value, bool) or not isinstance(value, int | float)):
            raise InputError(f"encoder: {key} must be a number, not {value!r}; correct the value")


def outline_of(loaded: Loaded, spec: ModelSpec) -> Encoder:
    """The model's encoder without memory for its weights. Raises InputError for one that is larger than any memory."""
    try:
        return encoder_outline(spec.encoder.kind, loaded.experiment.encoder, **spec.encoder.args)
    except RuntimeError as error:
        values = ", ".join(f"{key} {value!r}" for key, value in spec.encoder.args.items())
        raise InputError(f"encoder: cannot be made with {values}: {first_line(error)}; take smaller values") from error
