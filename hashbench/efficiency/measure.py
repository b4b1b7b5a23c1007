"""One efficiency run: a model beside the baseline, in the terms of HashFormers, section 4.4.

Pre-training: forward and backward of one batch of full length, per sample. Inference: one forward, as long as the
longest input of the batch, per sample and task. Ratios come from pairs measured in turn; milliseconds are context.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from hashbench.coders.base import Coder
from hashbench.coders.cache import type_codes
from hashbench.coders.remembered import RememberedCodes
from hashbench.coders.vocabulary import Vocabulary
from hashbench.data.corpus import Corpus
from hashbench.data.corpus_batches import PretrainingData
from hashbench.data.texts import text_batches
from hashbench.efficiency.memory import peak_bytes
from hashbench.efficiency.parameters import count
from hashbench.efficiency.timing import Pairs, in_turn
from hashbench.embeddings.base import Batch, ModelSpec
from hashbench.experiment.hardware import OnHardware
from hashbench.experiment.schema import Efficiency, Finetune, Pretrain
from hashbench.objectives.classification import ClassificationHead
from hashbench.store.result import MetricRow
from hashbench.tasks.text import TaskData
from hashbench.text.tokenizers import Tokenizer
from hashbench.training.heads import make_head, objective_loss
from hashbench.training.model import Model, build_model
from hashbench.training.recipe import adamw, matmul_precision, pick_device, precision_found


@dataclass(frozen=True)
class Candidate:
    """A model as it is measured."""

    spec: ModelSpec
    tokenizer: Tokenizer
    coder: Coder
    corpus: Corpus | None
    vocabulary_rows: int | None
    pretrain: Pretrain
    finetune: Finetune
    outputs: Vocabulary | None = None  # what mlm predicts, where codes are no rows of a vocabulary

    def build(self, size: str, device: torch.device) -> Model:
        """The model with fresh weights: times do not depend on their values."""
        return build_model(self.spec, size, seed=0, vocabulary_rows=self.vocabulary_rows).to(device)


@dataclass(frozen=True)
class Setting:
    """How a pair of candidates is measured."""

    size: str
    options: Efficiency
    device: torch.device
    cache: Path


def measure(model: Candidate, baseline: Candidate, tasks: Sequence[TaskData], setting: Setting) -> list[MetricRow]:
    """Parameters, bytes, times and memory of `model` in turn with `baseline`."""
    counts = count(model.spec, setting.size, vocabulary_rows=model.vocabulary_rows)
    weights = model.build(setting.size, torch.device("cpu"))
    facts = [
        MetricRow("total_params", counts.total),
        MetricRow("emb_params", counts.embedding),
        MetricRow("weight_bytes", sum(tensor.nbytes for tensor in weights.state_dict().values())),
    ]
    if model.spec.training.objective is not None and baseline.spec.training.objective is not None:
        facts += pretraining_facts(model, baseline, setting)
    for task in tasks:
        facts += inference_facts(model, baseline, task, setting)
    return facts


def timed(name: str, pairs: Pairs, samples: int, baseline_samples: int, split: str = "") -> list[MetricRow]:
    """A pair of times as facts, per sample."""
    return [
        MetricRow(name, pairs.model / samples, split=split),
        MetricRow(f"baseline_{name}", pairs.baseline / baseline_samples, split=split),
    ]


def pretraining_facts(model: Candidate, baseline: Candidate, setting: Setting) -> list[MetricRow]:
    """Time of a pre-training sample, without and with the optimizer step, and the memory of a step."""
    steps = [PretrainingStep(candidate, setting) for candidate in (model, baseline)]
    plain = in_turn(*(step.run for step in steps), pairs=setting.options.pairs, device=setting.device)
    whole = in_turn(*(step.run_with_optimizer for step in steps), pairs=setting.options.pairs, device=setting.device)
    peak = peak_bytes(
        model.spec,
        setting.size,
        model.vocabulary_rows,
        steps[0].batch.to("cpu"),
        device=setting.device.type,
        threads=torch.get_num_threads(),
        logits=model.pretrain.logits,
        bf16=precision_found(model.pretrain.precision, setting.device.type) == "bf16",
    )
    return [
        *timed("pretrain_ms", plain, len(steps[0].batch), len(steps[1].batch)),
        *timed("pretrain_optimizer_ms", whole, len(steps[0].batch), len(steps[1].batch)),
        MetricRow("peak_bytes", peak),
    ]


class PretrainingStep:
    """One batch of real text under the candidate's own objective."""

    def __init__(self, candidate: Candidate, setting: Setting) -> None:
        # measure() has asked.
        assert candidate.corpus is not None and candidate.spec.training.objective is not None
        data = PretrainingData(
            candidate.corpus,
            type_codes(candidate.coder, candidate.corpus.types, setting.cache / "codes"),
            objective=candidate.spec.training.objective,
            objective_args=candidate.spec.training.args,
            outputs=candidate.outputs,
            template=candidate.spec.text.template,
            batch_size=setting.options.pretrain_batch_size,
            sequence_length=setting.options.pretrain_length,
            seed=0,
        )
        self.batch: Batch = data.longest_batch().to(setting.device)
        self._model = candidate.build(setting.size, setting.device).train()
        self._head = make_head(self._model, candidate.spec.training.objective).to(setting.device).train()
        self._logits = candidate.pretrain.logits
        self._recipe, self._device = candidate.pretrain, setting.device
        both = torch.nn.ModuleList([self._model, self._head])
        self._optimizer = adamw(both, learning_rate=1e-5, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01)

    def run(self) -> None:
        """Forward and backward."""
        self._optimizer.zero_grad(set_to_none=True)
        with matmul_precision(self._recipe.matmul_precision):
            with autocast(self._recipe, self._device):
                loss = objective_loss(self._model, self._head, self.batch, self._logits)
            loss.backward()

    def run_with_optimizer(self) -> None:
        """Forward, backward and the update of the weights."""
        self.run()
        self._optimizer.step()


