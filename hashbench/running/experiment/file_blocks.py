"""Blocks of keys of an experiment file: trivial baselines with a size, measurements, noise in the texts, tracking."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Literal

from pydantic import Field, model_validator

from hashbench.common.errors import InputError
from hashbench.common.registry import registered
from hashbench.data.tasks.blocks import HASHED_BYTES, NameOf, Seed, Strict
from hashbench.results.dashboard.live import PROJECT, Mode

Share = Annotated[float, Field(ge=0, le=1)]
Parameters = Annotated[int, Field(gt=0)]
# Trivial baselines of the suite's kinds of task, in the order in which messages name them.
FLOORS = (
    "majority", "bag-of-words", "hashed-words", "bag-of-pairs", "bag-of-pairs-2", "popularity", "co-occurrence",
    "most-frequent-tag", "unigrams", "shorter-sentence",
)  # fmt: skip
FloorBytes = Annotated[int, Field(ge=1, le=2**30)]  # more buckets than 2^31 have no hash
TriedValue = bool | int | float | str | tuple[float, ...] | None


class Tracking(Strict):
    """Watching runs. The database is the record; this never stops a run."""

    wandb: Mode = Field(
        default="off", description="Weights & Biases: off, files in the cache folder (.hashbench/wandb), or its server"
    )
    project: str = Field(default=PROJECT, description="of Weights & Biases")


class Tuning(Strict):
    """How a recipe value was chosen. Tables, the page and model cards print it; it is no part of a run's identity."""

    tried: tuple[TriedValue, ...] = Field(
        min_length=1, description="the values that were tried, including the one used"
    )
    on: Literal["validation", "held-out tenth of train", "test", "dev that is reported"] = Field(
        description="the rows whose scores decided; tables warn about the last two"
    )
    by: str = Field(default="", description="what was compared there: model, task, metric, seeds")


class Budget(Strict):
    """Equal sizes: the free size of each embedding is set to come within 2 % of a number of parameters."""

    embedding_parameters: Parameters | Annotated[tuple[Parameters, ...], Field(min_length=1)] = Field(
        description="parameters of the embedding, all counted; a list: each model once for each, as NAME-0.23M"
    )

    @property
    def is_list(self) -> bool:
        """True where models are named after their sizes, also in a list of one."""
        return isinstance(self.embedding_parameters, tuple)

    @property
    def sizes(self) -> tuple[int, ...]:
        """The budgets, as numbers of embedding parameters."""
        numbers = self.embedding_parameters
        return numbers if isinstance(numbers, tuple) else (numbers,)


def baseline_names() -> list[str]:
    """Names of the trivial baselines of all kinds of task."""
    kinds = registered("kind of task").values()
    return list(dict.fromkeys((*FLOORS, *(name for kind in kinds for name in kind.baselines))))


def check_no_baseline(name: str, what: str, *, remedy: str, others: Iterable[str] = ()) -> None:
    """Raises InputError if a trivial baseline or one of `others` has this name, in any case of letters.

    `what`: the kind of thing with this name.
    """
    names = dict.fromkeys((*baseline_names(), *others))
    if name.lower() in {baseline.lower() for baseline in names}:
        raise InputError(f"{what} {name!r}: is the name of a trivial baseline ({', '.join(names)}); {remedy}")


@dataclass(frozen=True)
class FloorChoice:
    """A trivial baseline of an experiment: its label in tables, its stored name, and options of its predictions."""

    label: str
    name: str
    options: Mapping[str, int] = field(default_factory=dict)


class FloorEntry(Strict):
    """An entry of `floors` for a trivial baseline that has a size."""

    name: Literal["hashed-words"] = Field(description="the trivial baseline")
    bytes: FloorBytes | Annotated[tuple[FloorBytes, ...], Field(min_length=1)] = Field(
        default=HASHED_BYTES,
        description="bytes of its weights, one for each hashed bucket and class (two classes share one); a list: the "
        "baseline once for each, as hashed-words-65536",
    )

    @property
    def floors(self) -> list[FloorChoice]:
        """The trivial baseline in each of its sizes, named after them where they are a list."""
        if isinstance(self.bytes, int):
            return [FloorChoice(self.name, self.name, {"bytes": self.bytes})]
        return [FloorChoice(f"{self.name}-{size}", self.name, {"bytes": size}) for size in self.bytes]


class Efficiency(Strict):
    """The measurements of an efficiency run, model and baseline in turn."""

    pairs: int = Field(
        default=12,
        gt=0,
        description="fewest measured pairs of (model, baseline), in rounds A B B A; twelve give an interval",
    )
    width: float = Field(
        default=0.05,
        gt=0,
        description="measure on until the 95 % interval of the ratio is narrower than this share of the ratio",
    )
    limit_s: float = Field(
        default=10.0, ge=0, description="seconds after which one ratio is measured no further, whatever its interval"
    )
    repeats: int = Field(
        default=1,
        gt=0,
        description="measurements of each model, each a run of its own: a claim on times needs two, better three",
    )
    pretrain_batch_size: int | None = Field(
        default=None,
        gt=0,
        description="sequences of a timed pre-training step; null: 8 on a CPU, on a GPU as many as fill it",
    )
    pretrain_length: int = Field(default=512, ge=8, description="tokens of a timed pre-training sequence")
    infer_batch_size: int | None = Field(
        default=None,
        gt=0,
        description="rows of a timed forward pass; null: 32 on a CPU, on a GPU as many as fill it",
    )
    infer_samples: int | None = Field(
        default=None, gt=0, description="dev texts of a task that are timed; null: 128 on a CPU, 2,048 on a GPU"
    )


class Robustness(Strict):
    """Evaluations of fine-tuned models on the reporting sets with noise in the texts, the same for every model."""

    perturbations: tuple[Annotated[str, NameOf(lambda: list(registered("perturbation")))], ...] = Field(
        default=("swap", "delete", "insert", "keyboard", "case", "misspelling", "unseen"),
        description=(
            "adjacent characters swapped, one left out, one put in, one of a neighbouring key, another case, a common"
            " misspelling, a form that the pre-training corpora lack; [] only beside pairs"
        ),
    )
    rates: tuple[Share, ...] = Field(
        default=(0.0, 0.05, 0.1, 0.2),
        min_length=1,
        description="shares of the words of a text that are changed; 0, the text as it is, is always evaluated",
    )
    seed: Seed = Field(default=0, description="seed of the choice of words and of their changes")
    pairs: dict[str, str] = Field(
        default={},
        description=(
            "tables of texts with another form of each, by task, as {mine: mine_ocr.csv}: the columns of the task, "
            "perturbed (of two texts perturbed_COLUMN for each) and kind, the name of the noise; relative to this file"
        ),
    )

    @model_validator(mode="after")
    def _once_each(self) -> Robustness:
        if not self.perturbations and not self.pairs:
            raise ValueError("perturbations: is empty; name one, as swap, or give pairs")
        for key, values in (("perturbations", self.perturbations), ("rates", self.rates)):
            for i, value in enumerate(values):
                if value in values[:i]:
                    raise ValueError(f"{key}: {value} stands twice; keep one of them")
        if not any(self.rates):
            raise ValueError("rates: only 0; give a share of words to change, as 0.1")
        return self

    @property
    def all_rates(self) -> tuple[float, ...]:
        """The rates in ascending order, 0 among them."""
        return tuple(sorted({0.0, *self.rates}))
