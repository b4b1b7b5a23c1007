"""The interface of an embedding: from the codes of the distinct types of a batch to vectors.

Longer than 300 lines, since the author of a family needs all of it and nothing else.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, cast

import torch
from torch import Tensor, nn

from hashbench.common.errors import InputError
from hashbench.models.names import Pooling

SPECIALS = ("<s>", "<pad>", "</s>", "<unk>", "<mask>")  # RoBERTa's five, in the order of their rows
START, PAD, END, UNKNOWN, MASK = range(len(SPECIALS))
NUMBERS = 2**31  # numbers of hashed types are smaller
# Columns of a code are added up modulo it: each product stays below 2^62.
PRIME = 2**31 - 1
# 5^13, a primitive root of the prime's field by Fishman and Moore (1986)
FACTOR = 1_220_703_125
MASK_ID = -1 - MASK  # among type ids a special token is a negative number, -1 - row
NO_LABEL = -100  # PyTorch's: a place where nothing is predicted


@dataclass
class Batch:
    """One batch as a model sees it.

    `positions` indexes the rows of a table that holds the special tokens first and the batch's distinct types behind
    them: a value below `n_specials` is a special token, `n_specials + i` is the type with codes `codes[i]`.
    """

    codes: Tensor  # (n, c): codes of the n distinct types
    positions: Tensor  # (B, L) int64
    mask: Tensor  # (B, L) bool, True where there is a token, False on padding
    segments: Tensor | None = None  # (B, L) int64, or None where a model has one segment
    labels: Tensor | None = None  # objective's own: (B, L) with -100 = no label; of a task (B,), or (B, C)
    # (t, k): codes of the t distinct types that `labels` number, where these are predicted by their codes
    label_codes: Tensor | None = None
    # (B,) int64: rows of the data set, to put predictions back in order
    row_ids: Tensor | None = None
    # (B, W) int64: the first token of each word that has a label, -1 where it was cut off
    places: Tensor | None = None
    # (B,) int64, 1 where segment 1 followed segment 0 in its text, else 0
    follows: Tensor | None = None
    padded: bool = True  # False: `mask` is known to be True everywhere
    # Where a head reads few states: their columns (B, M) int64, filled up; the numbers (N,) int64 of the columns that
    # count among all B M, filled up; and how many numbers come before the filler.
    columns: Tensor | None = None
    kept: Tensor | None = None
    n_kept: int = 0

    def to(self, device: torch.device | str, non_blocking: bool = False) -> Batch:
        """This batch on another device."""
        return self._with_each(lambda tensor: tensor.to(device, non_blocking=non_blocking))

    def pin_memory(self) -> Batch:
        """This batch in pinned memory, from which a GPU copies while the program goes on."""
        return self._with_each(Tensor.pin_memory)

    def _with_each(self, change: Callable[[Tensor], Tensor]) -> Batch:
        """The batch with each of its tensors, of whatever shape (n, ...), changed."""
        moved: dict[str, Any] = {name: change(value) for name, value in vars(self).items() if isinstance(value, Tensor)}
        return replace(self, **moved)

    def __len__(self) -> int:
        return self.positions.shape[0]


def is_export(config: Mapping[str, Any]) -> bool:
    """True for the config.json of a model that hashbench exported."""
    return isinstance(config.get("spec"), dict) and "run" in config


@dataclass(frozen=True)
class Published:
    """A trained model of another project, as its files hold it."""

    tensors: Mapping[str, Tensor]
    config: Mapping[str, Any]  # config.json; empty where there is none
    where: str  # the files, for messages
    # String of each row of its token table, as its tokenizer numbers them; empty where they were not read
    spellings: Sequence[str] = ()

    @property
    def is_export(self) -> bool:
        """True for a model that hashbench exported, whose tensors have their own names."""
        return is_export(self.config)

    def tensor(self, name: str) -> Tensor:
        """The tensor of a name, of any shape (n, ...). Raises InputError where the files have none."""
        if name not in self.tensors:
            missing = f"no tensor {name!r} among {len(self.tensors)}"
            raise InputError(f"{self.where}: {missing}; these are no weights of this model, name others")
        return self.tensors[name]


class ModelPart(nn.Module):
    """Base of embeddings and encoders. Those that start from published weights override the last two functions."""

    @classmethod
    def stored_name(cls) -> str:
        """The name of the class in run ids and exported models: its own name, or an older one that they hold."""
        return cls.__qualname__

    def position_vectors(self) -> Tensor | None:
        """The learned vectors (P, d) that this part adds to tokens by their positions; None where it has none."""
        return None

    def from_published(self, model: Published) -> dict[str, Tensor]:
        """This part's state, tensors (n, ...) by name, from a published model. Raises InputError if it does not fit."""
        self.check_published(model.config, model.where)
        return {}

    def check_published(self, config: Mapping[str, Any], where: str) -> None:
        """Raises InputError where a published model of this config is not one of this part's shape."""
        raise InputError(f"{where}: {self.stored_name()} reads no published weights; write weights: random")


