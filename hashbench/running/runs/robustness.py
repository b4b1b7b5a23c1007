"""Evaluation of a fine-tuned model or a trivial baseline on perturbed texts, and its coder's codes of misspellings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from hashbench.common.errors import InputError
from hashbench.common.measured import MetricRow
from hashbench.data.perturbations.base import VERSION, WORD
from hashbench.data.perturbations.letters import misspellings
from hashbench.data.tasks.base import SplitOutputs
from hashbench.data.tasks.encoding import encode_task
from hashbench.data.tasks.text import text_kind
from hashbench.data.tasks.text_data import reports_elsewhere
from hashbench.models.coders.base import agreement, shared_tokens, type_codes, types_per_bucket
from hashbench.results.read.runs import BASELINE_RUN
from hashbench.running.experiment.resolved import ResolvedExperiment
from hashbench.running.runs.artifacts import ArtifactFolder, ModelFiles
from hashbench.running.runs.base import RunKind, Workplace, notes_on, scored_metrics, stored_predictions, with_rows_of
from hashbench.running.runs.baseline import BASELINES, floor_options
from hashbench.running.runs.evaluation import tuned_model
from hashbench.running.runs.finetuning import KIND as FINETUNING
from hashbench.running.runs.finetuning import batches_of
from hashbench.running.runs.further_sets import behind_train
from hashbench.running.runs.materials import Texts
from hashbench.running.runs.perturbed import UNPERTURBED, PerturbedTask
from hashbench.running.training.devices import precision_found
from hashbench.running.training.machine import Machine
from hashbench.store.planning import Run
from hashbench.store.result import Predictions, Result


class RobustnessEvaluation(RunKind):
    """Kind of run: a fine-tuned model or a trivial baseline under noise, for experiments with `robustness`."""

    name = "robustness"
    metrics = "none"
    order = 50
    gives_signs = True

    def planned(self, resolved: ResolvedExperiment) -> Iterable[Run]:
        """Runs on the fine-tunings, then on the trivial baselines that read the texts."""
        block = resolved.experiment.robustness_block
        if block is None:
            return []
        noise: dict[str, Any] = {"perturbations": sorted(block.perturbations), "rates": block.all_rates}
        noise |= {"seed": block.seed, "version": VERSION}
        if not block.perturbations:  # rates and their seed do not apply to pairs
            noise |= {"rates": (), "seed": 0}
        specs = {
            (name := task.task.name): {
                "robustness": noise | ({"pairs": resolved.pairs[name].fingerprint} if name in resolved.pairs else {}),
                "words": resolved.seen_words(),
                "threads": resolved.experiment.threads,
            }
            for task in resolved.tasks
            if block.perturbations or task.task.name in resolved.pairs
        }
        tuned = [
            (FINETUNING.of(resolved, model, task, seed), task)
            for task, model, seed in resolved.trainings(lambda task: task.kind.learned and task.name in specs)
        ]
        of_models = [
            self.make(
                resolved.experiment.encoder,
                run.model,
                {**specs[task.task.name], "finetune": run.id, "seed": run.seed},
                task=task,
                seed=run.seed,
                needs=(run.id,),
            )
            for run, task in tuned
        ]
        floors = [  # a constant prediction is the same on any text
            (run, task)
            for task in resolved.tasks
            for floor in resolved.experiment.all_floors
            if task.task.kind.learned
            and task.task.name in specs
            and floor.name in task.task.kind.baselines_of(task.task)
            and floor.name not in task.task.kind.constant_baselines
            for run in BASELINES.of(resolved, floor, task)
        ]
        return of_models + [
            self.make(
                resolved.experiment.encoder,
                run.model,
                {**specs[task.task.name], BASELINE_RUN: run.id, **({} if run.seed is None else {"seed": run.seed})},
                task=task,
                seed=run.seed,
            )
            for run, task in floors
        ]

    def carry_out(self, run: Run, place: Workplace, machine: Machine) -> Result:
        """Scores and predictions of the best weights on the reporting sets under every perturbation and rate."""
        if BASELINE_RUN in run.spec:
            return _of_baseline(run, place)
        from hashbench.running.training.finetuning import outputs_on

        tuned = place.runs[run.spec["finetune"]]
        model = place.model(tuned)
        texts = place.materials.texts(model)
        perturbed = place.materials.perturbed(str(run.task), run.spec["robustness"], run.spec["words"])
        trained = tuned_model(tuned, perturbed.data, place, best_files(tuned.id, place.artifacts))
        data = batches_of(perturbed.data, tuned, place, machine)
        outputs = outputs_on(trained.model, trained.head, data, machine, trained.hardware)
        metrics, predictions = scored(perturbed, outputs, {name: data.targets(name) for name in outputs})
        facts = [*data_facts(perturbed), *coder_facts(perturbed, place, texts)]
        place.artifacts.remove(place.artifacts.waiting(tuned.id).folder)
        notes = notes_on(place.materials.task_data(str(run.task)))
        notes |= {"precision_found": precision_found(model.finetune.precision, machine.device)}
        return Result(metrics=[*facts, *metrics], predictions=predictions, notes=notes)


def _of_baseline(run: Run, place: Workplace) -> Result:
    """Scores and predictions of a trivial baseline, which learns from the texts of train as they are."""
    perturbed = place.materials.perturbed(str(run.task), run.spec["robustness"], run.spec["words"])
    spec = place.runs[run.spec[BASELINE_RUN]].spec
    trained = with_rows_of(spec, place.materials.task_data(str(run.task)))
    kind, task, splits = text_kind(trained.task), perturbed.data.task, perturbed.data.splits
    finely = {"for_test": True} if reports_elsewhere(trained.task) else {}  # as on the texts as they are
    predict = kind.baselines[spec["floor"]]
    data, options = behind_train(perturbed.data, trained), {**finely, **floor_options(spec)}
    outputs = predict(data, list(perturbed.parts), **options)
    targets = {name: kind.targets(task, splits[name]) for name in outputs}
    metrics, predictions = scored(perturbed, outputs, targets)
    return Result(metrics=[*data_facts(perturbed), *metrics], predictions=predictions, notes=notes_on(trained))


def best_files(run_id: str, artifacts: ArtifactFolder) -> ModelFiles:
    """Files of a fine-tuning's best weights, kept for good or until they are used. Raises InputError without them."""
    for files in (artifacts.files(run_id), artifacts.waiting(run_id)):
        if files.weights.is_file() and files.head.is_file():
            return files
    raise InputError(f"{artifacts.files(run_id).folder}: its weights are gone; sweep again")


