"""How recipe values were chosen, as an experiment file declares it: by name, for all models or for one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

from hashbench.common.errors import InputError, near_match
from hashbench.common.measured import searched_values
from hashbench.models.coders.base import make_coder
from hashbench.models.embeddings.registry import embedding_arguments
from hashbench.models.encoders.base import encoder_config
from hashbench.models.objectives.base import pretrains
from hashbench.running.experiment.file_blocks import Tuning
from hashbench.running.experiment.file_values import KeyPath
from hashbench.running.experiment.load import Loaded
from hashbench.running.experiment.models import ResolvedModel
from hashbench.running.experiment.schema import ModelEntry

KEY = "tuned"
PER_TASK = "per_task"
TUNABLE_BLOCKS = "pretrain, finetune, finetune.per_task.TASK, coder, embedding, encoder or initial_spread"
Declared = dict[str, Tuning]  # by the name of the recipe value


def declared(loaded: Loaded, models: Mapping[str, ResolvedModel]) -> dict[str, Declared]:
    """The declarations of the file by model and name of the value. Raises InputError for an invalid one."""
    if ("models",) not in loaded.overrides:  # others than the file's models may lack a value
        _check_shared(loaded, models.values())
    return {label: tuning_of(loaded, model) for label, model in models.items()}


def tuning_of(loaded: Loaded, model: ResolvedModel) -> Declared:
    """The declarations that hold for a model: its entry's, and those for all models of values that it does not set.

    Raises InputError for a value that the model has not, one that is not among those tried, and a grid.
    """
    entry = _entry_of(loaded, model)
    own, shared = entry.tuned if entry else {}, loaded.experiment.tuned
    if not own and not shared:
        return {}
    values = _values(model, loaded.experiment.encoder)
    held: dict[str, tuple[Tuning, KeyPath]] = {
        name: (shared[name], (KEY, name)) for name in shared if name in values and not _is_set(entry, name)
    }
    for name in own:
        if name not in values:
            raise InputError(f"{loaded.where(*model.place, KEY, name)}: {_unknown(name, values)}")
    held |= {name: (own[name], (*model.place, KEY, name)) for name in own}
    kept = {name: place for name, place in held.items() if not _overridden(loaded, name)}
    for name, (tuning, place) in kept.items():
        _check(loaded, model, name, values[name], tuning, place)
    return {name: tuning for name, (tuning, _) in kept.items()}


def _entry_of(loaded: Loaded, model: ResolvedModel) -> ModelEntry | None:
    """The block of a model in the file; None where the list has its name alone."""
    block, *place = model.place
    entry = loaded.experiment.models[int(place[0])] if block == "models" and place else None
    return entry if isinstance(entry, ModelEntry) else None


def _check_shared(loaded: Loaded, models: Iterable[ResolvedModel]) -> None:
    """Raises InputError for a value declared for all models that no model has."""
    if not loaded.experiment.tuned:
        return
    names = {name for model in models for name in _values(model, loaded.experiment.encoder)}
    for name in loaded.experiment.tuned:
        if name not in names:
            raise InputError(f"{loaded.where(KEY, name)}: {_unknown(name, names)}")


def _values(model: ResolvedModel, size: str) -> dict[str, Any]:
    """Every value of a model that may be declared, by name."""
    spec = model.spec
    blocks: dict[str, Mapping[str, Any]] = {
        "finetune": model.finetune.model_dump(exclude={PER_TASK}),
        "coder": make_coder(spec.code.coder, **spec.code.args).recipe(),
        "embedding": embedding_arguments(spec),
        "encoder": asdict(encoder_config(spec.encoder.kind, size, **spec.encoder.args)),
    }
    if pretrains(spec):
        blocks["pretrain"] = model.pretrain.model_dump()
    for task, recipe in model.per_task.items():
        blocks[f"finetune.{PER_TASK}.{task}"] = recipe.model_dump(exclude={PER_TASK})
    inner = {f"{block}.{key}": value for block, values in blocks.items() for key, value in values.items()}
    return inner if spec.initial_spread is None else {**inner, "initial_spread": spec.initial_spread}


def _is_set(entry: ModelEntry | None, name: str) -> bool:
    """True where the entry of a model sets a value, so that a declaration for all models does not hold for it."""
    block, _, key = name.partition(".")
    values = getattr(entry, block) if entry else None
    if not key:
        return values is not None
    return isinstance(values, dict) and key.partition(".")[0] in values


def _overridden(loaded: Loaded, name: str) -> bool:
    """True where the command line set a value, for which the file's declaration then does not hold."""
    keys = tuple(name.split("."))
    return any(keys[:end] in loaded.overrides for end in range(min(2, len(keys)), len(keys) + 1))


def _unknown(name: str, names: Iterable[str]) -> str:
    near = near_match(name, sorted(names))
    return f"{KEY}: no recipe value {name!r} here{near or f'; names begin with {TUNABLE_BLOCKS}'}"


def _check(loaded: Loaded, model: ResolvedModel, name: str, value: Any, tuning: Tuning, place: KeyPath) -> None:
    where = f"{loaded.where(*place)}: {KEY}.{name}"
    block, _, key = name.rpartition(".")
    if block.startswith("finetune") and searched_values({key: value}):
        what = "a list of rates" if key == "learning_rate" else "a list of values"
        raise InputError(f"{where}: {what} is searched by the sweep itself, on a held-out tenth of train; "
                         "leave it out here")  # fmt: skip
    if value not in tuning.tried:
        raise InputError(
            f"{where}: '{model.label}' has {value}, which is not among the tried "
            f"{', '.join(map(str, tuning.tried))}; add it, or declare it in the model's own entry"
        )