class Embedding(ModelPart):
    """From codes to vectors. A family implements `embed_types` and `special_rows`; some override `forward`."""

    tokens_per_item = 1  # m: Superbloom makes several tokens of an item
    # The longest sequence (B, L), where the embedding itself has positions.
    max_items: int | None = None
    # Rows of an output matrix that the head of a vocabulary objective has for its own.
    untied_rows: int | None = None
    # The argument that a parameter budget sets, of a user-defined class or of its coder; None: it has one size.
    free_size: str | None = None
    # HashFormers adds one shared row to all ordinary tokens; its size, which the paper's formula leaves out.
    generic_row_parameters = 0

    @classmethod
    def following(cls, code: Mapping[str, Any]) -> dict[str, Any]:
        """The embedding's arguments that follow from its coder's, `code`, so that each is set in one place.

        Arguments of the same name follow: `bits` is the length of the bit vectors, `alpha` and `maps` decide the tokens
        of an item. `num_buckets` decides the rows of a table, `num_rows`. An argument `hashing` gets them all, to hash
        special tokens as types are.
        """
        parameters = inspect.signature(cls).parameters
        arguments = {key: value for key, value in code.items() if key != "dim"} | {"hashing": dict(code)}
        if "num_buckets" in code:
            arguments["num_rows"] = code["num_buckets"] + (code["first_row"] if "first_row" in code else len(SPECIALS))
        return {key: value for key, value in arguments.items() if key in parameters}

    def embed_types(self, codes: Tensor) -> Tensor:
        """Codes of distinct types (n, c) -> vectors (n, d)."""
        raise NotImplementedError

    def special_rows(self) -> Tensor:
        """Vectors of the special tokens (s, d), in the order of the template's `specials`."""
        raise NotImplementedError

    def type_ids(self, codes: Tensor) -> Tensor:
        """A stable number of each distinct type with codes (n, c): (n,) int64, the same in every batch."""
        return folded(codes)

    @property
    def vocabulary_rows(self) -> int | None:
        """Size of the vocabulary whose row numbers `type_ids` returns; None where it returns hashes below NUMBERS."""
        return None

    @property
    def id_range(self) -> int:
        """The upper bound of the numbers of types and special tokens, exclusive."""
        return NUMBERS if self.vocabulary_rows is None else self.vocabulary_rows

    def forward(self, batch: Batch) -> Tensor:
        """A batch -> token vectors (B, L m, d); each distinct type is embedded once."""
        rows = torch.cat([self.special_rows(), self.embed_types(batch.codes)])  # (s + n, d)
        return nn.functional.embedding(batch.positions, rows)  # (B, L, d)

    def initialise(self, vocabulary: Sequence[str]) -> None:
        """Called once on fresh weights with the string of each row (specials first), if codes number a vocabulary.

        A table may start from its strings. By default it starts from what was drawn.
        """

    def vectors_mask(self, mask: Tensor) -> Tensor:
        """Mask (B, L) of the tokens -> mask (B, L m) of the vectors that `forward` makes."""
        m = self.tokens_per_item
        return mask if m == 1 else mask.repeat_interleave(m, dim=1)

    def narrow(self, codes: Tensor) -> None:
        """Keeps only the table rows that these types, codes (n, c), use, so that the optimizer skips the rest.

        Undone by `widen`. An embedding without rows of single types has nothing to do.
        """

    def widen(self) -> None:
        """Undoes `narrow` after a training: all rows are back, and trained rows have what they learned."""

    def undecayed(self) -> Iterable[nn.Parameter]:
        """Parameters that weight decay leaves alone, besides biases and norms."""
        return ()

    def codewords(self, bits: Tensor) -> Tensor:
        """The codebook rows (n, m) that it looks up for bits (n, T); m is 0 where it has no codebook."""
        return bits.new_empty((len(bits), 0), dtype=torch.int64)

    def embedding_parameters(self) -> int:
        """Parameters of the embedding as its paper counts them; by default all."""
        return stored(self)

    def multiply_adds(self) -> int:
        """Multiply-adds of the matrix products that make one type's vector; sums of rows count none."""
        return sum(part.weight.numel() for part in self.modules() if isinstance(part, nn.Linear))

    def active_parameters(self, codes: Tensor) -> int:
        """Parameters that the vector of one type with these codes (1, c) is computed from. By default all."""
        return stored(self)

    def signature_rows(self) -> Tensor | None:
        """Rows (K, B, d) of K tables by which words are predicted from their hashes; None where it has no such rows."""
        return None

    def output_matrix(self) -> Tensor | None:
        """The matrix (rows, d) that a vocabulary objective scores against; None where there is none, or an untied one.

        An untied one (`untied_rows`) belongs to the head: it is trained with it and dropped with it.
        """
        return None


