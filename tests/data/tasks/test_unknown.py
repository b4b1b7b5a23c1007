"""Unknown tokens of a task are counted: words that no pieces spell, and words that a vocabulary lacks."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hashbench.cli.app import main
from hashbench.data.sources.sources import open_sources
from hashbench.data.tasks.catalogue import find_task, load_task
from hashbench.data.tasks.encoding import Unknown, counts_before, counts_of, encode_task, spelled_note, unknown_note
from hashbench.data.tasks.text_data import Split, TaskData
from hashbench.models.coders.base import make_coder
from hashbench.models.coders.rows import Vocabulary
from hashbench.models.text.wordpieces import WordPieceTokenizer
from hashbench.models.text.words import WordTokenizer


@pytest.fixture
def data() -> TaskData:
    """Two splits: of a b q of train and of q q of test only a and b are known."""
    loaded = load_task(find_task("sst2"), open_sources("builtin"))
    splits = {"train": Split((["a b q"],), np.array([0])), "test": Split((["q", "q", ""],), np.array([0, 1, 1]))}
    return TaskData(loaded.task, splits, "f" * 64, "here", "folder")


def test_words_that_a_vocabulary_lacks(data: TaskData, tmp_path: Path) -> None:
    coder, encoded = Vocabulary(), encode_task(data, WordTokenizer(), tmp_path)
    coder.fit_pieces(["a", "b"])
    counts = counts_of(encoded, WordTokenizer(), coder, coder.encode_types(encoded.types))
    assert counts == {"train": Unknown(1, 3), "test": Unknown(2, 2)}
    assert unknown_note(counts) == "1 of 3 tokens of train (33.3 %), 2 of 2 tokens of test (100.0 %)"


def test_words_that_no_pieces_spell(data: TaskData, tmp_path: Path) -> None:
    listed = tmp_path / "vocab.txt"
    listed.write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nb\n")
    tokenizer = WordPieceTokenizer(str(listed))
    encoded, coder = encode_task(data, tokenizer, tmp_path / "tasks"), make_coder("md5-bits")
    counts = counts_of(encoded, tokenizer, coder, coder.encode_types(encoded.types))
    assert counts == counts_before(data, tokenizer) == {"train": Unknown(1, 3), "test": Unknown(2, 2)}


def test_a_hash_of_words_knows_every_word(data: TaskData, tmp_path: Path) -> None:
    coder, encoded = make_coder("md5-bits"), encode_task(data, WordTokenizer(), tmp_path)
    assert counts_of(encoded, WordTokenizer(), coder, coder.encode_types(encoded.types)) == {}


def test_one_token_of_twenty_is_not_yet_noted() -> None:
    assert unknown_note({"train": Unknown(5, 100), "test": Unknown(0, 0)}) == ""
    assert unknown_note({"train": Unknown(6, 100)}) == "6 of 100 tokens of train (6.0 %)"


def test_special_tokens_that_texts_spell_are_counted(data: TaskData) -> None:
    texts = {"train": ["a [SEP] b [SEP]", "[MASK]", "sep"], "test": ["[sep] [ SEP ]", ""]}
    splits = {name: Split((of,), np.zeros(len(of), int)) for name, of in texts.items()}
    spelled = TaskData(data.task, splits, "f" * 64, "here", "folder")
    assert spelled_note(spelled, ("[SEP]", "[MASK]", "[PAD]")) == "[MASK], [SEP] spelled in 2 texts of train"
    assert spelled_note(data, ("[SEP]",)) == ""


def test_check_says_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HASHBENCH_CACHE", str(tmp_path / "cache"))
    (tmp_path / "vocab.txt").write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nthe\n")
    (tmp_path / "mine.yaml").write_text(
        "name: mine\ndata: builtin\nencoder: tiny\ntasks: [sst2]\npretrain: {corpora: [builtin]}\n"
        "models:\n  - {name: few, like: bert-tiny, tokenizer: {kind: wordpieces, vocab: vocab.txt}}\n"
    )
    with pytest.raises(SystemExit) as ended:
        main(["check", "mine.yaml"])
    assert ended.value.code == 0
    said = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("sst2: unknown to"))
    assert said.startswith("sst2: unknown to few: ") and "tokens of train (" in said and "first 1,000 texts" in said
