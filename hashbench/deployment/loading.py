"""Inference with exported models: texts to labels, values, probabilities or vectors. Needs only the folder."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch

from hashbench.common.errors import InputError
from hashbench.data.sources.batching import text_batches
from hashbench.data.sources.fingerprints import file_fingerprint
from hashbench.deployment.config import (
    HEAD_PREFIX,
    MODEL_PREFIX,
    MOST_LENGTH,
    STATE,
    TOKENIZER,
    WEIGHTS,
    Config,
    read_config,
    spec_of,
)
from hashbench.deployment.inputs import CONFIG, Asked, Question, of_lines, question
from hashbench.deployment.untrusted import (
    AGAIN,
    check_finite,
    one_line,
    plain_files,
    stored_arrays,
    stored_tensors,
)
from hashbench.models.coders.base import Coder, make_coder
from hashbench.models.coders.cache import RememberedCodes
from hashbench.models.embeddings.base import Batch, ModelSpec
from hashbench.models.embeddings.registry import embedding_arguments
from hashbench.models.layers import on_meta
from hashbench.models.objectives.classification import ClassificationHead, classification_head, pool
from hashbench.models.text.base import Tokenizer, saved_tokenizer
from hashbench.models.text.types import DictInterner
from hashbench.running.training.model import Model, build_model

if TYPE_CHECKING:  # a prediction is made without what trains
    from hashbench.running.runs.evaluation import ExportedModel

from pathlib import Path
from typing import Any

from safetensors.torch import load_file, save
from torch import Tensor, nn

BATCH_SIZE = 32


@dataclass(frozen=True)
class AnsweredLine:
    """A line with the prediction of a model."""

    text: str
    prediction: str | float
    probabilities: dict[str, float] | None  # by the names of classes; None for a regression


class Predictor:
    """An exported model with its tokenizer and its coder, whose codes of types are cached."""

    def __init__(
        self, config: Config, spec: ModelSpec, tokenizer: Tokenizer, coder: Coder, model: Model,
        head: ClassificationHead | None,
    ) -> None:  # fmt: skip
        self.config, self.spec, self.tokenizer = config, spec, tokenizer
        self.coder = RememberedCodes(coder)
        self.model, self.head = model.eval(), None if head is None else head.eval()

    def predict(self, texts: Asked) -> str | float | list[str] | list[float]:
        """The most likely class, or the value of a regression, for a text or a pair; for a list of them a list.

        `predict("a film")` gives "positive", `predict([("it rains", "it is wet")])` ["entailment"]. Raises TypeError
        for what is no text or pair.
        """
        inputs = self._question(texts)
        outputs = self._outputs(inputs)  # (n, n_outputs)
        if self.config.n_outputs == 1:
            values = [float(value) for value in outputs[:, 0]]
            return values[0] if inputs.is_one else values
        names = [self.labels[i] for i in outputs.argmax(axis=1)]
        return names[0] if inputs.is_one else names

    def probabilities(self, texts: Asked) -> dict[str, float] | list[dict[str, float]]:
        """The probability of each class by name, for a text or a pair; for a list of them a list.

        Raises InputError for a model of a regression, which has no classes.
        """
        if self.config.n_outputs == 1:
            raise InputError(f"{self.config.name}: a regression has no classes; call predict")
        inputs = self._question(texts)
        shares = torch.softmax(torch.from_numpy(self._outputs(inputs)).double(), dim=1).tolist()
        named = [dict(zip(self.labels, row, strict=True)) for row in shares]
        return named[0] if inputs.is_one else named

    def answers(self, lines: Sequence[str]) -> list[AnsweredLine]:
        """Prediction and class probabilities for each line, which is a text, or a pair separated by a tab."""
        texts = of_lines(lines, self.config.is_pair)
        if self.config.n_outputs == 1:
            values: Any = self.predict(texts)  # a list, of a list
            return [AnsweredLine(line, value, None) for line, value in zip(lines, values, strict=True)]
        shares: Any = self.probabilities(texts)
        most = [max(row, key=row.__getitem__) for row in shares]
        return [AnsweredLine(*parts) for parts in zip(lines, most, shares, strict=True)]

    def outputs(self, texts: Asked) -> np.ndarray:
        """The head's outputs (n, n_outputs) float32, one row for one text. Raises InputError without a head."""
        return self._outputs(self._question(texts))

    @torch.inference_mode()
    def embed(self, texts: Asked) -> np.ndarray:
        """The texts' vectors (n, d), one row for a single text: states of the last layer, with the head's pooling."""
        inputs = self._question(texts)
        vectors = np.empty((len(inputs), self.model.encoder.text_width(len(inputs.columns))), np.float32)
        with one_line(self.config.name):
            for batch, states in self._states(inputs):
                assert batch.row_ids is not None
                pooled = pool(states, self.model.states_mask(batch), self.spec.head.pooling)  # (B, d)
                vectors[batch.row_ids.numpy()] = pooled.numpy()
        return self._finite(vectors)

    def _finite(self, values: np.ndarray) -> np.ndarray:
        """`values` (n, k) themselves. Raises InputError where weights are so large that some are not finite."""
        if not np.isfinite(values).all():
            raise InputError(
                f"{self.config.name}: its outputs are not finite, as of weights that are too large; {AGAIN}"
            )
        return values

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the classes in the order of the outputs; their numbers where they have no names."""
        return self.config.labels or tuple(str(i) for i in range(self.config.n_outputs or 0))

    def _question(self, texts: Asked) -> Question:
        return question(texts, None if self.config.task is None else self.config.is_pair)

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

    `trust_code`: run the folder's own embedding.py, as whoever made it wrote it; without it such a folder is refused.
    """
    place = Path(folder).expanduser()
    config, spec, model, head, _ = read_folder(place, trust_code=trust_code)
    return Predictor(config, spec, tokenizer_in(spec, place), coder_in(spec, place), model, head)


