"""The models of an experiment: names, groups, variations and user-defined embeddings become resolved specs."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from hashbench.common.errors import InputError, NotAtHand, located, near_match
from hashbench.common.registry import own_name
from hashbench.data.sources.weights import RANDOM
from hashbench.data.tasks.base import Task
from hashbench.models.coders.base import Coder
from hashbench.models.embeddings.base import CodeSpec, EncoderSpec, ModelSpec
from hashbench.models.embeddings.registry import find_model, groups, models
from hashbench.models.names import unknown_model
from hashbench.models.objectives.base import objectives, pretrains
from hashbench.models.text.base import LEARN_ON, Tokenizer, make_tokenizer
from hashbench.running.experiment.code import allow_code
from hashbench.running.experiment.completing import (
    complete_finetune,
    complete_pretrain,
    files_beside,
    recipe_of,
    starting_spread,
    with_coder_of_its_size,
    with_parts_of_its_encoder,
    with_vocabulary,
)
from hashbench.running.experiment.file_values import KeyPath
from hashbench.running.experiment.load import Loaded, validate
from hashbench.running.experiment.recipes import Finetune, Pretrain, at_rows, without_gone
from hashbench.running.experiment.schema import ModelEntry
from hashbench.running.experiment.sizing import at_budgets, vocabulary_rows, with_free_size
from hashbench.running.experiment.tasks import learned_tasks
from hashbench.running.experiment.used import settled_keys, spec_of_use


@dataclass(frozen=True)
class ResolvedModel:
    """A model of an experiment with a complete spec and complete recipes."""

    label: str  # its name in the experiment
    spec: ModelSpec
    pretrain: Pretrain  # learning rate and warm-up set
    finetune: Finetune  # learning rate set
    place: KeyPath  # of its entry in the file
    # Recipes of tasks that have their own.
    per_task: Mapping[str, Finetune] = field(default_factory=dict)
    # Tasks on whose training texts its vocabulary is learned.
    learned_on: tuple[Task, ...] = ()
    # The step of its pre-training at which it is taken; None: the end.
    checkpoint: int | None = None
    # The rows of train on which it is fine-tuned; None: all
    train_rows: int | None = None

    def recipe(self, task: str) -> Finetune:
        """The recipe with which the model is fine-tuned on a task."""
        return self.per_task.get(task, self.finetune)

    def checkpoints(self) -> list[ResolvedModel]:
        """The model at each earlier step of its pre-training that the experiment requests."""
        steps = self.pretrain.checkpoints if pretrains(self.spec) else ()
        return [replace(self, label=f"{self.label}@{step}", checkpoint=step) for step in steps]

    def on_fewer_rows(self) -> list[ResolvedModel]:
        """The model at each number of train rows that the experiment requests, on any task."""
        numbers = {number for recipe in (self.finetune, *self.per_task.values()) for number in recipe.train_rows}
        return [replace(self, label=at_rows(self.label, number), train_rows=number) for number in sorted(numbers)]

    @property
    def is_variant(self) -> bool:
        """True for a model at an earlier step or on fewer rows: its sizes and times are the whole model's."""
        return self.checkpoint is not None or self.train_rows is not None

    def seeds(self, task: str, others: Sequence[int]) -> tuple[int, ...]:
        """The seeds of its trainings on a task: its own, or `others`, the experiment's."""
        if self.train_rows is not None and self.train_rows not in self.recipe(task).train_rows:
            return ()
        return self.recipe(task).seeds or tuple(others)

    def start_of(self, seed: int) -> int:
        """The seed of the pre-training from which the fine-tuning with a seed starts. Raises InputError for none."""
        start = self.pretrain.start_of(seed)
        if start is None:
            starts = self.pretrain.seeds if isinstance(self.pretrain.seeds, dict) else {}
            named = ", ".join(str(seed) for of_one in starts.values() for seed in of_one)
            raise InputError(
                f"{self.label}: pretrain.seeds names no pre-training of the fine-tuning with seed {seed}; it has "
                f"{named}; give it one, or leave the seed out"
            )
        return start

    def of_run(self, spec: Mapping[str, Any]) -> ResolvedModel:
        """This model with the recipes of a run's spec as its only ones.

        Keys that a spec leaves out, as SETTINGS, have the values of the file. A spec that has the id of an earlier run
        in place of a recipe leaves that recipe as it is.
        """
        task = spec.get("task")
        own = {"pretrain": {"seed": spec["seed"]}} if "seed" in spec else {}  # a file may have several
        finetune = self.finetune if task is None else self.recipe(task["name"])
        recipes: dict[str, Any] = {"pretrain": self.pretrain, "finetune": finetune}
        for block, recipe in recipes.items():
            if isinstance(spec.get(block), Mapping):
                values = {**recipe.model_dump(), **without_gone(spec[block]), **own.get(block, {})}
                recipes[block] = type(recipe).model_validate_json(json.dumps(values))
        return replace(self, **recipes, per_task={})


