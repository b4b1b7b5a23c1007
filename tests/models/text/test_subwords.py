"""Byte-level BPE: trained pieces, files, and that no special token arises from a text."""

from __future__ import annotations

import hashlib
import json
import os
import string
from pathlib import Path

import pytest
from tokenizers import AddedToken, Tokenizer, models, pre_tokenizers, processors

from hashbench.common.errors import InputError
from hashbench.models.text.pieces import commits_of, read_file
from hashbench.models.text.subwords import SPECIALS, SubwordTokenizer

CORPUS = ["the cat sat on the mat", "the hat of the cat", "Cats and hats, hats and cats!"] * 5


@pytest.fixture
def trained() -> SubwordTokenizer:
    tokenizer = SubwordTokenizer()
    tokenizer.train(CORPUS, vocabulary_size=5 + 256 + 10)
    return tokenizer


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A tokenizer.json in RoBERTa's form: specials among the pieces, matched in texts, added around them."""
    base = SubwordTokenizer()
    base.train(CORPUS, vocabulary_size=5 + 256 + 10)
    pieces = base.pieces
    spellings = ["<s>", "<pad>", "</s>", "<unk>", *pieces, "<mask>"]  # RoBERTa's order
    merges = [tuple(pair) for pair in json.loads(base.library_tokenizer().to_str())["model"]["merges"]]
    tokenizer = Tokenizer(models.BPE({piece: i for i, piece in enumerate(spellings)}, merges))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.add_special_tokens([AddedToken(special) for special in sorted(SPECIALS)])
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
    tokenizer.enable_truncation(4)
    path = tmp_path / "tokenizer.json"
    tokenizer.save(str(path))
    assert Tokenizer.from_file(str(path)).encode("<mask>").tokens == ["<s>", "<mask>", "</s>"]  # the trap is set
    return path


def test_a_trained_vocabulary_leaves_five_rows_for_specials(trained: SubwordTokenizer) -> None:
    assert len(trained.pieces) == 256 + 10
    assert not SPECIALS & set(trained.pieces)
    assert "Ġthe" in trained.pieces  # the word start is part of the piece


def test_training_is_repeatable(trained: SubwordTokenizer) -> None:
    again = SubwordTokenizer()
    again.train(iter(CORPUS), vocabulary_size=5 + 256 + 10)
    assert again.pieces == trained.pieces


def test_few_texts_give_fewer_pieces() -> None:
    tokenizer = SubwordTokenizer()
    tokenizer.train(["aa aa"], vocabulary_size=1000)
    assert 256 < len(tokenizer.pieces) < 270


def test_specials_do_not_arise_from_a_text(trained: SubwordTokenizer, file: Path) -> None:
    for tokenizer in (trained, SubwordTokenizer(str(file)), SubwordTokenizer(str(file.parent))):
        pieces = tokenizer.tokenize("<s> a <mask></s>")
        assert not SPECIALS & set(pieces)
        assert "".join(pieces) == "<s>ĠaĠ<mask></s>"


def test_a_file_keeps_its_numbering_without_its_specials(file: Path, trained: SubwordTokenizer) -> None:
    tokenizer = SubwordTokenizer(str(file))
    assert tokenizer.pieces == trained.pieces
    assert tokenizer.spellings()[4] == trained.pieces[0]
    assert tokenizer.piece_ids(["!"]) == [[4 + trained.pieces.index("!")]]


def test_vocabulary_and_merges_make_a_tokenizer(tmp_path: Path, trained: SubwordTokenizer) -> None:
    trained.library_tokenizer().model.save(str(tmp_path))
    assert SubwordTokenizer(str(tmp_path)).tokenize("the cats") == trained.tokenize("the cats")


def test_types_are_pieces_that_occur(trained: SubwordTokenizer) -> None:
    texts = ["the cat", "", "the\0 \ud800"]
    interner = trained.interner()
    found = interner.add(texts[:2]), interner.add(texts[2:])
    table, remap = interner.finish()
    assert table.strings(found[0].remapped(remap).text(0)) == trained.tokenize("the cat")
    assert table.strings(found[1].remapped(remap).text(0)) == trained.tokenize("the\0 \ufffd")
    assert found[0].offsets.tolist()[1:] == [len(trained.tokenize("the cat"))] * 2
    assert table.counts.tolist() == sorted(table.counts.tolist(), reverse=True)
    assert table.counts.min() > 0
    assert remap[trained.piece_ids(["Z"])[0][0]] == -1  # never occurred


def test_a_long_token_passes(trained: SubwordTokenizer) -> None:
    pieces = trained.tokenize("cat" * 33_334)
    assert len("".join(pieces)) == 100_002


def test_saved_and_loaded(tmp_path: Path, trained: SubwordTokenizer) -> None:
    trained.save(tmp_path / "bpe")
    loaded = SubwordTokenizer()
    assert loaded.needs_training
    loaded.load(tmp_path / "bpe")
    assert not loaded.needs_training
    assert loaded.pieces == trained.pieces
    assert loaded.recipe() == trained.recipe() == {"kind": "bpe", "bpe": {"train": 271}}


def test_recipe_of_a_file_is_its_content(file: Path) -> None:
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    assert SubwordTokenizer(str(file)).recipe() == {"kind": "bpe", "bpe": {"sha256": digest}}


def test_untrained_says_so(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="not trained yet"):
        SubwordTokenizer().tokenize("a")
    with pytest.raises(InputError, match="no trained BPE; prepare the data again"):
        SubwordTokenizer().load(tmp_path)


