from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest

from hashbench.data.corpora import spills as module
from hashbench.data.corpora.spills import MergedTypes, TypeSpill, merge_range, range_bounds
from hashbench.models.text.types import DictInterner, TypeTable
from hashbench.models.text.words import WordTokenizer

FILES = ["types-blob.npy", "types-offsets.npy", "types-counts.npy", "types.json"]


def some_texts(seed: int, n: int) -> list[str]:
    """Texts whose words are often, seldom or never those of others; some begin alike, some hold NUL."""
    random = np.random.RandomState(seed)
    words = [*(f"common{i}" for i in range(20)), "a", "a\0", "a\0b", "é", "\U0001f600", "z" * 300]
    rare = [f"{'same beginning '.replace(' ', '')}{random.randint(10**6)}" for _ in range(n)]
    drawn = [words[random.randint(len(words))] for _ in range(5 * n)]
    return [" ".join(random.permutation(drawn + rare)) for _ in range(3)]


def spilled(folder: Path, texts: list[list[str]]) -> tuple[list[TypeSpill], list[np.ndarray], list[list[str]]]:
    """Spills of several lists of texts; provisional id -> place in the spill of each; the tokens of each."""
    made, ranks, tokens = [], [], []
    for number, some in enumerate(texts):
        interner = DictInterner(str.split)
        interner.add(some)
        types, places = interner.distinct()
        (folder / str(number)).mkdir(parents=True)
        ranks.append(TypeSpill.write(folder / str(number), types)[places])
        made.append(TypeSpill(folder / str(number)))
        tokens.append(list(dict.fromkeys(" ".join(some).split())))  # by provisional id
    return made, ranks, tokens


@pytest.mark.parametrize("entries", [1, 40, 10**6])
def test_merged_spills_are_the_table_of_all_texts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, entries: int
) -> None:
    """Byte for byte what one interner of all texts saves, and each spill's strings find their ids."""
    monkeypatch.setattr(module, "ENTRIES_OF_A_RANGE", entries)
    monkeypatch.setattr(module, "SAMPLE_EVERY", 7)
    monkeypatch.setattr(module, "COUNTS_AT_ONCE", 3)
    texts = [some_texts(0, 30), [], some_texts(1, 50), some_texts(0, 30), ["a b"]]
    spills, ranks, tokens = spilled(tmp_path / "spills", texts)
    bounds = range_bounds(spills)
    assert (len(bounds) > 2) == (entries < 10**6)
    ranges = []
    for number in range(len(bounds) - 1):
        merge_range(spills, bounds[number], bounds[number + 1], tmp_path / f"range{number}")
        ranges.append(TypeSpill(tmp_path / f"range{number}"))
    merged = MergedTypes(ranges, bounds)
    table = merged.write_table(tmp_path / "merged")

    interner = DictInterner(str.split)
    interner.add([text for some in texts for text in some])
    whole, _ = interner.finish()
    whole.save(tmp_path / "whole")
    for name in FILES:
        assert (tmp_path / "merged" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes(), name
    ids = {string: i for i, string in enumerate(whole.strings())}
    for number, (rank, words) in enumerate(zip(ranks, tokens, strict=True)):
        assert merged.remap_of(number)[rank].tolist() == [ids[word] for word in words]
    assert TypeTable.load(tmp_path / "merged").fingerprint == table.fingerprint == whole.fingerprint


def test_a_spill_travels_without_its_arrays(tmp_path: Path) -> None:
    """Every process that merges a range gets all spills."""
    spills, _, _ = spilled(tmp_path, [some_texts(0, 2_000)])
    assert len(spills[0].offsets) > 1_000
    sent = pickle.dumps(spills[0])
    assert len(sent) < 1_000 and pickle.loads(sent).part().counts.tolist() == spills[0].part().counts.tolist()


def test_a_range_is_no_larger_than_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """But for the samples' coarseness: one step of each spill."""
    monkeypatch.setattr(module, "ENTRIES_OF_A_RANGE", 200)
    monkeypatch.setattr(module, "SAMPLE_EVERY", 10)
    spills, _, _ = spilled(tmp_path, [some_texts(seed, 300) for seed in range(3)])
    sizes = np.diff(range_bounds(spills).sum(axis=1))
    assert sizes.sum() == sum(map(len, spills)) and sizes.max() <= 200 + 10 * 3 + 10


def test_a_words_interner_of_one_thread_counts_as_one_of_several(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ["The cat saw the dog " * 3, "an extraordinarily long word " + "x" * 50, "the end"]
    tables = []
    for threads in ("1", "3"):
        monkeypatch.setenv("HASHBENCH_THREADS", threads)
        monkeypatch.setattr("hashbench.models.text.counting.CHUNK_CHARACTERS", 20)
        interner = WordTokenizer().interner()
        ids = [interner.add(texts[:1]), interner.add(texts[1:])]
        table, remap = interner.finish()
        tables.append((table.fingerprint, [each.remapped(remap).ids.tolist() for each in ids]))
    assert tables[0] == tables[1]
