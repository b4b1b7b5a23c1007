"""Pre-training: a model and the head of its objective over a corpus, and their scores without fine-tuning."""

from __future__ import annotations

import copy
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from hashbench.common.measured import HELD_OUT, SEPARATION, MetricRow
from hashbench.common.progress import progress
from hashbench.data.corpora.pretraining_data import PretrainingData
from hashbench.data.sources.loader import LoadedData
from hashbench.data.tasks.pair_batches import PairSentences
from hashbench.models.embeddings.base import NO_LABEL, Batch, folded
from hashbench.models.objectives.base import Head
from hashbench.running.experiment.recipes import PretrainRecipe
from hashbench.running.training.accumulation import MicroBatch
from hashbench.running.training.devices import pick_device
from hashbench.running.training.fit import fit
from hashbench.running.training.machine import Interrupted, Machine
from hashbench.running.training.model import Model, load_weights
from hashbench.running.training.module import Curves, NotFinite, RecipeModule
from hashbench.running.training.recipe import linear_decay

FREQUENT = 1_000  # most frequent types, which are easy to guess


@dataclass(frozen=True)
class Pretrained:
    """A finished pre-training: the model and the head of its objective, its curves, and its speed."""

    model: Model
    head: Head
    points: list[MetricRow]
    steps: int
    tokens_per_second: float
    # Tokens read in all, and of rows of words what was cut, and scores on those held out; () where texts are a stream
    facts: tuple[MetricRow, ...] = ()


class PretrainingModule(RecipeModule):
    """LightningModule that trains a model and the head of its objective on a corpus, under the experiment's recipe."""

    head: Head
    recipe: PretrainRecipe

    def __init__(self, model: Model, head: Head, recipe: PretrainRecipe, *, total_steps: int, curves: Curves) -> None:
        schedule = linear_decay(total_steps, recipe.warmup_steps)
        super().__init__(recipe, schedule=schedule, seed=recipe.seed, total_steps=total_steps, curves=curves)
        self.model, self.head = model, head
        self.tokens = 0

    def on_before_batch_transfer(self, batch: Batch, dataloader_idx: int) -> Batch | list[MicroBatch]:
        self.tokens += int(batch.mask.sum())  # here the batch is whole, and in main memory
        return super().on_before_batch_transfer(batch, dataloader_idx)

    def prepared(self, batch: Batch) -> Batch:
        """A batch (B, L) with the places of its labels; on a CPU nothing is rounded up, as shapes cost nothing."""
        return self.head.prepared(batch, fixed_shapes=self.device.type != "cpu")

    def loss_terms(self, batch: Batch) -> tuple[Tensor, ...]:
        """The loss, of shape (), of a batch with labels (B, L)."""
        return (self.head.batch_loss(self.model, batch, self.recipe.logits),)

    def label_counts(self, batch: Batch) -> tuple[int, ...]:
        """Number of labelled tokens of a batch (B, L)."""
        assert batch.labels is not None  # the loader always labels
        return (int((batch.labels != NO_LABEL).sum()),)


def pretrain(
    model: Model,
    head: Head,
    data: LoadedData,
    recipe: PretrainRecipe,
    *,
    total_steps: int,
    machine: Machine,
    stop_at: int | None = None,
    snapshots: Mapping[int, Mapping[Path, nn.Module]] | None = None,
) -> Pretrained:
    """Trains `model` in place and gives it back in evaluation mode with the curves of the training.

    `stop_at` and `snapshots`: as `fit` has them. Held-out rows are read with the weights of each snapshot too.
    """
    curves = Curves(total_steps, machine.watch)
    module = PretrainingModule(model, head, recipe, total_steps=total_steps, curves=curves)
    began = time.monotonic()
    trainer = fit(module, data, recipe, machine, epochs=recipe.max_epochs, stop_at=stop_at, snapshots=snapshots)
    speed = module.tokens / max(time.monotonic() - began, 1e-9)
    done = Pretrained(model.eval(), head.eval(), curves.points, trainer.global_step, speed)
    if not isinstance(data, PretrainingData) or machine.rank > 0:
        return done
    kind = pick_device(machine.device)
    device = torch.device(kind, machine.local_rank) if kind == "cuda" else torch.device(kind)
    facts = [MetricRow("tokens", data.tokens_read(done.steps)), *data.facts()]
    before = sorted((step, files) for step, files in (snapshots or {}).items() if step < done.steps)
    earlier = {step: files for step, files in before if all(map(Path.is_file, files))}
    then, its_head = copy.deepcopy((model, head)) if earlier else (model, head)
    for step, files in earlier.items():
        for path, part in files.items():
            load_weights(then if part is model else its_head, path)
        facts += held_out(then, its_head, data.held_out_batches(), data.candidates(), step=step, device=device)
    facts += held_out(model, head, data.held_out_batches(), data.candidates(), step=done.steps, device=device)
    return replace(done, facts=tuple(facts))


