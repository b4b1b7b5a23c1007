"""The promises of every embedding (hashbench/models/embeddings/base.py), checked on a user-defined one.

An embedding that keeps them gets remarks: on rows that nothing reaches, uncounted parameters, and equal vectors.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

import numpy as np
import torch
from torch import Tensor

from hashbench.common.errors import first_line, located
from hashbench.common.own_files import is_own
from hashbench.common.registry import own_name
from hashbench.models.coders.base import Coder, make_coder
from hashbench.models.embeddings.base import PAD, SPECIALS, Batch, CodeSpec, Embedding, EmbeddingSpec, ModelSpec
from hashbench.models.embeddings.registry import build_embedding, load_own, with_dim
from hashbench.models.layers import INIT_STD
from hashbench.models.text.types import TypeTable
from hashbench.running.experiment.used import OWN_CODER

T = TypeVar("T")
DIM = 16  # of the embedding that is tried: small, so that the checks take no time
SEED = 0
ROW_TYPES = 100_000  # types that look for rows of a table which no code reaches
COMPARED_TYPES = 1_000  # types whose vectors are compared
# Ordinary, odd, empty and very long ones.
TYPES = ["play", "plays", "the", ",", "naïve", "日本語", "🙂", "\0", "", "x" * 10_000]


class PromiseBroken(Exception):
    """A promise of user-defined code that does not hold; the message has what was observed and what to do."""


@dataclass(frozen=True)
class Finding:
    """A promise and its outcome: the reason why it is broken, None where it holds."""

    promise: str
    problem: str | None


@dataclass(frozen=True)
class Specimen:
    """An embedding to check, with its coder and the codes on which it is tried."""

    spec: ModelSpec
    coder: Coder
    embedding: Embedding  # in evaluation mode: dropout is off
    codes: Tensor  # (n, c) of TYPES

    def vectors(self, types: Sequence[str]) -> Tensor:
        """The embedding's vectors (n, d) of other types."""
        vectors: Tensor = self.embedding.embed_types(torch.from_numpy(np.array(self.coder.encode(types))))
        return vectors

    def rebuilt(self) -> Embedding:
        """The embedding built again with other weights."""
        torch.manual_seed(SEED + 1)
        return build_embedding(self.spec, DIM).eval()


def spec_to_check(embedding: str, coder: str | None) -> ModelSpec:
    """A model of the embedding FILE.py:Class over a coder (its name, FILE.py:Class, or None for `OWN_CODER`).

    Raises InputError where there is no such embedding or coder: a wrong name is no promise that an embedding breaks.
    """
    family = load_own(embedding)
    with located("--coder"):
        name = own_name(coder or OWN_CODER, Path(), Coder, "coder")
        make_coder(name)
    return ModelSpec(family.__name__, EmbeddingSpec(family), code=CodeSpec(name))


def contract(spec: ModelSpec) -> Iterator[Finding]:
    """Yields each promise with its outcome for a model's embedding; the first alone where it cannot be built."""
    return findings("it can be built", partial(make_specimen, spec), PROMISES)


def findings(first: str, make: Callable[[], T], promises: Mapping[str, Callable[[T], None]]) -> Iterator[Finding]:
    """Yields the outcome of `make`, which is the first promise, and of each further promise about its result."""
    try:
        tried = make()
    except Exception as error:  # the user's code may raise anything; the finding names it
        yield Finding(first, error_line(error))
        return
    yield Finding(first, None)
    for promise, check in promises.items():
        problem = None
        try:
            check(tried)
        except PromiseBroken as broken:
            problem = str(broken)
        except Exception as error:  # as above
            problem = error_line(error)
        yield Finding(promise, problem)


def make_specimen(spec: ModelSpec, fitted_on: Sequence[str] = TYPES) -> Specimen:
    """A model's embedding with few dimensions and seeded weights; its coder is fitted on `fitted_on` if need be."""
    spec = with_dim(spec, DIM)
    coder = make_coder(spec.code.coder, **spec.code.args)
    if coder.needs_fit:
        coder.fit(TypeTable.from_counts({string: 1 for string in fitted_on if string}))
    torch.manual_seed(SEED)
    return Specimen(spec, coder, build_embedding(spec, DIM).eval(), torch.from_numpy(np.array(coder.encode(TYPES))))


def _shapes(it: Specimen) -> None:
    fault = fault_of_shape(it.embedding, it.codes, DIM)
    _require(not fault, fault)


