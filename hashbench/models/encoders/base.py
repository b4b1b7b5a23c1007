"""The interface of an encoder: from token vectors to token states; and the encoders by name and size."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

from torch import Tensor, nn

from hashbench.common.errors import InputError, near_match
from hashbench.common.registry import registered, unreadable
from hashbench.models.embeddings.base import ModelPart, ModelSpec, Published
from hashbench.models.layers import on_meta


class Encoder(ModelPart):
    """Token vectors to states. A family implements `forward` and `max_length`; `states_mask` where lengths change."""

    # Its shape: a frozen dataclass with layers, heads, dim, feed_forward, eps, dropout, and what a family adds.
    config: Any
    # Whether there is a state for each token, of the width of vectors, which pre-training needs.
    keeps_length = True
    # Whether `token_states` has any: without them it serves tasks of whole texts alone.
    has_token_states = True
    # Whether special tokens are among its tokens; else its mask is False on them.
    reads_specials = True
    # Whether it has states that pass from layer to layer beside what a layer adds, and whether autocast keeps them in
    # bf16 too.
    has_residual = False
    bf16_residual = False

    @property
    def max_length(self) -> int | None:
        """The longest sequence, special tokens included, by config.max_positions; None where there is no limit."""
        raise NotImplementedError

    @property
    def length_multiple(self) -> int:
        """The number that a fixed input length must be a multiple of, for an encoder that joins neighbours."""
        return 1

    @property
    def graph_multiple(self) -> int:
        """The number that every length must be a multiple of in a graph without branches, as a device runs it."""
        return self.length_multiple

    def unmet_need(self, kind: str) -> str:
        """Of an encoder that is not `keeps_length`, the need of a pre-training that it does not meet, and a remedy.

        The sentence goes on behind "objective NAME needs"; `kind`: the encoder's name.
        """
        return f"a state for each token, and encoder {kind} has fewer; write objective: none"

    @property
    def segment_rows(self) -> int | None:
        """The number of segments that it distinguishes; None where it takes none."""
        return None

    def for_graph(self, longest: int) -> None:
        """Called before a graph without branches is traced, for inputs of at most so many tokens."""

    def parts_to_compile(self) -> list[nn.Module]:
        """Modules that are compiled one by one where compiling is requested. Layers of one kind share their code."""
        return [self]

    def text_width(self, n_texts: int) -> int:
        """Width of the states that the head of a task with so many texts an input reads: d."""
        width: int = self.config.dim
        return width

    def states_mask(self, mask: Tensor) -> Tensor:
        """Mask (B, L) of the vectors -> mask (B, L') of the states, for an encoder that shortens the sequence."""
        return mask

    def dense_from_published(self, model: Published) -> dict[str, Tensor] | None:
        """The state of the head's dense layer, (d, d) and (d,), where a published model has one."""
        return None

    def forward(self, vectors: Tensor, mask: Tensor | None, segments: Tensor | None = None) -> Tensor:
        """Vectors (B, L, d), mask (B, L) True on tokens or None without padding, segments (B, L) -> (B, L', d)."""
        raise NotImplementedError

    def token_states(self, vectors: Tensor, mask: Tensor | None, segments: Tensor | None = None) -> Tensor:
        """A state for each vector, (B, L, w): the states of `forward`, repeated for all neighbours that share one.

        w is d where `token_layers` makes none.
        """
        states: Tensor = self(vectors, mask, segments)
        length = vectors.shape[1]
        return states.repeat_interleave(-(-length // states.shape[1]), dim=1)[:, :length]

    def token_layers(self) -> nn.Module | None:
        """Fresh layers that a head of single tokens puts behind `token_states`.

        Called with states (B, L, w) and mask (B, L) or None, the module returns (B, L, d)."""
        return None

    def at(
        self, vectors: Tensor, mask: Tensor | None, segments: Tensor | None, columns: Tensor, kept: Tensor | None
    ) -> Tensor:
        """States (n, d) at some positions: `columns` (B, M) int64 of each row; `kept` selects some.

        `kept` (n,) int64: numbers among all B M columns, row by row; None for all. A family may spare what no wanted
        state needs; here all states are made.
        """
        return chosen(take(self(vectors, mask, segments), columns), kept)


def check_shape(
    config: object,
    *sizes: str,
    counts: Sequence[str] = (),
    shares: Sequence[str] = (),
    positive: Sequence[str] = (),
) -> None:
    """Raises InputError for the first named value of an encoder's config that is out of range.

    `sizes` are whole numbers from 1 on, `counts` from 0 on, `shares` lie in [0, 1), `positive` are finite and above 0,
    as an epsilon.
    """
    rules: list[tuple[Sequence[str], type, Callable[[Any], bool], str]] = [
        (sizes, int, lambda value: value >= 1, "is no whole number from 1 on"),
        (counts, int, lambda value: value >= 0, "is no whole number from 0 on"),
        (shares, float, lambda value: 0 <= value < 1, "is no number from 0 to below 1"),
        (positive, float, lambda value: 0 < value < math.inf, "is no number above 0"),
    ]
    for names, kind, fits, fault in rules:
        for name in names:
            value = getattr(config, name)
            is_number = isinstance(value, int | kind) and not isinstance(value, bool)
            if not (is_number and fits(value)):
                raise InputError(f"encoder: {name} {value!r} {fault}; correct it")
    for name in (*sizes, *counts):
        most = MOST_LAYERS if name == "layers" else LARGEST_SIZE
        if getattr(config, name) > most:
            raise InputError(f"encoder: {name} {getattr(config, name)} is beyond {most:,}; take a smaller one")


def take(states: Tensor, columns: Tensor) -> Tensor:
    """States (B, L, d) at columns (B, M) of their rows: (B, M, d)."""
    return states.gather(1, columns[..., None].expand(-1, -1, states.shape[-1]))


def chosen(states: Tensor, kept: Tensor | None) -> Tensor:
    """States (B, M, d) -> those with the numbers `kept` (n,) among the B M, or all for None: (n, d).

    Numbers and not a mask: how many places a mask selects is known to the device alone, which would be waited for.
    """
    flat = states.flatten(0, 1)  # (B M, d)
    return flat if kept is None else flat.index_select(0, kept)


@dataclass(frozen=True)
class Architecture:
    """An encoder that a model can name: its module, made from a config, and the config of each size."""

    build: Callable[[Any], Encoder]
    sizes: Mapping[str, Any]  # size -> `Encoder.config`
    # A model with this encoder, with what follows from it in the model's other parts.
    of_model: Callable[[ModelSpec], ModelSpec] = lambda spec: spec
    # Keys of an entry of `models` that it leaves no choice in, each with the reason: "is never pre-trained".
    settled: Mapping[str, str] = field(default_factory=dict)


# Above every model there is. An exported folder may have no larger number; each layer is built to be counted.
LARGEST_SIZE, MOST_LAYERS = 2**24, 2**12
_outlines: dict[tuple[object, str], Encoder] = {}  # by what builds them, and their config


def architectures() -> Mapping[str, Architecture]:
    """All encoders by name. Raises InputError where two have one name."""
    return registered("encoder")


def find_architecture(name: str) -> Architecture:
    """The encoder of a name. Raises InputError with the nearest names."""
    named = architectures()
    if name not in named:
        hint = f"{near_match(name, list(named))}; encoders: {', '.join(named)}"
        raise InputError(f"encoder: unknown name {name!r}{hint}{unreadable()}")
    return named[name]


def encoder_config(name: str, size: str, **overrides: Any) -> Any:
    """The shape of an encoder's size with some values replaced. Raises InputError for an unknown name, size or value.

    >>> encoder_config("bert", "tiny", layers=1).layers
    1
    """
    sizes = find_architecture(name).sizes
    if size not in sizes:
        raise InputError(f"encoder: unknown size {size!r}{near_match(size, list(sizes))}; sizes: {', '.join(sizes)}")
    keys = [entry.name for entry in fields(sizes[size])]
    for key in overrides:
        if key not in keys:
            hint = near_match(key, [*keys, "kind"])  # the key of the block that names the encoder
            raise InputError(f"encoder: unknown value {key!r}{hint}; values: {', '.join(keys)}")
    return replace(sizes[size], **overrides)


def make_encoder(name: str, size: str, **overrides: Any) -> Encoder:
    """A freshly drawn encoder: its architecture by `name`, its shape by `size`, single values by `overrides`."""
    return find_architecture(name).build(encoder_config(name, size, **overrides))


def encoder_outline(name: str, size: str, **overrides: Any) -> Encoder:
    """An encoder on the meta device, where weights cost nothing, to be counted. All callers share one of a shape:
    drawing even its weightless parts takes longer than planning a run.
    """
    build, config = find_architecture(name).build, encoder_config(name, size, **overrides)
    key = (build, repr(config))
    if key not in _outlines:
        with on_meta():
            _outlines[key] = build(config)
    return _outlines[key]
