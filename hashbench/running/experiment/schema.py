"""The keys of an experiment file, each with its default.

Those of recipes are in `recipes.py`; a kind of task may bring another block of keys.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, Field, PrivateAttr, model_validator
from pydantic.fields import FieldInfo

from hashbench.common.errors import InputError
from hashbench.common.registry import registered
from hashbench.data.tasks.blocks import BY_GROUPS, HoldOut, NameOf, Seed, Strict, TaskEntry
from hashbench.models.names import EncoderSize, Pooling
from hashbench.running.experiment.claims import ClaimEntry
from hashbench.running.experiment.file_blocks import (
    FLOORS,
    Budget,
    Efficiency,
    FloorChoice,
    FloorEntry,
    Robustness,
    Tracking,
    Tuning,
    baseline_names,
)
from hashbench.running.experiment.recipes import Finetune, Pretrain, at_rows
from hashbench.running.experiment.slurm import SbatchOptions

DEVICES = r"auto|cpu|gpu|mps|cuda(:[0-9]{1,3})?"


def _device(name: str) -> str:
    """The name of a device. Raises ValueError where it is none."""
    if not re.fullmatch(DEVICES, name):
        raise ValueError(f"must be auto, cpu, gpu, cuda, cuda:N (the first GPU is cuda:0) or mps, not {name!r}")
    return name


Device = Annotated[str, AfterValidator(_device), Field(json_schema_extra={"pattern": f"^({DEVICES})$"})]

NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]*$"  # of an experiment, and of a model in it
LONGEST_NAME = 128  # letters: folders and files are named after both, and a budget or step comes behind


def is_name(text: str) -> bool:
    """True for what can be the name of an experiment or model."""
    return len(text) <= LONGEST_NAME and re.fullmatch(NAME, text) is not None


AverageName = Annotated[str, Field(pattern=NAME, max_length=LONGEST_NAME)]
LEAST_HANG_MINUTES = 30.0  # a silence that no step, evaluation or file of a run has here, on a slow disk either
MOST_WORKERS = 10_000  # on a cluster
LARGEST_KEPT = 32 * 2**20  # bytes of a fine-tuned model that `keep_weights: auto` keeps: tiny encoders, most tables
InitialSpread = Literal["matched"] | Annotated[float, Field(gt=0, allow_inf_nan=False, strict=True)]


class ModelEntry(Strict):
    """One entry of `models`: a name, a variation of a model, or a user-defined embedding."""

    name: str = Field(
        min_length=1,
        max_length=LONGEST_NAME,
        pattern=NAME,
        description="unique in the experiment; not the name of a column of tables, a task or a trivial baseline",
    )
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
        description="words, spaces, unicode, icu, bpe, wordpieces, characters, bytes, items, or a mapping: "
        "{kind, normalise, ...}; of a vocabulary that is trained also {lowercase, prefix_space, learn_on}",
    )
    coder: str | dict[str, Any] | None = Field(
        default=None, description="a coder's name, or a mapping of its arguments: {kind, num_buckets, bits, ...}"
    )
    embedding: dict[str, Any] | None = Field(default=None, description="arguments of the embedding")
    encoder: str | dict[str, Any] | None = Field(
        default=None,
        description=(
            "another encoder (bert, canine, proformer, average, qrnn, prado), or a mapping of values that differ from "
            "the size's: {kind, layers, dropout, ...}"
        ),
    )
    pooling: Pooling | None = Field(
        default=None,
        description="what a fine-tuned head reads: the first token, the maximum or mean of all, or a mean by attention",
    )
    objective: str | dict[str, Any] | None = Field(
        default=None,
        description="mlm, mlm_signatures, shuffle_random, entities, none, or a mapping: {kind, cascade, ...}",
    )
    weights: str | None = Field(
        default=None,
        description=(
            "trained weights to start from: a folder that hashbench export wrote, one with config.json and "
            "model.safetensors or pytorch_model.bin, or a hub name; random: random weights, which tables mark as from "
            "scratch"
        ),
    )
    budget: Budget | None = Field(default=None, description="the size of its embedding, in parameters")
    free_size: str | None = Field(
        default=None,
        min_length=1,
        description="the argument of its coder or embedding that a budget sets, as num_buckets; null: that which its "
        "class names",
    )
    initial_spread: InitialSpread | None = Field(
        default=None, description="of this model's word vectors at the start, in place of the experiment's"
    )
    pretrain: dict[str, Any] | None = Field(default=None, description="differences from the experiment's pretrain")
    finetune: dict[str, Any] | None = Field(default=None, description="differences from the experiment's finetune")
    tuned: dict[str, Tuning] = Field(default={}, description="how values of this model were chosen, as for all models")

    @model_validator(mode="after")
    def _one_origin(self) -> ModelEntry:
        if self.like and self.use:
            raise ValueError("give either like or use, not both")
        return self


class Experiment(Strict):
    """An experiment file."""

    name: str = Field(
        min_length=1,
        max_length=LONGEST_NAME,
        pattern=NAME,
        description="name of the experiment, as in hashbench report NAME",
    )
    data: str | tuple[str, ...] = Field(
        default="hub",
        description="hub, builtin, a folder, or a list tried in order; built-in data are used only if named",
    )
    encoder: EncoderSize = Field(
        default="base", description="size of the encoder; the papers use base. Its kind is a key of an entry of models"
    )
    models: tuple[str | ModelEntry, ...] = Field(
        min_length=1,
        description="names, groups (hashformers), variations, own embeddings",
    )
    budget: Budget | None = Field(
        default=None,
        description=(
            "size of the embedding of all models with a free size that their entry does not write; other models keep "
            "theirs, and are named"
        ),
    )
    initial_spread: InitialSpread | None = Field(
        default=None,
        description=(
            "standard deviation of the word vectors of all models at the start; matched: that of the position vectors, "
            "0.02 where none are learned; null: each embedding's own. Published weights are left as they are"
        ),
    )
    baseline: str = Field(default="bert-mlm", description="the model that ratios refer to")
    floors: tuple[Annotated[str, NameOf(baseline_names)] | FloorEntry, ...] = Field(
        default=FLOORS,
        description=(
            "scores that a model must beat, in every table; the first three for texts, bag-of-pairs and its version 2 "
            "for pairs of texts, popularity and co-occurrence for page-link sets, popularity for phrases too, "
            "most-frequent-tag for tags of words, the last two for minimal pairs; "
            "{name: hashed-words, bytes: 16_384} has another size"
        ),
    )
    tasks: str | tuple[str | TaskEntry, ...] = Field(
        default="glue", description="glue, entities, phrases, or a list of task names and own data sets"
    )
    hold_out: HoldOut = Field(
        default=BY_GROUPS,
        description=(
            "how a tenth of train is held out, where a task has no validation split and where values are searched; "
            "groups: rows of which one lies in the other together; rows: each by itself, as experiments stored "
            "without this key"
        ),
    )
    averages: dict[AverageName, Annotated[tuple[str, ...], Field(min_length=2)]] = Field(
        default={},
        description="further averages in the experiment's own table, by name, each over some of the tasks: "
        "{pairs: [stsb, qnli], single: [sst2, cola]}",
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
            "names are initial_spread or begin with pretrain, finetune, finetune.per_task.TASK, coder, embedding or "
            "encoder; what is not listed is printed as not declared"
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
        description="evaluate models and trivial baselines on texts with seeded noise; true, or a block of its values",
    )
    tracking: Tracking = Field(default=Tracking(), description="curves of runs at Weights & Biases")
    executor: Annotated[str, NameOf(lambda: list(registered("executor")))] = Field(
        default="local",
        description="where runs are done: local: on this machine, ray: on a Ray cluster, slurm: as a job of Slurm",
    )
    slurm: SbatchOptions = Field(
        default={},
        description=(
            "with executor: slurm, options of sbatch by their long names, for one element of the array: "
            "{time: 12:00:00, partition: gpu, gpus: 1, mem: 32G}; time is required; true: an option without a value"
        ),
    )
    workers: int = Field(
        default=1,
        gt=0,
        le=MOST_WORKERS,
        description="number of runs done at the same time; with executor: slurm, of elements of the array",
    )
    threads: int | None = Field(
        default=None,
        gt=0,
        description="CPU threads per run; null: cores divided by workers; a number is part of every run's id, since "
        "sums in another order are rounded in another way: with another number all runs are done again",
    )
    device: Device = Field(
        default="auto",
        description="auto: a GPU if there is one, gpu: refused without one; or cpu, cuda, cuda:1 (the second), mps",
    )
    devices: int = Field(default=1, gt=0, description="GPUs per run, on each of its nodes")
    nodes: int = Field(default=1, gt=0, description="machines per run; more than one needs executor: ray")
    retries: int = Field(default=1, ge=0, description="number of times that a failed run is tried again")
    hang_minutes: Annotated[float, Field(ge=LEAST_HANG_MINUTES)] | Literal["off"] = Field(
        default=LEAST_HANG_MINUTES,
        description=(
            "minutes without a sign of progress after which a run counts as hung, is ended and tried again; ten times "
            "as many before its first step; off: no limit"
        ),
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

    _task_blocks: dict[str, Strict] = PrivateAttr(
        default_factory=lambda: {name: block() for name, block in task_block_types().items()}
    )

    @property
    def all_floors(self) -> list[FloorChoice]:
        """The trivial baselines, each in each of its sizes, in order."""
        entries = [FloorEntry(name="hashed-words") if entry == "hashed-words" else entry for entry in self.floors]
        return [
            floor
            for entry in entries
            for floor in (entry.floors if isinstance(entry, FloorEntry) else [FloorChoice(entry, entry)])
        ]

    def floor_labels(self) -> list[str]:
        """The labels of the trivial baselines, on all rows of train and on fewer."""
        tasks = [self.tasks] if isinstance(self.tasks, str) else self.tasks
        names = [task if isinstance(task, str) else task.name for task in tasks]
        numbers = sorted({number for name in names for number in self.finetune.rows_on(name)})
        labels = [floor.label for floor in self.all_floors]
        return labels + [at_rows(label, number) for number in numbers for label in labels]

    @property
    def hang_s(self) -> float | None:
        """Seconds without a sign of progress after which a run counts as hung; None: no limit."""
        return None if self.hang_minutes == "off" else 60.0 * self.hang_minutes

    @property
    def all_devices(self) -> int:
        """GPUs of a run on all of its nodes."""
        return self.devices * self.nodes

    @property
    def efficiency_block(self) -> Efficiency | None:
        """The block of measurements of time and memory; None where there are none."""
        return Efficiency() if self.efficiency is True else self.efficiency or None

    @property
    def robustness_block(self) -> Robustness | None:
        """The block of evaluations on noisy texts; None where there are none."""
        return Robustness() if self.robustness is True else self.robustness or None

    @property
    def task_blocks(self) -> Mapping[str, Strict]:
        """The blocks of kinds of task, by the name of the kind, which is their key in the file."""
        return self._task_blocks

    def with_task_blocks(self, blocks: Mapping[str, Strict]) -> Experiment:
        """The experiment with these blocks of kinds of task; a kind that is not among them keeps its block."""
        copy = self.model_copy()
        copy._task_blocks = {**self._task_blocks, **blocks}
        return copy

    def stored(self) -> dict[str, Any]:
        """All keys with their values, blocks of kinds of task included, in the types of JSON."""
        blocks = {name: block.model_dump(mode="json") for name, block in self._task_blocks.items()}
        return {**self.model_dump(mode="json"), **blocks}


def task_block_types() -> dict[str, type[Strict]]:
    """The blocks of keys that kinds of task add to a file, by their key: the name of the kind.

    Raises InputError where every file has a key of that name.
    """
    blocks = {name: kind.block for name, kind in registered("kind of task").items() if kind.block is not None}
    for name in blocks:
        if name in Experiment.model_fields:
            raise InputError(f"kind of task {name!r}: its block would stand where {name} does; rename it")
    return blocks


def fields_of(block: type[BaseModel]) -> dict[str, FieldInfo]:
    """The keys of a block; `Experiment` has the keys of a file."""
    added = task_block_types() if block is Experiment else {}
    kinds = registered("kind of task")
    return {
        **block.model_fields,
        **{
            name: FieldInfo(annotation=block, default=block(), description=kinds[name].block_help)
            for name, block in added.items()
        },
    }


def json_schema() -> dict[str, Any]:
    """The JSON Schema of an experiment file."""
    schema, fields = Experiment.model_json_schema(), fields_of(Experiment)
    for name, block in task_block_types().items():
        parts = block.model_json_schema()
        schema["$defs"] |= {**parts.pop("$defs", {}), block.__name__: parts}
        default, ref = block().model_dump(mode="json"), f"#/$defs/{block.__name__}"
        schema["properties"][name] = {"$ref": ref, "default": default, "description": fields[name].description}
    return schema | {"$defs": dict(sorted(schema["$defs"].items()))}


def stored_value(config: Mapping[str, object], key: str) -> object:
    """The value of a key of a stored experiment; the default where the version that stored it did not know the key.

    >>> stored_value({"name": "small", "retries": 3}, "retries"), stored_value({"name": "small"}, "retries")
    (3, 1)
    """
    return config[key] if key in config else Experiment.model_fields[key].default
