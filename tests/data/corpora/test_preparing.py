"""Corpora in many shards, by several processes, and after kills: always the bytes that one process without shards
made."""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import random
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hashbench.common.errors import InputError
from hashbench.data.corpora import preparing, tokenizing
from hashbench.data.corpora.corpus import Corpus
from hashbench.data.corpora.preparing import prepare
from hashbench.data.corpora.tokenizing import ShardJob
from hashbench.data.sources import documents as shards_module
from hashbench.data.sources.sources import Source, open_sources
from hashbench.models.text.base import make_tokenizer
from tests.data.corpora.test_corpus import sources

# SHA-256 of all files of a corpus, as version 0.1 made them in one process without shards
MADE_BEFORE = [
    ("words", {}, "fa15854b551457e9"),
    ("words", {"max_documents": 7, "first_chunk_only": True}, "f452d7d7a9aa57e4"),
    ("bpe", {"vocabulary_size": 400}, "50d4ce328802b0fc"),
    ("characters", {}, "36f97b1dc2e72069"),
]
DOCUMENTS = [f"low lower lowest {'slow ' * (i % 3)} word{i} word{i % 5} é\u0130 END{i}" for i in range(7)]


def digest_of(corpus: Corpus) -> str:
    """SHA-256 (hex) of all files but the list of their sums."""
    found = hashlib.sha256()
    for file in sorted(corpus.folder.rglob("*")):
        if file.is_file() and file.name != "files.json":
            found.update(f"{file.relative_to(corpus.folder)} {file.stat().st_size} ".encode() + file.read_bytes())
    return found.hexdigest()


def cut_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """A shard for each document, few texts at a time."""
    monkeypatch.setattr(shards_module, "SHARD_BYTES", 1)
    monkeypatch.setattr(tokenizing, "CHUNK_CHARACTERS", 20)
    monkeypatch.setattr(preparing, "BLOCK_IDS", 7)


@pytest.mark.e2e
@pytest.mark.parametrize("small", [False, True])
@pytest.mark.parametrize(("kind", "options", "expected"), MADE_BEFORE)
def test_the_bytes_are_those_of_the_version_without_shards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, options: dict[str, Any], expected: str, small: bool
) -> None:
    if small:
        monkeypatch.setattr(tokenizing, "CHUNK_CHARACTERS", 3_000)
        monkeypatch.setenv("HASHBENCH_THREADS", "1")
    made = prepare(["builtin"], open_sources("builtin"), make_tokenizer(kind), tmp_path, **options)
    assert digest_of(made)[:16] == expected


@pytest.fixture
def data(tmp_path: Path) -> tuple[Source, ...]:
    return sources(tmp_path / "data", wikipedia=DOCUMENTS, books=["", *DOCUMENTS[5:6]])


def prepared(data: tuple[Source, ...], folder: Path, kind: str = "words", **options: Any) -> Corpus:
    return prepare(["wikipedia", "books"], data, make_tokenizer(kind), folder, vocabulary_size=300, **options)


