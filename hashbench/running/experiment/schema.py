"""The keys of an experiment file, each with its default. Those of recipes are in `recipes.py`; a kind of task may bring
another block of keys.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from hashbench.data.tasks.blocks import Strict, TaskEntry
from hashbench.results.dashboard.live import PROJECT, Mode
from hashbench.running.experiment.budget import Budget
from hashbench.running.experiment.choices import EncoderSize, ExecutorName
from hashbench.running.experiment.measurements import Efficiency, Robustness
from hashbench.running.experiment.recipes import Finetune, Pretrain

Seed = Annotated[int, Field(ge=0)]

LARGEST_KEPT = 32 * 2**20  # bytes of a fine-tuned model that `keep_weights: auto` keeps: tiny encoders, most tables


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


class ModelEntry(Strict):
    """One entry of `models`: a name, a variation of a model, or an embedding of the user's own."""

    name: str = Field(min_length=1, pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", description="unique in the experiment")
    like: str | None = Field(default=None, description="the named model that this one is a variation of")
    use: str | None = Field(
        default=None,
        description=(
            "an embedding of your own: FILE.py:Class or package.module:Class; or any encoder of the transformers "
            "library with its own tokenizer: transformers:NAME, NAME@REVISION or ./FOLDER"
        ),
    )
    tokenizer: str | dict[str, Any] | None = Field(
        default=None,
        description="words, unicode, icu, bpe, wordpieces, characters, bytes, items, or a mapping: {kind, ...}",
    )
    coder: str | dict[str, Any] | None = Field(
        default=None, description="a coder's name, or a mapping of its arguments: {kind, num_buckets, bits, ...}"
    )
    embedding: dict[str, Any] | None = Field(default=None, description="arguments of the embedding")
    encoder: dict[str, Any] | None = Field(
        default=None,
        description=(
            "encoder values that differ from the size's: {layers, dropout, ...}; kind: another encoder (bert, canine,"
            " proformer)"
        ),
    )
    pooling: Literal["first", "max", "mean"] | None = Field(
        default=None, description="what a fine-tuned head reads: the first token, or the maximum or mean of all"
    )
    objective: str | dict[str, Any] | None = Field(
        default=None,
        description="mlm, shuffle_random, entities, none, or a mapping: {kind, shuffle_prob, random_prob, released}",
    )
    weights: str | None = Field(
        default=None,
        description=(
            "published weights to start from: a folder with config.json and model.safetensors or pytorch_model.bin, "
            "or a hub name; random: random weights, which tables mark as from scratch"
        ),
    )
    budget: Budget | None = Field(default=None, description="the size of its embedding, in parameters")
    pretrain: dict[str, Any] | None = Field(default=None, description="differences from the experiment's pretrain")
    finetune: dict[str, Any] | None = Field(default=None, description="differences from the experiment's finetune")
    tuned: dict[str, Tuning] = Field(default={}, description="how values of this model were chosen, as for all models")

    @model_validator(mode="after")
    def _one_origin(self) -> ModelEntry:
        if self.like and self.use:
            raise ValueError("give either like or use, not both")
        return self


class ClaimEntry(Strict):
    """A comparison of the user's own that `hashbench report claims` decides; the grammar is that of \
the papers' claims (claims.md)."""

    id: str = Field(min_length=1, description="unique among the claims; claims that differ in a last letter are folded")
    kind: str = Field(
        description="greater, difference_at_least, ratio_at_least, equal_within, interaction, ordering or count",
    )
    left: str | int | float = Field(
        description=(
            "a model, a number, mean(a,b), min(a,b), max(a,b), or 'a - b' or 'a / b' of these; of an ordering a chain"
            " 'a > b ~ c'"
        ),
    )
    right: str | int | float = Field(default="", description="what is compared with; empty for ordering and count")
    column: str = Field(
        description=(
            "a task, average, a size or time (total_params, infer_ms), a column of a paper's table; mean(c,d), 'c - "
            "d', each(c,d)"
        ),
    )
    bound: float = Field(default=0.0, description="the claimed threshold in the unit")
    expected: float | None = Field(
        default=None, description="the number that is claimed (count), or that was once measured"
    )
    unit: str = Field(default="percent", description="percent, x, ms/sample, params, K, M, Mi, B, KB, MB")
    statement: str = Field(default="", description="the claim in words")
    needs: str = Field(default="", description="as in claims.md: seeds=3; corpus=one for both")
    paper: str = Field(
        default="", description="the paper whose names of models and columns are used; empty: the experiment's own"
    )
    section: str = Field(default="", description="where it is claimed")
    note: str = Field(default="", description="tags and words to print beside the verdict")

    @model_validator(mode="before")
    @classmethod
    def _without_published_holds(cls, values: Any) -> Any:
        """Own claims may be copied from the papers', which say whether a claim holds on the published numbers."""
        return {key: values[key] for key in values if key != "published_holds"} if isinstance(values, dict) else values


class Experiment(Strict):
    """An experiment file."""

    # What every file has. Files are read as `experiment_schema()`, which adds the blocks that kinds of task bring.

    name: str = Field(
        min_length=1,
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$",
        description="name of the experiment, as in hashbench report NAME",
    )
    data: str | tuple[str, ...] = Field(
        default="hub",
        description="hub, builtin, a folder, or a list tried in order; built-in data are used only if named",
    )
    encoder: EncoderSize = Field(default="base", description="size of the encoder; the papers use base")
    models: tuple[str | ModelEntry, ...] = Field(
        min_length=1,
        description="names, groups (hashformers), variations, own embeddings",
    )
    budget: Budget | None = Field(
        default=None,
        description="size of the embedding of all models with a free size; other models keep their size",
    )
    baseline: str = Field(default="bert-mlm", description="the model that ratios refer to")
    floors: tuple[str, ...] = Field(
        default=("majority", "bag-of-words", "popularity", "co-occurrence", "most-frequent-tag"),
        description=(
            "scores that a model must beat, in every table; the first two for texts, the others for page-link sets, "
            "popularity for phrases too, the last for tags of words"
        ),
    )
    tasks: str | tuple[str | TaskEntry, ...] = Field(
        default="glue", description="glue, entities, phrases, or a list of task names and own data sets"
    )
    seeds: tuple[Seed, ...] = Field(
        default=(0, 1, 2), min_length=1, description="seeds of fine-tuning: weights of the head, dropout, order of rows"
    )
    pretrain: Pretrain = Field(default=Pretrain(), description="for all models; an entry of models may differ")
    finetune: Finetune = Field(default=Finetune(), description="for all models; an entry of models may differ")
    tuned: dict[str, Tuning] = Field(
        default={},
        description=(
            "how values were chosen, by name: {finetune.learning_rate: {tried: [1e-4, 3e-4], on: validation}}; "
            "names begin with pretrain, finetune, finetune.per_task.TASK, coder, embedding or encoder; what is not "
            "listed is printed as not declared"
        ),
    )
    efficiency: bool | Efficiency = Field(
        default=False,
        description="measure time and memory of each model in turn with the baseline; true, or a block of its values",
    )
    claims: str | tuple[ClaimEntry, ...] = Field(
        default=(),
        description=(
            "your own claims, decided like the papers': a list, or the path of a CSV in the form of claims.csv, "
            "relative to this file"
        ),
    )
    robustness: bool | Robustness = Field(
        default=False,
        description="evaluate the fine-tuned models on texts with seeded noise; true, or a block of its values",
    )
    tracking: Tracking = Field(default=Tracking(), description="curves of runs at Weights & Biases")
    executor: ExecutorName = Field(
        default="local", description="where runs are done: local: on this machine, ray: on a Ray cluster"
    )
    workers: int = Field(default=1, gt=0, description="number of runs done at the same time")
    threads: int | None = Field(default=None, gt=0, description="CPU threads per run; null: cores divided by workers")
    device: Literal["auto", "cpu", "cuda", "mps"] = Field(default="auto", description="auto: a GPU if there is one")
    devices: int = Field(default=1, gt=0, description="GPUs per run, on each of its nodes")
    nodes: int = Field(default=1, gt=0, description="machines per run; more than one needs executor: ray")
    strategy: Literal["ddp", "fsdp"] = Field(
        default="ddp",
        description=(
            "how several devices share a run: ddp: each has the whole model, fsdp: each has a part of every layer of "
            "the encoder, for encoders that do not fit one card"
        ),
    )
    retries: int = Field(default=1, ge=0, description="number of times that a failed run is tried again")
    run_hours: float | None = Field(
        default=None,
        gt=0,
        description="hours after which an attempt at a run ends as failed; its checkpoint stays; null: no limit",
    )
    database_minutes: float = Field(
        default=15.0,
        gt=0,
        description="minutes that a sweep waits for a database that does not answer; no effect on results",
    )
    checkpoint_minutes: float = Field(
        default=5.0,
        gt=0,
        description="minutes between the checkpoints from which an interrupted run resumes; no effect on results",
    )
    keep_weights: Literal["auto", "pretrained", "best", "none"] = Field(
        default="auto",
        description=(
            "of pre-trainings, and of each fine-tuning the best: auto: of models up to 32 MiB (8 million parameters), "
            "best: of all, 168 GB at the paper's scale, pretrained: of none; none: not even those of pre-trainings"
        ),
    )

    @property
    def all_devices(self) -> int:
        """GPUs of a run on all of its nodes."""
        return self.devices * self.nodes

    @property
    def efficiency_block(self) -> Efficiency | None:
        """What is measured of time and memory; None where nothing is."""
        return Efficiency() if self.efficiency is True else self.efficiency or None

    @property
    def robustness_block(self) -> Robustness | None:
        """What is asked for of robustness; None where nothing is."""
        return Robustness() if self.robustness is True else self.robustness or None

    @property
    def task_blocks(self) -> dict[str, Strict]:
        """The blocks that speak of one kind of task, by its name."""
        own = type(self).model_fields.keys() - Experiment.model_fields.keys()
        return {name: block for name, block in self if name in own}
