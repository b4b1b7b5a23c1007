"""Models at equal numbers of embedding parameters: the free size of each is set so that it comes nearest a budget."""

from __future__ import annotations

import inspect
import math
import re
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Literal

from hashbench.common.errors import InputError, first_line, located, near_match
from hashbench.common.own_files import is_own
from hashbench.common.showing import BUDGET_TOLERANCE, amount
from hashbench.models.coders.base import find_coder, make_coder
from hashbench.models.embeddings.base import FreeSize, ModelSpec, stored
from hashbench.models.embeddings.registry import build_embedding, with_dim
from hashbench.models.encoders.base import check_shape, encoder_config
from hashbench.models.layers import on_meta
from hashbench.running.experiment.file_values import KeyPath
from hashbench.running.experiment.load import Loaded
from hashbench.running.experiment.schema import ModelEntry

LARGEST_SIZE = 2**40  # of a free size
TRIED = 64  # sizes beside the nearest one, where a coder takes only some, as multiples of 8
STRIDE = 8  # times a size, at most, that the next one looked at is
NO_SIZE = ("dim", "base", "hashing")  # arguments that follow from a model's other parts
WHOLE = re.compile(r"(?:^|\||Optional\[)\s*int\s*(?:$|\||\])")  # an annotation that takes a whole number


@dataclass(frozen=True)
class Sized:
    """A model whose embedding has the size that a budget asks for."""

    spec: ModelSpec
    size: int  # the value of its free argument
    parameters: int  # all parameters of the embedding, counted


def with_budget(spec: ModelSpec, dim: int, budget: int) -> Sized:
    """The model with the free size whose embedding, for an encoder of width `dim`, has nearest `budget` parameters.

    Counted is all that the embedding stores: tables, special tokens, factors, layers between table and encoder. An
    encoder's positions are none of it.

    Raises:
        InputError: the model's embedding has one size, or none of its sizes is within 2 % of the budget.
    """
    free = spec.free_size
    if free is None:
        only = embedding_size(spec, dim)
        raise InputError(
            f"model {spec.name}: its embedding has one size ({only:,} parameters); leave the budget out, or name the "
            "argument that may change: free_size"
        )
    sizes = ParameterCount(lambda size: _size_at(spec, size, dim), free.least)
    above = sizes.first_at_least(budget)
    near = [size for size in (above - 1, above) if size >= free.least]
    best = _accepted(spec, sorted(near, key=lambda size: abs(sizes(size) - budget)), free.least)
    if abs(sizes(best) - budget) > BUDGET_TOLERANCE * budget:
        if sizes(2 * above) <= sizes(free.least):
            raise InputError(
                f"model {spec.name}: its embedding does not grow with {free.argument}; name another free_size"
            )
        shown = " or ".join(f"{sizes(size):,} ({free.argument} {size:,})" for size in near)
        raise InputError(
            f"model {spec.name}: no embedding within 2 % of {budget:,} parameters; the nearest has {shown}"
        )
    return Sized(with_size(spec, best), best, sizes(best))


def _size_at(spec: ModelSpec, size: int, dim: int) -> int:
    """Parameters of the model's embedding at a free size. Raises InputError where a user-defined class cannot be so."""
    try:
        return embedding_size(with_size(spec, size), dim)
    except InputError:
        raise
    except Exception as error:
        if not is_own(spec.embedding.family.__module__):
            raise
        assert spec.free_size is not None
        reason = f"{type(error).__name__}: {first_line(error)}"
        at = f"with {spec.free_size.argument} {size:,}"
        raise InputError(
            f"model {spec.name}: its embedding cannot be made {at}: {reason}; correct the class"
        ) from error


def _accepted(spec: ModelSpec, nearest: Sequence[int], least: int) -> int:
    """The first of these sizes, or else the next one on either side, that the model's coder takes."""
    sizes = list(nearest)
    for further in range(1, TRIED):
        sizes += [size for size in (max(nearest) + further, min(nearest) - further) if size >= least]
    refusal = None
    for size in sizes:
        sized = with_size(spec, size)
        try:
            make_coder(sized.code.coder, **sized.code.args)
        except InputError as error:
            refusal = refusal or error
            continue
        return size
    assert refusal is not None
    raise refusal


