"""Inference with exported models: texts to labels, values, probabilities or vectors. Needs only the folder.

Its weights are checked before anything is built or allocated.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save
from torch import Tensor, nn
from torch.nn.modules import module as registrations

from hashbench.common.errors import InputError
from hashbench.common.untrusted import AGAIN, HEAD_PREFIX, MODEL_PREFIX, STATE, one_line, plain_file, short
from hashbench.data.sources.batching import text_batches
from hashbench.data.sources.fingerprints import file_fingerprint
from hashbench.deployment.config import spec_of
from hashbench.deployment.description import (
    WEIGHTS,
    Config,
    coder_in,
    read_config,
    tokenizer_in,
)
from hashbench.deployment.inputs import CONFIG, Asked, Question
from hashbench.deployment.on_graph import AnsweringModel
from hashbench.models.coders.base import Coder, RememberedCodes
from hashbench.models.embeddings.base import Batch, ModelSpec
from hashbench.models.embeddings.registry import embedding_arguments
from hashbench.models.layers import on_meta
from hashbench.models.objectives.heads import ClassificationHead, classification_head, pool
from hashbench.models.text.base import Tokenizer
from hashbench.models.text.types import DictInterner
from hashbench.running.training.model import Model, build_model

if TYPE_CHECKING:  # a prediction is made without what trains
    from hashbench.running.runs.evaluation import ExportedModel

BATCH_SIZE = 32


class Predictor(AnsweringModel):
    """An exported model with its tokenizer and its coder, whose codes of types are cached."""

    def __init__(
        self, config: Config, spec: ModelSpec, tokenizer: Tokenizer, coder: Coder, model: Model,
        head: ClassificationHead | None,
    ) -> None:  # fmt: skip
        self.config, self.spec, self.tokenizer = config, spec, tokenizer
        self.coder = RememberedCodes(coder)
        self.model, self.head = model.eval(), None if head is None else head.eval()

    def _shares(self, outputs: np.ndarray) -> np.ndarray:
        """The probability of each class (n, C) float64, from logits (n, C)."""
        logits = torch.from_numpy(outputs).double()
        shares: np.ndarray = (logits.sigmoid() if self.config.multi_label else logits.softmax(dim=1)).numpy()
        return shares

    @torch.inference_mode()
    def embed(self, texts: Asked) -> np.ndarray:
        """The texts' vectors (n, d), one row for a single text: states of the last layer, with the head's pooling."""
        inputs = self._question(texts)
        vectors = np.empty((len(inputs), self.model.encoder.text_width(len(inputs.columns))), np.float32)
        with one_line(self.config.name):
            for batch, states in self._states(inputs):
                assert batch.row_ids is not None
                mask = self.model.states_mask(batch)
                pooled = (
                    pool(states, mask, self.spec.head.pooling) if self.head is None else self.head.pool(states, mask)
                )
                vectors[batch.row_ids.numpy()] = pooled.numpy()
        return self._finite(vectors)

    @torch.inference_mode()
    def _outputs(self, inputs: Question) -> np.ndarray:
        """The head's outputs (n, n_outputs), in the order of the inputs."""
        if self.head is None:
            raise InputError(f"{self.config.name}: a pre-trained model has no head; export the run of a fine-tuning")
        outputs = np.empty((len(inputs), self.config.n_outputs or 0), np.float32)
        with one_line(self.config.name):
            for batch, states in self._states(inputs):
                assert batch.row_ids is not None
                outputs[batch.row_ids.numpy()] = self.head(states, self.model.states_mask(batch)).numpy()
        return self._finite(outputs)

    def _states(self, inputs: Question) -> Iterator[tuple[Batch, torch.Tensor]]:
        """Batches (B, L) of the inputs with the states (B, L', d) of the last layer."""
        for batch in self.batches(inputs.columns):
            yield batch, self.model(batch)

    def batches(self, columns: Sequence[Sequence[str]], batch_size: int = BATCH_SIZE) -> Iterator[Batch]:
        """Encoded texts (one column, or two for pairs) in batches (B, L) of similar length."""
        if not columns[0]:
            return iter(())
        return text_batches(
            columns,
            self.tokenizer,
            self.coder,
            self.spec.text.template,
            max_length=self.config.max_length,
            batch_size=batch_size,
            interner=DictInterner(self.tokenizer.tokenize),  # needs no compiled code
        )