def inference_facts(model: Candidate, baseline: Candidate, task: TaskData, setting: Setting) -> list[MetricRow]:
    """Time of an input of a task: from ready codes, and from its text with a cold and a warm cache of codes."""
    split = task.splits[task.task.select_splits[0]]
    texts = tuple(column[: setting.options.infer_samples] for column in split.texts)
    works = [Inference(candidate, texts, task.n_outputs, setting) for candidate in (model, baseline)]
    facts: list[MetricRow] = []
    for name, kind in (("infer_ms", "run"), ("infer_text_ms", "run_from_text"), ("infer_text_warm_ms", "run_warm")):
        pairs = in_turn(*(getattr(work, kind) for work in works), pairs=setting.options.pairs, device=setting.device)
        facts += timed(name, pairs, len(texts[0]), len(texts[0]), task.task.name)
    return facts


class Inference:
    """One pass over a task's first dev texts."""

    def __init__(self, candidate: Candidate, texts: tuple[list[str], ...], n_outputs: int, setting: Setting) -> None:
        self._candidate, self._texts, self._setting = candidate, texts, setting
        self._model = candidate.build(setting.size, setting.device).eval()
        dim = self._model.config.dim
        spec = candidate.spec
        head = ClassificationHead(dim, n_outputs, 0.0, spec.head.pooling, dense=spec.head.dense)
        self._head = head.to(setting.device).eval()
        self._ready = [batch.to(setting.device) for batch in self._batches(candidate.coder)]
        self._warm = RememberedCodes(candidate.coder)
        for _ in self._batches(self._warm):
            pass

    def run(self) -> None:
        """The forward passes alone."""
        self._forward(self._ready)

    def run_from_text(self) -> None:
        """From the texts on, every code computed anew."""
        self._forward(self._batches(self._candidate.coder))

    def run_warm(self) -> None:
        """From the texts on, with the codes of all types remembered."""
        self._forward(self._batches(self._warm))

    def _forward(self, batches: Iterable[Batch]) -> None:
        recipe = self._candidate.finetune
        with (
            torch.inference_mode(),
            autocast(recipe, self._setting.device),
            matmul_precision(recipe.matmul_precision),
        ):
            for batch in batches:
                batch = batch.to(self._setting.device)
                self._head(*self._model.for_head(batch, self._head.pooling))

    def _batches(self, coder: Coder) -> Iterator[Batch]:
        """Batches made from the texts, nothing of them kept."""
        candidate, recipe = self._candidate, self._candidate.finetune
        return text_batches(
            self._texts,
            candidate.tokenizer,
            coder,
            candidate.spec.text.template,
            max_length=recipe.max_length,
            batch_size=self._setting.options.infer_batch_size,
            pad_to_max=recipe.pad_to_max,
        )


def autocast(recipe: OnHardware, device: torch.device) -> torch.autocast:
    """The precision that training on this device would have."""
    bf16 = precision_found(recipe.precision, device.type) == "bf16"
    return torch.autocast(device.type, torch.bfloat16, enabled=bf16)


def device_of(name: str) -> torch.device:
    """The torch device of `auto`, `cpu`, `cuda` or `mps`."""
    return torch.device(pick_device(name))