def resolve_models(loaded: Loaded, absent: Callable[[NotAtHand], None] | None = None) -> dict[str, ResolvedModel]:
    """The models of an experiment by label, in the order of the file. Raises InputError with file and line.

    With `absent` a model whose files cannot be fetched now is left out, and its error handed there.
    """
    allow_code(loaded)
    resolved: dict[str, ResolvedModel] = {}
    for i, entry in enumerate(loaded.experiment.models):
        place: KeyPath = ("models", i)
        try:
            specs = _specs_of(loaded, entry, place)
        except NotAtHand as error:
            if absent is None:
                raise
            absent(error)
            continue
        for spec, own_entry in at_budgets(loaded, specs, place):
            if spec.name in resolved and (own_entry or resolved[spec.name].spec != spec):
                raise InputError(
                    f"{loaded.where(*place)}: model '{spec.name}' stands twice in models; rename one of them"
                )
            if spec.name not in resolved:  # a group may repeat a model that was named before
                model = _complete(loaded, spec, own_entry, place)
                resolved |= {taken.label: taken for taken in (model, *model.checkpoints(), *model.on_fewer_rows())}
    return resolved


def resolve_baseline(loaded: Loaded, resolved: Mapping[str, ResolvedModel]) -> ResolvedModel:
    """The baseline, to which ratios refer; an override of `models` may have left it out."""
    name, place = loaded.experiment.baseline, ("baseline",)
    if name in resolved:
        return resolved[name]
    for own, written in loaded.entries.items():
        if name == own or name.startswith(f"{own}-"):  # at one of its budgets
            entry = validate(ModelEntry, written, loaded, *place)
            sized = [spec for spec, _ in at_budgets(loaded, [(_from_entry(loaded, entry, place), entry)], place)]
            for spec in sized:
                if spec.name == name:
                    return _complete(loaded, spec, entry, place)
            if name == own:
                listed = ", ".join(spec.name for spec in sized)
                raise InputError(f"{loaded.where(*place)}: {name!r} stands at several budgets; name one: {listed}")
    return _complete(loaded, _named(loaded, name, place, list(resolved)), None, place)


def model_of(loaded: Loaded, label: str) -> ResolvedModel:
    """A model of an experiment, or its baseline, by its label."""
    resolved = resolve_models(loaded)
    return resolved.get(label) or resolve_baseline(loaded, resolved)


def _specs_of(loaded: Loaded, entry: str | ModelEntry, place: KeyPath) -> list[tuple[ModelSpec, ModelEntry | None]]:
    if isinstance(entry, ModelEntry):
        return [(_from_entry(loaded, entry, place), entry)]
    if entry in groups():
        return [(find_model(name), None) for name in groups()[entry]]
    return [(_named(loaded, entry, place, list(groups())), None)]


def _named(loaded: Loaded, name: str, place: KeyPath, others: list[str]) -> ModelSpec:
    if name in groups() and name not in models():  # a baseline or `like` is one model
        raise InputError(
            f"{loaded.where(*place)}: {name!r} is a group; name one of its models: {', '.join(groups()[name])}"
        )
    if name not in models():
        raise InputError(f"{loaded.where(*place)}: {unknown_model(name, others)}")
    return find_model(name)


