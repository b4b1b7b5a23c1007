"""The models of stored runs, resolved again from the experiments that the store keeps."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hashbench.common.errors import InputError
from hashbench.data.sources.sources import locate_corpus, open_sources
from hashbench.data.tasks.blocks import BY_ROWS
from hashbench.data.tasks.catalogue import load_task, locate_task
from hashbench.data.tasks.text_data import TaskData
from hashbench.models.text.base import VERSION, lasting
from hashbench.running.experiment.load import Loaded
from hashbench.running.experiment.models import ResolvedModel, model_of
from hashbench.running.experiment.recipes import without_gone
from hashbench.running.experiment.resolved import model_block, needs_corpus
from hashbench.running.experiment.schema import Experiment, task_block_types
from hashbench.running.experiment.tasks import task_of
from hashbench.store.engine import Store
from hashbench.store.environment import LEFT_OUT
from hashbench.store.status import experiment_of_run, run_spec

MEANT_BEFORE = {"hold_out": BY_ROWS}  # keys of an experiment whose default is another than what was done without them
READS_TEXT = ("tokenizer", "coder", "embedding_args")  # of a model's block: what its codes depend on


@dataclass(frozen=True)
class StoredModel:
    """The model of a stored run as it was trained, with its experiment and its sources of data."""

    loaded: Loaded  # the experiment of the run, as the store keeps it
    model: ResolvedModel  # under the label that it has there, with the recipe of the run's task
    had: tuple[str, ...]  # sources of its sweep; none where that is not known
    corpus: Mapping[str, Any] | None  # the part of the run's spec on texts that it learned from, apart from its task

    def sources(self, data: Sequence[str] | None) -> tuple[str, ...]:
        """The sources for its text side: `data`, else its sweep's sources.

        Raises InputError where the texts there from which tokenizer or coder learn are others than the run's.
        """
        sources = _there(self.loaded, self.loaded.sources(data or self.had))
        corpora = self.model.pretrain.corpora if needs_corpus(self.model.spec.without_training()) else ()
        if not (self.corpus and (corpora or self.model.learned_on)):
            return sources
        opened = open_sources(sources)
        here: dict[str, dict[str, str]] = {"corpora": {}, "tasks": {}}
        for name in dict.fromkeys(corpora):
            corpus = locate_corpus(name, opened)
            here["corpora"][corpus.name] = corpus.fingerprint
        for task in self.model.learned_on:
            here["tasks"][task.name] = locate_task(task, opened).fingerprint
        for key, what in (("corpora", "corpus"), ("tasks", "task")):
            learned = [entry["fingerprint"] for entry in self.corpus.get(key, ())]
            for name, fingerprint in here[key].items():
                if fingerprint not in learned:
                    raise InputError(
                        f"{what} {name} is another than the run's, which learned from it; give that: --data FOLDER"
                    )
        return sources


def model_of_run(store: Store, run_id: str, *, trust_code: bool = False) -> StoredModel:
    """The model of a stored run, resolved again from the experiment that has the run.

    `trust_code`: user-defined code that the experiment names may run even if it never ran here before. Raises
    InputError for a run of no experiment, for code that is not trusted, and where this version resolves another model.
    """
    spec = run_spec(store, run_id)
    stored, label = experiment_of_run(store, run_id)
    loaded, model = _resolved(spec, stored.config, label, store.name, trust_code=trust_code)
    return StoredModel(loaded, model, tuple(stored.provenance.get("sources", ())), spec.get("corpus"))


def _resolved(
    spec: Mapping[str, Any], config: Mapping[str, Any], label: str, shown: str, *, trust_code: bool
) -> tuple[Loaded, ResolvedModel]:
    """The experiment and the model of a run's spec, from the stored keys of the experiment.

    The store keeps every key with its value and does not tell which ones the file had. Those count over a model's own
    recipe, so the keys that are not at their defaults are tried as the file's, then all.
    """
    values = _keys_of(config)
    experiment = _experiment_of(config)
    for written in (experiment.model_dump(mode="json", exclude_defaults=True), values):
        loaded = Loaded(experiment, Path.cwd() / "store.yaml", shown, written, trusts_code=trust_code)
        model = _of_version(model_of(loaded, label), spec["model"]["tokenizer"])
        if _reads_alike(spec, model, experiment.encoder):
            return loaded, model.of_run(spec)
    other = "is read in another way by this version of hashbench than when it was trained"
    raise InputError(f"{shown}: '{label}' {other}; use the version that made it (hashbench report names its commit)")


def _keys_of(config: Mapping[str, Any]) -> dict[str, Any]:
    """The keys of a stored experiment; one that is newer than it has the value that was meant then."""
    return {
        **MEANT_BEFORE,
        **_without_gone({key: config[key] for key in Experiment.model_fields if key in config}),
    }


def _without_gone(values: Any) -> Any:
    """A stored value without keys of recipes that this version has not."""
    if isinstance(values, list):
        return [_without_gone(value) for value in values]
    if not isinstance(values, Mapping):
        return values
    kept = {name: _without_gone(value) for name, value in values.items()}
    return {name: without_gone(of) if name in ("pretrain", "finetune") and of else of for name, of in kept.items()}


def _experiment_of(config: Mapping[str, Any]) -> Experiment:
    """The experiment of stored keys."""
    types = task_block_types()
    blocks = {key: block.model_validate_json(json.dumps(config[key])) for key, block in types.items() if key in config}
    return Experiment.model_validate_json(json.dumps(_keys_of(config))).with_task_blocks(blocks)


def task_data_of_run(store: Store, run_id: str, data: Sequence[str] | None) -> TaskData:
    """The data of a stored run's task, from `data`, else from the sources of its sweep.

    Raises InputError where they are others than the run's.
    """
    spec = run_spec(store, run_id)
    stored, _ = experiment_of_run(store, run_id)
    loaded = Loaded(_experiment_of(stored.config), Path.cwd() / "store.yaml", store.name, stored.config)
    sources = open_sources(_there(loaded, loaded.sources(data or stored.provenance.get("sources", ()))))
    read = load_task(task_of(loaded, spec["task"]["name"]), sources)
    if read.fingerprint != spec["data"]:
        raise InputError(f"task {read.task.name}: is another than the run's; give that: --data FOLDER")
    return read


def _there(loaded: Loaded, sources: tuple[str, ...]) -> tuple[str, ...]:
    """The sources. Raises InputError for a database that was exported, which leaves out the paths of folders."""
    if any(LEFT_OUT in name for name in sources):
        raise InputError(f"{loaded.shown}: is a copy without the paths of its data; say where they are: --data FOLDER")
    return sources


def _of_version(model: ResolvedModel, tokenizer: Mapping[str, Any]) -> ResolvedModel:
    """The model with the version that its tokenizer had in a run, whose recipe of it is `tokenizer`; an experiment that
    names none has the version that was the latest then."""
    text = model.spec.text
    if VERSION not in lasting(text.tokenizer, {}) or VERSION in text.args or VERSION not in tokenizer:
        return model
    args = {**text.args, VERSION: tokenizer[VERSION]}
    return replace(model, spec=replace(model.spec, text=replace(text, args=args)))


def _reads_alike(spec: Mapping[str, Any], model: ResolvedModel, size: str) -> bool:
    """True where a model turns texts into the codes that a run had; keys that the run's version did not know are not
    compared."""
    block = model_block(replace(model, spec=model.spec.without_training()), size)  # published weights read no text
    if any(_known(spec["model"][key], block[key]) != spec["model"][key] for key in READS_TEXT):
        return False
    corpus = spec.get("corpus") or {}
    recipe = {key: value for key, value in corpus.items() if key not in ("corpora", "tasks")}
    return not needs_corpus(model.spec) or all(getattr(model.pretrain, key) == value for key, value in recipe.items())


def _known(stored: Any, block: Any) -> Any:
    """A block without the keys that the stored one does not have."""
    if isinstance(stored, dict) and isinstance(block, dict):
        return {key: value for key, value in block.items() if key in stored}
    return block