def fault_of_shape(embedding: Embedding, codes: Tensor, dim: int) -> str:
    """The fault in the shapes of an embedding's vectors of codes (n, c) and of special tokens; "" if nothing."""
    shape, wanted = _shape(embedding.embed_types(codes)), (len(codes), dim)
    if shape != wanted:
        return f"embed_types gave {shape}, not {wanted}; return one row of width dim for each code"
    shape, wanted = _shape(embedding.special_rows()), (len(SPECIALS), dim)
    if shape != wanted:
        return f"special_rows gave {shape}, not {wanted}; return a row of width dim for each special token"
    return ""


def _shape(vectors: object) -> tuple[int, ...] | str:
    """The shape of what a user-defined method returned; the name of its type where that is no tensor."""
    return tuple(vectors.shape) if isinstance(vectors, Tensor) else type(vectors).__name__


def fault_of_forward(embedding: Embedding, batch: Batch, dim: int) -> str:
    """The fault in the shape of an embedding's vectors of a batch; "" if nothing."""
    wanted = (len(batch), batch.positions.shape[1] * embedding.tokens_per_item, dim)
    shape = _shape(embedding(batch))
    return "" if shape == wanted else f"forward gave {shape}, not {wanted}; return tokens_per_item vectors a position"


def written_at(cls: type, method: str) -> str:
    """File and line of a method of a user-defined class; "" where it has the package's own.

    >>> written_at(Embedding, "forward")
    ''
    """
    function = inspect.unwrap(getattr(cls, method))
    code = getattr(function, "__code__", None)
    if code is None or not is_own(function.__module__):
        return ""
    return f"{Path(code.co_filename).name}:{code.co_firstlineno}"


def _finite(it: Specimen) -> None:
    finite = it.embedding.embed_types(it.codes).isfinite().all(1)
    bad = [repr(string[:20]) for string, fine in zip(TYPES, finite.tolist(), strict=True) if not fine]
    _require(not bad, f"not finite for {', '.join(bad)}; look for a division by zero or a logarithm of it")


def _order(it: Specimen) -> None:
    together, backwards = it.embedding.embed_types(it.codes), it.embedding.embed_types(it.codes.flip(0)).flip(0)
    _require(
        torch.allclose(together, backwards, atol=1e-6),
        "a type's vector depends on the other types of the batch; compute each row of embed_types from its code alone",
    )


def _codes(it: Specimen) -> None:
    for text, code in zip(TYPES, it.codes.numpy(), strict=True):
        _require(
            np.array_equal(it.coder.encode([text])[0], code),
            f"the code of {text[:20]!r} depends on its batch; compute codes from the string and the fitted state alone",
        )


def _gradients(it: Specimen) -> None:
    embedding = it.rebuilt()
    if not any(p.requires_grad for p in embedding.parameters()):
        return  # an embedding may be a hash that nothing trains
    embedding(_batch(it)).pow(2).sum().backward()
    without = [name for name, p in embedding.named_parameters() if p.requires_grad and p.grad is None]
    remedy = "use them in embed_types or special_rows, delete them, or set requires_grad=False"
    _require(not without, f"no gradient reaches {', '.join(without)}; {remedy}")


def _count(it: Specimen) -> None:
    counted, stored = it.embedding.embedding_parameters(), sum(p.numel() for p in it.embedding.parameters())
    _require(isinstance(counted, int), f"embedding_parameters gave {counted!r}, not a whole number; return an int")
    _require(
        0 <= counted <= stored,
        f"embedding_parameters gave {counted}, but {stored} are stored; count numel() of the embedding's parameters",
    )


def _saved(it: Specimen) -> None:
    other = it.rebuilt()
    other.load_state_dict(it.embedding.state_dict())
    _require(
        torch.equal(other(_batch(it)), it.embedding(_batch(it))),
        "after loading its weights it gives other vectors; keep what is drawn at random as a parameter or a buffer",
    )


def _padding(it: Specimen) -> None:
    short, long = it.embedding(_batch(it)), it.embedding(_batch(it, padding=4))
    length = short.shape[1]
    _require(
        torch.allclose(short, long[:, :length], atol=1e-6),
        "padding changes the vectors of tokens; let forward read nothing of positions where the mask is False",
    )


def _forward(it: Specimen) -> None:
    fault = fault_of_forward(it.embedding, _batch(it), DIM)
    _require(not fault, fault)