def load(folder: str | Path, *, trust_code: bool = False) -> Predictor:
    """The model of an exported folder, on the CPU. Raises InputError where the folder holds none.

    `trust_code`: run the folder's own Python files, as whoever made it wrote it; without it such a folder is refused.
    """
    place = Path(folder).expanduser()
    config, spec, model, head, _ = read_folder(place, trust_code=trust_code)
    return Predictor(config, spec, *reader_in(spec, place), model, head)


def read_folder(
    place: Path, *, trust_code: bool = False
) -> tuple[Config, ModelSpec, Model, ClassificationHead | None, dict[str, Tensor]]:
    """(config, spec, model, head, stored tensors by name) of an exported folder; head None: a pre-trained model."""
    config = read_config(place)
    with one_line(place):
        spec = spec_of(config, place, trust_code=trust_code)
        header = stored_tensors(place / WEIGHTS)
        # Once without weights: so it is known that the file has all weights before anything is allocated.
        with on_meta(), header.bounded():
            with one_line(place / CONFIG, within=place):
                parts = _modules(spec, config)
            for part, prefix in zip(parts, (MODEL_PREFIX, HEAD_PREFIX), strict=True):
                if part is not None:
                    header.check(part, prefix)
        tensors = load_file(place / WEIGHTS)
        for name, tensor in tensors.items():
            if is_float(tensor) and not torch.isfinite(tensor).all():
                raise InputError(f"{place / WEIGHTS}: {name} holds numbers that are not finite; {AGAIN}")
        model, head = _modules(spec, config)
        # Made at construction; stored for other libraries.
        built = {name for name, _ in model.named_buffers()} - set(model.state_dict())
        stored = part_of(tensors, MODEL_PREFIX)
        model.load_state_dict({name: tensor for name, tensor in stored.items() if name not in built})
        if head is not None:
            head.load_state_dict(part_of(tensors, HEAD_PREFIX))
    return config, spec, model, head, tensors


def _modules(spec: ModelSpec, config: Config) -> tuple[Model, ClassificationHead | None]:
    """(model, head) with freshly drawn weights; head None: a pre-trained model."""
    model = build_model(spec, config.size, seed=0)
    if config.n_outputs is None:
        return model, None
    width = model.encoder.text_width(config.n_texts)
    return model, classification_head(spec.head, width, config.n_outputs, multi_label=config.multi_label)


def part_of(tensors: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    """The tensors whose names begin with the prefix, without it in their names."""
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}


def reader_in(spec: ModelSpec, folder: Path) -> tuple[Tokenizer, Coder]:
    """Tokenizer and fitted coder of an exported model. Raises InputError where their files are not what it needs."""
    tokenizer = tokenizer_in(spec.text.tokenizer, spec.text.args, folder)
    coder = coder_in(spec.code.coder, spec.code.args, folder)
    with one_line(folder / STATE):
        wanted = embedding_arguments(spec)
        if embedding_arguments(spec, vocabulary_rows=coder.num_rows) != wanted:
            rows = wanted["num_rows"]
            raise InputError(f"{folder / STATE}: has {coder.num_rows} rows, the model's table has {rows}; {AGAIN}")
    return tokenizer, coder


def exported_model(folder: str | Path, *, trust_code: bool = False) -> ExportedModel:
    """The fine-tuned model of an exported folder, to be evaluated. Raises InputError for one without a head."""
    from hashbench.running.runs.evaluation import ExportedModel, FinetunedModel

    place = Path(folder).expanduser()
    config, spec, model, head, tensors = read_folder(place, trust_code=trust_code)
    if head is None or config.task is None or config.n_outputs is None:
        raise InputError(f"{config.name}: a pre-trained model has no head; export the run of a fine-tuning")
    parts = {
        "weights": _stored_as(model, part_of(tensors, MODEL_PREFIX)),
        "head": _stored_as(head, part_of(tensors, HEAD_PREFIX)),
    }
    return ExportedModel(
        place,
        config.run,
        config.task,
        config.name,
        config.size,
        config.n_outputs,
        config.labels,
        config.label_order,
        config.is_pair,
        config.multi_label,
        file_fingerprint(place / WEIGHTS),
        parts,
        FinetunedModel(spec, *reader_in(spec, place), model, head, config.max_length),
    )


