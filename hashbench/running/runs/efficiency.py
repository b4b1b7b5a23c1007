"""Measurement of a model's size, time and memory, in turn with the baseline on one device."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from filelock import FileLock

from hashbench.running.efficiency.measure import Candidate, Setting, device_of, measure
from hashbench.running.experiment.file_blocks import Efficiency
from hashbench.running.experiment.identity import device_block
from hashbench.running.experiment.models import ResolvedModel
from hashbench.running.experiment.resolved import ResolvedExperiment, task_block
from hashbench.running.runs.base import RunKind, Workplace
from hashbench.running.runs.materials import Materials
from hashbench.running.training.devices import precision_found
from hashbench.running.training.machine import Machine
from hashbench.store.planning import Run
from hashbench.store.result import Result

# What of the recipes a measurement depends on.
OF_PRETRAINING = {"logits", "precision"}
OF_FINETUNING = {"max_length", "pad_to_max", "precision"}


class EfficiencyMeasurement(RunKind):
    """Kind of run: size, time and memory of a model beside the baseline, for experiments with `efficiency`."""

    name = "efficiency"
    metrics = "none"
    order = 60
    gives_signs = True
    measures_time = True

    def planned(self, resolved: ResolvedExperiment) -> Iterable[Run]:
        experiment, baseline = resolved.experiment, resolved.baseline
        chosen = experiment.efficiency_block
        if chosen is None:
            return []
        learned = [task for task in resolved.tasks if task.task.kind.learned]
        common = {
            "baseline": resolved.model_block(baseline),
            "baseline_corpus": resolved.corpus_block(baseline),
            "tasks": [{**task_block(task), "data": task.fingerprint} for task in learned],
            "efficiency": chosen.model_dump(exclude={"repeats"}),
            "device": device_block(experiment.device),
            "threads": experiment.threads,
            "settings": {"baseline": baseline.label},
        }
        return [
            self.make(resolved.experiment.encoder, model.label, {**common, **_of_model(resolved, model), **again})
            for again in ({}, *({"repeat": number} for number in range(1, chosen.repeats)))
            for model in resolved.models.values()
            if not model.is_variant  # takes as long as the whole model
        ]

    def carry_out(self, run: Run, place: Workplace, machine: Machine) -> Result:
        """The measured parameters, bytes, times and memory."""
        models = (place.model(run), place.resolved.baseline)
        model, baseline = (candidate(resolved, place.materials) for resolved in models)
        tasks = [place.materials.task_data(str(task["name"])) for task in run.spec["tasks"]]
        cache = place.materials.cache
        options = Efficiency.model_validate(run.spec["efficiency"])
        setting = Setting(run.encoder, options, device_of(machine.device), cache)
        cache.mkdir(parents=True, exist_ok=True)
        notes = {"precision_found": precision_found(model.pretrain.precision, machine.device)}
        with FileLock(cache / "measuring.lock"):  # two measurements at once would time each other
            return Result(metrics=measure(model, baseline, tasks, setting), notes=notes)


def _of_model(resolved: ResolvedExperiment, model: ResolvedModel) -> dict[str, Any]:
    """The model's part of a run's spec, with the baseline's recipes where they differ from the model's."""
    recipes, others = recipes_of(model), recipes_of(resolved.baseline)
    return {
        "model": resolved.model_block(model),
        "corpus": resolved.corpus_block(model),
        **recipes,
        **{f"baseline_{block}": values for block, values in others.items() if values != recipes[block]},
    }


def recipes_of(model: ResolvedModel) -> dict[str, dict[str, Any]]:
    """The parts of a model's recipes that a measurement depends on, by block."""
    return {
        "pretrain": model.pretrain.model_dump(include=OF_PRETRAINING),
        "finetune": model.finetune.model_dump(include=OF_FINETUNING),
    }


def candidate(model: ResolvedModel, materials: Materials) -> Candidate:
    """A model of the experiment with tokenizer, coder and recipes, as `measure` takes it."""
    texts = materials.texts(model)
    return Candidate(
        model.spec,
        texts.tokenizer,
        texts.coder,
        texts.corpus,
        texts.vocabulary_rows,
        model.pretrain,
        model.finetune,
        texts.outputs,
    )


KIND = EfficiencyMeasurement()
