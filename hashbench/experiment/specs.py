"""The spec of each kind of run: plain values, complete, the same from the file as from the database."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hashbench.coders.registry import make_coder
from hashbench.data.weights import RANDOM, locate_weights
from hashbench.embeddings.base import ModelSpec
from hashbench.experiment.identity import model_block
from hashbench.experiment.models import ResolvedModel
from hashbench.experiment.schema import Experiment
from hashbench.tasks.base import LocatedTask
from hashbench.tasks.own_data import reports_elsewhere
from hashbench.text.perturbation import VERSION as PERTURBATION_VERSION
from hashbench.text.pieces import PieceTokenizer
from hashbench.text.tokenizers import make_tokenizer

FLOOR_VERSION = 1  # raised when the meaning of a floor changes
# Keys of schema.Pretrain that stand elsewhere in the spec: in the corpus, the tokenizer and the seed.
PRETRAIN_ELSEWHERE = {"corpora", "max_documents", "first_chunk_only", "vocabulary_size", "vocabulary", "seed"}
OF_THE_HEAD = {"pooling", "dense_head", "dense_dropout"}  # values of a model that its pre-training does not know
OF_WORDS = {"max_documents", "first_chunk_only"}  # what of the corpora counts as seen
# What of the recipes a measurement depends on.
MEASURED = {"pretrain": {"logits", "precision"}, "finetune": {"max_length", "pad_to_max", "precision"}}


@dataclass(frozen=True)
class Subject:
    """A model as specs name it: what it is, and the text it is made from."""

    resolved: ResolvedModel
    block: dict[str, Any]
    corpus: dict[str, Any] | None  # None: it learns nothing from corpora


def make_subject(model: ResolvedModel, experiment: Experiment, corpora: Mapping[str, str]) -> Subject:
    """A model with its corpora, given by name and fingerprint; none where it needs none."""
    spec = model.spec
    tokenizer = make_tokenizer(spec.text.tokenizer, **spec.text.args)
    if isinstance(tokenizer, PieceTokenizer) and tokenizer.needs_training:
        tokenizer.vocabulary_size = model.pretrain.vocabulary_size  # what is derived has its recipe in the identity
    coder = make_coder(spec.code.coder, **spec.code.args)
    block = model_block(
        spec,
        size=experiment.encoder,
        tokenizer=tokenizer.recipe(),
        coder=coder.recipe(),
        weights=_weights(spec),
    )
    corpus = {
        "corpora": [{"name": name, "fingerprint": fingerprint} for name, fingerprint in corpora.items()],
        "max_documents": model.pretrain.max_documents,
        "first_chunk_only": model.pretrain.first_chunk_only,
    }
    return Subject(model, block, corpus if corpora else None)


def pretrain_spec(subject: Subject, experiment: Experiment) -> dict[str, Any]:
    """The spec of a pre-training."""
    recipe = subject.resolved.pretrain
    return _plain(
        {
            "kind": "pretrain",
            "model": {key: value for key, value in subject.block.items() if key not in OF_THE_HEAD},
            "corpus": subject.corpus,
            "pretrain": recipe.model_dump(exclude=PRETRAIN_ELSEWHERE),
            "seed": recipe.seed,
            "threads": experiment.threads,
        }
    )


def finetune_spec(
    subject: Subject, experiment: Experiment, *, pretrain: str | None, task: LocatedTask, seed: int
) -> dict[str, Any]:
    """The spec of a fine-tuning; `pretrain` is the id of the pre-training it starts from."""
    return _plain(
        {
            "kind": "finetune",
            "model": subject.block,
            "corpus": subject.corpus,
            "pretrain": pretrain,
            "task": _task(task),
            "data": task.fingerprint,
            "finetune": subject.resolved.recipe(task.task.name).model_dump(),
            "seed": seed,
            "threads": experiment.threads,
            **_settings(subject.resolved.spec),
        }
    )


def _weights(spec: ModelSpec) -> dict[str, str] | str | None:
    """What a model starts from: published weights by their content, "random" in their place, or no such weights."""
    if spec.training.weights is None or spec.training.weights == RANDOM:
        return spec.training.weights
    return {"sha256": locate_weights(spec.training.weights).fingerprint()}


def _settings(spec: ModelSpec) -> dict[str, Any]:
    """The name of published weights, for tables: the identity has their content."""
    if spec.training.weights is None or spec.training.weights == RANDOM:
        return {}
    return {"settings": {"weights": locate_weights(spec.training.weights).shown}}


def entities_spec(subject: Subject, experiment: Experiment, *, task: LocatedTask, seed: int) -> dict[str, Any]:
    """The spec of a training on hidden items, from scratch."""
    return _plain(
        {
            "kind": "entities",
            "model": subject.block,
            "pretrain": None,
            "task": _task(task),
            "data": task.fingerprint,
            **task.task.kind.protocol_spec(task.task),
            "finetune": subject.resolved.finetune.model_dump(),
            "seed": seed,
            "threads": experiment.threads,
        }
    )


def floor_spec(name: str, task: LocatedTask) -> dict[str, Any]:
    """The spec of a floor on a task."""
    spec = {"kind": "floor", "floor": name, "version": FLOOR_VERSION, "task": _task(task), "data": task.fingerprint}
    spec |= task.task.kind.protocol_spec(task.task)
    learned = {"learned": "train and holdout"} if reports_elsewhere(task.task) else {}
    return _plain({**spec, **learned})


def robustness_spec(
    finetune: str, experiment: Experiment, *, task: LocatedTask, seed: int, words: Mapping[str, str] | None
) -> dict[str, Any]:
    """The spec of an evaluation of a fine-tuned model, the run `finetune`, on perturbed texts.

    `words`: fingerprints by name of the corpora whose words count as seen; None where the models read none.
    """
    asked = experiment.robustness_block
    assert asked is not None  # the plan makes such runs only where it is asked for
    corpora = [{"name": name, "fingerprint": fingerprint} for name, fingerprint in (words or {}).items()]
    return _plain(
        {
            "kind": "robustness",
            "finetune": finetune,
            "task": _task(task),
            "data": task.fingerprint,
            "robustness": {
                "perturbations": sorted(asked.perturbations),
                "rates": asked.all_rates,
                "seed": asked.seed,
                "version": PERTURBATION_VERSION,
            },
            "words": {"corpora": corpora, **experiment.pretrain.model_dump(include=OF_WORDS)} if words else None,
            "seed": seed,
            "threads": experiment.threads,
        }
    )


def efficiency_spec(
    subject: Subject,
    baseline: Subject,
    experiment: Experiment,
    *,
    tasks: Sequence[LocatedTask],
    device: Mapping[str, Any],
) -> dict[str, Any]:
    """The spec of a measurement of a model in turn with the baseline, on one device. The baseline's recipes stand in
    it where they differ from the model's."""
    chosen = experiment.efficiency_block
    assert chosen is not None  # the plan measures only where that is asked for
    own, its = _measured(subject.resolved), _measured(baseline.resolved)
    return _plain(
        {
            "kind": "efficiency",
            "model": subject.block,
            "baseline": baseline.block,
            "corpus": subject.corpus,
            "baseline_corpus": baseline.corpus,
            "tasks": [{**_task(task), "data": task.fingerprint} for task in tasks],
            "efficiency": chosen.model_dump(),
            **own,
            **{f"baseline_{block}": values for block, values in its.items() if values != own[block]},
            "device": dict(device),
            "threads": experiment.threads,
            "settings": {"baseline": baseline.resolved.label},
        }
    )


def _measured(model: ResolvedModel) -> dict[str, dict[str, Any]]:
    """The parts of a model's recipes that a measurement depends on, by block."""
    return {
        "pretrain": model.pretrain.model_dump(include=MEASURED["pretrain"]),
        "finetune": model.finetune.model_dump(include=MEASURED["finetune"]),
    }


def _task(task: LocatedTask) -> dict[str, Any]:
    """A task of the suite by its name; an own data set by its columns and metric too, but never by its path."""
    if not task.task.is_own:
        return {"name": task.task.name}
    return {
        "name": task.task.name,
        "text": list(task.task.text),
        "label": task.task.label,
        "metric": task.task.select_metric,
    }


def _plain(spec: dict[str, Any]) -> dict[str, Any]:
    """Tuples as lists, as they come back from the database."""
    plain: dict[str, Any] = json.loads(json.dumps(spec))
    return plain
