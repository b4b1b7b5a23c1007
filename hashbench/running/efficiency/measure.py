"""One efficiency run: a model beside the baseline, in the terms of HashFormers, section 4.4.

Pre-training: forward and backward of one batch of full length, per sample. Inference: one forward, as long as the
longest input of the batch, per sample and task. Ratios come from pairs measured in turn; milliseconds are context.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch

from hashbench.common.measured import MetricRow
from hashbench.data.corpora.corpus import Corpus
from hashbench.data.sources.batching import text_batches
from hashbench.data.tasks.text_data import TaskData
from hashbench.models.coders.base import Coder, RememberedCodes, type_codes
from hashbench.models.embeddings.base import Batch, ModelSpec
from hashbench.models.objectives.base import objectives
from hashbench.models.objectives.heads import classification_head
from hashbench.models.text.base import Tokenizer
from hashbench.running.efficiency.memory import peak_bytes
from hashbench.running.efficiency.parameters import count
from hashbench.running.efficiency.timing import Effort, Pairs, Work, filling_batch, in_turn
from hashbench.running.experiment.completing import input_length
from hashbench.running.experiment.file_blocks import Efficiency
from hashbench.running.experiment.recipes import Finetune, OnHardware, Pretrain
from hashbench.running.training.devices import autocast, pick_device, precision_found
from hashbench.running.training.model import Model, build_model, make_head
from hashbench.running.training.recipe import adamw


@dataclass(frozen=True)
class Candidate:
    """A model to measure, with its tokenizer, coder, corpus and recipes."""

    spec: ModelSpec
    tokenizer: Tokenizer
    coder: Coder
    corpus: Corpus | None
    vocabulary_rows: int | None
    pretrain: Pretrain
    finetune: Finetune
    # What an objective of types predicts, where codes are no rows.
    outputs: Coder | None = None

    def build(self, size: str, device: torch.device) -> Model:
        """The model with fresh weights: times do not depend on their values."""
        return build_model(self.spec, size, seed=0, vocabulary_rows=self.vocabulary_rows).to(device)


# Batches and texts that are timed where the experiment leaves them open; no paper names any.
CPU_PRETRAIN_BATCH, CPU_INFER_BATCH = 8, 32
CPU_SAMPLES, GPU_SAMPLES = 128, 2048
MOST_SEQUENCES = 1024  # of a pre-training batch, where the batch that fills a GPU is searched


@dataclass(frozen=True)
class Setting:
    """The encoder size, options, device and cache folder of a measurement."""

    size: str
    options: Efficiency
    device: torch.device
    cache: Path

    @property
    def effort(self) -> Effort:
        """The number of pairs, the precision and the time limit of each measured ratio."""
        return Effort(self.options.pairs, self.options.width, self.options.limit_s)

    @property
    def samples(self) -> int:
        """Number of texts of a task that are timed."""
        return self.options.infer_samples or (CPU_SAMPLES if self.device.type == "cpu" else GPU_SAMPLES)

    def batch_size(self, chosen: int | None, on_cpu: int, works: Iterable[Callable[[int], Work]], most: int) -> int:
        """`chosen`, else `on_cpu` on a CPU, else the smallest batch size at which one of the works fills the GPU."""
        if chosen is not None or self.device.type == "cpu":
            return chosen or on_cpu
        return min(filling_batch(work_of, on_cpu, most, self.device) for work_of in works)


def measure(model: Candidate, baseline: Candidate, tasks: Sequence[TaskData], setting: Setting) -> list[MetricRow]:
    """Parameters, bytes and memory of `model`, and its times measured in turn with `baseline`."""
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


def timed(name: str, pairs: Pairs, samples: int, split: str = "") -> list[MetricRow]:
    """Facts on a pair of times: both per sample, the interval of their ratio, and the number of measured pairs."""
    low, high = pairs.interval or (None, None)
    few = "too few pairs for an interval"
    return [
        MetricRow(name, pairs.model / samples, split=split),
        MetricRow(f"baseline_{name}", pairs.baseline / samples, split=split),
        MetricRow(f"{name}_speedup_low", low, split=split, reason=None if low else few),
        MetricRow(f"{name}_speedup_high", high, split=split, reason=None if high else few),
        MetricRow(f"{name}_pairs", len(pairs.model_ms), split=split),
    ]


def pretraining_facts(model: Candidate, baseline: Candidate, setting: Setting) -> list[MetricRow]:
    """Time of a pre-training sample, without and with the optimizer step, and the memory of a step."""

    def step_of(candidate: Candidate) -> Callable[[int], Work]:
        return lambda size: PretrainingStep(candidate, setting, size).run

    works = [step_of(candidate) for candidate in (model, baseline)]
    size = setting.batch_size(setting.options.pretrain_batch_size, CPU_PRETRAIN_BATCH, works, MOST_SEQUENCES)
    step, baseline_step = (PretrainingStep(candidate, setting, size) for candidate in (model, baseline))
    plain = in_turn(step.run, baseline_step.run, setting.effort, setting.device)
    whole = in_turn(step.run_with_optimizer, baseline_step.run_with_optimizer, setting.effort, setting.device)
    peak = peak_bytes(
        model.spec,
        setting.size,
        model.vocabulary_rows,
        step.batch.to("cpu"),
        device=setting.device.type,
        threads=torch.get_num_threads(),
        logits=model.pretrain.logits,
        precision=precision_found(model.pretrain.precision, setting.device.type),
    )
    return [
        *timed("pretrain_ms", plain, size),
        *timed("pretrain_optimizer_ms", whole, size),
        MetricRow("pretrain_batch", size),
        MetricRow("peak_bytes", peak),
    ]


class PretrainingStep:
    """A pre-training step of a candidate, under its own objective on one batch of its corpus, to be timed."""

    def __init__(self, candidate: Candidate, setting: Setting, batch_size: int) -> None:
        # measure() calls this for pre-trained models alone.
        assert candidate.corpus is not None and candidate.spec.training.objective is not None
        from hashbench.data.corpora.pretraining_data import PretrainingData  # imports Lightning

        objective = objectives()[candidate.spec.training.objective]
        data = PretrainingData(
            candidate.corpus,
            type_codes(candidate.coder, candidate.corpus.types, setting.cache / "codes"),
            objective=objective,
            objective_args=objective.corruption_args(candidate.spec.training.args),
            outputs=candidate.outputs,
            template=candidate.spec.text.template,
            batch_size=batch_size,
            sequence_length=setting.options.pretrain_length,
            seed=0,
        )
        self._model = candidate.build(setting.size, setting.device).train()
        self._head = make_head(self._model, objective.name, candidate.spec.training.args).to(setting.device).train()
        # As a training does, which counts labels before it sends a batch
        fixed = setting.device.type != "cpu"
        self.batch: Batch = self._head.prepared(data.longest_batch(), fixed_shapes=fixed).to(setting.device)
        self._logits = candidate.pretrain.logits
        self._recipe, self._device = candidate.pretrain, setting.device
        both = torch.nn.ModuleList([self._model, self._head])
        self._optimizer = adamw(both, learning_rate=1e-5, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01)

    def run(self) -> None:
        """Runs forward and backward."""
        self._optimizer.zero_grad(set_to_none=True)
        with computing(self._model, self._recipe, self._device):
            loss = self._head.batch_loss(self._model, self.batch, self._logits)
        loss.backward()

    def run_with_optimizer(self) -> None:
        """Runs forward, backward and the update of the weights."""
        self.run()
        self._optimizer.step()


def _of_task(candidate: Candidate, task: TaskData, setting: Setting) -> Candidate:
    """The candidate with the number of tokens that an input of the task has under its recipe."""
    length = input_length(candidate.finetune, task, candidate.tokenizer, candidate.spec.text.template, setting.cache)
    return replace(candidate, finetune=candidate.finetune.model_copy(update={"max_length": length}))


def inference_facts(model: Candidate, baseline: Candidate, task: TaskData, setting: Setting) -> list[MetricRow]:
    """Time of an input of a task: from ready codes, and from its text with a cold and a warm cache of codes."""
    model, baseline = (_of_task(candidate, task, setting) for candidate in (model, baseline))
    split = task.splits[task.task.select_splits[0]]
    texts = tuple(list(column[: setting.samples]) for column in split.texts)
    n = len(texts[0])

    def pass_of(candidate: Candidate) -> Callable[[int], Work]:
        # As many rows as one batch has, so that a larger batch is measured and not more of them.
        return lambda size: (
            Inference(candidate, tuple(column[:size] for column in texts), task.n_outputs, setting, size).run
        )

    passes = [pass_of(candidate) for candidate in (model, baseline)]
    size = setting.batch_size(setting.options.infer_batch_size, CPU_INFER_BATCH, passes, n)
    both = [Inference(candidate, texts, task.n_outputs, setting, size) for candidate in (model, baseline)]
    works = {
        "infer_ms": [inference.run for inference in both],
        "infer_text_ms": [inference.run_from_text for inference in both],
        "infer_text_warm_ms": [inference.run_warm for inference in both],
    }
    facts = [MetricRow("infer_batch", size, split=task.task.name)]
    for name, (of_model, of_baseline) in works.items():
        facts += timed(name, in_turn(of_model, of_baseline, setting.effort, setting.device), n, task.task.name)
    return facts


class Inference:
    """A candidate's pass over a task's first dev texts, to be timed."""

    def __init__(
        self, candidate: Candidate, texts: tuple[list[str], ...], n_outputs: int, setting: Setting, batch_size: int
    ) -> None:
        self._candidate, self._texts, self._setting, self._size = candidate, texts, setting, batch_size
        self._model = candidate.build(setting.size, setting.device).eval()
        width = self._model.encoder.text_width(len(texts))
        head = classification_head(candidate.spec.head, width, n_outputs)
        self._head = head.to(setting.device).eval()
        self._ready = [batch.to(setting.device) for batch in self._batches(candidate.coder)]
        self._warm = RememberedCodes(candidate.coder)
        for _ in self._batches(self._warm):
            pass

    def run(self) -> None:
        """Runs the forward passes alone, on batches that are ready."""
        self._forward(self._ready)

    def run_from_text(self) -> None:
        """Makes batches from the texts, every code computed anew, and runs the forward passes."""
        self._forward(self._batches(self._candidate.coder))

    def run_warm(self) -> None:
        """Makes batches from the texts, the codes of all types cached, and runs the forward passes."""
        self._forward(self._batches(self._warm))

    def _forward(self, batches: Iterable[Batch]) -> None:
        recipe = self._candidate.finetune
        with torch.inference_mode(), computing(self._model, recipe, self._setting.device):
            for batch in batches:
                batch = batch.to(self._setting.device)
                self._head(*self._model.for_head(batch, self._head.pooling))

    def _batches(self, coder: Coder) -> Iterator[Batch]:
        """Batches of the texts, made as they are read and not kept."""
        candidate, recipe = self._candidate, self._candidate.finetune
        return text_batches(
            self._texts,
            candidate.tokenizer,
            coder,
            candidate.spec.text.template,
            max_length=recipe.longest,
            batch_size=self._size,
            pad_to_max=recipe.pad_to_max,
        )


def computing(model: Model, recipe: OnHardware, device: torch.device) -> torch.autocast:
    """Context in which a model computes in the precision that a training under this recipe has on this device."""
    return autocast(model.encoder, precision_found(recipe.precision, device.type), device)


def device_of(name: str) -> torch.device:
    """The torch device of a name as in experiment files: `auto`, `gpu`, `cuda:1` and so on."""
    return torch.device(pick_device(name))
