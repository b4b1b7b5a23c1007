from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from hashbench.data.corpora.corpus import Corpus
from hashbench.data.corpora.preparing import prepare
from hashbench.data.corpora.pretraining_data import PretrainingData
from hashbench.data.sources.sources import open_sources
from hashbench.data.tasks.blocks import TaskEntry
from hashbench.data.tasks.catalogue import find_task, load_task, own_task
from hashbench.data.tasks.noise import TrainingNoise, noisy
from hashbench.data.tasks.text_batches import FinetuningData
from hashbench.data.tasks.text_data import TaskData
from hashbench.models.coders.base import make_coder
from hashbench.models.embeddings.base import Batch, Template
from hashbench.models.objectives import mlm, shuffle_random
from hashbench.models.objectives.base import objectives
from hashbench.models.text.words import WordTokenizer

TEMPLATE = Template()
N_SPECIALS = len(TEMPLATE.specials)


@pytest.fixture
def corpus() -> Corpus:
    return prepare(["builtin"], open_sources("builtin"), WordTokenizer(), max_documents=40)


def type_numbers(corpus: Corpus) -> np.ndarray:
    """Codes that are the types' own numbers, so that a batch can be read back; + 5 as in a vocabulary."""
    return np.arange(len(corpus.types), dtype=np.int64).reshape(-1, 1) + N_SPECIALS


def pretraining(corpus: Corpus, objective: str = "shuffle_random", **options: object) -> PretrainingData:
    values = {"batch_size": 8, "sequence_length": 32, "seed": 5, "prefetch": 0} | options
    return PretrainingData(corpus, type_numbers(corpus), objective=objectives()[objective], template=TEMPLATE, **values)  # type: ignore[arg-type]


def ids_of(batch: Batch) -> np.ndarray:
    """The ids (B, L) that a batch was made of: types, and special token k as -1 - k."""
    rows = torch.cat([-1 - torch.arange(N_SPECIALS), batch.codes[:, 0] - N_SPECIALS])
    return rows[batch.positions].numpy()


CORRUPT = {"mlm": mlm.corrupt, "shuffle_random": shuffle_random.corrupt}


@pytest.mark.parametrize("objective", ["mlm", "shuffle_random"])
def test_pretraining_batches_are_the_corrupted_rows(corpus: Corpus, objective: str) -> None:
    data = pretraining(corpus, objective)
    starts, ends = corpus.rows(32)
    batches = list(data.train_dataloader())
    assert batches
    for batch in batches:
        assert batch.row_ids is not None and batch.labels is not None
        rows = batch.row_ids.numpy()
        length = int((ends - starts)[rows].max()) + 2
        clean = np.full((len(rows), length), -2, np.int32)
        for i, row in enumerate(rows):
            text = corpus.ids[starts[row] : ends[row]]
            clean[i, : len(text) + 2] = [-1, *text, -3]
        corrupt: Callable[..., tuple[np.ndarray, np.ndarray]] = CORRUPT[objective]
        ids, labels = corrupt(clean, rows, seed=5, epoch=0, n_types=len(corpus.types))
        assert np.array_equal(ids_of(batch), ids)
        if objective == "mlm":  # a label is the row of the vocabulary
            labels = np.where(labels == -100, -100, labels + N_SPECIALS)
        assert np.array_equal(batch.labels.numpy(), labels)
        assert np.array_equal(batch.mask.numpy(), clean != -2)


