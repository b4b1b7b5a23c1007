"""Writing a trained model as a folder: weights, config, tokenizer, the coder's state, a model card."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from safetensors.torch import load_file, save_file
from torch import Tensor

from hashbench.common.atomic import atomic_write, replace_text, with_usual_rights
from hashbench.common.errors import InputError
from hashbench.deployment.config import (
    CARD,
    HEAD_PREFIX,
    MODEL_PREFIX,
    STATE,
    TOKENIZER,
    WEIGHTS,
    Config,
    copy_own_code,
)
from hashbench.models.coders.base import Coder
from hashbench.models.embeddings.base import Counts, ModelSpec
from hashbench.models.text.base import Tokenizer


@dataclass(frozen=True)
class TrainedModel:
    """The results of a training run: the model, its tokenizer and coder, and its weights."""

    config: Config
    spec: ModelSpec
    tokenizer: Tokenizer
    coder: Coder
    weights: Path  # of embedding and encoder
    head: Path | None  # None: a pre-trained model, whose head was dropped


@dataclass(frozen=True)
class Sizes:
    """Parameters in two frames, and bytes of the weights as written."""

    in_paper: Counts
    deployed: Counts
    weight_bytes: int


def write(trained: TrainedModel, folder: Path) -> int:
    """Writes all but the card into an empty or new folder, whole or not at all; bytes of the weights.

    Raises:
        InputError: there is something in the folder already.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(f"{folder}: is there already; name a new folder, or empty it")
    folder = folder.expanduser().absolute()
    tensors = {f"{MODEL_PREFIX}{name}": tensor for name, tensor in load_file(trained.weights).items()}
    if trained.head is not None:
        tensors |= {f"{HEAD_PREFIX}{name}": tensor for name, tensor in load_file(trained.head).items()}
    try:
        with atomic_write(folder) as part:
            part.mkdir()
            write_weights(tensors, part)
            trained.tokenizer.save(part / TOKENIZER)
            if trained.coder.state():
                # mypy mistakes the arrays for allow_pickle.
                np.savez(part / STATE, **trained.coder.state())  # type: ignore[arg-type]
            copy_own_code(trained.spec.embedding.family, part)
            trained.config.write(part)
    except OSError as error:
        raise InputError(f"{folder}: cannot be made ({error.strerror}); name another folder") from error
    return (folder / WEIGHTS).stat().st_size


def write_weights(tensors: dict[str, Tensor], folder: Path) -> None:
    """Writes the weights of a folder, readable by all who can read its other files."""
    save_file(tensors, folder / WEIGHTS, metadata={"format": "pt"})
    with_usual_rights(folder / WEIGHTS)


def write_card(folder: Path, card: str) -> None:
    """Writes the model card."""
    replace_text(folder / CARD, card)
