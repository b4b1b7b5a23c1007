"""data/tasks/kinds/phrases.py: what a user may write of the kind, and which sequences are tested."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hashbench.common.errors import InputError
from hashbench.data.sources.sources import open_sources
from hashbench.data.tasks.blocks import TaskEntry
from hashbench.data.tasks.kinds.phrases import KIND, PHRASES
from hashbench.data.tasks.phrases import PhrasesBlock
from tests.data.tasks.test_phrase_batches import documents


def test_no_data_set_of_a_users_own_is_of_this_kind(tmp_path: Path) -> None:
    assert not KIND.takes(TaskEntry(name="mine", path="mine", text="text", metric="rec@1"))
    assert KIND.find_in(open_sources("builtin")[0], PHRASES) is None
    assert KIND.files_of(PHRASES) == "corpora/NAME/*.parquet"


def test_each_corpus_is_in_the_first_source_that_has_it(tmp_path: Path) -> None:
    for source, corpora in {"one": ["news"], "two": ["news", "books"]}.items():
        for name in corpora:
            (tmp_path / source / "corpora" / name).mkdir(parents=True)
            pq.write_table(pa.table({"text": [source]}), tmp_path / source / "corpora" / name / "0.parquet")
    task = replace(PHRASES, protocol=PhrasesBlock(corpora=("books", "news")))
    sources = open_sources([str(tmp_path / "one"), str(tmp_path / "two")])
    corpora = KIND.locate(task, sources).corpora
    assert [corpus.origin for corpus in corpora] == ["folder two/corpora/books", "folder one/corpora/news"]


def test_a_vocabulary_file_is_found_from_the_experiment_file(tmp_path: Path) -> None:
    (tmp_path / "vocab").write_text("[UNK]")
    found = KIND.checked_block(PhrasesBlock(vocabulary="vocab"), tmp_path)
    assert isinstance(found, PhrasesBlock) and found.vocabulary == str(tmp_path / "vocab")


@pytest.mark.parametrize("vocabulary", [None, "bert-base-uncased", "google/bert"])
def test_a_trained_vocabulary_or_one_of_the_hub_stays(tmp_path: Path, vocabulary: str | None) -> None:
    block = PhrasesBlock(vocabulary=vocabulary)
    assert KIND.checked_block(block, tmp_path) is block


@pytest.mark.parametrize("vocabulary", ["vocab.txt", "./vocab", "/nowhere/vocab", "~/no-such-vocab"])
def test_a_vocabulary_file_that_is_missing_is_named(tmp_path: Path, vocabulary: str) -> None:
    with pytest.raises(InputError, match=rf"^phrases\.vocabulary: no such file '{vocabulary}'; it is relative to"):
        KIND.checked_block(PhrasesBlock(vocabulary=vocabulary), tmp_path)


@pytest.mark.parametrize(("next_sentence", "specials"), [(True, 3), (False, 2)])
def test_a_row_has_a_special_token_more_in_two_segments(next_sentence: bool, specials: int) -> None:
    block = PhrasesBlock(sequence_items=16, next_sentence=next_sentence)
    assert KIND.row_length(block) == ("sequence_items", 16, specials)
    assert KIND.next_sentence(block) is next_sentence


@pytest.mark.parametrize("split", ["validation", "test"])
def test_as_many_sequences_of_a_split_are_tested_as_the_block_says(split: str) -> None:
    other = {"validation": "test", "test": "validation"}[split]
    whole, limited = documents(), documents(**{f"{split}_sequences": 2})
    assert 0 < len(KIND.cases(limited, split)) < len(KIND.cases(whole, split))
    assert len(KIND.cases(limited, other)) == len(KIND.cases(whole, other))
