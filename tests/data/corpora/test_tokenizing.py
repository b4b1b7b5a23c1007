"""data/corpora/tokenizing.py: the types of shards are merged into the table of all texts."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from hashbench.data.corpora.tokenizing import ShardJob, TokenizedShard, make_shard, merged_types
from hashbench.data.sources.documents import CorpusShard, FilePart
from hashbench.models.text.words import WordTokenizer

FILES = ["types-blob.npy", "types-offsets.npy", "types-counts.npy", "types.json"]


def some_texts(seed: int, n: int) -> list[str]:
    """Texts whose words are often, seldom or never those of others; some begin alike, some hold NUL."""
    random = np.random.RandomState(seed)
    words = [*(f"common{i}" for i in range(20)), "a", "a\0", "a\0b", "é", "\U0001f600", "z" * 300]
    rare = [f"{'same beginning '.replace(' ', '')}{random.randint(10**6)}" for _ in range(n)]
    drawn = [words[random.randint(len(words))] for _ in range(5 * n)]
    return [" ".join(random.permutation(drawn + rare)) for _ in range(3)]


def test_merged_shards_are_the_table_of_all_texts(tmp_path: Path) -> None:
    """Byte for byte what one interner of all texts saves, and each shard's tokens find their ids."""
    texts = [some_texts(0, 30), [""], some_texts(1, 50), some_texts(0, 30), ["a b"]]
    tokenizer = WordTokenizer(pattern="whitespace")
    shards = []
    for number, some in enumerate(texts):
        source = tmp_path / f"{number}.jsonl"
        source.write_text("".join(json.dumps({"text": text}) + "\n" for text in some), "utf-8")
        shard = CorpusShard(str(number), (FilePart(source),))
        make_shard(ShardJob.of(shard, tokenizer), tmp_path / str(number))
        shards.append(TokenizedShard(tmp_path / str(number)))
    table, of_types = merged_types(shards)
    table.save(tmp_path / "merged")

    interner = tokenizer.interner()
    provisional = [interner.add(some).ids for some in texts]
    whole, remap = interner.finish()
    whole.save(tmp_path / "whole")
    for name in FILES:
        assert (tmp_path / "merged" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes(), name
    for shard, final, ids in zip(shards, of_types, provisional, strict=True):
        found = np.concatenate([np.zeros(0, np.int32), *shard.final_ids(final, 7)])
        assert found.tolist() == remap[ids].tolist()


def test_a_words_interner_of_one_thread_counts_as_one_of_several(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ["The cat saw the dog " * 3, "an extraordinarily long word " + "x" * 50, "the end"]
    tables = []
    for threads in ("1", "3"):
        monkeypatch.setenv("HASHBENCH_THREADS", threads)
        monkeypatch.setattr("hashbench.models.text.fast.counting.CHUNK_CHARACTERS", 20)
        interner = WordTokenizer().interner()
        ids = [interner.add(texts[:1]), interner.add(texts[1:])]
        table, remap = interner.finish()
        tables.append((table.fingerprint, [each.remapped(remap).ids.tolist() for each in ids]))
    assert tables[0] == tables[1]
