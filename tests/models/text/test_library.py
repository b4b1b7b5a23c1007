"""Tokens and layouts of the tokenizers of transformers."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest
from tokenizers import Tokenizer

from hashbench.common.errors import InputError
from hashbench.models.coders.rows import Vocabulary
from hashbench.models.text.library import TEXTS as BY_HAND
from hashbench.models.text.library import LibraryTokens, digest_of, probe_texts
from hashbench.models.text.wordpieces import WordPieceTokenizer
from tests.published_bert import saved_bert
from tests.published_library import saved_encoder

pytestmark = pytest.mark.e2e  # the library that is compared with takes a second to import

TEXTS = ["Can it be done?", "", "a [SEP] b\ud800"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return saved_encoder("distilbert", tmp_path_factory.mktemp("tokens") / "distilbert")


def rewritten(folder: Path, place: Path, **parts: object) -> Path:
    """A copy of a folder whose tokenizer.json has other parts."""
    shutil.copytree(folder, place)
    content = json.loads((place / "tokenizer.json").read_text("utf-8"))
    longest = parts.pop("max_input_chars_per_word", 100)
    content["model"]["max_input_chars_per_word"] = longest
    (place / "tokenizer.json").write_text(json.dumps({**content, **parts}), encoding="utf-8")
    return place


def test_ids_are_those_of_the_file_and_types_their_strings(folder: Path) -> None:
    file = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokens = LibraryTokens(str(folder))
    texts = ["Can it be done?", "", "a [SEP] b\ufffd"]
    expected = [encoding.ids for encoding in file.encode_batch(texts, add_special_tokens=False)]
    assert tokens.piece_ids(TEXTS) == expected and tokens.piece_ids([]) == []
    assert tokens.tokenize(TEXTS[2]) == [file.id_to_token(i) for i in expected[2]]
    assert "[SEP]" in tokens.tokenize(TEXTS[2])  # the library reads it as the special token
    assert "[SEP]" in tokens.spelled_specials and tokens.remarks() == []


WORDS_OF_TEXTS = {"normalizer": {"type": "NFC"}, "pre_tokenizer": {"type": "WhitespaceSplit"}}


@pytest.mark.parametrize(
    ("kind", "parts", "passed_over"),
    [
        ("bert", WORDS_OF_TEXTS, "normalizer and pre_tokenizer"),
        ("distilbert", WORDS_OF_TEXTS, "normalizer and pre_tokenizer"),
        ("electra", {"pre_tokenizer": {"type": "WhitespaceSplit"}}, "pre_tokenizer"),
        ("bert", {"max_input_chars_per_word": 200}, "model"),
        ("modernbert", WORDS_OF_TEXTS, ""),
        ("bert", {}, ""),
    ],
)
def test_texts_are_read_by_the_file_where_the_library_passes_it_over(
    tmp_path: Path, kind: str, parts: dict, passed_over: str
) -> None:
    base = saved_encoder(kind, tmp_path / "base")
    place = rewritten(base, tmp_path / "own", **parts)
    file, tokens = Tokenizer.from_file(str(place / "tokenizer.json")), LibraryTokens(str(place))
    for text in probe_texts(file):
        assert tokens.piece_ids([text]) == [file.encode(text, add_special_tokens=False).ids], text
    remarks = [remark.partition(" passes over its ")[2] for remark in tokens.remarks()]
    assert remarks == ([passed_over] if passed_over else [])
    # what earlier runs read otherwise is another run
    assert (tokens.recipe()["name"] == {"sha256": digest_of(place)}) == (not passed_over)
    tokens.save(tmp_path / "saved")
    again = LibraryTokens.saved(tmp_path / "saved", {"name": "elsewhere"})
    assert again.piece_ids(list(BY_HAND)) == tokens.piece_ids(list(BY_HAND))


@pytest.mark.parametrize(
    "parts",
    [
        {},
        WORDS_OF_TEXTS,
        {"max_input_chars_per_word": 200},
        {"normalizer": {"type": "Sequence", "normalizers": [{"type": "NFKC"}, {"type": "Lowercase"}]}},
    ],
)
def test_both_ways_to_one_model_give_equal_pieces(tmp_path: Path, parts: dict) -> None:
    place = rewritten(saved_encoder("bert", tmp_path / "base"), tmp_path / "own", **parts)
    weights, used = WordPieceTokenizer(str(place)), LibraryTokens(str(place))
    assert [weights.tokenize(text) for text in BY_HAND] == [used.tokenize(text) for text in BY_HAND]


def test_a_file_that_also_says_how_to_cut_and_pad_is_read_whole(tmp_path: Path, folder: Path) -> None:
    """Encoders of sentences have them in their files, and so has what the library saves after a text was cut."""
    cut = {"direction": "Right", "max_length": 4, "strategy": "LongestFirst", "stride": 0}
    pad = {"strategy": {"Fixed": 9}, "direction": "Right", "pad_to_multiple_of": None}
    pad |= {"pad_id": 0, "pad_type_id": 0, "pad_token": "[PAD]"}
    place = rewritten(folder, tmp_path / "own", truncation=cut, padding=pad)
    tokens = LibraryTokens(str(place))
    assert tokens.piece_ids(list(BY_HAND)) == LibraryTokens(str(folder)).piece_ids(list(BY_HAND))
    assert tokens.remarks() == []
    tokens.layout()
    tokens.save(tmp_path / "saved")
    assert LibraryTokens(str(tmp_path / "saved")).piece_ids(list(BY_HAND)) == tokens.piece_ids(list(BY_HAND))


def test_files_that_disagree_are_refused_in_both_ways(tmp_path: Path) -> None:
    place = rewritten(saved_encoder("bert", tmp_path / "base"), tmp_path / "own")
    content = json.loads((place / "tokenizer.json").read_text("utf-8"))
    content["normalizer"]["lowercase"] = False
    (place / "tokenizer.json").write_text(json.dumps(content), encoding="utf-8")
    said = "tokenizer_config.json says do_lower_case: true, tokenizer.json lowercase: false; make the two files agree"
    for made in (WordPieceTokenizer, LibraryTokens):
        with pytest.raises(InputError, match=said):
            made(str(place))


def test_an_option_that_the_library_does_not_read_is_refused(tmp_path: Path) -> None:
    saved_bert(tmp_path / "own")
    (tmp_path / "own" / "tokenizer_config.json").write_text('{"do_basic_tokenize": false}')
    with pytest.raises(InputError, match="transformers does not read do_basic_tokenize: False of its config"):
        LibraryTokens(str(tmp_path / "own"))


def test_a_vocabulary_of_its_strings_counts_as_the_library_does(folder: Path) -> None:
    tokens, coder = LibraryTokens(str(folder)), Vocabulary()
    coder.fit_pieces(tokens.pieces)
    (ids,) = tokens.piece_ids(TEXTS[:1])
    assert (coder.encode(tokens.tokenize(TEXTS[0]))[:, 0] - 5).tolist() == ids


def test_the_files_say_whether_texts_are_lower_cased(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tokenizers import normalizers

    tokens = LibraryTokens(str(folder))
    backend = tokens._tokenizer.backend_tokenizer
    before = backend.normalizer
    for normaliser, lowers in ((normalizers.Lowercase(), True), (normalizers.NFC(), False)):
        backend.normalizer = normaliser
        assert tokens.lowers == lowers
    backend.normalizer = before
    for lowers in (True, False):  # one in plain Python
        monkeypatch.setattr(tokens, "_tokenizer", SimpleNamespace(is_fast=False, do_lower_case=lowers))
        assert tokens.lowers == lowers


def test_a_saved_one_reads_the_same(folder: Path, tmp_path: Path) -> None:
    tokens = LibraryTokens(str(folder))
    tokens.save(tmp_path / "tokenizer")
    again = LibraryTokens.saved(tmp_path / "tokenizer", {"name": "elsewhere"})
    assert again.piece_ids(TEXTS) == tokens.piece_ids(TEXTS) and again.layout() == tokens.layout()


def test_the_recipe_is_the_content(folder: Path, tmp_path: Path) -> None:
    for file in folder.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    tokens, copy = LibraryTokens(str(folder)), LibraryTokens(str(tmp_path))
    assert tokens.recipe() == copy.recipe() and str(folder) not in str(tokens.recipe())
    (tmp_path / "model.safetensors").write_bytes(b"other weights")
    assert LibraryTokens(str(tmp_path)).recipe() == tokens.recipe()


def test_one_that_pads_on_the_left_is_refused(folder: Path, tmp_path: Path) -> None:
    import transformers

    transformers.AutoTokenizer.from_pretrained(folder, padding_side="left").save_pretrained(tmp_path)
    with pytest.raises(InputError, match="it pads or cuts on the left, or cannot pad; take another encoder"):
        LibraryTokens(str(tmp_path)).layout()


def test_an_empty_name_is_refused() -> None:
    with pytest.raises(InputError, match="tokenizer transformers: '' is no name; give a folder or a hub name"):
        LibraryTokens("")
