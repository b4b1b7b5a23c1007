from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hashbench.data.tasks.base import Task
from hashbench.data.tasks.encoding import encode_task, tokenizer_fingerprint
from hashbench.data.tasks.kinds.classification import KIND
from hashbench.data.tasks.text_data import Split, TaskData
from hashbench.models.text.subwords import SubwordTokenizer
from hashbench.models.text.words import WordTokenizer
from tests.damage import DAMAGES

ODD = ["", "emoji \U0001f600!", "x" * 100_000, "NUL \0 in it", "lone \ud800 surrogate", "<s> <pad>"]
DATA = TaskData(
    Task("mine", KIND, ("text", "second")),
    {
        "train": Split((ODD, list(reversed(ODD))), np.zeros(len(ODD), np.int64)),
        "validation": Split((["new words"], [""]), np.zeros(1, np.int64)),
    },
    fingerprint="data",
    origin="here",
    kind="own",
)


def test_odd_texts_as_the_tokenizer_reads_them(tmp_path: Path) -> None:
    encoded = encode_task(DATA, WordTokenizer(), tmp_path)
    for split, part in DATA.splits.items():
        for texts, ids in zip(part.texts, encoded.splits[split], strict=True):
            found = [encoded.types.strings(ids.text(i)) for i in range(len(ids))]
            assert found == [WordTokenizer().tokenize(text) for text in texts]
    assert "\ufffd" in encoded.types.strings()


def test_a_split_of_empty_texts(tmp_path: Path) -> None:
    empty = TaskData(DATA.task, {"train": Split(([""], [""]), np.zeros(1, np.int64))}, "empty", "here", "own")
    encoded = encode_task(empty, WordTokenizer(), tmp_path)
    assert len(encoded.types) == 0
    assert [len(ids.ids) for ids in encoded.splits["train"]] == [0, 0]


def test_tokenized_once_for_each_tokenizer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = encode_task(DATA, WordTokenizer(), tmp_path)
    assert encode_task(DATA, WordTokenizer(lowercase=False), tmp_path).folder != first.folder
    monkeypatch.setattr(WordTokenizer, "interner", lambda _: pytest.fail("tokenized again"))
    again = encode_task(DATA, WordTokenizer(), tmp_path)
    assert again.folder == first.folder
    assert np.array_equal(again.splits["train"][0].ids, first.splits["train"][0].ids)


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_ids_are_made_again(tmp_path: Path, damage: str, capsys: pytest.CaptureFixture[str]) -> None:
    first = encode_task(DATA, WordTokenizer(), tmp_path)
    paths = sorted(path for path in first.folder.rglob("*") if path.is_file())
    assert len(paths) > 2
    for path in paths:
        DAMAGES[damage](path)
        again = encode_task(DATA, WordTokenizer(), tmp_path)
        assert again.types.fingerprint == first.types.fingerprint
        for split, columns in first.splits.items():
            for one, other in zip(columns, again.splits[split], strict=True):
                assert np.array_equal(one.ids, other.ids) and np.array_equal(one.offsets, other.offsets)
        assert str(path) in capsys.readouterr().err


def test_a_bpe_of_other_pieces_is_another_tokenizer() -> None:
    one, two = SubwordTokenizer(), SubwordTokenizer()
    one.train(["low lower lowest"] * 5, 300)
    two.train(["new newer newest"] * 5, 300)
    assert one.recipe() == two.recipe()
    assert tokenizer_fingerprint(one) != tokenizer_fingerprint(two)