PROMISES: dict[str, Callable[[Specimen], None]] = {
    "embed_types and special_rows have the right shapes": _shapes,
    "unseen, empty, very long and non-ASCII types have finite vectors": _finite,
    "codes depend on the type alone": _codes,
    "a type's vector does not depend on the batch": _order,
    "forward makes one vector a token": _forward,
    "gradients reach every trained parameter": _gradients,
    "embedding_parameters counts no more than what is stored": _count,
    "saved and loaded weights give the same vectors": _saved,
    "padding changes nothing": _padding,
}


def _batch(it: Specimen, padding: int = 0) -> Batch:
    return batch_of(it.codes, padding)


def batch_of(codes: Tensor, padding: int = 0) -> Batch:
    """A batch of two rows over all special tokens and codes (n, c), with some padding at the end: positions (2, L)."""
    row = torch.arange(len(SPECIALS) + len(codes))
    positions = torch.stack([row, row.flip(0)])  # (2, L)
    pads = torch.full((2, padding), PAD)
    mask = torch.cat([torch.ones_like(positions), torch.zeros_like(pads)], 1).bool()
    return Batch(codes, torch.cat([positions, pads], 1), mask)


def _require(holds: bool, problem: str) -> None:
    """Raises PromiseBroken unless the promise holds. No `assert`: python -O must find the same."""
    if not holds:
        raise PromiseBroken(problem)


def remarks(spec: ModelSpec) -> list[str]:
    """Remarks on an embedding that keeps its promises, a line each; none where nothing is odd."""
    return [*rows_never_reached(spec), *parameters_left_out(spec), *alike_at_the_start(spec)]


def rows_never_reached(spec: ModelSpec, n_types: int = ROW_TYPES) -> list[str]:
    """A line for each parameter with many more rows that no gradient of `n_types` types reaches than by chance.

    Chance is a code that hits every row equally often: with n types about r (1 - 1/r)^n of r rows stay unreached.
    """
    specimen = make_specimen(spec)
    vectors = specimen.vectors(made_up(n_types))
    if not vectors.requires_grad:
        return []
    (vectors * torch.randn(vectors.shape, generator=torch.Generator().manual_seed(SEED))).sum().backward()
    lines = []
    for name, parameter in specimen.embedding.named_parameters():
        rows = len(parameter) if parameter.ndim > 1 else 0
        if rows > len(SPECIALS) and parameter.grad is not None:
            unreached = int((parameter.grad.flatten(1) == 0).all(1).sum())
            chance = rows * (1 - 1 / rows) ** n_types
            if unreached > len(SPECIALS) + 1.5 * chance:
                lines.append(
                    f"{unreached:,} of {rows:,} rows of {name} are reached by none of {n_types:,} types; "
                    f"do the codes of {specimen.coder.name} span the table?"
                )
    return lines


def parameters_left_out(spec: ModelSpec) -> list[str]:
    """A line if an embedding counts less than half of its parameters, as some papers do and as a mistake may."""
    embedding = make_specimen(spec).embedding
    counted, stored = embedding.embedding_parameters(), sum(p.numel() for p in embedding.parameters())
    if 2 * counted >= stored:
        return []
    return [f"embedding_parameters counts {counted:,} of {stored:,} parameters; tables print that number"]


def alike_at_the_start(spec: ModelSpec) -> list[str]:
    """A line where vectors of different types are nearly equal at the start, compared with the positions added to them.

    A product or a mean of small numbers is far smaller than each of them, and a bias may hide what differs.
    """
    types = made_up(COMPARED_TYPES)
    with torch.no_grad():
        vectors = make_specimen(spec, types).vectors(types).float()  # (n, d)
    differ = float((vectors - vectors.mean(0)).pow(2).mean().sqrt())
    if differ >= INIT_STD / 10:
        return []
    return [
        f"vectors of different types begin nearly alike: they differ by {differ:.2g} (root mean square), those of "
        f"positions by {INIT_STD}; a short training may not get beyond that; draw the parameters wider"
    ]


def made_up(n: int) -> list[str]:
    """`n` random strings of 2 to 8 letters, from a fixed seed."""
    draw = np.random.default_rng(SEED)
    letters = draw.integers(ord("a"), ord("z") + 1, (n, 8)).astype(np.uint8)
    lengths = draw.integers(2, 9, n)
    return [row[:length].tobytes().decode() for row, length in zip(letters, lengths, strict=True)]


def error_line(error: Exception) -> str:
    """An exception of user-defined code in one line."""
    return f"{type(error).__name__}: {first_line(error)}"
