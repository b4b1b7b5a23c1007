"""Word pieces: trained vocabularies that repeat, files, and BERT's way from a text to its pieces."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tokenizers import BertWordPieceTokenizer

from hashbench.common.errors import InputError
from hashbench.models.text.wordpieces import SPECIALS, WordPieceTokenizer

CORPUS = ["The cat sat on the mat.", "the hat of the CAT", "Cats & hats, naïve hats; 日本 100° ±5"] * 5
VOCABULARY = ["[PAD]", "[unused0]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "cat", "##s", "un", "##want", "##ed", ",", "["]
TRAIN_ELSEWHERE = """
from hashbench.models.text.wordpieces import WordPieceTokenizer
from tests.models.text.test_wordpieces import CORPUS
tokenizer = WordPieceTokenizer()
tokenizer.train(CORPUS, 60)
print(ascii(tokenizer.pieces))
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "vocab.txt"
    path.write_text("\n".join(VOCABULARY) + "\n", encoding="utf-8")
    return path


def trained(size: int = 60) -> WordPieceTokenizer:
    tokenizer = WordPieceTokenizer()
    tokenizer.train(CORPUS, size)
    return tokenizer


@pytest.mark.parametrize("length", [50, 51, 75, 100])
def test_a_word_of_up_to_100_characters_is_spelled(length: int, file: Path) -> None:
    """As in BERT's released code, whose max_input_chars_per_word is 100; longer words are unknown."""
    tokenizer = WordPieceTokenizer(str(file))
    assert tokenizer.tokenize("cat" + "s" * (length - 3)) == ["cat", *["##s"] * (length - 3)]
    assert tokenizer.tokenize("cat" + "s" * 98) == ["[UNK]"]


def test_a_trained_vocabulary_leaves_five_rows_for_specials() -> None:
    pieces = trained().pieces
    assert len(pieces) == 60 - 5 and not SPECIALS & set(pieces) and len(set(pieces)) == 55
    assert {"the", "hat", "cat"} <= set(pieces)  # the most frequent words are whole
    assert len(trained(500).pieces) < 100  # texts that give no more give fewer


@pytest.mark.e2e
def test_training_is_the_same_in_another_process() -> None:
    """The library's own numbering of characters differs between processes."""
    run = subprocess.run([sys.executable, "-c", TRAIN_ELSEWHERE], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == ascii(trained().pieces)


def test_texts_may_be_an_iterator() -> None:
    tokenizer = WordPieceTokenizer()
    tokenizer.train(iter(CORPUS), 60)
    assert tokenizer.pieces == trained().pieces


def test_characters_that_never_go_on_with_a_word_have_one_form() -> None:
    pieces = trained(500).pieces
    assert {"日", "&", "a", "##a"} <= set(pieces)
    assert not {"##日", "##&", "##,"} & set(pieces)


def test_texts_are_read_as_by_bert(file: Path) -> None:
    reference = BertWordPieceTokenizer(str(file), lowercase=True)
    tokenizer = WordPieceTokenizer(str(file))
    texts = ["Cats, UNWANTED cats", "a日cat", "unwanteD\u0301 cats\0", "", "  \t", "dog", "x" * 101, "cats" * 26]
    for text in texts:
        assert tokenizer.tokenize(text) == reference.encode(text, add_special_tokens=False).tokens
    assert tokenizer.tokenize("Cats, UNWANTED") == ["cat", "##s", ",", "un", "##want", "##ed"]


def test_special_tokens_do_not_arise_from_their_spelling(file: Path) -> None:
    tokenizer = WordPieceTokenizer(str(file))
    assert tokenizer.tokenize("[MASK]") == ["[", "[UNK]", "[UNK]"]
    assert not {"[MASK]", "[CLS]", "[SEP]", "[PAD]"} & set(trained().tokenize("[MASK] [CLS][SEP]"))


def test_case_is_kept_where_asked(file: Path) -> None:
    assert WordPieceTokenizer(str(file), lowercase=False).tokenize("Cats cats") == ["[UNK]", "cat", "##s"]


def test_pieces_of_a_file_are_those_without_specials(file: Path) -> None:
    tokenizer = WordPieceTokenizer(str(file))
    assert tokenizer.pieces == [piece for piece in VOCABULARY if piece not in SPECIALS]
    assert not tokenizer.needs_training and not tokenizer.trained and tokenizer.vocabulary_size == len(VOCABULARY)


def test_a_folder_and_a_tokenizer_json_give_the_same(file: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "json"
    elsewhere.mkdir()
    WordPieceTokenizer(str(file)).library_tokenizer().save(str(elsewhere / "tokenizer.json"))
    recipes = [WordPieceTokenizer(str(place)).recipe() for place in (file, file.parent, elsewhere)]
    assert recipes[0] == recipes[1] == recipes[2]


def test_the_recipe_is_content_and_no_path(file: Path) -> None:
    assert str(file) not in json.dumps(WordPieceTokenizer(str(file)).recipe())
    assert trained().recipe() == {"kind": "wordpieces", "vocab": {"train": 60}, "lowercase": True}
    assert WordPieceTokenizer(str(file), lowercase=False).recipe() != WordPieceTokenizer(str(file)).recipe()


def test_a_saved_tokenizer_comes_back(tmp_path: Path) -> None:
    first, second = trained(), WordPieceTokenizer()
    assert second.needs_training and second.trained
    first.save(tmp_path)
    second.load(tmp_path)
    assert second.pieces == first.pieces and second.vocabulary_size == 60
    assert second.tokenize("Naïve cats!") == first.tokenize("Naïve cats!")


def test_the_interner_counts_pieces(file: Path) -> None:
    interner = WordPieceTokenizer(str(file)).interner()
    texts = interner.add(["cats cat", "", "dog"])
    table, remap = interner.finish()
    assert table.strings() == ["cat", "##s", "[UNK]"] and table.counts.tolist() == [2, 1, 1]
    assert texts.remapped(remap).ids.tolist() == [0, 1, 0, 2]


WRONG = {
    "no.json": ("{}", "no tokenizer.json of the tokenizers library"),
    "bpe.json": ('{"model": {"type": "BPE", "vocab": {}}}', "holds a BPE model; give word pieces"),
    "other.txt": ("cat\ndog\n", r"there is no \[UNK\] in it"),
    "twice.txt": ("[UNK]\ncat\ncat\n", "the piece 'cat' stands twice; leave one out"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_files(tmp_path: Path, name: str) -> None:
    content, message = WRONG[name]
    (tmp_path / name).write_text(content)
    with pytest.raises(InputError, match=f"vocab .*{name}: {message}"):
        WordPieceTokenizer(str(tmp_path / name))


def test_a_folder_without_a_vocabulary_and_bytes_that_are_no_text(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="neither vocab.txt nor tokenizer.json is in it; name another folder"):
        WordPieceTokenizer(str(tmp_path))
    (tmp_path / "vocab.txt").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="vocab .*: cannot be read"):
        WordPieceTokenizer(str(tmp_path))


def test_wrong_arguments() -> None:
    for arguments in ({"vocab": ""}, {"vocab": 3}, {"lowercase": "yes"}):
        with pytest.raises(InputError, match=r"tokenizer wordpieces: vocab .*; give train, a vocab.txt or a hub name"):
            WordPieceTokenizer(**arguments)


def test_an_untrained_tokenizer_says_so(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no trained word-piece vocabulary; prepare the data again"):
        WordPieceTokenizer().load(tmp_path)