@pytest.mark.e2e
def test_several_processes_make_the_same(
    tmp_path: Path, data: tuple[Source, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = digest_of(prepared(data, tmp_path / "whole"))
    cut_small(monkeypatch)
    monkeypatch.setenv("HASHBENCH_THREADS", "2")
    lines: list[str] = []
    assert digest_of(prepared(data, tmp_path / "several", progress=lines.append)) == whole
    assert any("types of " in line for line in lines)
    assert any(line.startswith("wikipedia + books: 9 documents, ") for line in lines)


def killed_at(name: str, call: int) -> Callable[..., Any]:
    """A function of the module that kills its process, without a word, at some call."""
    real, calls = getattr(preparing, name), [0]

    def fatal(*arguments: Any, **named: Any) -> Any:
        calls[0] += 1
        if calls[0] == call:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*arguments, **named)

    return fatal


def die(data: tuple[Source, ...], folder: Path, kind: str, moment: str, call: int) -> None:
    setattr(preparing, moment, killed_at(moment, call))
    prepared(data, folder, kind)


def kill(data: tuple[Source, ...], folder: Path, kind: str, moment: str, call: int) -> None:
    process = multiprocessing.get_context("fork").Process(target=die, args=(data, folder, kind, moment, call))
    process.start()
    process.join(timeout=600)
    assert process.exitcode == -signal.SIGKILL


MOMENTS = [  # function that is about to begin, at which call, shards that are done by then
    ("words", "make_shard", 1, 0),
    ("words", "make_shard", 6, 5),
    ("bpe", "make_shard", 6, 5),
    ("words", "merged_types", 1, 9),
    ("words", "_write_ids", 1, 9),
    ("words", "write_json", 1, 9),
]


@pytest.mark.e2e
@pytest.mark.parametrize(("kind", "moment", "call", "done"), MOMENTS)
def test_a_killed_preparation_goes_on_and_ends_the_same(
    tmp_path: Path,
    data: tuple[Source, ...],
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
    moment: str,
    call: int,
    done: int,
) -> None:
    monkeypatch.setenv("HASHBENCH_THREADS", "1")
    with monkeypatch.context() as patch:
        cut_small(patch)
        kill(data, tmp_path / "killed", kind, moment, call)
    whole = digest_of(prepared(data, tmp_path / "whole", kind))
    cut_small(monkeypatch)
    anew, real = [], ShardJob.carry_out
    monkeypatch.setattr(ShardJob, "carry_out", lambda *each: (anew.append(each), real(*each))[1])
    if kind == "bpe":
        monkeypatch.setattr(
            "hashbench.models.text.subwords.SubwordTokenizer.train", lambda *_: pytest.fail("trained again")
        )
    lines: list[str] = []
    assert digest_of(prepared(data, tmp_path / "killed", kind, progress=lines.append)) == whole
    assert len(anew) == 9 - done
    assert any("9 shards are done already" in line for line in lines) == (done > 0)
    assert [path.suffix for path in (tmp_path / "killed").iterdir() if path.is_dir()] == [""]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_a_preparation_killed_at_a_random_moment_ends_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    texts = [f"{text} {' '.join(f'w{(n * k) % 997}' for k in range(2_000))}" for n, text in enumerate(DOCUMENTS * 12)]
    many = sources(tmp_path / "data", wikipedia=texts, books=texts[:5])
    cut_small(monkeypatch)
    monkeypatch.setattr(tokenizing, "CHUNK_CHARACTERS", 2_000)
    monkeypatch.setenv("HASHBENCH_THREADS", "1")
    began = time.monotonic()
    whole = digest_of(prepared(many, tmp_path / "whole"))
    lasted = time.monotonic() - began
    moments = random.Random(seed)
    for _ in range(3):  # one after the other, each further on
        moment = moments.uniform(0.05, 0.6) * lasted
        process = multiprocessing.get_context("fork").Process(target=prepared, args=(many, tmp_path / "killed"))
        process.start()
        process.join(moment)
        process.kill()
        process.join()
        print(f"seed {seed}: killed after {moment:.2f} s, exit {process.exitcode}")
    assert digest_of(prepared(many, tmp_path / "killed")) == whole
    assert [path.suffix for path in (tmp_path / "killed").iterdir() if path.is_dir()] == [""]


def test_a_shard_that_was_damaged_is_made_again(
    tmp_path: Path, data: tuple[Source, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = digest_of(prepared(data, tmp_path / "whole"))
    cut_small(monkeypatch)
    monkeypatch.setenv("HASHBENCH_THREADS", "1")
    with monkeypatch.context() as broken:
        broken.setattr(preparing, "_write_ids", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            prepared(data, tmp_path / "killed")
    (ids,) = (tmp_path / "killed").rglob("000003-*/ids.int32")
    np.fromfile(ids, np.uint8)[:-1].tofile(ids)
    assert digest_of(prepared(data, tmp_path / "killed")) == whole
    assert str(ids) in capsys.readouterr().err


def test_a_corpus_that_is_changed_while_it_is_read_is_refused_and_nothing_of_it_is_kept(
    data: tuple[Source, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tokenized = preparing._Making._tokenized

    def changing(self: Any, wanted: Any) -> Any:
        made = tokenized(self, wanted)
        sources(tmp_path / "data", wikipedia=["other texts", *DOCUMENTS[1:]])
        return made

    with monkeypatch.context() as patch:
        patch.setattr(preparing._Making, "_tokenized", changing)
        with pytest.raises(InputError, match="corpus wikipedia: was changed after this began to use it; begin again"):
            prepared(data, tmp_path / "cache")
    assert not [path for path in (tmp_path / "cache").rglob("*") if path.name == "tokenized"]
    assert "other" in prepared(data, tmp_path / "cache").types.strings()
