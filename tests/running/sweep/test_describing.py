"""`hashbench data describe`: what it prints, and wrong input."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hashbench.common.errors import InputError
from hashbench.running.sweep.describing import Described, describe_data

OPTIONS: dict[str, object] = {
    "models": (), "text": (), "label": None, "metric": None, "max_length": 128,
}  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder, with a data set `mine` of a text and a label."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HASHBENCH_CACHE", str(tmp_path / "cache"))
    (tmp_path / "mine").mkdir()
    rows = [{"text": f"word{i} and some more words at last", "label": ["no", "yes"][i % 2]} for i in range(40)]
    for split, some in (("train", rows[:30]), ("validation", rows[30:])):
        (tmp_path / "mine" / f"{split}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in some))
    return tmp_path


def described(data: str, **changed: object) -> Described:
    return describe_data(data, ("builtin",), **{**OPTIONS, **changed})  # type: ignore[arg-type]


@pytest.mark.usefixtures("folder")
def test_a_folder_is_described() -> None:
    of = described("mine", max_length=8)
    tables = dict(of.tables())
    classes = {row["class"]: row["train"] for row in tables["shares of classes (%)"]}
    assert classes == {"no": 50.0, "yes": 50.0}
    [read] = of.readings
    cut = read.cut["train"]
    assert (cut.texts_cut, cut.tokens, cut.tokens_lost) == (30, 30 * 7, 30)  # two of eight tokens are special
    rows = tables["read in at most 8 tokens (shares in %)"]
    assert [row["split"] for row in rows] == ["train", "validation"] and rows[0]["texts cut"] == 100.0
    json.dumps(tables, allow_nan=False)


@pytest.mark.usefixtures("folder")
def test_a_vocabulary_is_learned_from_the_data() -> None:
    of = described("mine", models=["hashformer-md-proj-bpe"])
    assert of.notes[0].startswith(
        "hashformer-md-proj-bpe: learned from the training texts of these data: a vocabulary of"
    )


@pytest.mark.usefixtures("folder")
def test_several_models() -> None:
    of = described("cola", models=["hashformer-md-emb-1k", "hashformer-md-proj"])
    labels = [read.way.label for read in of.readings]
    assert labels == ["hashformer-md-emb-1k", "hashformer-md-proj"]
    shared = [read.splits["train"].types_shared for read in of.readings]
    assert shared[0] > shared[1] == 0.0
    assert list(of.notes) == ["built-in data: a generated toy language; these are not GLUE scores"]


@pytest.mark.parametrize(
    ("data", "changed", "message"),
    [
        ("colla", {}, "unknown task 'colla'; did you mean 'cola'?"),
        ("./colla", {}, "no folder"),
        ("mine/train.jsonl", {}, "is a file; path is the folder"),
        ("mine", {"text": ["sentence"]}, "no column 'sentence'; it has"),
        ("mine", {"text": ["a", "b", "c"]}, "a text is one column, or two that make a pair"),
        ("mine", {"metric": "f2"}, "unknown metric 'f2'"),
        ("cola", {"label": "x"}, "is a task of the suite"),
        ("entities", {}, "data describe reads texts with labels"),
        ("cola", {"models": ["superbloom-a50"]}, "--model superbloom-a50: reads items, not texts"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_wrong_input(data: str, changed: dict[str, object], message: str) -> None:
    with pytest.raises(InputError) as raised:
        described(data, **changed)
    assert message in str(raised.value) and "\n" not in str(raised.value)