def _from_entry(loaded: Loaded, entry: ModelEntry, place: KeyPath) -> ModelSpec:
    """The spec of an entry of `models`: a variation (`like`), a model of `use`, or a registered one by its name."""
    if entry.use is not None:
        if entry.name in models():
            raise InputError(
                f"{loaded.where(*place, 'name')}: '{entry.name}' is a model of the suite; choose another name"
            )
        _check_settled(loaded, entry, entry.use, place)
        with located(loaded.where(*place, "use")):
            spec = spec_of_use(entry.name, entry.use, loaded.folder)
    else:
        _check_variation(loaded, entry, place)
        key = "like" if entry.like is not None else "name"
        spec = replace(_named(loaded, entry.like or entry.name, (*place, key), []), name=entry.name)
        if entry.like is not None:  # a variation reproduces no row of a paper
            origin = replace(spec.origin, paper="", frame="")
            spec = replace(spec, origin=origin, groups=(), summary=f"a variation of {entry.like}")
    return _override(loaded, spec, entry, place)


def _check_variation(loaded: Loaded, entry: ModelEntry, place: KeyPath) -> None:
    """Raises InputError where a changed model or a variation has the name of a model of the suite."""
    parts = ("tokenizer", "coder", "embedding", "encoder", "pooling", "objective")
    changed = [key for key in parts if getattr(entry, key) is not None]
    # A folder or hub name only says where the model's own weights are.
    if entry.weights == RANDOM:
        changed.append("weights")
    if entry.like is None and changed and entry.name in models():
        remedy = f"write name: my-{entry.name}, like: {entry.name}"
        raise InputError(
            f"{loaded.where(*place, changed[0])}: '{entry.name}' with another {changed[0]} is another model; {remedy}"
        )
    if entry.like is not None and entry.name in models():
        raise InputError(
            f"{loaded.where(*place, 'name')}: '{entry.name}' is a model of the suite; give the variation another name"
        )


def _check_settled(loaded: Loaded, entry: ModelEntry, use: str, place: KeyPath) -> None:
    """Raises InputError for a key that changes a model of another library; random weights alone are allowed."""
    settled = settled_keys(use)
    for key in (*settled, "weights") if settled else ():
        if getattr(entry, key) not in (None, RANDOM):
            raise InputError(f"{loaded.where(*place, key)}: '{entry.name}' is used as it is; leave {key} out")


def _override(loaded: Loaded, spec: ModelSpec, entry: ModelEntry, place: KeyPath) -> ModelSpec:
    """The spec with what the entry changes. A mapping without `kind` varies the arguments; another kind starts anew."""
    tokenizer, tokenizer_args = _vary(spec.text.tokenizer, spec.text.args, entry.tokenizer)
    coder, coder_args = _vary(spec.code.coder, spec.code.args, entry.coder)
    with located(loaded.where(*place, "coder")):
        coder = own_name(coder or spec.code.coder, loaded.folder, Coder, "coder")
    with located(loaded.where(*place, "tokenizer")):
        tokenizer = own_name(tokenizer or spec.text.tokenizer, loaded.folder, Tokenizer, "tokenizer")
    objective, objective_args = _vary(spec.training.objective, spec.training.args, entry.objective)
    encoder, encoder_args = _vary(spec.encoder.kind, spec.encoder.args, entry.encoder)
    encoder_spec = replace(spec.encoder, args=encoder_args)
    # A paper's frame of counting speaks of the encoder that the paper has.
    if encoder is not None and encoder != spec.encoder.kind:
        encoder_spec = EncoderSpec(encoder, encoder_args)
        spec = replace(spec, origin=replace(spec.origin, counted=None, other_frames=()))
    names = [*objectives(), "none"]
    if objective is not None and objective not in names:
        near = near_match(objective, names) or ";"
        where = loaded.where(*place, "objective")
        raise InputError(f"{where}: unknown objective '{objective}'{near} objectives: {', '.join(names)}")
    tokenizer_args = files_beside(loaded, tokenizer_args, loaded.where(*place, "tokenizer"))
    coder_args = files_beside(loaded, coder_args, loaded.where(*place, "coder"))
    changed = replace(
        spec.with_args(embedding=entry.embedding or {}),
        text=replace(spec.text, tokenizer=tokenizer, args=tokenizer_args),
        code=CodeSpec(coder, coder_args, spec.code.small if coder == spec.code.coder else {}),
        encoder=encoder_spec,
        head=replace(spec.head, pooling=entry.pooling or spec.head.pooling),
        training=replace(
            spec.training,
            objective=None if objective == "none" else objective,
            args=objective_args,
            weights=_weights_beside(loaded, entry.weights) or spec.training.weights,
        ),
    )
    with located(f"{loaded.where(*place, 'embedding')}: model '{spec.name}'"):
        _check_following(changed, entry.embedding or {})
    with located(f"{loaded.where(*place, *(('free_size',) if entry.free_size else ()))}: model '{spec.name}'"):
        return with_free_size(changed, entry.free_size)


