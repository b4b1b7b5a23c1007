"""Answers of a model to texts, from its outputs; inference with the ONNX graph of an exported folder, without torch.

Answers are labels, values and probabilities, whatever computes the outputs: torch (`loading.py`), or here ONNX Runtime
and the text side. The folder's own code is not run: its tokenizer and its coder are the ones that config.json names, as
for torch, and the text side's code is the package's.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

import numpy as np
from pydantic import ConfigDict, Field

from hashbench.common.errors import InputError
from hashbench.common.extras import required
from hashbench.common.untrusted import AGAIN, MOST_BYTES, WrittenValues, check_values, one_line, plain_file
from hashbench.deployment.description import (
    MOST_LENGTH,
    MOST_PARTS,
    Config,
    coder_arguments,
    coder_in,
    read_config,
    tokenizer_in,
)
from hashbench.deployment.inputs import GRAPHS, Asked, Question, of_lines, question
from hashbench.models.portable.assembling import TextSide

Answer: TypeAlias = str | float | list[str]  # a class, the value of a regression, or the labels of a text


@dataclass(frozen=True)
class AnsweredLine:
    """A line with the prediction of a model."""

    text: str
    prediction: Answer
    probabilities: dict[str, float] | None  # by the names of classes; None for a regression


class AnsweringModel(ABC):
    """A model that answers texts by the outputs of its head."""

    config: Config

    @abstractmethod
    def _outputs(self, inputs: Question) -> np.ndarray:
        """The head's outputs (n, n_outputs) float32, in the order of the inputs. Raises InputError without a head."""

    def _shares(self, outputs: np.ndarray) -> np.ndarray:
        """The probability of each class (n, C) float64, from logits (n, C)."""
        if self.config.multi_label:
            shares: np.ndarray = np.exp(-np.logaddexp(0.0, -outputs.astype(np.float64)))  # of each by itself
            return shares
        powers = np.exp(outputs.astype(np.float64) - outputs.max(axis=1, keepdims=True))
        shares = powers / powers.sum(axis=1, keepdims=True)
        return shares

    def predict(self, texts: Asked) -> Answer | list[str] | list[float] | list[list[str]]:
        """The most likely class, or the value of a regression, for a text or a pair; for a list of them a list.

        `predict("a film")` gives "positive", `predict([("it rains", "it is wet")])` ["entailment"]. Of several labels a
        text it is the list of those with a probability above 0.5, perhaps none. Raises TypeError for what is no text or
        pair.
        """
        inputs = self._question(texts)
        answers: Any = self._answers(self._outputs(inputs))  # a list, of one kind
        return answers[0] if inputs.is_one else answers

    def _answers(self, outputs: np.ndarray) -> Sequence[Answer]:
        """The answer to each text, from outputs (n, n_outputs)."""
        if self.config.n_outputs == 1:
            return [float(value) for value in outputs[:, 0]]
        if self.config.multi_label:
            return [[self.labels[i] for i in np.flatnonzero(row > 0)] for row in outputs]
        return [self.labels[i] for i in outputs.argmax(axis=1)]

    def probabilities(self, texts: Asked) -> dict[str, float] | list[dict[str, float]]:
        """The probability of each class by name, for a text or a pair; for a list of them a list.

        Raises InputError for a model of a regression, which has no classes.
        """
        if self.config.n_outputs == 1:
            raise InputError(f"{self.config.name}: a regression has no classes; call predict")
        inputs = self._question(texts)
        named = self._named_shares(self._outputs(inputs))
        return named[0] if inputs.is_one else named

    def _named_shares(self, outputs: np.ndarray) -> list[dict[str, float]]:
        """The probability of each class by name for each text, from logits (n, C)."""
        return [dict(zip(self.labels, row, strict=True)) for row in self._shares(outputs).tolist()]

    def answers(self, lines: Sequence[str]) -> list[AnsweredLine]:
        """Prediction and class probabilities for each line, which is a text, or a pair separated by a tab."""
        outputs = self._outputs(self._question(of_lines(lines, self.config.is_pair)))
        named = [None] * len(lines) if self.config.n_outputs == 1 else self._named_shares(outputs)
        return [AnsweredLine(*parts) for parts in zip(lines, self._answers(outputs), named, strict=True)]

    def outputs(self, texts: Asked) -> np.ndarray:
        """The head's outputs (n, n_outputs) float32, one row for one text. Raises InputError without a head."""
        return self._outputs(self._question(texts))

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