def test_an_epoch_holds_every_row_once_and_the_next_another_order(corpus: Corpus) -> None:
    data = pretraining(corpus)
    loader = data.train_dataloader()
    epochs = [np.concatenate([batch.row_ids.numpy() for batch in loader]) for _ in range(2)]  # type: ignore[union-attr]
    assert len(loader) == data.steps_per_epoch == -(-data.n_rows // 8)
    for order in epochs:
        assert sorted(order) == list(range(data.n_rows))
    assert not np.array_equal(*epochs)


def rows_by_id(loader: object) -> dict[int, tuple[list[int], list[int]]]:
    """Row id -> (ids, labels) without padding."""
    found = {}
    for batch in loader:  # type: ignore[attr-defined]
        lengths = batch.mask.sum(dim=1).tolist()
        ids, labels = ids_of(batch).tolist(), batch.labels.tolist()
        for i, row in enumerate(batch.row_ids.tolist()):
            found[row] = (ids[i][: lengths[i]], labels[i][: lengths[i]])
    return found


def test_corruption_of_a_row_depends_on_seed_epoch_and_row_alone(corpus: Corpus) -> None:
    reference = rows_by_id(pretraining(corpus).train_dataloader())
    assert rows_by_id(pretraining(corpus, batch_size=3).train_dataloader()) == reference
    assert rows_by_id(pretraining(corpus, prefetch=2).train_dataloader()) == reference
    assert rows_by_id(pretraining(corpus, seed=6).train_dataloader()) != reference
    second = pretraining(corpus).train_dataloader()
    second.load_state_dict({"epoch": 1, "position": 0})
    assert rows_by_id(second) != reference


def test_objective_arguments_arrive(corpus: Corpus) -> None:
    data = pretraining(corpus, objective_args={"shuffle_prob": 0.0, "random_prob": 0.0})
    assert all(batch.labels is not None and batch.labels.max() == 0 for batch in data.train_dataloader())


def test_every_process_has_the_batches_of_one_alone(corpus: Corpus) -> None:
    """Corrupted and padded alike; the rows that a process computes are taken of them later."""
    alone, third = pretraining(corpus), pretraining(corpus, rank=2, world_size=3)
    assert third.steps_per_epoch == alone.steps_per_epoch
    for one, other in zip(alone.train_dataloader(), third.train_dataloader(), strict=True):
        for name in ("codes", "positions", "labels", "row_ids"):
            assert torch.equal(getattr(one, name), getattr(other, name)), name


def task(name: str, rows: int = 60) -> TaskData:
    data = load_task(find_task(name), open_sources("builtin"))
    splits = {split: part.take(np.arange(rows)) for split, part in data.splits.items()}
    return TaskData(data.task, splits, data.fingerprint + str(rows), data.origin, data.kind)


def finetuning(data: TaskData, **options: object) -> FinetuningData:
    values = {"template": TEMPLATE, "batch_size": 8, "max_length": 24, "seed": 1, "prefetch": 0} | options
    return FinetuningData(data, WordTokenizer(), make_coder("md5-rows"), **values)  # type: ignore[arg-type]


def test_finetuning_batches_hold_texts_and_labels_of_their_rows() -> None:
    data = task("sst2")
    coder = make_coder("md5-rows")
    train = data.splits["train"]
    batches = list(finetuning(data).train_dataloader())
    assert sum(map(len, batches)) == len(train)
    for batch in batches:
        assert batch.row_ids is not None and batch.labels is not None
        for i, row in enumerate(batch.row_ids.tolist()):
            words = WordTokenizer().tokenize(train.texts[0][row])[:22]
            expected = [0, *(coder.encode(words)[:, 0].tolist()), 2]
            table = torch.cat([torch.arange(N_SPECIALS), batch.codes[:, 0]])
            assert table[batch.positions[i][batch.mask[i]]].tolist() == expected
            assert batch.labels[i].item() == train.labels[row]


NOISE = TrainingNoise(kind="distortion", rate=0.5)


def rows_of(data: FinetuningData, epoch: int = 0) -> dict[int, tuple[list[int], float]]:
    """Of each training row in an epoch: the ids of its tokens, and its label."""
    found: dict[int, tuple[list[int], float]] = {}
    loader = data.train_dataloader()
    loader.load_state_dict({"epoch": epoch, "position": 0})
    for batch in loader:
        assert batch.row_ids is not None and batch.labels is not None
        table = torch.cat([torch.arange(N_SPECIALS), batch.codes[:, 0]])
        for i, row in enumerate(batch.row_ids.tolist()):
            found[row] = (table[batch.positions[i][batch.mask[i]]].tolist(), batch.labels[i].item())
    return found


@pytest.mark.parametrize("name", ["sst2", "stsb"])
def test_noise_in_training_texts_is_a_function_of_seed_epoch_and_row(name: str) -> None:
    data = task(name)
    plain, reference = rows_of(finetuning(data)), rows_of(finetuning(data, noise=NOISE))
    assert {row: label for row, (_, label) in reference.items()} == {row: label for row, (_, label) in plain.items()}
    assert sum(reference[row] != plain[row] for row in plain) > 0.9 * len(plain)
    assert rows_of(finetuning(data, noise=NOISE, batch_size=3, prefetch=2)) == reference
    assert rows_of(finetuning(data, noise=NOISE), epoch=1) != reference
    assert rows_of(finetuning(data, noise=NOISE, seed=2)) != reference
    texts = noisy(data.splits["train"].texts, np.array([7]), NOISE, seed=1, epoch=0)
    tokens = [make_coder("md5-rows").encode(WordTokenizer().tokenize(text))[:, 0].tolist() for (text,) in texts]
    if len(tokens) == 1:  # of a pair both may be cut
        assert reference[7][0] == [0, *tokens[0][:22], 2]


def test_noise_changes_no_row_but_those_of_train() -> None:
    plain, changed = finetuning(task("sst2")), finetuning(task("sst2"), noise=NOISE)
    assert plain.knows_types and not changed.knows_types
    batches = zip(plain.evaluation_loader("validation"), changed.evaluation_loader("validation"), strict=True)
    assert all(torch.equal(one.codes, other.codes) for one, other in batches)


def test_evaluation_sees_every_row_once_whatever_the_processes() -> None:
    data = task("mnli")
    single = finetuning(data)
    assert single.select_splits == ("validation_matched", "validation_mismatched")
    assert single.test_splits == ()
    for loader in single.val_dataloader():
        rows = torch.cat([batch.row_ids for batch in loader])  # type: ignore[misc]
        assert sorted(rows.tolist()) == list(range(60))
    parts = [finetuning(data, rank=rank, world_size=2, evaluation_batch_size=7) for rank in range(2)]
    loaders = [part.evaluation_loader("validation_matched") for part in parts]
    assert len(loaders[0]) == len(loaders[1])
    found = [set(torch.cat([batch.row_ids for batch in loader]).tolist()) for loader in loaders]  # type: ignore[misc]
    assert found[0] | found[1] == set(range(60))


@pytest.mark.parametrize("rank", [0, 1])
def test_a_whole_evaluation_is_every_rows_whatever_the_rank(rank: int) -> None:
    data = finetuning(task("sst2"), rank=rank, world_size=2, evaluation_batch_size=7)
    single = finetuning(task("sst2"), evaluation_batch_size=7)
    loaders = data.evaluation_loader("validation", whole=True), single.evaluation_loader("validation")
    found = [[batch.row_ids.tolist() for batch in loader] for loader in loaders]  # type: ignore[union-attr]
    assert found[0] == found[1]


def test_the_longest_batch_is_the_longest_rows(corpus: Corpus) -> None:
    data = pretraining(corpus, batch_size=6)
    data.ends[3] -= 20  # rows of several lengths
    data.ends[0] -= 5
    lengths = (data.ends - data.starts).tolist()
    expected = sorted(range(len(lengths)), key=lambda row: -lengths[row])[:6]  # stable: of equal ones the first
    assert expected[:3] == [1, 2, 4]
    batch, again = data.longest_batch(), data.longest_batch()
    assert batch.row_ids is not None and batch.row_ids.tolist() == expected
    assert batch.positions.shape == (6, 32)
    assert torch.equal(batch.positions, again.positions)  # no loader is moved
    assert pretraining(corpus, batch_size=10**6).longest_batch().positions.shape[0] == data.n_rows


def test_labels_of_a_regression_are_floats() -> None:
    data = finetuning(task("stsb"))
    batch = next(iter(data.evaluation_loader("validation")))
    assert batch.labels is not None and batch.labels.dtype == torch.float32
    assert batch.row_ids is not None
    assert np.array_equal(batch.labels.numpy(), data.targets("validation")[batch.row_ids.numpy()])


def test_padding_to_the_longest_row_or_to_the_limit() -> None:
    short = next(iter(finetuning(task("sst2")).train_dataloader()))
    full = next(iter(finetuning(task("sst2"), pad_to_max=True).train_dataloader()))
    assert full.positions.shape[1] == 24 > short.positions.shape[1]
    assert torch.equal(full.positions[:, : short.positions.shape[1]], short.positions)


def test_a_test_split_is_apart(tmp_path: Path) -> None:
    for split in ("train", "validation", "test"):
        (tmp_path / f"{split}.csv").write_text("text,label\n" + "a word,0\nb word,1\n" * 5)
    own = own_task(TaskEntry(name="mine", path=".", text="text"), tmp_path)
    data = finetuning(load_task(own, ()))
    assert (data.select_splits, data.test_splits) == (("validation",), ("test",))
    assert len(data.val_dataloader()) == len(data.test_dataloader()) == 1


def test_odd_texts_make_batches(tmp_path: Path) -> None:
    texts = ["", "\\ud800 lone", "\\u0000 NUL", "\\ud83d\\ude00 emoji", "x" * 100_000, "plain"]
    rows = [f'{{"text": "{text}", "label": {i % 2}}}' for i, text in enumerate(texts)]
    for split in ("train", "validation"):
        (tmp_path / f"{split}.jsonl").write_text("\n".join(rows))
    own = own_task(TaskEntry(name="odd", path=".", text="text"), tmp_path)
    data = finetuning(load_task(own, ()), batch_size=1)
    lengths = sorted(batch.positions.shape[1] for batch in data.train_dataloader())
    assert lengths == [2, 3, 3, 4, 4, 4]  # words and two special tokens: "", x..., plain, then two words each


def fit(
    data: FinetuningData, *, save: tuple[int, Path] | None = None, resume: Path | None = None
) -> list[tuple[int, ...]]:
    """Rows of every step of three epochs."""
    import lightning.pytorch as pl  # here, since every other test of the file is without it

    class Recorder(pl.LightningModule):
        """Learns nothing of use; keeps the rows of every step."""

        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(1, 1)
            self.seen: list[tuple[int, ...]] = []

        def training_step(self, batch: Batch, _: int) -> Tensor:
            assert batch.row_ids is not None
            self.seen.append(tuple(batch.row_ids.tolist()))
            return self.layer(batch.row_ids[:1, None].float()).mean()

        def configure_optimizers(self) -> torch.optim.Optimizer:
            return torch.optim.SGD(self.parameters(), lr=1e-4)

        def on_train_batch_end(self, *_: object) -> None:
            if save and self.trainer.global_step == save[0]:
                self.trainer.save_checkpoint(save[1])

    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    module = Recorder()
    trainer = pl.Trainer(
        max_epochs=3,
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(module, train_dataloaders=data.train_dataloader(), ckpt_path=resume)
    return module.seen


@pytest.mark.e2e
@pytest.mark.parametrize("prefetch", [0, 2])
@pytest.mark.parametrize("step", [1, 4, 7, 8, 9, 16, 20])
def test_lightning_resumes_in_the_middle_of_an_epoch(tmp_path: Path, step: int, prefetch: int) -> None:
    data = finetuning(task("sst2"), prefetch=prefetch)  # 60 rows in batches of 8: 8 steps an epoch
    reference = fit(data, save=(step, tmp_path / "here.ckpt"))
    assert len(reference) == 24
    assert len(set(reference)) > 16  # the epochs are not the same batches again
    assert fit(data, resume=tmp_path / "here.ckpt") == reference[step:]
