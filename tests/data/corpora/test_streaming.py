"""Trainings from a stream: every row once a pass, and the same rows after a kill."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
from itertools import islice
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hashbench.common.errors import InputError
from hashbench.data.corpora import pretraining_data as streaming
from hashbench.data.corpora.pretraining_data import RowStream, StreamedData, StreamLoader, StreamPlace
from hashbench.data.sources import documents as shards_module
from hashbench.data.sources.documents import CorpusShard, folder_corpus
from hashbench.models.coders.base import make_coder
from hashbench.models.coders.signature import Signature
from hashbench.models.embeddings.base import Batch
from hashbench.models.embeddings.registry import find_model
from hashbench.models.objectives.mlm_signatures import OBJECTIVE as BY_SIGNATURES
from hashbench.models.objectives.shuffle_random import OBJECTIVE
from hashbench.models.text.words import WordTokenizer

SPEC = find_model("hashformer-md-proj")
BODY = 6  # tokens of a row without its two special ones
TEXTS = [" ".join(f"w{(i * i + j) % 97}" for j in range(i % 23)) for i in range(400)]


@pytest.fixture
def shards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[CorpusShard]:
    """Several shards of documents of 0 to 22 words; blocks of a few rows, read in small chunks."""
    monkeypatch.setattr(shards_module, "SHARD_BYTES", 2_000)
    monkeypatch.setattr(streaming, "BLOCK_ROWS", 50)
    monkeypatch.setattr(streaming, "CHUNK_CHARACTERS", 300)
    folder = tmp_path / "corpus"
    folder.mkdir()
    for part in range(2):
        some = TEXTS[200 * part : 200 * part + 200]
        pq.write_table(pa.table({"text": some}), folder / f"{part}.parquet", row_group_size=30)
    made = folder_corpus("mine", "folder mine", folder).shards()
    assert len(made) > 3
    return made


def data(shards: list[CorpusShard], **changes: int) -> StreamedData:
    settings = {"batch_size": 8, "sequence_length": BODY + 2, "seed": 0, "steps": 125, "epochs": 3} | changes
    return StreamedData(
        shards, WordTokenizer(), make_coder("md5-bits"), objective=OBJECTIVE, template=SPEC.text.template,
        **settings,  # type: ignore[arg-type]
    )  # fmt: skip


def rows_of(batch: Batch) -> list[tuple[int, ...]]:
    """Each row of a batch: its number, the codes and the labels of its tokens, all that is trained on."""
    assert batch.row_ids is not None and batch.labels is not None
    known = np.concatenate([np.zeros((5, batch.codes.shape[1]), np.uint8), batch.codes.numpy()])
    return [
        (int(row), *known[places].ravel().tolist(), *places[places < 5].tolist(), *labels.tolist())
        for row, places, labels in zip(batch.row_ids, batch.positions.numpy(), batch.labels, strict=True)
    ]


@pytest.mark.e2e
def test_a_pass_holds_all_tokens_once_in_their_order(shards: list[CorpusShard]) -> None:
    """Before shuffling: the blocks' rows are the documents end to end, wherever blocks and shards end."""
    coder = make_coder("md5-bits")
    words = [word for text in TEXTS for word in text.split()]
    for rows in (1, 7, 10**6):
        stream = RowStream(shards, WordTokenizer(), coder, row_tokens=BODY, rows=rows)
        blocks = list(stream.blocks(StreamPlace()))
        found = np.concatenate([block.codes[block.ids] for block in blocks])
        assert np.array_equal(found, coder.encode(words))
        assert [len(block.ids) for block in blocks[:-1]] == [rows * BODY] * (len(blocks) - 1)


def test_a_block_is_the_same_from_its_own_place_on(shards: list[CorpusShard]) -> None:
    stream = RowStream(shards, WordTokenizer(), make_coder("md5-bits"), row_tokens=BODY, rows=7)
    whole = list(stream.blocks(StreamPlace()))
    assert len(whole) > 2
    for number in range(len(whole) - 1):
        after = whole[number].after
        assert after is not None
        again = next(stream.blocks(after))
        assert np.array_equal(again.ids, whole[number + 1].ids)
        assert np.array_equal(again.codes, whole[number + 1].codes)


