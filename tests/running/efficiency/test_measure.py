"""What an efficiency run measures: both sides the same work, everything of it stored."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from hashbench.data.sources.sources import open_sources
from hashbench.data.tasks.catalogue import find_task, load_task
from hashbench.models.coders.base import RememberedCodes
from hashbench.models.embeddings.base import Batch, CodeSpec, EmbeddingSpec, ModelSpec
from hashbench.models.embeddings.registry import load_own
from hashbench.running.efficiency import measure as measure_module
from hashbench.running.efficiency.measure import (
    Candidate,
    PretrainingStep,
    Setting,
    inference_facts,
    measure,
    pretraining_facts,
)
from hashbench.running.efficiency.memory import peak_bytes
from hashbench.running.experiment.file_blocks import Efficiency
from hashbench.running.experiment.recipes import Finetune, Pretrain

# What stands beside every time.
BESIDE_A_TIME = ("baseline_{}", "{}_speedup_low", "{}_speedup_high", "{}_pairs")
OWN = '''
import torch
from torch import nn
from hashbench.models.embeddings.base import Embedding


class Own(Embedding):
    """A vector a bucket of the first byte."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.randn(256, dim))

    def embed_types(self, codes):
        return self.table[codes[:, 0].long()]

    def special_rows(self):
        return self.table[:5]

    def embedding_parameters(self):
        return self.table.numel()
'''


@pytest.fixture
def candidate(prepared):
    def make(name: str) -> Candidate:
        made = prepared(name)
        return Candidate(
            made.spec,
            made.corpus.tokenizer,
            made.coder,
            made.corpus,
            made.rows,
            Pretrain(learning_rate=1e-3, warmup_steps=0),
            Finetune(max_length=32, learning_rate=1e-3),
        )

    return make


def setting(folder: Path) -> Setting:
    asked = Efficiency(
        pairs=2, limit_s=0, pretrain_batch_size=4, pretrain_length=24, infer_batch_size=4, infer_samples=8
    )
    return Setting("tiny", asked, torch.device("cpu"), folder)


@pytest.mark.e2e
def test_every_number_of_the_papers_tables_is_measured(candidate, tmp_path):
    tasks = [load_task(find_task("mrpc"), open_sources("builtin"))]
    facts = measure(candidate("hashformer-md-proj"), candidate("bert-mlm"), tasks, setting(tmp_path))
    found = {(fact.name, fact.split): fact.value for fact in facts}
    once = {"total_params", "emb_params", "weight_bytes", "peak_bytes"}
    timed = {("pretrain_ms", ""), ("pretrain_optimizer_ms", "")}
    timed |= {(name, "mrpc") for name in ("infer_ms", "infer_text_ms", "infer_text_warm_ms")}
    beside = {(name.format(timed), split) for timed, split in timed for name in BESIDE_A_TIME}
    once |= {"pretrain_batch"}
    assert set(found) == {(name, "") for name in once} | {("infer_batch", "mrpc")} | timed | beside
    assert len(found) == len(facts)
    without = {name for (name, _), value in found.items() if value is None}
    assert without == {f"{name}_speedup_{end}" for name, _ in timed for end in ("low", "high")}, "two pairs are too few"
    assert all(value > 0 for value in found.values() if value is not None)


def test_twelve_pairs_give_an_interval_around_the_ratio(candidate, tmp_path):
    chosen = replace(setting(tmp_path), options=Efficiency(pairs=12, limit_s=0, infer_samples=2, infer_batch_size=2))
    task = load_task(find_task("rte"), open_sources("builtin"))
    facts = inference_facts(candidate("hashformer-md-proj"), candidate("bert-mlm"), task, chosen)
    values = {fact.name: fact.value for fact in facts}
    assert values["infer_ms_pairs"] == 12 and values["infer_batch"] == 2
    ratio = values["baseline_infer_ms"] / values["infer_ms"]
    assert values["infer_ms_speedup_low"] <= ratio <= values["infer_ms_speedup_high"]


def test_what_the_experiment_leaves_open_is_the_usual_of_a_cpu(tmp_path):
    chosen = replace(setting(tmp_path), options=Efficiency())
    assert (chosen.samples, chosen.batch_size(None, 8, [], 1024), chosen.batch_size(3, 8, [], 1024)) == (128, 8, 3)


def test_a_timed_pre_training_batch_is_as_long_as_asked(candidate, tmp_path):
    step = PretrainingStep(candidate("hashformer-md-proj"), setting(tmp_path), 4)
    assert step.batch.positions.shape == (4, 24) and not step.batch.padded


def test_remembered_codes_are_the_coders(prepared):
    coder = prepared("hashformer-lsh-proj").coder
    warm = RememberedCodes(coder)
    words = ["play", "plays", "", "play"]
    for _ in range(2):
        assert (warm.encode(words) == coder.encode(words)).all()
    assert warm.encode([]).shape == (0, coder.width)


@pytest.mark.e2e
def test_memory_of_a_users_own_embedding_is_measured(tmp_path):
    (tmp_path / "mine.py").write_text(OWN)
    spec = ModelSpec("own", EmbeddingSpec(load_own(f"{tmp_path / 'mine.py'}:Own")), code=CodeSpec("md5-bits"))
    batch = Batch(
        codes=torch.randint(0, 255, (7, 16), dtype=torch.uint8),
        positions=torch.randint(0, 12, (2, 9)),
        mask=torch.ones(2, 9, dtype=torch.bool),
        labels=torch.zeros(2, 9, dtype=torch.int64),
    )
    assert peak_bytes(spec, "tiny", None, batch, device="cpu", threads=1) > 100_000


def test_a_baseline_without_pre_training_leaves_its_times_out(candidate, tmp_path):
    untrained = candidate("canine-c-scratch")
    assert untrained.spec.training.objective is None
    facts = measure(candidate("bert-tiny"), untrained, [], setting(tmp_path))
    assert [fact.name for fact in facts] == ["total_params", "emb_params", "weight_bytes"]


@pytest.mark.parametrize("precision", ["32", "bf16", "bf16-residual"])
def test_memory_of_a_step_is_that_of_the_precision_found(candidate, tmp_path, monkeypatch, precision):
    found = []
    monkeypatch.setattr(measure_module, "precision_found", lambda *_: precision)
    monkeypatch.setattr(measure_module, "peak_bytes", lambda *_, **options: found.append(options["precision"]) or 1)
    model = candidate("hashformer-md-proj")
    pretraining_facts(model, model, setting(tmp_path))
    assert found == [precision]