def _stored_as(module: nn.Module, tensors: Mapping[str, Tensor]) -> str:
    """SHA-256 of a module's tensors without buffers added for other libraries: equal to its fine-tuning's."""
    kept = module.state_dict()
    return hashlib.sha256(save({name: tensor for name, tensor in tensors.items() if name in kept})).hexdigest()


BESIDE_WEIGHTS = 2**30  # bytes of what is built and not stored, such as tables of fixed random vectors
PARTS_A_TENSOR, FURTHER_PARTS = 64, 2_000  # modules, parameters and buffers that a model of so many tensors may have


@dataclass(frozen=True)
class WeightsHeader:
    """The header of a file of weights: the shape of each tensor, and whether it has floating point numbers."""

    path: Path
    shapes: Mapping[str, tuple[int, ...]]
    floats: Mapping[str, bool]

    @contextlib.contextmanager
    def bounded(self) -> Iterator[None]:
        """Ends the building of modules in the block, by InputError, where they are more than these tensors can be."""
        most, parts = PARTS_A_TENSOR * len(self.shapes) + FURTHER_PARTS, 0

        def count(*registered: object) -> None:
            nonlocal parts
            parts += 1
            if parts > most:
                raise InputError(f"{self.path}: has {len(self.shapes)} tensors, too few for config.json; {AGAIN}")

        kinds = ("module", "parameter", "buffer")
        hooks = [getattr(registrations, f"register_module_{kind}_registration_hook")(count) for kind in kinds]
        try:
            yield
        finally:
            for hook in hooks:
                hook.remove()

    def check(self, part: nn.Module, prefix: str) -> None:
        """Raises InputError where a module, on the meta device, has not the tensors with this prefix in their names."""
        state = part.state_dict()
        for name, tensor in state.items():
            shape = self.shapes.get(prefix + name)
            if shape is None or shape != tuple(tensor.shape) or self.floats[prefix + name] != is_float(tensor):
                there = "is missing" if shape is None else f"has shape {list(shape)}"
                wanted = f"config.json means {list(tensor.shape)} {tensor.dtype}".replace("torch.", "")
                raise InputError(
                    f"{self.path}: not the weights of this model: {prefix}{name} {there}, {wanted}; {AGAIN}"
                )
        built = {name for name, _ in part.named_buffers()} - set(state)  # stored for other libraries
        for name in self.shapes:
            if name.startswith(prefix) and name.removeprefix(prefix) not in {*state, *built}:
                raise InputError(f"{self.path}: not the weights of this model: {name[:80]} is no part of it; {AGAIN}")
        beside = sum(buffer.nbytes for name, buffer in part.named_buffers() if name in built)
        if beside > BESIDE_WEIGHTS:
            raise InputError(f"{self.path}: config.json means {beside:,} bytes beside the weights; {AGAIN}")


def is_float(tensor: Tensor) -> bool:
    """True for a tensor of any shape (n, ...) of floating point numbers."""
    return tensor.dtype.is_floating_point


def stored_tensors(path: Path) -> WeightsHeader:
    """The header of a file of weights; nothing else is read. Raises InputError for what is no such file."""
    plain_file(path)
    try:
        with safe_open(path, "pt") as file:
            slices = {name: file.get_slice(name) for name in file.keys()}  # noqa: SIM118  # it is no mapping
            shapes = {name: tuple(part.get_shape()) for name, part in slices.items()}
            return WeightsHeader(path, shapes, {name: "F" in part.get_dtype() for name, part in slices.items()})
    except (OSError, SafetensorError) as error:
        raise InputError(f"{path}: not the weights of this model ({short(error)}); {AGAIN}") from error
