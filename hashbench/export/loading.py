"""Exported models at work: texts to labels, values, scores or vectors. Needs the folder and nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from hashbench.coders.base import Coder
from hashbench.coders.registry import make_coder
from hashbench.coders.remembered import RememberedCodes
from hashbench.data.texts import text_batches
from hashbench.embeddings.base import Batch, ModelSpec
from hashbench.errors import InputError, first_line
from hashbench.export.config import HEAD_PREFIX, MODEL_PREFIX, STATE, TOKENIZER, WEIGHTS, Config, read_config, spec_of
from hashbench.objectives.classification import ClassificationHead, pool
from hashbench.text.tokenizers import Tokenizer, tokenizers
from hashbench.training.model import Model, build_model

BATCH_SIZE = 32


class Predictor:
    """A model, its tokenizer and its coder. Codes of types are computed once and kept."""

    def __init__(
        self, config: Config, spec: ModelSpec, tokenizer: Tokenizer, coder: Coder, model: Model,
        head: ClassificationHead | None,
    ) -> None:  # fmt: skip
        self.config, self.spec, self.tokenizer = config, spec, tokenizer
        self.coder = RememberedCodes(coder)
        self.model, self.head = model.eval(), None if head is None else head.eval()

    def predict(self, texts: Sequence[str], second: Sequence[str] | None = None) -> list[str] | list[float]:
        """Names of the most likely classes, or values of a regression. `second`: the other texts of pairs."""
        outputs = self.outputs(texts, second)  # (n, n_outputs)
        if self.config.n_outputs == 1:
            return [float(value) for value in outputs[:, 0]]
        labels = self.config.labels or tuple(str(i) for i in range(outputs.shape[1]))
        return [labels[i] for i in outputs.argmax(axis=1)]

    def probabilities(self, texts: Sequence[str], second: Sequence[str] | None = None) -> np.ndarray:
        """Of each class, (n, classes); rows sum to 1."""
        outputs = torch.from_numpy(self.outputs(texts, second))
        return torch.softmax(outputs.double(), dim=1).numpy()

    @torch.inference_mode()
    def outputs(self, texts: Sequence[str], second: Sequence[str] | None = None) -> np.ndarray:
        """What the head gives, (n, n_outputs) float32. Raises InputError for a model without a head."""
        if self.head is None:
            raise InputError(f"{self.config.name}: a pre-trained model has no head; export the run of a fine-tuning")
        outputs = np.empty((len(texts), self.config.n_outputs or 0), np.float32)
        for batch, states in self._states(texts, second):
            assert batch.row_ids is not None
            outputs[batch.row_ids.numpy()] = self.head(states, self.model.states_mask(batch)).numpy()
        return outputs

    @torch.inference_mode()
    def embed(self, texts: Sequence[str], second: Sequence[str] | None = None) -> np.ndarray:
        """One vector a text (n, d): the states of the last layer, pooled as the model's head pools them."""
        vectors = np.empty((len(texts), self.model.config.dim), np.float32)
        for batch, states in self._states(texts, second):
            assert batch.row_ids is not None
            vectors[batch.row_ids.numpy()] = pool(states, self.model.states_mask(batch), self.spec.head.pooling).numpy()
        return vectors

    def _states(self, texts: Sequence[str], second: Sequence[str] | None) -> Iterator[tuple[Batch, torch.Tensor]]:
        """Batches, of shape (B, L), and their states (B, L', d)."""
        if self.config.task is not None and self.config.is_pair != (second is not None):
            wanted = "pairs of texts" if self.config.is_pair else "single texts"
            raise InputError(f"{self.config.name}: task {self.config.task} has {wanted}; give such")
        if second is not None and len(second) != len(texts):
            raise InputError(f"{len(texts)} texts and {len(second)} second ones; give as many")
        columns = [texts] if second is None else [texts, second]
        max_length = self.config.max_length
        for batch in text_batches(
            columns, self.tokenizer, self.coder, self.spec.text.template, max_length=max_length, batch_size=BATCH_SIZE
        ):
            yield batch, self.model(batch)


def load(folder: str | Path, *, trust_code: bool = False) -> Predictor:
    """The model of an exported folder, on the CPU. Raises InputError where the folder holds none.

    `trust_code`: run the folder's own embedding.py, as whoever made it wrote it; without it such a folder is refused.
    """
    place = Path(folder).expanduser()
    config, spec, model, head, _ = read_folder(place, trust_code=trust_code)
    return Predictor(config, spec, tokenizer_in(spec, place), coder_in(spec, place), model, head)


def read_folder(
    place: Path, *, trust_code: bool = False
) -> tuple[Config, ModelSpec, Model, ClassificationHead | None, dict[str, Tensor]]:
    """What a folder holds: config, spec, model, head (None: pre-trained only), tensors by their names in the file."""
    config = read_config(place)
    spec = spec_of(config, place, trust_code=trust_code)
    model, head = build_model(spec, config.size, seed=0), None
    if config.n_outputs is not None:
        dim = model.config.dim
        head = ClassificationHead(dim, config.n_outputs, 0.0, spec.head.pooling, dense=spec.head.dense)
    try:
        tensors = load_file(place / WEIGHTS)
        model.load_state_dict(part_of(tensors, MODEL_PREFIX))
        if head is not None:
            head.load_state_dict(part_of(tensors, HEAD_PREFIX))
    except (OSError, RuntimeError, SafetensorError) as error:
        reason = first_line(error)
        raise InputError(f"{place / WEIGHTS}: not the weights of this model ({reason}); export it again") from error
    return config, spec, model, head, tensors


def part_of(tensors: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    """The tensors of one part, under the part's own names."""
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}


def tokenizer_in(spec: ModelSpec, folder: Path) -> Tokenizer:
    """The tokenizer of an exported model."""
    return tokenizers()[spec.text.tokenizer].saved(folder / TOKENIZER, spec.text.args)


def coder_in(spec: ModelSpec, folder: Path) -> Coder:
    """The fitted coder of an exported model."""
    coder = make_coder(spec.code.coder, **spec.code.args)
    if (folder / STATE).is_file():
        with np.load(folder / STATE) as state:
            coder.restore(dict(state))
    return coder
