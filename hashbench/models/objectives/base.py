"""The interfaces of an objective of pre-training (how type ids are corrupted, and its head) and of a task's head."""

from __future__ import annotations

import inspect
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, NamedTuple, Protocol, Self

import numpy as np
from torch import Tensor, nn

from hashbench.common.errors import InputError, near_match
from hashbench.common.registry import registered
from hashbench.models.embeddings.base import NO_LABEL, Batch, Embedding, HeadSpec, ModelSpec
from hashbench.models.encoders.base import Encoder
from hashbench.models.layers import at_least_float32
from hashbench.models.names import Pooling


class States(Protocol):
    """The model as a head sees it: a function from batches to states."""

    embedding: Embedding

    def __call__(self, batch: Batch) -> Tensor:
        """States of all positions (B, L, d)."""

    def at(self, batch: Batch, columns: Tensor, kept: Tensor) -> Tensor:
        """States (n, d) at the columns (B, M) of all rows that are numbered by `kept` (n,)."""

    def for_head(self, batch: Batch, pooling: Pooling) -> tuple[Tensor, Tensor | None]:
        """States (B, L', d) that a head with this pooling reads, and their mask (B, L') or None without padding."""

    def token_states(self, batch: Batch) -> Tensor:
        """A state of each token (B, L, w)."""


class Head(nn.Module):
    """A head of pre-training; it is dropped afterwards."""

    def prepared(self, batch: Batch, *, fixed_shapes: bool = False) -> Batch:
        """A batch (B, L) with what its loss needs to know of the labels, to be counted in main memory.

        Counted by the loss, on an accelerator, it would be waited for. `fixed_shapes`: numbers of labels are rounded
        up, so that few shapes occur.
        """
        return batch

    def batch_loss(self, model: States, batch: Batch, logits: Literal["labels", "all"]) -> Tensor:
        """Loss of a batch under its labels (B, L). States are made where the loss needs them.

        `logits` "all" asks for scores at every position even where labels are few.
        """
        raise NotImplementedError

    def separation(self, model: States, batch: Batch) -> tuple[Tensor, Tensor] | None:
        """Scores (n,) of labelled tokens of a batch (B, L), and which tokens (n,) should have the higher ones.

        Where they are separated no better than by chance, the head has not learned what its objective is about. None:
        the objective has nothing of the kind.
        """
        return None

    def among(self, model: States, batch: Batch, candidates: Tensor) -> tuple[Tensor, Tensor]:
        """At each label of a batch (B, L), row by row: the likeliest of candidates with codes (C, k), and the label's
        loss under a softmax over them, (n,) each; the loss of a label that is no candidate says nothing."""
        raise NotImplementedError

    def log_probabilities(self, model: States, batch: Batch) -> Tensor:
        """Log-probabilities (n,) of the labels of a batch (B, L) that are not -100, row by row."""
        raise NotImplementedError


class TaskHead(nn.Module):
    """A head of fine-tuning. A kind of task names it, or brings a subclass of it.

    A file of this folder that defines a subclass adds it under its `name`.
    """

    name: ClassVar[str]  # as kinds of task call it
    # Whether it reads one state an input (`States.for_head`), so that an encoder without states of tokens will do.
    reads_texts: ClassVar[bool] = False

    @classmethod
    @abstractmethod
    def for_task(
        cls, spec: HeadSpec, encoder: Encoder, *, n_outputs: int, label_names: Sequence[str], n_texts: int = 1
    ) -> Self:
        """A fresh head over the states of an encoder. `label_names`: of the classes by id; none of a regression.

        `n_texts`: of an input, 2 for pairs.
        """

    @abstractmethod
    def outputs(self, model: States, batch: Batch) -> Tensor:
        """The outputs (B, k) of the rows of a batch (B, L) that metrics score."""

    @abstractmethod
    def batch_loss(self, model: States, batch: Batch) -> Tensor:
        """The loss, of shape (), of a batch (B, L) with labels."""

    def n_labels(self, batch: Batch) -> int:
        """The number of labels of a batch (B, L) that its loss is the mean over."""
        return len(batch)

    def start_dense(self, weights: Mapping[str, Tensor]) -> None:
        """Starts the dense layer, where the head has one, from published weights (d, d) and (d,)."""


class Probed(NamedTuple):
    """Rows in which every ordinary token of some texts has its label once, for the scores of these texts."""

    texts: np.ndarray  # (n,) the text of each row
    ids: np.ndarray  # (n, L) int32
    labels: np.ndarray  # (n, L) int32, -100 where none


