"""A fine-tuned model on perturbed texts: scores, predictions, and what its coder makes of the data set's words."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from hashbench.coders.cache import type_codes
from hashbench.coders.collisions import agreement, shared_tokens, types_per_bucket
from hashbench.experiment.models import ResolvedModel
from hashbench.metrics.registry import evaluate
from hashbench.objectives.classification import ClassificationHead
from hashbench.store.result import Metric, Predictions, Result
from hashbench.sweep.materials import Texts
from hashbench.sweep.plan import Run
from hashbench.sweep.work import Workplace, finetuning_data, notes_of, predictions, tune
from hashbench.tasks.encoding import encode_task
from hashbench.tasks.perturbed import UNPERTURBED, PerturbedTask
from hashbench.tasks.text_batches import FinetuningData
from hashbench.text.perturbation import WORD, misspellings
from hashbench.training.finetuning import make_head_of, outputs_on, restore_best
from hashbench.training.machine import Machine
from hashbench.training.model import Model, build_model, load_weights
from hashbench.training.recipe import precision_found


def do_robustness(run: Run, place: Workplace, machine: Machine) -> Result:
    """Evaluates the best weights of a fine-tuning on the reporting sets under every perturbation and rate.

    Weights that were not kept are made again by the same training; the results of that run stay as they are.
    """
    tuned = place.runs[run.spec["finetune"]]
    resolved = place.model(run.model)
    recipe = resolved.recipe(str(run.task))
    resolved = replace(resolved, finetune=recipe)
    texts = place.materials.texts(resolved)
    made = place.materials.perturbed(str(run.task), run.spec["robustness"], run.spec["words"])
    model, head, again = tuned_model(tuned, resolved, texts, made, place, machine)
    data = finetuning_data(made.data, resolved, texts, int(run.seed or 0), place.materials.cache, machine)
    outputs = outputs_on(model, head, data, machine, recipe.precision)
    metrics, kept = scored(made, outputs, data)
    facts = [Metric(name, value, condition=label) for (name, label), value in made.facts.items()]
    facts += coder_facts(made, resolved, texts, place.materials.cache)
    shutil.rmtree(place.kept_until_robust(tuned.id), ignore_errors=True)
    notes = notes_of(place.materials.task_data(str(run.task)))
    notes |= {"precision_found": precision_found(recipe.precision, machine.device)}
    notes |= {"weights": "made again by the same fine-tuning"} if again else {}
    return Result(metrics=[*facts, *metrics], predictions=kept, notes=notes)


def tuned_model(
    tuned: Run, resolved: ResolvedModel, texts: Texts, made: PerturbedTask, place: Workplace, machine: Machine
) -> tuple[Model, ClassificationHead, bool]:
    """Model and head with the best weights of a fine-tuning, and whether these had to be made again."""
    for folder in (place.artifacts / tuned.id, place.kept_until_robust(tuned.id)):
        files = [folder / "weights.safetensors", folder / "head.safetensors"]
        if all(file.is_file() for file in files):
            spec = resolved.spec
            model = build_model(spec, tuned.encoder, seed=0, **texts.of_the_vocabulary(spec.text.template))
            head = make_head_of(model, made.data.n_outputs, spec)
            load_weights(model, files[0])
            load_weights(head, files[1])
            return model, head, False
    part = replace(machine, folder=machine.folder / "finetune", watch=None)
    done = tune(tuned, place, part, keep_best=True).done
    restore_best(done)
    done.model.embedding.widen()
    return done.model, done.head, True


def scored(
    made: PerturbedTask, outputs: dict[str, np.ndarray], data: FinetuningData
) -> tuple[list[Metric], list[Predictions]]:
    """Every metric of the task and the predictions, under the name of the reporting set and of the perturbation."""
    metrics, kept = [], []
    for name, values in outputs.items():
        split, label = made.parts[name]
        targets = data.targets(name)
        kept.append(replace(predictions(split, "best", values, targets), condition=label))
        for metric, score in evaluate(made.data.task.metrics, targets, values).items():
            metrics.append(Metric(metric, score.value, split=split, condition=label, reason=score.reason))
    return metrics, kept


def coder_facts(made: PerturbedTask, resolved: ResolvedModel, texts: Texts, cache: Path) -> list[Metric]:
    """How the model's coder keeps the types of the unperturbed reporting sets apart, and words beside misspellings."""
    encoded = encode_task(made.data, texts.tokenizer, cache / "tasks")
    codes = type_codes(texts.coder, encoded.types, cache / "codes")
    columns = [column.ids for split in made.splits_of(UNPERTURBED) for column in encoded.splits[split]]
    ids, counts = np.unique(np.concatenate(columns), return_counts=True)
    own = np.asarray(codes[ids])  # (n, c)
    facts = [
        Metric("coder_types", len(ids)),
        Metric("types_per_bucket", types_per_bucket(own), reason="no token"),
        Metric("shared_tokens", shared_tokens(own, counts), reason="no token"),
    ]
    pairs = misspelled_pairs(made, texts)
    single = [(right[0], wrong[0]) for right, wrong in pairs if len(right) == len(wrong) == 1]
    words, wrong = [right for right, _ in single], [wrong for _, wrong in single]
    first, second = texts.coder.encode(words), texts.coder.encode(wrong)
    none = "no word with a misspelling of which both are one token"
    chance = agreement(texts.coder, first, np.roll(second, 1, axis=0))
    return [
        *facts,
        Metric("misspelling_pairs", len(pairs)),
        Metric("misspelling_pairs_one_token", len(single)),
        Metric("misspelling_tokens_kept", tokens_kept(pairs), reason="no word with a misspelling"),
        Metric("misspelling_agreement", agreement(texts.coder, first, second), reason=none),
        Metric("chance_agreement", chance if len(words) > 1 else None, reason=none),
    ]


def misspelled_pairs(made: PerturbedTask, texts: Texts) -> list[tuple[list[str], list[str]]]:
    """The tokens of the data set's words beside those of each of their misspellings."""
    parts = [made.data.splits[split] for split in made.splits_of(UNPERTURBED)]
    found = {word.lower() for part in parts for column in part.texts for text in column for word in WORD.findall(text)}
    pairs = [(word, wrong) for word in sorted(found & set(misspellings())) for wrong in misspellings()[word]]
    return [(texts.tokenizer.tokenize(word), texts.tokenizer.tokenize(wrong)) for word, wrong in pairs]


def tokens_kept(pairs: Sequence[tuple[Sequence[str], Sequence[str]]]) -> float | None:
    """Mean over pairs of the tokens that both sides have, as a share of the tokens of both (Dice); None without pairs.

    >>> tokens_kept([(["mov", "ie"], ["mov", "ei"]), (["the"], ["teh"])])
    0.25
    """
    if not pairs:
        return None
    shared = [2 * sum((Counter(a) & Counter(b)).values()) / max(1, len(a) + len(b)) for a, b in pairs]
    return sum(shared) / len(shared)