@torch.inference_mode()
def held_out(
    model: Model,
    head: Head,
    batches: Iterable[Batch],
    candidates: np.ndarray | None = None,
    *,
    step: int,
    device: torch.device,
) -> list[MetricRow]:
    """The mean loss over the labels of batches (B, L), and how well their tokens are separated; [] for no batches.

    The latter is the area under the ROC curve: how often, of a token that should score higher and one that should not,
    the former does; 0.5 by chance. With `candidates` (C, k), codes of types by frequency, also what `AmongCandidates`
    has. All are computed in float32, without dropout.
    """
    model.eval().to(device)
    head.eval().to(device)
    losses, labels = [], []
    scores: list[np.ndarray] = []
    positive: list[np.ndarray] = []
    among = None if candidates is None else AmongCandidates(candidates)
    for unmoved in batches:
        progress("loss on held-out rows")
        batch = unmoved.to(device)
        assert batch.labels is not None  # the loader of a pre-training always labels
        losses.append(float(head.batch_loss(model, batch, "labels")))
        labels.append(int(batch.labels.ne(NO_LABEL).sum()))
        if among is not None:
            among.add(model, head, batch)
        if (pair := head.separation(model, batch)) is not None:
            scores.append(pair[0].float().cpu().numpy())
            positive.append(pair[1].cpu().numpy())
    if not sum(labels):
        return []
    rows = [MetricRow("loss", float(np.average(losses, weights=labels)), HELD_OUT, step)]
    if scores:
        rows.append(MetricRow(SEPARATION, area(np.concatenate(scores), np.concatenate(positive)), HELD_OUT, step))
    return rows + ([] if among is None else among.rows(step))


class AmongCandidates:
    """How often the likeliest of some types is the right one, at the labels of held-out rows.

    `accuracy` is the share of all labels, `accuracy_outside_1000` the share of labels outside the 1,000 most frequent
    types; a label that is no candidate counts as wrong. `loss_among_candidates` is the loss of a softmax over the
    candidates at the labels that are candidates, comparable with the loss of an output matrix for these types.
    """

    def __init__(self, candidates: np.ndarray) -> None:
        """`candidates` (C, k): codes of types, the most frequent first."""
        self._codes = torch.from_numpy(candidates)
        self._numbers = folded(self._codes)  # (C,), equal where codes are
        self._hits, self._ranks, self._losses = [torch.zeros(0)], [torch.zeros(0)], [torch.zeros(0)]

    def add(self, model: Model, head: Head, batch: Batch) -> None:
        """Counts the labels of a batch (B, L) that has the codes of their types."""
        assert batch.labels is not None and batch.label_codes is not None  # labels are codes where there are candidates
        likeliest, losses = head.among(model, batch, self._codes.to(batch.labels.device))
        labels = folded(batch.label_codes[batch.labels[batch.labels != NO_LABEL]].cpu())  # (n,)
        is_equal = labels[:, None] == self._numbers  # (n, C)
        ranks = torch.where(is_equal.any(1), is_equal.int().argmax(1), len(self._numbers))
        self._hits.append(self._numbers[likeliest.cpu()] == labels)
        self._ranks.append(ranks)
        self._losses.append(losses.cpu())

    def rows(self, step: int) -> list[MetricRow]:
        """The shares and the loss after so many steps; none of labels that there are not."""
        hits, ranks, losses = (torch.cat(parts).double() for parts in (self._hits, self._ranks, self._losses))
        values = {
            "accuracy": hits,
            "accuracy_outside_1000": hits[ranks >= FREQUENT],
            "loss_among_candidates": losses[ranks < len(self._numbers)],
        }
        return [MetricRow(name, float(of.mean()), HELD_OUT, step) for name, of in values.items() if len(of)]


def area(scores: np.ndarray, positive: np.ndarray) -> float:
    """The area under the ROC curve of scores (n,) for the positive ones (n,) bool; NaN where all are of one kind.

    >>> area(np.array([0.1, 0.4, 0.4, 0.8, 0.9, 0.2]), np.array([False, True, False, True, True, False])) * 9
    8.5
    """
    from scipy.stats import rankdata

    n = int(positive.sum())
    if n in (0, len(positive)):
        return float("nan")
    above = rankdata(scores)[positive].sum() - n * (n + 1) / 2
    return float(above / (n * (len(positive) - n)))


def sentence_scores(model: Model, head: Head, sentences: PairSentences, machine: Machine) -> np.ndarray:
    """The sum, mean and minimum of each sentence's token log-probabilities, and their number: (n, 4) float64.

    Raises:
        NotFinite: a score is no finite number.
        Interrupted: the machine requests a stop.
    """
    device = torch.device(pick_device(machine.device))
    model, head = model.to(device).eval(), head.to(device).eval()
    sums, least = np.zeros(len(sentences)), np.full(len(sentences), np.inf)
    for batch, of in sentences.batches():
        progress("scores of sentences")
        if machine.should_stop is not None and machine.should_stop.is_set():
            raise Interrupted
        with torch.inference_mode():
            values = head.log_probabilities(model, batch.to(device)).double().cpu().numpy()  # (labels,)
        if not np.isfinite(values).all():
            raise NotFinite("a sentence has a score that is no finite number; the pre-training may have diverged")
        np.add.at(sums, of, values)
        np.minimum.at(least, of, values)
    return np.stack([sums, sums / sentences.n_tokens, least, sentences.n_tokens], axis=1)