VALUES = "hashed_text.json"
TemplateForm = Annotated[list[int | str], Field(max_length=MOST_PARTS)]
Count = Annotated[int, Field(ge=0, le=MOST_LENGTH)]


class WrittenInputs(WrittenValues):
    """The schema of how inputs are assembled, in hashed_text.json."""

    model_config = ConfigDict(extra="ignore")
    single: TemplateForm
    pair: TemplateForm
    specials: Annotated[int, Field(ge=0, le=MOST_PARTS)]
    pad: Annotated[int, Field(ge=0, le=MOST_PARTS)]
    truncation: Literal["balanced", "longest_first", "longer_keeps"]
    max_length: Count
    multiple: Annotated[int, Field(ge=1, le=MOST_PARTS)]
    shortest: Annotated[int, Field(ge=1, le=MOST_PARTS)]
    has_segments: bool
    width: Annotated[int, Field(ge=1, le=MOST_LENGTH)]
    remembered: Annotated[int, Field(ge=1)]
    graph_codes: Literal["uint8", "float32", "int64", "int32"]


class WrittenText(WrittenValues):
    """The schema of hashed_text.json, as far as it is read here."""

    model_config = ConfigDict(extra="ignore")
    inputs: WrittenInputs


def session_of(path: Path, threads: int = 1) -> Any:
    """The graph of a file, ready to run. Raises InputError if ONNX Runtime is not installed."""
    runtime = required("onnxruntime")
    options = runtime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = threads
    options.log_severity_level = 3  # errors alone
    return runtime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


class GraphModel(AnsweringModel):
    """An exported model whose outputs come from its graph, one text at a time: the answer of int8 then repeats."""

    def __init__(self, config: Config, side: TextSide, session: Any) -> None:
        self.config, self._side, self._session = config, side, session

    def _outputs(self, inputs: Question) -> np.ndarray:
        """The head's outputs (n, n_outputs) float32, in the order of the inputs. Raises InputError without a head."""
        if self.config.n_outputs is None:
            raise InputError(f"{self.config.name}: a pre-trained model has no head; export the run of a fine-tuning")
        outputs = np.empty((len(inputs), self.config.n_outputs), np.float32)
        with one_line(self.config.name):
            for row, texts in enumerate(zip(*inputs.columns, strict=True)):
                buffers = self._side.buffers([texts[0] if len(texts) == 1 else texts])
                arrays = {name: np.frombuffer(of, kind).reshape(shape) for name, (of, kind, shape) in buffers.items()}
                outputs[row] = self._session.run(None, arrays)[0]
        return self._finite(outputs)


def load_graph(folder: Path, *, trust_code: bool = False) -> GraphModel:
    """The model of the folder onnx/ in an exported one, in float32 if it has both forms. Raises InputError.

    A user-defined tokenizer or coder runs only with `trust_code`, and has a text side where it brings one.
    """
    place, values = folder.parent, folder / VALUES
    config = read_config(place)
    arguments = coder_arguments(config, place, trust_code=trust_code)
    if not values.is_file():
        raise InputError(f"{folder}: has no text side; name {place}")
    with one_line(values):
        content = plain_file(values, MOST_BYTES).read_bytes()
        check_values(WrittenText, content, values)
        written = json.loads(content)["inputs"]
    tokenizer = tokenizer_in(config.spec["tokenizer"], config.spec["tokenizer_args"], place)
    part = coder_in(config.spec["coder"], arguments, place).portable()
    if part is None:
        raise InputError(f"{folder}: its coder {config.spec['coder']!r} has no text side; name {place}")
    encode = part.step()
    graph = next(path for path in (folder / name for name in GRAPHS) if path.is_file())
    with one_line(graph):
        session = session_of(plain_file(graph))
    return GraphModel(config, TextSide(tokenizer.tokenize, encode, written), session)
