"""Evaluation of a pre-training on minimal pairs, without fine-tuning: which of two sentences scores higher.

One run for each pre-training. Models that are not pre-trained here, or whose objective scores no texts, have none.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from hashbench.common.errors import InputError
from hashbench.common.measured import TEXTS_NOTE, MetricRow
from hashbench.data.tasks.base import LocatedTask, SplitOutputs
from hashbench.data.tasks.kinds.minimal_pairs import SPLIT, PairData, pair_outcomes
from hashbench.models.objectives.base import objective_of, scores_texts
from hashbench.running.experiment.models import ResolvedModel
from hashbench.running.experiment.resolved import ResolvedExperiment
from hashbench.running.runs.artifacts import objective_head
from hashbench.running.runs.base import RunKind, Workplace, notes_on, scored_metrics, stored_predictions
from hashbench.running.runs.pretraining import KIND as PRETRAINING
from hashbench.running.runs.pretraining import restore, weights_of
from hashbench.running.training.machine import Machine
from hashbench.running.training.model import Model, load_weights, make_head
from hashbench.scores.minimal_pairs import ties
from hashbench.store.planning import Run
from hashbench.store.result import Result

if TYPE_CHECKING:
    from hashbench.models.objectives.base import Head

VERSION = 1  # raised when the meaning of the scores changes
MASKED_APART = "pieces were masked one by one, since it is not known which are of one word"


class PairEvaluation(RunKind):
    """Kind of run: the evaluation of a pre-training on a task of minimal pairs."""

    name = "evaluation-pairs"
    metrics = "evaluation"
    order = 40
    gives_signs = True

    def planned(self, resolved: ResolvedExperiment) -> Iterable[Run]:
        return [
            self.of(resolved, model, task, seed)
            for task in resolved.tasks
            if not task.task.kind.learned
            for model in resolved.models.values()
            if scores_texts(model.spec) and model.train_rows is None
            for seed in model.pretrain.all_seeds
        ]

    def of(self, resolved: ResolvedExperiment, model: ResolvedModel, task: LocatedTask, seed: int) -> Run:
        """The run that scores the pairs of a task by a pre-training of a model, with its seed."""
        source = PRETRAINING.of(resolved, model, seed)
        assert source is not None  # of models that score texts
        spec = {
            "pretrain": source.id,
            "seed": source.seed,
            "version": VERSION,
            "threads": resolved.experiment.threads,
            **task.task.kind.protocol_spec(task.task),
        }
        return self.make(source.encoder, model.label, spec, task=task, seed=source.seed, needs=(source.id,))

    def carry_out(self, run: Run, place: Workplace, machine: Machine) -> Result:
        """Scores and outcomes of all pairs, and the number of ties."""
        from hashbench.data.tasks.pair_batches import PairSentences
        from hashbench.data.tasks.split_facts import texts_read
        from hashbench.running.training.pretraining import sentence_scores

        data = place.materials.data(str(run.task))
        assert isinstance(data, PairData)  # the plan has paired it
        model, cache = place.model(run), place.materials.cache
        objective, texts = objective_of(model.spec), place.materials.texts(model)
        assert objective is not None
        template, longest = model.spec.text.template, model.pretrain.sequence_length
        sentences = PairSentences(
            data,
            texts.tokenizer,
            texts.coder,
            objective=objective,
            template=template,
            max_length=longest,
            folder=cache,
            outputs=texts.outputs,
        )
        trained, head = pretrained(run, model, place)
        scores = sentence_scores(trained, head, sentences, machine)  # (sentences, 4)
        outputs = pair_outcomes(data, scores[sentences.good], scores[sentences.bad])
        result = SplitOutputs(outputs, data.pairs.labels)
        read = texts_read(data.by_sentence(), texts.tokenizer, template, longest, cache)
        apart = {"words": f"{MASKED_APART} in {sentences.apart:,} sentences"} if sentences.apart else {}
        facts = [MetricRow("best_step", 0), MetricRow("pairs", len(outputs)), MetricRow("ties", ties(outputs))]
        return Result(
            metrics=[*facts, *scored_metrics(data.task, result, SPLIT)],
            predictions=[stored_predictions(SPLIT, "best", *result)],
            notes={**notes_on(data), **apart, "precision_found": "32", TEXTS_NOTE: read.note()},
        )


def pretrained(run: Run, model: ResolvedModel, place: Workplace) -> tuple[Model, Head]:
    """The model and the head of the pre-training that a run needs.

    Raises InputError where its head was not kept.
    """
    source = place.runs[run.spec["pretrain"]]
    weights = weights_of(source, place.artifacts)
    built = restore(place.materials.texts(model).build(model.spec, run.encoder, seed=0), source, place)
    path = objective_head(weights)
    if not place.artifacts.has(path):
        raise InputError(
            f"{path}: the head of this pre-training was not kept, as before hashbench kept it; to pre-train it once "
            f"more, bit for bit, remove {weights.parent} and sweep again"
        )
    assert model.spec.training.objective is not None
    head = make_head(built, model.spec.training.objective, model.spec.training.args)
    load_weights(head, path)
    return built, head


KIND = PairEvaluation()