def test_rows_are_shuffled_within_blocks_and_anew_in_every_pass(shards: list[CorpusShard]) -> None:
    n_rows = -(-sum(len(text.split()) for text in TEXTS) // BODY)
    steps = 2 * -(-n_rows // 8)
    batches = list(StreamLoader(data(shards, steps=steps)))
    numbers = [int(row) for batch in batches for row in batch.row_ids]  # type: ignore[union-attr]
    first, second = numbers[:n_rows], numbers[n_rows:]
    assert sorted(first) == sorted(second) == list(range(n_rows))
    assert first != second and first != sorted(first)
    assert {row // 48 for row in first[:48]} == {0}  # blocks of six batches
    other = next(iter(StreamLoader(data(shards, seed=1))))
    assert rows_of(other) != rows_of(batches[0])


def test_replacements_come_from_the_block(shards: list[CorpusShard]) -> None:
    """Every code of a corrupted batch is one of the block's, and some tokens were replaced."""
    made = data(shards)
    block = next(made.stream.blocks(StreamPlace()))
    known = {code.tobytes() for code in block.codes}
    _, batch = next(made.batches(StreamPlace()))
    assert {code.tobytes() for code in batch.codes.numpy()} <= known
    assert batch.labels is not None and set(batch.labels.unique().tolist()) == {-100, 0, 1, 2}


def test_signatures_are_those_of_the_types_that_stood_in_the_block(shards: list[CorpusShard]) -> None:
    """Labels are words before corruption: a batch has the signatures of words of the corpus, at 15 % of its places."""
    outputs = Signature(399, 4)
    made = StreamedData(
        shards, WordTokenizer(), make_coder("md5-bits"), objective=BY_SIGNATURES, outputs=outputs,
        template=SPEC.text.template, batch_size=8, sequence_length=BODY + 2, seed=0, steps=20, epochs=3,
    )  # fmt: skip
    words = sorted({word for text in TEXTS for word in text.split()})
    signature_of = {code.tobytes(): word for code, word in zip(outputs.encode(words), words, strict=True)}
    code_of = {word: code.tobytes() for word, code in zip(words, make_coder("md5-bits").encode(words), strict=True)}
    kept = 0
    for _, batch in islice(made.batches(StreamPlace()), 20):
        assert batch.labels is not None and batch.label_codes is not None
        for row, column in (batch.labels != -100).nonzero().tolist():
            word = signature_of[batch.label_codes[batch.labels[row, column]].numpy().tobytes()]
            place = int(batch.positions[row, column]) - 5
            kept += place >= 0 and batch.codes[place].numpy().tobytes() == code_of[word]
    assert kept > 3  # places that are predicted and keep their word


def train(shards: list[CorpusShard], seen: Path, kept: Path, kill_at: int) -> None:
    """Writes the rows of each batch to a file, the state of the loader every fifth batch; kills itself."""
    loader = StreamLoader(data(shards))
    if kept.exists():
        loader.load_state_dict(json.loads(kept.read_text()))
    lines = seen.read_text().splitlines(keepends=True)[: loader.place.steps] if seen.exists() else []
    with seen.open("w") as file:
        file.writelines(lines)
        for batch in loader:
            file.write(json.dumps(rows_of(batch)) + "\n")
            file.flush()
            if loader.place.steps % 5 == 0:
                kept.write_text(json.dumps(loader.state_dict()))
            if loader.place.steps == kill_at:
                os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.e2e
def test_a_thousand_rows_are_the_same_after_kills_as_without(tmp_path: Path, shards: list[CorpusShard]) -> None:
    """125 batches of eight rows: into the second pass, killed in the middle of blocks and at their ends."""
    train(shards, tmp_path / "whole", tmp_path / "unused", kill_at=0)
    (tmp_path / "unused").unlink()
    for kill_at in (3, 23, 24, 96, 97, 98, 117, 0):
        arguments = (shards, tmp_path / "killed", tmp_path / "kept", kill_at)
        process = multiprocessing.get_context("fork").Process(target=train, args=arguments)
        process.start()
        process.join(timeout=300)
        assert process.exitcode == (-signal.SIGKILL if kill_at else 0)
    whole, killed = ((tmp_path / name).read_text().splitlines() for name in ("whole", "killed"))
    assert killed == whole
    assert len(whole) == 125 and sum(len(json.loads(line)) for line in whole) > 990


def test_corpora_that_end_too_soon_are_one_line(shards: list[CorpusShard]) -> None:
    made = data(shards, steps=10**6, epochs=1)
    with pytest.raises(InputError, match=r"end after \d+ steps, 1,000,000 are asked for; lower steps, or raise max_ep"):
        for _ in StreamLoader(made):
            pass


def test_no_token_at_all(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(" \n")
    empty = folder_corpus("mine", "folder mine", tmp_path).shards()
    with pytest.raises(InputError, match="there is no token in them"):
        next(iter(StreamLoader(data(empty))))
