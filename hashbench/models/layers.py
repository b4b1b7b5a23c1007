"""Layers that embeddings, encoders and heads share: the suite's initial weights, and a dropout that is cheap on a CPU.

torch draws CPU dropout masks one number at a time, which costs more than the matrix products of a small encoder. Here
16 bits decide an element, and one draw from torch's generator seeds the generator of the bits, so that
`torch.manual_seed` still decides every mask.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

# Released code of HashFormers: a normal distribution cut at two standard deviations.
INIT_STD = 0.02
ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {"relu": nn.functional.relu, "gelu": nn.functional.gelu}
# A probability is rounded to a multiple of 1/65536: 0.1 becomes 0.100006.
LEVELS = 1 << 16
ONE_IN_TWO_BYTES = {torch.bfloat16: np.uint16(0x3F80), torch.float16: np.uint16(0x3C00)}  # the bits of 1.0
PADDING_LOGIT = -1e6  # logit of padding


@contextmanager
def on_meta() -> Iterator[None]:
    """Gives modules that are made in the block shapes but no weights, to count and check them at no cost."""
    with torch.device("meta"), _NothingDrawn():
        yield


class _NothingDrawn(TorchFunctionMode):
    """Skips functions that draw weights, for which torch imports its compiler on the meta device, a second's work."""

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        named = kwargs or {}
        if func in (Tensor.normal_, Tensor.uniform_) or getattr(func, "__module__", "") == "torch.nn.init":
            return args[0] if args else named["tensor"]
        return func(*args, **named)


def draw_weights(weight: Tensor) -> Tensor:
    """Fills a tensor of any shape in place from the suite's truncated normal."""
    return nn.init.trunc_normal_(weight, std=INIT_STD, a=-2 * INIT_STD, b=2 * INIT_STD)


def init_weights(module: nn.Module) -> None:
    """For `Module.apply`: Linear and Embedding from the truncated normal, biases 0; LayerNorm stays at 1 and 0."""
    if isinstance(module, nn.Linear | nn.Embedding):
        draw_weights(module.weight)
    if isinstance(module, nn.Linear) and module.bias is not None:
        nn.init.zeros_(module.bias)


def at_least_float32(values: Tensor) -> Tensor:
    """A tensor of any shape in float32, or as it is where it is wider: what sums and softmax are computed in."""
    return values.to(torch.promote_types(values.dtype, torch.float32))


def dropped_sum_norm(states: Tensor, new: Tensor, norm: nn.LayerNorm, drop: Dropout) -> Tensor:
    """LayerNorm(states + dropout(new)) of tensors (..., d), in the dtype of `states`.

    States narrower than the norm's weights are summed and normalised in float32 and rounded once, at the end;
    torch.compile makes one kernel of it, which reads and writes 16 bits.
    """
    if states.dtype == norm.weight.dtype:
        normed: Tensor = norm(states + drop(new))
        return normed
    widened: Tensor = norm(states.float() + drop(new.float()))
    return widened.to(states.dtype)


def rounded_up(n: int) -> int:
    """The least number not below n that has zeros behind its first four binary digits: at most an eighth more.

    Numbers that differ little become equal.

    >>> [rounded_up(n) for n in (0, 7, 17, 98, 4_930)]
    [0, 7, 18, 104, 5120]
    """
    step = 1 << max(0, n.bit_length() - 4)
    return -(-n // step) * step


def shares_of_tokens(logits: Tensor, mask: Tensor | None) -> Tensor:
    """Softmax over the tokens of each row, in float32: logits (B, L, c), mask (B, L) or None for tokens alone.

    Where no token is the share is 0, also in a row that has none.
    """
    logits = at_least_float32(logits)
    if mask is None:
        return torch.softmax(logits, dim=1)
    tokens = mask[..., None]  # (B, L, 1)
    # finite, as a softmax over nothing is not a number
    return torch.softmax(logits.masked_fill(~tokens, PADDING_LOGIT), dim=1) * tokens


def keep_mask(shape: torch.Size, probability: float, dtype: torch.dtype = torch.float32) -> Tensor:
    """A CPU tensor of `shape`: 1 / (1 - p) where an element is kept, 0 where it is dropped.

    p is the multiple of 1/65536 nearest to the probability, so that the expectation of a masked tensor is exactly the
    tensor.
    """
    chosen, factor = _chosen(shape, probability)
    return torch.from_numpy(np.multiply(chosen, np.float32(factor), dtype=np.float32)).view(shape).to(dtype)


def kept(shape: torch.Size, probability: float, dtype: torch.dtype) -> tuple[Tensor, float]:
    """`keep_mask` as a tensor and a factor: where `dtype` has two bytes, the tensor is 1 and the factor 1 / (1 - p).

    A number of two bytes is up to 0.4 % beside 1 / (1 - p), and all weights would be wrong by it.
    """
    if dtype not in ONE_IN_TWO_BYTES:
        return keep_mask(shape, probability, dtype), 1.0
    chosen, factor = _chosen(shape, probability)
    bits = np.multiply(chosen, ONE_IN_TWO_BYTES[dtype], dtype=np.uint16)
    return torch.from_numpy(bits).view(dtype).view(shape), factor


def _chosen(shape: torch.Size, probability: float) -> tuple[NDArray[np.bool_], float]:
    """Which elements (n,) are kept, drawn anew, and 1 / (1 - p)."""
    dropped, size = round(probability * LEVELS), shape.numel()
    if dropped >= LEVELS:  # everything, or so nearly that the 16 bits cannot tell
        return np.zeros(size, dtype=np.bool_), 1.0
    # torch's generator: a reseed repeats the mask.
    seed = int(torch.empty((), dtype=torch.int64).random_())
    words = np.random.SFC64(seed).random_raw(-(-size // 4))  # 64 bits serve four elements
    # In numpy, whose one-pass loops need no thread barrier.
    return words.view(np.uint16)[:size] >= dropped, LEVELS / (LEVELS - dropped)


def dropout(values: Tensor, probability: float, training: bool = True) -> Tensor:
    """Sets each element to 0 with the probability and scales the others up; shape and dtype stay."""
    if not training or probability == 0.0:
        return values
    if values.device.type != "cpu" or torch.compiler.is_compiling():
        # An accelerator draws its own numbers in parallel, and so does compiled code.
        return nn.functional.dropout(values, probability)
    return values * keep_mask(values.shape, probability, values.dtype)


class Dropout(nn.Module):
    """`dropout` as a module that follows `train()` and `eval()`."""

    def __init__(self, probability: float) -> None:
        super().__init__()
        if not 0.0 <= probability <= 1.0:
            raise ValueError(f"dropout probability {probability} is not between 0 and 1")
        self.probability = probability

    def forward(self, values: Tensor) -> Tensor:
        """A tensor of any shape -> the same shape, with elements dropped in training."""
        return dropout(values, self.probability, self.training)

    def extra_repr(self) -> str:
        """The probability, for print(model)."""
        return f"{self.probability}"
