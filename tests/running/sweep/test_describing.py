"""`hashbench data describe`: what it prints, and wrong input."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hashbench.common.errors import InputError
from hashbench.data.sources.sources import open_sources
from hashbench.data.tasks.catalogue import find_task, groups, load_task
from hashbench.data.tasks.split_facts import word_tokens
from hashbench.models.text.base import make_tokenizer
from hashbench.models.text.pieces import TrainablePieces
from hashbench.running.sweep.describing import Described, DescribedLanguages, describe_data

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
    of = describe_data(data, ("builtin",), **{**OPTIONS, **changed})  # type: ignore[arg-type]
    assert isinstance(of, Described)
    return of


WORDS = "A word, or two words: don't – naïve 北京 words\u00a0here 🙂 ...\tx"


def by_hand(texts: list[str], tokenize) -> tuple[float, float]:
    """Tokens of a word, and the share of words that are one token, word by word."""
    tokens = [len(tokenize(word)) for text in texts for word in text.split()]
    return sum(tokens) / len(tokens), sum(n == 1 for n in tokens) / len(tokens)


@pytest.mark.parametrize("kind", ["words", "unicode", "spaces", "characters", "bytes", "wordpieces", "bpe"])
def test_words_by_themselves_are_counted_as_one_by_one(kind: str) -> None:
    tokenizer, texts = make_tokenizer(kind), [WORDS, "", "words and words", "  "]
    if isinstance(tokenizer, TrainablePieces):
        tokenizer.train(iter(texts * 9), 300)  # type: ignore[attr-defined]
    of = word_tokens([texts[:2], texts[2:]], tokenizer)
    fertility, single = by_hand(texts, tokenizer.tokenize)
    assert of.tokens / of.words == pytest.approx(fertility, abs=1e-9)
    assert of.share_single == pytest.approx(single, abs=1e-9)
    assert word_tokens([["", " "]], tokenizer).share_single is None


@pytest.mark.parametrize("kind", ["wordpieces", "bpe"])
def test_fertility_and_single_words_are_those_of_toklens(kind: str) -> None:
    toklens = pytest.importorskip("toklens", reason="toklens is not installed: pip install toklens==0.1.2")
    tokenizer, texts = make_tokenizer(kind), [WORDS, "words and words", "another text of some more words"]
    tokenizer.train(iter(texts * 9), 400)
    analyzer = toklens.Analyzer(tokenizer.library_tokenizer())
    theirs, ours = analyzer.evaluate_text(" ".join(texts)), word_tokens([texts], tokenizer)
    assert ours.tokens / ours.words == pytest.approx(theirs["fertility"], abs=1e-9)
    assert ours.share_single == pytest.approx(theirs["strr"], abs=1e-9)
    parity = len(tokenizer.tokenize(texts[0])) / len(tokenizer.tokenize(texts[1]))
    assert parity == pytest.approx(analyzer.evaluate_text(texts[0], texts[1])["parity"], abs=1e-9)


def sib200(folder: Path) -> None:
    """Parallel texts in the thirteen languages, a row a split: n + 1 words in the n-th language."""
    for place, task in enumerate(groups()["sib200"]):
        of = find_task(task)
        (folder / of.home).mkdir(parents=True)
        for split in ("train", "validation", "test"):
            rows = [{"text": "wort, " * (place + 1) + "ende", "category": name} for name in of.label_names]
            (folder / of.home / f"{split}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def test_parallel_languages(folder: Path) -> None:
    sib200(folder / "data")
    of = describe_data("sib200", (str(folder / "data"),), **OPTIONS)  # type: ignore[arg-type]
    assert isinstance(of, DescribedLanguages)
    [(title, rows)] = of.tables()
    assert title.startswith("languages (all splits") and [row["language"] for row in rows[:2]] == ["English", "German"]
    for place, row in enumerate(rows):
        words = place + 2  # the last of which has no comma
        assert row["words"] == 21 * words and row["tokens"] == 21 * (2 * words - 1)
        assert row["fertility"] == pytest.approx((2 * words - 1) / words, rel=5e-3)
        assert row["words of one token"] == pytest.approx(100 / words, rel=5e-3)
        assert row["parity"] == pytest.approx((2 * words - 1) / 3, rel=5e-3)
    assert load_task(find_task("sib200:deu_Latn"), open_sources(str(folder / "data"))).task.parallel


def test_languages_with_other_rows_have_no_parity_and_learn_one_vocabulary(folder: Path) -> None:
    sib200(folder / "data")
    path = folder / "data" / find_task("sib200:fin_Latn").home / "test.jsonl"
    path.write_text(path.read_text().splitlines()[0] + "\n")
    of = describe_data("sib200", (str(folder / "data"),), **{**OPTIONS, "models": ["bert-mlm"]})  # type: ignore[arg-type]
    [(_, rows)] = of.tables()
    assert {row["language"]: row["parity"] is None for row in rows} == {
        row["language"]: row["language"] == "Finnish" for row in rows
    }
    assert of.notes[0].startswith("bert-mlm: learned from the training texts of all languages: a vocabulary of")


@pytest.mark.usefixtures("folder")
def test_a_folder_is_described() -> None:
    of = described("mine", max_length=8)
    tables = dict(of.tables())
    classes = {row["class"]: row["train"] for row in tables["shares of classes (%)"]}
    assert classes == {"no": 50.0, "yes": 50.0}
    [read] = of.readings
    cut = read.cut["train"]
    assert (cut.texts_cut, cut.tokens, cut.tokens_lost) == (30, 30 * 7, 30)  # two of eight tokens are special
    rows = next(rows for title, rows in tables.items() if title.startswith("read in at most 8 tokens (shares in %; "))
    assert [row["split"] for row in rows] == ["train", "validation"] and rows[0]["texts cut"] == 100.0
    assert (rows[0]["fertility"], rows[0]["words of one token"]) == (1.0, 100.0)
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
        ("sib200", {"label": "x"}, "sib200: are tasks of the suite"),
        ("sib200", {}, "task 'sib200:eng_Latn': not in builtin"),
        ("glue", {}, "unknown task 'glue'"),
        ("entities", {}, "data describe reads texts with labels"),
        ("cola", {"models": ["superbloom-a50"]}, "--model superbloom-a50: reads items, not texts"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_wrong_input(data: str, changed: dict[str, object], message: str) -> None:
    with pytest.raises(InputError) as raised:
        described(data, **changed)
    assert message in str(raised.value) and "\n" not in str(raised.value)