def folded(codes: Tensor) -> Tensor:
    """Codes (n, c) -> numbers (n,) int64 below NUMBERS, sum_i code_i FACTOR^(i + 1) mod PRIME.

    Equal codes have equal numbers; two others have one with a chance of about c / 2^31. Sums and products alone, which
    every exported graph has.

    >>> folded(torch.tensor([[1, 0], [0, 1], [-1, 0]])).tolist()
    [1220703125, 1532960295, 926780522]
    """
    if codes.is_floating_point():
        codes = codes.float().contiguous().view(torch.int32)
    powers = [pow(FACTOR, i + 1, PRIME) for i in range(codes.shape[1])]
    products = codes.long().remainder(PRIME) * torch.tensor(powers, dtype=torch.int64, device=codes.device)  # (n, c)
    return products.remainder(PRIME).sum(1).remainder(PRIME)


def stored(module: nn.Module) -> int:
    """The number of a module's parameters, the frozen ones included."""
    return sum(parameter.numel() for parameter in module.parameters())


@dataclass(frozen=True)
class Template:
    """How token sequences become model input: special tokens, segments, truncation."""

    specials: tuple[str, ...] = SPECIALS
    single: tuple[str, ...] = ("<s>", "A", "</s>")
    pair: tuple[str, ...] = ("<s>", "A", "</s>", "</s>", "B", "</s>")  # RoBERTa's form
    segments: bool = False  # True: segment 1 for B and the tokens behind it
    # balanced: the released HashFormers code; all are in data/sources/batching.py.
    truncation: Literal["balanced", "longest_first", "longer_keeps"] = "balanced"
    pad_multiple: int = 1  # batches are padded to a multiple of it


@dataclass(frozen=True)
class Counts:
    """Parameters of a model and of its embedding, as one paper counts them."""

    total: int
    embedding: int


@dataclass(frozen=True)
class Parts:
    """The modules of a fine-tuning model, on the meta device, to be counted."""

    spec: ModelSpec
    encoder: nn.Module
    embedding: Embedding
    head: nn.Module


@dataclass(frozen=True)
class Frame:
    """A second way in which a model's parameters are counted."""

    words: str
    counted: Callable[[Parts], Counts]


class WithArgs:
    """Base of the parts of a model's spec that have arguments."""

    args: dict[str, Any]

    def with_args(self, args: Mapping[str, Any]) -> Any:
        """This part with `args` over its own arguments."""
        return replace(cast(Any, self), args={**self.args, **args})


@dataclass(frozen=True)
class TextSpec(WithArgs):
    """How a model reads a text."""

    tokenizer: str = "words"  # a kind of text/
    args: dict[str, Any] = field(default_factory=dict)
    template: Template = Template()


@dataclass(frozen=True)
class CodeSpec(WithArgs):
    """The coder of a model, from types to codes."""

    coder: str = "vocabulary"  # a name of coders/
    args: dict[str, Any] = field(default_factory=dict)
    # Arguments of the small model that tests use.
    small: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class EmbeddingSpec(WithArgs):
    """The class that makes vectors of codes, with its arguments."""

    family: type[Embedding]
    args: dict[str, Any] = field(default_factory=dict)
    # Arguments of the small model that tests use.
    small: dict[str, Any] = field(default_factory=dict)
    base: EmbeddingSpec | None = None  # the one below, which the class gets as its argument `base`

    def with_args(self, args: Mapping[str, Any]) -> EmbeddingSpec:
        """This spec with `args` over its own arguments; arguments that its class lacks go to the embedding below."""
        parameters = inspect.signature(self.family).parameters
        own = {key: value for key, value in args.items() if self.base is None or key in parameters}
        others = {key: value for key, value in args.items() if key not in own}
        base = self.base.with_args(others) if self.base is not None else None
        return replace(self, args={**self.args, **own}, base=base)

    def families(self) -> list[type[Embedding]]:
        """The class of this embedding, and the classes of the embeddings below it."""
        return [self.family, *(self.base.families() if self.base is not None else ())]

    def made_small(self) -> EmbeddingSpec:
        """This spec with the small arguments for tests, also in the embeddings below."""
        base = self.base.made_small() if self.base is not None else None
        return replace(self, args={**self.args, **self.small}, base=base)