def with_free_size(spec: ModelSpec, argument: str | None = None) -> ModelSpec:
    """The model with this argument of its coder or embedding as its free size; None: the one that its class names.

    A model of the suite keeps its own, unless its coder was exchanged for one without that argument. Raises InputError
    where neither part has the argument, or it takes something else than a whole number.
    """
    family, free = spec.embedding.family, spec.free_size
    of_coder, of_embedding = _arguments(spec)
    if argument is None and free is not None:
        kept = free.argument in of_coder or free.part == "embedding"
        return spec if kept else replace(spec, free_size=None)
    name = argument or family.free_size
    if name is None:
        return spec
    where = f"free_size {name!r}" + ("" if argument else f" of class {family.__name__}")
    numbers = [name for name, parameter in {**of_embedding, **of_coder}.items() if _is_number(parameter)]
    if name not in numbers:
        owners = f"coder {spec.code.coder} or of the embedding"
        hint = near_match(name, numbers) or f"; they have {', '.join(numbers) or 'none'}"
        raise InputError(f"{where}: no argument of {owners} that takes a whole number{hint}")
    part: Literal["code", "embedding"] = "code" if name in of_coder else "embedding"
    return replace(spec, free_size=FreeSize(part, name))


def _arguments(spec: ModelSpec) -> tuple[dict[str, inspect.Parameter], dict[str, inspect.Parameter]]:
    """The arguments of a model's coder, and of its embedding together with the embedding below it.

    Arguments that follow from other parts of a model are left out.
    """
    coder = find_coder(spec.code.coder)
    of_coder = {} if coder is None else dict(inspect.signature(coder).parameters)
    of_embedding: dict[str, inspect.Parameter] = {}
    for family in spec.embedding.families():
        of_embedding = {**inspect.signature(family).parameters, **of_embedding}
    for name in NO_SIZE:
        of_coder.pop(name, None)
        of_embedding.pop(name, None)
    return of_coder, of_embedding


def _is_number(parameter: inspect.Parameter) -> bool:
    """True for an argument that takes a whole number, by its annotation, or where it has none by its default."""
    if parameter.annotation is parameter.empty:
        return parameter.default is parameter.empty or type(parameter.default) is int
    annotation = str(parameter).partition(":")[2].partition("=")[0]
    return bool(WHOLE.search(annotation.strip("' ")))


def at_budgets(
    loaded: Loaded, specs: list[tuple[ModelSpec, ModelEntry | None]], place: KeyPath
) -> list[tuple[ModelSpec, ModelEntry | None]]:
    """The specs at each size of the budget of their entry or of the experiment; unchanged without a budget.

    A size that an entry writes itself stays, outside the experiment's budget. Raises InputError beside its own budget.
    """
    sized: list[tuple[ModelSpec, ModelEntry | None]] = []
    for spec, entry in specs:
        own = None if entry is None else entry.budget
        budget = own or loaded.experiment.budget
        written = None if entry is None or budget is None else written_size(spec, entry)
        if own and written:
            what = f"{'.'.join(written)} of '{spec.name}' is what its budget sets; leave out one of them"
            raise InputError(f"{loaded.where(*place, *written)}: {what}")
        if written:
            spec = replace(spec, free_size=None)
        if budget is None or own is None and spec.free_size is None:
            sized.append((spec, entry))
            continue
        with located(loaded.where(*((*place, "budget") if own else ("budget",)))):
            width = encoder_width(loaded, spec, place)
            for size in budget.sizes:
                at_size = with_budget(spec, width, size).spec
                name = f"{spec.name}-{amount(size)}" if budget.is_list else at_size.name
                sized.append((replace(at_size, name=name), entry))
    return sized


def written_size(spec: ModelSpec, entry: ModelEntry) -> tuple[str, str] | None:
    """The place of the key by which an entry sets the free size of its model; None where it does not."""
    free = spec.free_size
    if free is None:
        return None
    written = ("pretrain", "vocabulary_size") if free.learned else None
    written = written or ("coder" if free.part == "code" else "embedding", free.argument)
    block = getattr(entry, written[0])
    return written if isinstance(block, Mapping) and written[1] in block else None


