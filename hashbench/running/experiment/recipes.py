"""Recipes of pre-training and fine-tuning: as an experiment file requests them, and as a trainer has them.

In a file a learning rate may be open (None) or a grid; `completing.py` fills in what is open
by the model's objective and the encoder's size. A trainer has one rate: `PretrainRecipe`, `FinetuneRecipe`. Defaults
are the papers' values: HashFormers, tables 4 and 5.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AfterValidator, Field, model_validator

from hashbench.common.measured import searched_values
from hashbench.data.tasks.blocks import Seed, Strict
from hashbench.data.tasks.noise import TrainingNoise

Rate = Annotated[float, Field(gt=0)]
Beta = Annotated[float, Field(ge=0, lt=1)]
Step = Annotated[int, Field(gt=0)]
Precision = Literal["32", "bf16", "bf16-residual"]
RowsAtATime = Annotated[int, Field(gt=0)] | Literal["auto"] | None
# No part of a run's identity: a run that was trained with other values is the same run. Seeds and train_rows are lists
# of runs, each of which has its own value.
SETTINGS = {"micro_batch_size", "compile", "seeds", "train_rows"}
# Keys that earlier versions had, of the file or of pretrain and finetune; in databases they have their defaults alone
GONE = {
    "activation_checkpointing": "micro_batch_size: auto fits a batch into memory",
    "database_minutes": "a sweep waits 15 minutes for a database that does not answer",
    "matmul_precision": "precision: bf16 is what makes products faster on a GPU",
    "run_hours": "a run that gives no sign of progress is ended (hang_minutes); sweep --max-hours ends a sweep",
    "strategy": "each device has the whole model",
    "attention": "torch chooses the kernel of attention",
    "graphs": "kernels are started one by one; compile: true is what makes small models faster on a GPU",
}


def without_gone(values: Mapping[str, Any]) -> dict[str, Any]:
    """A stored recipe without the keys that are gone."""
    return {key: value for key, value in values.items() if key not in GONE}


def _all_different(values: tuple[Any, ...]) -> tuple[Any, ...]:
    """The list itself. Raises ValueError for a value that it has twice: results are stored by their values."""
    for i, value in enumerate(values):
        if value in values[:i]:
            shown = f"rate {value:g}" if isinstance(value, float) else value
            raise ValueError(f"{shown} stands twice in the list; keep one of them")
    return values


_NoDoubles = AfterValidator(_all_different)
Grid = Annotated[tuple[Rate, ...], Field(min_length=1), _NoDoubles]
# A value of a fine-tuning, or a list of two or more, which is searched as a grid of rates is
AtLeastOne = Annotated[int, Field(gt=0)]
MOST_ROWS = 2**20  # of a batch: no recipe has a tenth of it, and one more digit is soon typed
BatchSize = Annotated[int, Field(gt=0, le=MOST_ROWS)]
SeveralBatchSizes = Annotated[tuple[BatchSize, ...], Field(min_length=2), _NoDoubles]
SeveralCounts = Annotated[tuple[AtLeastOne, ...], Field(min_length=2), _NoDoubles]
SeveralSteps = Annotated[tuple[Annotated[int, Field(ge=0)], ...], Field(min_length=2), _NoDoubles]
SeveralRates = Annotated[tuple[Rate, ...], Field(min_length=2), _NoDoubles]
Least0 = Annotated[float, Field(ge=0)]
SeveralWeights = Annotated[tuple[Least0, ...], Field(min_length=2), _NoDoubles]
UpToOne = Annotated[float, Field(ge=0, le=1)]
SeveralFractions = Annotated[tuple[UpToOne, ...], Field(min_length=2), _NoDoubles]
ScheduleName = Literal["cosine_restarts", "linear", "constant", "inverse_sqrt"]
SeveralSchedules = Annotated[tuple[ScheduleName, ...], Field(min_length=2), _NoDoubles]
Betas = tuple[Beta, Beta]
SeveralBetas = Annotated[tuple[Betas, ...], Field(min_length=2), _NoDoubles]


class KeptTokens(Strict):
    """A number of tokens that is found in the data: the least one that keeps a share of the tokens of train."""

    keep: float = Field(gt=0, le=1, description="share of the tokens of train")
    at_most: int = Field(
        ge=8, description="cap in tokens of an input, special tokens included; where it binds, less than keep is read"
    )


def _check_rows(rows: Any) -> None:
    """Raises ValueError for numbers of train rows that are no ascending list of whole numbers from 10 on."""
    if not isinstance(rows, list | tuple) or not all(type(number) is int and number >= 10 for number in rows):
        raise ValueError(f"train_rows: {rows!r} is no list of whole numbers from 10 on")
    if list(rows) != sorted(set(rows)):
        raise ValueError("train_rows: give each number once, in ascending order")


def check_warmup(steps: Any, warmup: Any) -> None:
    """Raises ValueError where a warm-up is longer than its training: the rate would never be reached."""
    of_all = [max(value) if isinstance(value, tuple) else value for value in (steps, warmup)]
    if None not in of_all and of_all[1] > of_all[0]:
        raise ValueError(f"warmup_steps: {of_all[1]:,} steps of warm-up in a training of {of_all[0]:,}; take fewer")


Length = Annotated[int, Field(ge=8)]


class OnHardware(Strict):
    """How the hardware computes a training; those under SETTINGS change nothing but rounding."""

    precision: Precision = Field(
        default="32",
        description=(
            "bf16: autocast if the hardware computes in it, else 32; bf16-residual: states between layers in bf16 too"
        ),
    )
    micro_batch_size: RowsAtATime = Field(
        default=None,
        description=(
            "rows of a batch that a device computes at a time, their gradients summed up; auto: as many as its memory "
            "holds, found by trial; null: all"
        ),
    )
    compile: bool = Field(default=False, description="compile embedding and layers with torch.compile; faster on GPUs")


class Pretrain(OnHardware):
    """How a model is pre-trained. One pre-training serves all fine-tunings and seeds of a model."""

    corpora: tuple[str, ...] = Field(
        default=("wikipedia", "bookcorpus"),
        min_length=1,
        description="corpora, read in this order: names, paths of own files as texts/*.txt (relative to the "
        "file), or data sets of the hub as hub:OWNER/NAME:CONFIG@COMMIT",
    )
    steps: int = Field(default=500_000, gt=0, description="optimizer steps")
    max_epochs: int = Field(
        default=10, gt=0, description="passes over the corpus after which training ends even if steps remain"
    )
    batch_size: int = Field(default=128, gt=0, le=MOST_ROWS, description="sequences per step, over all devices")
    sequence_length: int = Field(
        default=512,
        ge=8,
        description="tokens per sequence, special tokens included; with words_per_row the most, what is behind is cut",
    )
    words_per_row: int | None = Field(
        default=None,
        ge=8,
        description=(
            "a sequence holds so many words of one document, as tokens of any number: the same texts for every "
            "tokenizer; null: sequence_length tokens, documents end to end"
        ),
    )
    max_documents: int | None = Field(
        default=None, gt=0, description="read only the first documents of each corpus; null: all"
    )
    first_chunk_only: bool = Field(
        default=False,
        description=(
            "one sequence per article, the rest dropped, as the released HashFormers code does; false: full packing"
        ),
    )
    streaming: bool = Field(default=False, description="train from the texts, without preparing them: see Corpora")
    vocabulary_size: int = Field(
        default=50_265,
        ge=300,
        description="rows of a BPE or word-piece vocabulary trained on the corpora, specials included",
    )
    vocabulary: str | None = Field(
        default=None,
        min_length=1,
        description=(
            "a vocabulary file or hub name for models of word pieces (bert-base-uncased) in place of a trained one; "
            "null: train"
        ),
    )
    learning_rate: float | None = Field(
        default=None, gt=0, description="peak; null: depends on objective and encoder size (base: 1e-4 MLM, 5e-5 S+R)"
    )
    warmup_steps: int | None = Field(default=None, ge=0, description="null: 10,000, at most 6 % of the steps")
    betas: tuple[Beta, Beta] = Field(default=(0.9, 0.9999), description="of AdamW")
    eps: float = Field(default=1e-8, gt=0, description="of AdamW")
    weight_decay: float = Field(default=0.01, ge=0, description="not on biases and LayerNorm weights")
    clip: float = Field(default=1.0, gt=0, description="largest gradient norm")
    logits: Literal["labels", "all"] = Field(
        default="labels", description="where MLM computes logits; all: at every position, as the paper's timing did"
    )
    seed: Seed = Field(default=0, description="seed of weights, order and corruption")
    seeds: tuple[Seed, ...] | dict[Seed, tuple[Seed, ...]] = Field(
        default=(),
        description=(
            "seeds of several pre-trainings of each model, in place of seed; with [0, 1] fine-tunings with even seeds "
            "start from the first, those with odd seeds from the second; or the fine-tunings of each: {0: [0, 2], 1: "
            "[1, 3]}"
        ),
    )
    checkpoints: tuple[Step, ...] = Field(
        default=(), description="earlier steps whose weights are also fine-tuned, as models NAME@STEP"
    )

    @model_validator(mode="after")
    def _before_the_end(self) -> Pretrain:
        n = len(self.seeds)
        if isinstance(self.seeds, dict):
            tuned = [seed for of_one in self.seeds.values() for seed in of_one]
            if len(set(tuned)) < len(tuned) or not all(self.seeds.values()):
                raise ValueError("seeds: give each pre-training fine-tunings of its own, and each of these once")
            if self.seed not in (0, *self.seeds):
                raise ValueError("seeds: give no seed beside them")
        elif len({seed % n for seed in self.seeds}) < n or (n and self.seed not in (0, *self.seeds)):
            rest = f"with other remainders modulo {n}, which say where fine-tunings start, as 0 to {n - 1}"
            raise ValueError(f"seeds: take {n} {rest}; and give no seed beside them")
        if list(self.checkpoints) != sorted(set(self.checkpoints)):
            raise ValueError("checkpoints: give each step once, in ascending order")
        if self.streaming and self.first_chunk_only:
            raise ValueError("streaming: rows are packed, first_chunk_only wants one an article; leave one of them out")
        if self.words_per_row and (self.streaming or self.first_chunk_only):
            other = "streaming" if self.streaming else "first_chunk_only"
            raise ValueError(f"words_per_row: {other} has rows of its own; leave one of them out")
        if self.checkpoints and self.checkpoints[-1] >= self.steps:
            raise ValueError(f"checkpoints: {self.checkpoints[-1]} is not before the last of {self.steps} steps")
        check_warmup(self.steps, self.warmup_steps)
        return self

    @property
    def all_seeds(self) -> tuple[int, ...]:
        """The seeds of a model's pre-trainings: one, or several."""
        return tuple(self.seeds) or (self.seed,)

    def start_of(self, seed: int) -> int | None:
        """The seed of the pre-training from which the fine-tuning with a seed starts; None: the file names none.

        Of n pre-trainings in a list it is the one whose seed has the same remainder modulo n.
        """
        starts = self.all_seeds
        if isinstance(self.seeds, dict) and self.seeds:
            return next((start for start in starts if seed in self.seeds[start]), None)
        return next(start for start in starts if start % len(starts) == seed % len(starts))

    def recipe(self) -> PretrainRecipe:
        """The recipe as a trainer has it, where rate and warm-up are set (`complete_pretrain`)."""
        return PretrainRecipe(**dict(self))