def _check_following(spec: ModelSpec, written: Mapping[str, Any]) -> None:
    """Raises InputError for a written argument of the embedding that the coder's arguments would replace."""
    for key, value in written.items():
        for family in spec.embedding.families():
            following = family.following(spec.code.args)
            if key in following and following[key] != value:
                raise InputError(
                    f"embedding: {key} follows from the arguments of coder {spec.code.coder} and is "
                    f"{following[key]!r}, not {value!r}; leave it out, or change them (coder:)"
                )


def _vary(
    kind: str | None, args: Mapping[str, Any], change: str | Mapping[str, Any] | None
) -> tuple[str | None, dict[str, Any]]:
    if change is None:
        return kind, dict(args)
    if isinstance(change, str):
        return change, dict(args) if change == kind else {}
    new_args = {key: value for key, value in change.items() if key != "kind"}
    new_kind = str(change["kind"]) if "kind" in change else kind
    return new_kind, {**args, **new_args} if new_kind == kind else new_args


def _weights_beside(loaded: Loaded, name: str | None) -> str | None:
    """A folder of weights with its path made absolute; a hub name, or a folder that is not there, as it is."""
    if name is None or name == RANDOM:
        return name
    path = loaded.folder / Path(name).expanduser()
    return str(path) if path.exists() else name


def _complete(loaded: Loaded, spec: ModelSpec, entry: ModelEntry | None, place: KeyPath) -> ResolvedModel:
    """The resolved model of a spec and its entry in the file, with spec and recipes complete."""
    spec = with_parts_of_its_encoder(loaded, spec, entry, place)
    pretrain = recipe_of(loaded, Pretrain, "pretrain", spec.training.pretrain, entry.pretrain if entry else None, place)
    finetune = recipe_of(loaded, Finetune, "finetune", spec.training.finetune, entry.finetune if entry else None, place)
    size = loaded.experiment.encoder
    spec = with_coder_of_its_size(loaded, with_vocabulary(loaded, spec, pretrain, place), place)
    spec = replace(spec, initial_spread=starting_spread(loaded, spec, entry, place))
    if rows := vocabulary_rows(spec):
        pretrain = pretrain.model_copy(update={"vocabulary_size": rows})
    if pretrains(spec):
        assert spec.training.objective is not None
        pretrain = complete_pretrain(pretrain, objective=spec.training.objective, encoder=size)
    general = complete_finetune(finetune.model_copy(update={"per_task": {}}), encoder=size)
    per_task = {}
    for task, values in finetune.per_task.items():
        written = loaded.place_of(place, "finetune", "per_task")
        recipe = validate(Finetune, {**general.model_dump(), **values}, loaded, *written, task)
        per_task[task] = complete_finetune(recipe, encoder=size)
    return ResolvedModel(spec.name, spec, pretrain, general, place, per_task, _learned_on(loaded, spec, place))


def _learned_on(loaded: Loaded, spec: ModelSpec, place: KeyPath) -> tuple[Task, ...]:
    """The tasks on whose training texts a model's vocabulary is learned."""
    if LEARN_ON not in spec.text.args:
        return ()
    with located(f"{loaded.where(*place, 'tokenizer')}: model '{spec.name}'"):
        return learned_tasks(loaded, make_tokenizer(spec.text.tokenizer, **spec.text.args).learn_on)