def encoder_width(loaded: Loaded, spec: ModelSpec, place: KeyPath) -> int:
    """The width of the vectors that a model's encoder takes."""
    with located(f"{loaded.where(*place, 'encoder')}: model '{spec.name}'"):
        if "dim" in spec.encoder.args:
            check_shape(SimpleNamespace(**spec.encoder.args), "dim")
            return int(spec.encoder.args["dim"])
        return int(encoder_config(spec.encoder.kind, loaded.experiment.encoder).dim)


def parameters_of(text: str) -> int:
    """The number of parameters that a text as 0.23M or 230_000 gives. Raises InputError.

    >>> parameters_of("0.23M"), parameters_of("1.5k"), parameters_of("230_000")
    (230000, 1500, 230000)
    """
    units = {"k": 1e3, "M": 1e6, "G": 1e9}
    number, unit = (text[:-1], units[text[-1]]) if text[-1:] in units else (text, 1.0)
    try:
        parameters = round(float(number) * unit)
    except (ValueError, OverflowError):
        parameters = 0
    if parameters < 1:
        raise InputError(f"budget {text!r}: no number of parameters; write 230_000, 230k or 0.23M")
    return parameters


def vocabulary_rows(spec: ModelSpec) -> int | None:
    """Rows of a vocabulary to train, specials included, where a budget sets them; else None."""
    free = spec.free_size
    return free.value if free is not None and free.learned else None


def check_learned_rows(spec: ModelSpec, rows: int) -> None:
    """Raises InputError where texts gave a vocabulary too small for the model's budget."""
    wanted = vocabulary_rows(spec)
    if wanted is not None and rows < (1 - BUDGET_TOLERANCE) * wanted:
        raise InputError(
            f"model {spec.name}: its budget asks for a vocabulary of {wanted:,} rows, but its texts give {rows:,}; "
            "read more (pretrain.corpora, pretrain.max_documents, learn_on), or give a smaller budget"
        )


def with_size(spec: ModelSpec, size: int) -> ModelSpec:
    """The model with another value of its free argument."""
    free = spec.free_size
    assert free is not None  # `with_budget` has looked
    return replace(spec.with_args(**{free.part: {free.argument: size}}), free_size=replace(free, value=size))


def embedding_size(spec: ModelSpec, dim: int) -> int:
    """All parameters of a model's embedding for an encoder of width `dim`, without making it."""
    with on_meta():
        return stored(build_embedding(with_dim(spec, dim), dim))


class ParameterCount:
    """Embedding parameters as a non-decreasing function of the free size, memoised.

    A call builds the embedding on the meta device.
    """

    def __init__(self, count: Callable[[int], int], least: int) -> None:
        self._count, self._least = count, least
        self._known: dict[int, int] = {}

    def __call__(self, size: int) -> int:
        if size not in self._known:
            self._known[size] = self._count(size)
        return self._known[size]

    def first_at_least(self, budget: int) -> int:
        """The smallest free size with at least `budget` parameters.

        Interpolation search, guarded by bisection: counts are nearly linear in the size.
        """
        low, high = self._least, 2 * self._least
        if self(low) >= budget:
            return low
        # An embedding grows by a parameter a step at least: one that has fewer than its size never gets there.
        while self(high) < budget and high < min(LARGEST_SIZE, max(budget, 2 * self._least)):
            low, high = high, min(max(2 * high, self._on_line(low, high, budget)), STRIDE * high)
        if self(high) < budget:
            return high
        while high - low > STRIDE:  # `low` has fewer, `high` enough
            middle = min(max(self._on_line(low, high, budget), low + 1), high - 1)
            for size in (middle - 1, middle, (low + high) // 2):
                if low < size < high:
                    low, high = (size, high) if self(size) < budget else (low, size)
        return bisect_left(range(high + 1), budget, lo=low, key=self)

    def _on_line(self, low: int, high: int, budget: int) -> int:
        """The size with `budget` parameters if they grew linearly, as between two other sizes."""
        slope = (self(high) - self(low)) / (high - low)
        return low + math.ceil((budget - self(low)) / slope) if slope else high
