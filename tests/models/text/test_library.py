"""Tokens and layouts of the tokenizers of transformers."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from hashbench.common.errors import InputError
from hashbench.models.coders.vocabulary import Vocabulary
from hashbench.models.text.library import LibraryTokens
from tests.published_library import saved_encoder

pytestmark = pytest.mark.e2e  # the library that is compared with takes a second to import

TEXTS = ["Can it be done?", "", "a [SEP] b\ud800"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return saved_encoder("distilbert", tmp_path_factory.mktemp("tokens") / "distilbert")


def test_ids_are_the_librarys_and_types_their_strings(folder: Path) -> None:
    import transformers

    theirs = transformers.AutoTokenizer.from_pretrained(folder)
    tokens = LibraryTokens(str(folder))
    expected = theirs(["Can it be done?", "", "a [SEP] b\ufffd"], add_special_tokens=False)["input_ids"]
    assert tokens.piece_ids(TEXTS) == expected and tokens.piece_ids([]) == []
    assert tokens.tokenize(TEXTS[2]) == theirs.convert_ids_to_tokens(expected[2])
    assert "[SEP]" in tokens.tokenize(TEXTS[2])  # the library reads it as the special token


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