def test_wrong_files(tmp_path: Path) -> None:
    text, wordpiece = tmp_path / "text.txt", tmp_path / "wordpiece.json"
    text.write_text("no json")
    Tokenizer(models.WordPiece({"a": 0, "[UNK]": 1}, unk_token="[UNK]")).save(str(wordpiece))
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="text.txt: no tokenizer.json of the tokenizers library; give one"):
        SubwordTokenizer(str(text))
    with pytest.raises(InputError, match="holds a WordPiece model; give a BPE"):
        SubwordTokenizer(str(wordpiece))
    with pytest.raises(InputError, match="neither tokenizer.json nor vocab.json with merges.txt"):
        SubwordTokenizer(str(tmp_path / "empty"))
    with pytest.raises(InputError, match="give train, a tokenizer.json or a hub name"):
        SubwordTokenizer("")


def test_a_name_that_the_hub_does_not_give(monkeypatch: pytest.MonkeyPatch) -> None:
    import huggingface_hub

    asked: list[tuple[str, str, str | None]] = []

    def refuse(name: str, file: str, revision: str | None) -> str:
        asked.append((name, file, revision))
        raise OSError("offline")

    monkeypatch.setattr(huggingface_hub, "hf_hub_download", refuse)
    with pytest.raises(
        InputError, match=r"bpe no/such: no such file, and the hub's copy cannot be read \(offline\); give the path"
    ):
        SubwordTokenizer("no/such")
    with pytest.raises(InputError, match="bpe no/such@v1: no such file, and "):
        SubwordTokenizer("no/such@v1")
    assert asked == [("no/such", "tokenizer.json", None), ("no/such", "tokenizer.json", "v1")]


def test_a_lower_cased_vocabulary_with_a_prefix_space_spells_a_word_in_one_way() -> None:
    tokenizer = SubwordTokenizer(lowercase=True, prefix_space=True)
    tokenizer.train(CORPUS, vocabulary_size=5 + 256 + 30)
    first, inside = tokenizer.tokenize("Cats"), tokenizer.tokenize("the CATS")
    assert first == ["\u0120cats"] and inside[-1:] == first
    assert tokenizer.tokenize(" cats") == first  # one that begins with a space gets none
    assert tokenizer.tokenize("") == []
    assert not set(string.ascii_uppercase) & set("".join(tokenizer.pieces[256:]))
    # Characters of the text as it is, without the space that was put before it
    assert tokenizer.reach(["Cats THE"], [1]) == [4] and tokenizer.reach(["Cats THE"], [2]) == [8]


def test_options_are_part_of_the_recipe_where_they_are_set(tmp_path: Path) -> None:
    assert SubwordTokenizer().recipe() == {"kind": "bpe", "bpe": {"train": None}}  # as stored runs have it
    assert (
        SubwordTokenizer(lowercase=False, prefix_space=False, learn_on="corpus").recipe() == SubwordTokenizer().recipe()
    )
    arguments = {"lowercase": True, "prefix_space": True, "learn_on": ["sst2", "corpus"]}
    tokenizer = SubwordTokenizer(**arguments)
    assert tokenizer.options() == {"lowercase": True, "prefix_space": True, "learn_on": ["corpus", "tasks"]}
    tokenizer.train(CORPUS, vocabulary_size=5 + 256 + 10)
    tokenizer.save(tmp_path)
    saved = SubwordTokenizer.saved(tmp_path, arguments)
    assert saved.recipe() == tokenizer.recipe() and saved.tokenize("The Cat") == tokenizer.tokenize("The Cat")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"lowercase": "yes"}, "lowercase 'yes'; give true or false"),
        ({"learn_on": []}, r"learn_on \[\] names no texts"),
        ({"learn_on": [1]}, r"learn_on \[1\] names no texts"),
        ({"learn_on": None}, "learn_on None names no texts"),
    ],
)
def test_a_wrong_option_is_refused(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        SubwordTokenizer(**arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize("option", [{"lowercase": True}, {"prefix_space": True}, {"learn_on": ["tasks"]}])
def test_a_file_reads_and_was_learned_as_it_was(file: Path, option: dict[str, object]) -> None:
    with pytest.raises(InputError, match=f"leave {next(iter(option))} out"):
        SubwordTokenizer(str(file), **option)  # type: ignore[arg-type]


def test_the_commit_that_a_hub_name_resolved_to_is_kept(
    tmp_path: Path, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import huggingface_hub

    commit = "e2da8e2f811d1448a5b465c236feacd80ffbac7b"
    cached = tmp_path / "hub" / "models--some--base" / "snapshots" / commit / "tokenizer.json"
    cached.parent.mkdir(parents=True)
    cached.write_text(file.read_text())
    monkeypatch.setattr(huggingface_hub, "hf_hub_download", lambda name, file, revision: str(cached))
    SubwordTokenizer("some/base")
    SubwordTokenizer(f"some/base@{commit}")
    assert commits_of({"bpe": "some/base", "lowercase": True}) == {"some/base": commit}
    assert commits_of({"bpe": f"some/base@{commit}"}) == {}, "it says so itself"
    assert commits_of({"bpe": str(file)}) == {}, "a file has none"


@pytest.mark.parametrize("kind", ["pipe", "folder"])
def test_what_is_no_file_is_named_and_not_opened(tmp_path: Path, kind: str) -> None:
    """To open a pipe that nobody writes to never ends."""
    path = tmp_path / "vocabulary"
    os.mkfifo(path) if kind == "pipe" else path.mkdir()
    with pytest.raises(InputError, match=r"tokenizer .*vocabulary is no file; give a vocab\.txt"):
        read_file(path, str(path), "vocab.txt", "tokenizer")