def read_folder(
    place: Path, *, trust_code: bool = False
) -> tuple[Config, ModelSpec, Model, ClassificationHead | None, dict[str, Tensor]]:
    """(config, spec, model, head, stored tensors by name) of an exported folder; head None: a pre-trained model."""
    config = read_config(place)
    with one_line(place):
        spec = spec_of(config, place, trust_code=trust_code)
        header = stored_tensors(place / WEIGHTS)
        # Once without weights: that the file has all of them is known before anything is allocated.
        with on_meta(), header.bounded():
            for part, prefix in zip(_modules(spec, config), (MODEL_PREFIX, HEAD_PREFIX), strict=True):
                if part is not None:
                    header.check(part, prefix)
        tensors = load_file(place / WEIGHTS)
        check_finite(tensors, place / WEIGHTS)
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
    return model, classification_head(spec.head, model.encoder.text_width(config.n_texts), config.n_outputs)


def part_of(tensors: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    """The tensors whose names begin with the prefix, without it in their names."""
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}


def tokenizer_in(spec: ModelSpec, folder: Path) -> Tokenizer:
    """The tokenizer of an exported model. Raises InputError where its files are not what `save` writes."""
    with one_line(folder / TOKENIZER):
        return saved_tokenizer(spec.text.tokenizer, plain_files(folder / TOKENIZER), spec.text.args)


def coder_in(spec: ModelSpec, folder: Path) -> Coder:
    """The fitted coder of an exported model. Raises InputError where its state is not what the model needs."""
    path = folder / STATE
    with one_line(path):
        coder = make_coder(spec.code.coder, **spec.code.args)
        if path.exists() or path.is_symlink():
            coder.restore(stored_arrays(path))
        elif coder.needs_fit:
            raise InputError(f"{path}: is missing; {AGAIN}")
        if coder.width > MOST_LENGTH:
            raise InputError(f"{folder / CONFIG}: coder_args: codes of {coder.width:,} columns; {AGAIN}")
        if embedding_arguments(spec, vocabulary_rows=coder.num_rows) != embedding_arguments(spec):
            rows = embedding_arguments(spec)["num_rows"]
            raise InputError(f"{path}: has {coder.num_rows} rows, the model's table has {rows}; {AGAIN}")
    return coder


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
        file_fingerprint(place / WEIGHTS),
        parts,
        FinetunedModel(spec, tokenizer_in(spec, place), coder_in(spec, place), model, head, config.max_length),
    )


def _stored_as(module: nn.Module, tensors: Mapping[str, Tensor]) -> str:
    """SHA-256 of a module's tensors without buffers added for other libraries: equal to that of its fine-tuning."""
    kept = module.state_dict()
    return hashlib.sha256(save({name: tensor for name, tensor in tensors.items() if name in kept})).hexdigest()