def scored(
    perturbed: PerturbedTask, outputs: Mapping[str, np.ndarray], targets: Mapping[str, np.ndarray]
) -> tuple[list[MetricRow], list[Predictions]]:
    """Every metric of the task and the predictions, under the name of the reporting set and of the perturbation.

    `outputs` (n, n_outputs) or (n,) and `targets` (n,) of each part of the perturbed task.
    """
    metrics: list[MetricRow] = []
    predictions = []
    for name, values in outputs.items():
        split, label = perturbed.parts[name]
        predictions.append(replace(stored_predictions(split, "best", values, targets[name]), condition=label))
        rows = scored_metrics(perturbed.data.task, SplitOutputs(values, targets[name]), split)
        metrics += [replace(row, condition=label) for row in rows]
    return metrics, predictions


def data_facts(perturbed: PerturbedTask) -> list[MetricRow]:
    """Facts on the texts under each perturbation and rate."""
    return [MetricRow(name, value, condition=label) for (name, label), value in perturbed.facts.items()]


def coder_facts(perturbed: PerturbedTask, place: Workplace, texts: Texts) -> list[MetricRow]:
    """Facts on how a coder keeps the types of the unperturbed reporting sets apart and words near misspellings."""
    cache = place.materials.cache
    encoded = encode_task(perturbed.data, texts.tokenizer, cache / "tasks")
    codes = type_codes(texts.coder, encoded.types, cache / "codes")
    columns = [column.ids for split in perturbed.splits_of(UNPERTURBED) for column in encoded.splits[split]]
    ids, counts = np.unique(np.concatenate(columns), return_counts=True)
    used = np.asarray(codes[ids])  # (n, c)
    facts = [
        MetricRow("coder_types", len(ids)),
        MetricRow("types_per_bucket", types_per_bucket(used), reason="no token"),
        MetricRow("shared_tokens", shared_tokens(used, counts), reason="no token"),
    ]
    pairs = misspelled_pairs(perturbed, texts)
    single = [(right[0], wrong[0]) for right, wrong in pairs if len(right) == len(wrong) == 1]
    words, wrong = [right for right, _ in single], [wrong for _, wrong in single]
    first, second = texts.coder.encode(words), texts.coder.encode(wrong)
    none = "no word with a misspelling of which both are one token"
    chance = agreement(texts.coder, first, np.roll(second, 1, axis=0))
    return [
        *facts,
        MetricRow("misspelling_pairs", len(pairs)),
        MetricRow("misspelling_pairs_one_token", len(single)),
        MetricRow("misspelling_tokens_kept", tokens_retained(pairs), reason="no word with a misspelling"),
        MetricRow("misspelling_agreement", agreement(texts.coder, first, second), reason=none),
        MetricRow("chance_agreement", chance if len(words) > 1 else None, reason=none),
    ]


def misspelled_pairs(perturbed: PerturbedTask, texts: Texts) -> list[tuple[list[str], list[str]]]:
    """Pairs of the tokens of a word of the data set and the tokens of one of its misspellings."""
    parts = [perturbed.data.splits[split] for split in perturbed.splits_of(UNPERTURBED)]
    words = {word.lower() for part in parts for column in part.texts for text in column for word in WORD.findall(text)}
    pairs = [(word, wrong) for word in sorted(words & set(misspellings())) for wrong in misspellings()[word]]
    return [(texts.tokenizer.tokenize(word), texts.tokenizer.tokenize(wrong)) for word, wrong in pairs]


def tokens_retained(pairs: Sequence[tuple[Sequence[str], Sequence[str]]]) -> float | None:
    """The mean over pairs of the share of tokens that both sides have (Dice); None without pairs.

    >>> tokens_retained([(["mov", "ie"], ["mov", "ei"]), (["the"], ["teh"])])
    0.25
    """
    if not pairs:
        return None
    shared = [2 * sum((Counter(a) & Counter(b)).values()) / max(1, len(a) + len(b)) for a, b in pairs]
    return sum(shared) / len(shared)


KIND = RobustnessEvaluation()