@dataclass(frozen=True)
class Objective:
    """An objective of pre-training. A file of this folder that holds one as `OBJECTIVE` adds it under its name."""

    name: str
    # (ids, row_ids, *, seed, epoch, n_types, **arguments) -> (ids, labels), both (B, L)
    corrupt: Callable[..., Any]
    # What the corpora are needed for, as `hashbench models` prints it.
    trained_on: str
    # Makes the head of an embedding and the encoder's config; None: an objective of items.
    head: Callable[..., Head] | None = None
    # Arguments of the head by name, each with its values; all others belong to `corrupt`.
    head_args: Mapping[str, Sequence[str]] = field(default_factory=dict)
    # (ids (B, L), words (B, L) that number the words of each text) -> the rows whose labels score these texts; None:
    # its models score no texts without fine-tuning
    probe: Callable[[np.ndarray, np.ndarray], Probed] | None = None
    # What labels are types by: rows of a vocabulary, and the head scores its output matrix; or codes of the coder
    # `signature`. None: labels are no types.
    targets: Literal["rows", "signatures"] | None = None
    # It reads items of page links or phrases in place of texts; their training has its own driver.
    reads_items: bool = False
    coder: str | None = None  # the one coder that it can be trained with
    # By size of the encoder, unless the file says.
    learning_rates: Mapping[str, float] = field(default_factory=dict)
    # Checks the arguments, where they are more than shares.
    check: Callable[[Mapping[str, Any]], object] | None = None

    @property
    def needs_matrix(self) -> bool:
        """True where the embedding must have an output matrix."""
        return self.targets == "rows" or self.reads_items

    def corruption_args(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments of the objective that `corrupt` gets."""
        return {key: value for key, value in arguments.items() if key not in self.head_args}

    def check_arguments(self, arguments: Mapping[str, Any]) -> None:
        """Raises InputError for an argument that the objective does not have, or a value that it cannot take."""
        if self.check is not None:
            self.check(arguments)
            return
        for key in set(self.head_args) & set(arguments):
            if arguments[key] not in self.head_args[key]:
                wanted = " or ".join(self.head_args[key])
                raise InputError(f"objective: {key} must be {wanted}, not {arguments[key]!r}; correct the value")
        parameters = inspect.signature(self.corrupt).parameters.items()
        defaults = {name: it.default for name, it in parameters if it.default is not it.empty}
        for key, value in self.corruption_args(arguments).items():
            if key not in defaults:
                names = [*defaults, *self.head_args]
                hint = f"{near_match(key, names)}; arguments: {', '.join(names)}"
                raise InputError(f"unknown argument '{key}' of {self.name}{hint}")
            is_switch = isinstance(defaults[key], bool)
            if is_switch != isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
                wanted = "true or false" if is_switch else "a number from 0 to 1"
                raise InputError(f"objective: {key} must be {wanted}, not {value!r}; correct the value")


def mean_cross_entropy(scores: Tensor, labels: Tensor) -> Tensor:
    """Mean cross-entropy over the labels (n,) that are not -100, 0 where there is none; scores (n, C)."""
    total = nn.functional.cross_entropy(at_least_float32(scores), labels, ignore_index=NO_LABEL, reduction="sum")
    return total / (labels != NO_LABEL).sum().clamp(min=1)


def objectives() -> Mapping[str, Objective]:
    """All objectives by name, objectives on texts first. Raises InputError where two have one name."""
    return dict(sorted(registered("objective").items(), key=lambda item: (item[1].reads_items, item[0])))


def task_head(head: str | type) -> type[TaskHead]:
    """The head class of a kind of task: the registered one of this name, or `head` itself where it is a class."""
    if isinstance(head, str):
        named: type[TaskHead] = registered("head")[head]
        return named
    if not issubclass(head, TaskHead):
        raise TypeError(f"{head.__module__}.{head.__name__} is no head; derive it from {TaskHead.__module__}.TaskHead")
    return head


def objective_of(spec: ModelSpec) -> Objective | None:
    """The objective of a model; None where it has none and learns its task alone."""
    return None if spec.training.objective is None else objectives()[spec.training.objective]


def pretrains(spec: ModelSpec) -> bool:
    """True where a model is pre-trained on corpora; without an objective, or on items, it learns its task alone."""
    objective = objective_of(spec)
    return objective is not None and not objective.reads_items


def scores_texts(spec: ModelSpec) -> bool:
    """True where a model is pre-trained on corpora with an objective that scores texts without fine-tuning."""
    objective = objective_of(spec)
    return pretrains(spec) and objective is not None and objective.probe is not None


def reads_items(spec: ModelSpec) -> bool:
    """True where a model reads items of page links or phrases in place of texts."""
    objective = objective_of(spec)
    return objective is not None and objective.reads_items