class PretrainRecipe(Pretrain):
    """A pre-training recipe with nothing left open."""

    learning_rate: float
    warmup_steps: int


class Finetune(OnHardware):
    """How a model is fine-tuned on a task. A list in the place of a value is searched on a held-out tenth of train."""

    epochs: AtLeastOne | SeveralCounts = Field(default=5, description="passes over the training set")
    batch_size: BatchSize | SeveralBatchSizes = Field(default=32, description="rows per step, over all devices")
    learning_rate: Rate | Grid | None = Field(
        default=None,
        description="peak; a list: a grid chosen on a seeded tenth of train; null: by encoder size (base: 3e-5)",
    )
    embedding_rate: Rate | SeveralRates | None = Field(
        default=None,
        description=(
            "of the embedding's weights, in units of learning_rate: a pre-training may leave them so large that they "
            "hardly turn at the rate of the encoder; null: 1"
        ),
    )
    schedule: ScheduleName | SeveralSchedules = Field(
        default="cosine_restarts", description="of the learning rate, after the warm-up"
    )
    restart_cycles: AtLeastOne | SeveralCounts = Field(default=5, description="hard restarts of the cosine")
    warmup_fraction: UpToOne | SeveralFractions = Field(default=0.06, description="share of the steps, floored")
    steps: AtLeastOne | SeveralCounts | None = Field(
        default=None,
        description="optimizer steps, the same for every task, in place of epochs; null: epochs decide",
    )
    warmup_steps: Annotated[int, Field(ge=0)] | SeveralSteps | None = Field(
        default=None, description="in place of warmup_fraction; null: the fraction decides"
    )
    evaluations: int | None = Field(
        default=None,
        gt=0,
        description="of the whole training, evenly spaced, in place of evaluations_per_epoch; null: that decides",
    )
    betas: Betas | SeveralBetas = Field(default=(0.9, 0.999), description="of AdamW")
    eps: Rate | SeveralRates = Field(default=1e-6, description="of AdamW")
    weight_decay: Least0 | SeveralWeights = Field(default=0.0, description="not on biases and LayerNorm weights")
    clip: Rate | SeveralRates = Field(default=1.0, description="largest gradient norm")
    max_length: Length | KeptTokens = Field(
        default=128,
        description=(
            "tokens of an input, special tokens included; {keep: 0.99, at_most: 512}: the least number with which a "
            "model reads 99 % of the tokens of its task's train set, and never more than 512"
        ),
    )
    pad_to_max: bool = Field(default=False, description="pad every batch to max_length instead of to its longest row")
    evaluations_per_epoch: int | None = Field(
        default=None,
        gt=0,
        description="null: the paper's rule: five per epoch, and a third of that for rte, mrpc, cola, stsb",
    )
    evaluation_steps: int | None = Field(
        default=None, gt=0, description="optimizer steps between two evaluations, in place of evaluations_per_epoch"
    )
    select_metric: str | None = Field(
        default=None,
        description=(
            "metric by which the best evaluation is chosen; null: the task's own (mnli: matched and mismatched "
            "together)"
        ),
    )
    patience: AtLeastOne | SeveralCounts | None = Field(
        default=None, description="evaluations without improvement after which training stops; null: never"
    )
    noise: TrainingNoise | None = Field(
        default=None,
        description="noise in the training texts, anew in each epoch: {kind: distortion, rate: 0.25}",
    )
    seeds: tuple[Seed, ...] = Field(
        default=(), description="of a model, or under per_task of a task, in place of the experiment's seeds"
    )
    train_rows: tuple[Annotated[int, Field(ge=10)], ...] = Field(
        default=(),
        description=(
            "numbers of rows of train on which models, and trivial baselines, are also trained, as NAME@1000rows: "
            "drawn by the run's seed, with classes in their proportions, each number out of the next larger one"
        ),
    )
    per_task: dict[str, dict[str, Any]] = Field(
        default={}, description="values of this block that differ on a task: {atis: {epochs: 12}}"
    )

    @model_validator(mode="after")
    def _possible(self) -> Finetune:
        check_warmup(self.steps, self.warmup_steps)
        # Trivial baselines read those of a task from this block, before a model has completed it
        for rows in (self.train_rows, *(of["train_rows"] for of in self.per_task.values() if "train_rows" in of)):
            _check_rows(rows)
        return self

    @property
    def longest(self) -> int:
        """The largest number of tokens that an input may have, special tokens included."""
        return self.max_length if isinstance(self.max_length, int) else self.max_length.at_most

    def rows_on(self, task: str) -> tuple[int, ...]:
        """The numbers of train rows of the trivial baselines on a task, in a file's own block."""
        return tuple(self.per_task.get(task, {}).get("train_rows", self.train_rows))

    @property
    def searches(self) -> bool:
        """True where values are searched: several recipes, or a list of one learning rate."""
        return bool(searched_values(dict(self)))

    def recipes(self) -> list[FinetuneRecipe]:
        """The recipe at each combination of searched values, the smaller ones first, where a rate is set.

        A single one where nothing is searched. See `complete_finetune`.
        """
        lists = {
            key: sorted(values) if all(isinstance(value, int | float) for value in values) else values
            for key, values in searched_values(dict(self)).items()
        }
        return [
            FinetuneRecipe(**{**dict(self), **dict(zip(lists, values, strict=True))})
            for values in itertools.product(*lists.values())
        ]

    @property
    def largest(self) -> FinetuneRecipe:
        """The recipe with the largest, or last, of searched values: what memory and time are estimated from."""
        return self.recipes()[-1]


class FinetuneRecipe(Finetune):
    """A fine-tuning recipe with one value for each key."""

    learning_rate: float
    if TYPE_CHECKING:  # as `recipes` makes it; the defaults are those above
        epochs: int
        batch_size: int
        embedding_rate: float | None
        schedule: ScheduleName
        restart_cycles: int
        warmup_fraction: float
        steps: int | None
        warmup_steps: int | None
        betas: tuple[Beta, Beta]
        eps: float
        weight_decay: float
        clip: float
        patience: int | None


def at_rows(label: str, number: int) -> str:
    """The label of a model or trivial baseline that is trained on so many rows of train."""
    return f"{label}@{number}rows"