@dataclass(frozen=True)
class EncoderSpec(WithArgs):
    """The encoder of a model: of the experiment's size, except for the values in `args`."""

    kind: str = "bert"  # a name of encoders/
    args: dict[str, Any] = field(default_factory=dict)  # overrides of the size's values
    # Overrides in the small model that tests use.
    small: dict[str, Any] = field(default_factory=lambda: {"layers": 1, "heads": 2, "dim": 16, "feed_forward": 32})


@dataclass(frozen=True)
class HeadSpec:
    """The head of a fine-tuning."""

    pooling: Pooling = "first"
    dense: bool = True  # whether it has a dense layer with tanh before its last
    dense_dropout: bool = True  # whether dropout comes before that layer too


@dataclass(frozen=True)
class TrainingSpec(WithArgs):
    """The objective and initial weights of a model, and how its recipes differ from the experiment's."""

    objective: str | None = "shuffle_random"  # a name of objectives/; None: none
    args: dict[str, Any] = field(default_factory=dict)  # of the objective
    # Published ones to start from: a folder or a hub name; "random": none in their place.
    weights: str | None = None
    # Differences from the experiment's `pretrain`.
    pretrain: dict[str, Any] = field(default_factory=dict)
    finetune: dict[str, Any] = field(default_factory=dict)
    # What it is trained on, where its objective does not say that.
    needs: str = ""


@dataclass(frozen=True)
class OriginSpec:
    """The row of a paper's table that a model reproduces, and how that paper counts parameters."""

    paper: str = ""  # "" for a user-defined model
    frame: str = ""  # what is counted in that paper's parameter columns
    # Counts in that frame; None: encoder, embedding and head.
    counted: Callable[[Parts], Counts] | None = None
    classes: int = 2  # outputs of the head in that frame
    other_frames: tuple[Frame, ...] = ()  # printed beside it by `hashbench params`


@dataclass(frozen=True)
class FreeSize:
    """The argument that a parameter budget sets: the embedding grows with it, in whole numbers from `least` on."""

    part: Literal["code", "embedding"]  # that has the argument
    argument: str
    least: int = 1
    learned: bool = False  # whether it is the rows of a learned vocabulary
    # What it was set to by a budget; None: the model's own.
    value: int | None = None


@dataclass(frozen=True)
class ModelSpec:
    """A named model, as data. What differs between two models is a field here, never a test on the name."""

    name: str
    embedding: EmbeddingSpec
    text: TextSpec = TextSpec()
    code: CodeSpec = CodeSpec()
    encoder: EncoderSpec = EncoderSpec()
    head: HeadSpec = HeadSpec()
    training: TrainingSpec = TrainingSpec()
    origin: OriginSpec = OriginSpec()
    # Spread of word vectors at the start: a number, or "matched" to position vectors; None: the embedding's own.
    initial_spread: float | Literal["matched"] | None = None
    free_size: FreeSize | None = None  # None: its embedding has one size
    groups: tuple[str, ...] = ()  # names under which an experiment may ask for several models
    summary: str = ""  # one line for `hashbench models`
    version: int = 1  # raised when the meaning of the model changes

    def with_args(self, **args: Mapping[str, Any]) -> ModelSpec:
        """This model with these arguments of its parts over their own: `with_args(code={"bits": 64})`."""
        parts: dict[str, Any] = {name: getattr(self, name).with_args(args[name]) for name in args}
        return replace(self, **parts)

    def below(self) -> ModelSpec | None:
        """This model with only the embedding that lies below its own; None where there is none below."""
        base = self.embedding.base
        return None if base is None else replace(self, embedding=base)

    def without_training(self) -> ModelSpec:
        """This model without an objective, for uses where its tokens and codes matter alone."""
        return replace(self, training=replace(self.training, objective=None))

    def small(self) -> ModelSpec:
        """This model with few buckets, for tests."""
        small = replace(self, embedding=self.embedding.made_small())
        return small.with_args(code=self.code.small, encoder=self.encoder.small)
