"""Word pieces of files: read as tokenizer.json and tokenizer_config.json say, in one way whatever names the model."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from tokenizers import BertWordPieceTokenizer, Tokenizer

from hashbench.common.errors import InputError
from hashbench.models.portable.wordpieces import wordpieces
from hashbench.models.text.base import saved_tokenizer
from hashbench.models.text.wordpiece_files import not_read
from hashbench.models.text.wordpieces import WordPieceTokenizer

SPECIALS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
WORDS = [
    "a", "##a", "good", "Good", "da", "çocuk", "cocuk", "мир", "Мир", "don't", "don", "'", "t", "e-mail", "e", "-",
    "mail", "fix", "ﬁx", "中", "x", "##x", "##中",
]  # fmt: skip
TEXTS = ["Good da Çocuk", "Мир мир", "Don't e-mail don't", "\ufb01x fix", "a" * 150, "x中x", "a\n\n a", "xa ax", ""]
BERT = {
    "type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None,
    "lowercase": True,
}  # fmt: skip
PARTS: dict[str, dict[str, Any]] = {
    "keeps accents": {"normalizer": {**BERT, "strip_accents": False}},
    "strips accents of cased": {"normalizer": {**BERT, "lowercase": False, "strip_accents": True}},
    "cased": {"normalizer": {**BERT, "lowercase": False}},
    "Chinese words": {"normalizer": {**BERT, "handle_chinese_chars": False}},
    "NFKC": {"normalizer": {"type": "Sequence", "normalizers": [{"type": "NFKC"}, {"type": "Lowercase"}]}},
    "no normalizer": {"normalizer": None},
    "split at hyphens": {
        "pre_tokenizer": {"type": "Split", "pattern": {"String": "-"}, "behavior": "Isolated", "invert": False}
    },
    "no pre-tokenizer": {"pre_tokenizer": None},
    "replaces and prepends": {
        "normalizer": {
            "type": "Sequence",
            "normalizers": [
                {"type": "Replace", "pattern": {"String": "fix"}, "content": "good"},
                {"type": "Prepend", "prepend": "a "},
            ],
        }
    },
    "no mark before pieces": {"continuing_subword_prefix": ""},
    "white space": {"pre_tokenizer": {"type": "WhitespaceSplit"}},
    "long words": {"max_input_chars_per_word": 200},
}
ON_DEVICES = [
    "no mark before pieces",
    "another unknown piece",
    "keeps accents",
    "strips accents of cased",
    "cased",
    "Chinese words",
    "long words",
]


def written(folder: Path, **parts: Any) -> Path:
    """A folder with a tokenizer.json of BERT's form but for some parts."""
    folder.mkdir(exist_ok=True)
    model = {
        "type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100,
        "vocab": {piece: i for i, piece in enumerate([*SPECIALS, *WORDS])},
    }  # fmt: skip
    model |= {key: parts.pop(key) for key in list(parts) if key in model}
    content = {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": BERT,
        "pre_tokenizer": {"type": "BertPreTokenizer"}, "post_processor": None, "decoder": None, "model": model, **parts,
    }  # fmt: skip
    (folder / "tokenizer.json").write_text(json.dumps(content), encoding="utf-8")
    return folder


def listed(folder: Path, config: dict[str, Any] | None = None) -> Path:
    """A folder with a vocab.txt, and a tokenizer_config.json."""
    folder.mkdir(exist_ok=True)
    (folder / "vocab.txt").write_text("\n".join([*SPECIALS, *WORDS]) + "\n", encoding="utf-8")
    if config is not None:
        (folder / "tokenizer_config.json").write_text(json.dumps(config), encoding="utf-8")
    return folder


@pytest.mark.parametrize("name", PARTS)
def test_a_tokenizer_json_is_read_as_it_says(tmp_path: Path, name: str) -> None:
    folder = written(tmp_path / "tok", **PARTS[name])
    own, plain = Tokenizer.from_file(str(folder / "tokenizer.json")), WordPieceTokenizer(str(listed(tmp_path / "list")))
    tokenizer = WordPieceTokenizer(str(folder))
    expected = [own.encode(text, add_special_tokens=False).ids for text in TEXTS]
    assert tokenizer.piece_ids(TEXTS) == expected != plain.piece_ids(TEXTS)
    assert (
        tokenizer.pieces == plain.pieces and tokenizer.recipe()["vocab"] != plain.recipe()["vocab"] or name == "cased"
    )
    assert tokenizer.recipe() != plain.recipe()


@pytest.mark.parametrize("name", PARTS)
def test_what_is_saved_reads_the_same_and_a_device_follows_or_has_none(tmp_path: Path, name: str) -> None:
    tokenizer = WordPieceTokenizer(str(written(tmp_path / "tok", **PARTS[name])))
    tokenizer.save(tmp_path / "saved")
    again = saved_tokenizer("wordpieces", tmp_path / "saved", {"vocab": "elsewhere"})
    assert [again.tokenize(text) for text in TEXTS] == [tokenizer.tokenize(text) for text in TEXTS]
    part = tokenizer.portable()
    assert (part is not None) == (name in ON_DEVICES)
    if part is not None:
        read = wordpieces(part.values, lambda file: part.files[file].decode())
        assert [read(text) for text in TEXTS] == [tokenizer.tokenize(text) for text in TEXTS]


@pytest.mark.parametrize(
    ("config", "options"),
    [
        ({"do_lower_case": False}, {"lowercase": False}),
        ({"strip_accents": False}, {"strip_accents": False}),
        ({"tokenize_chinese_chars": False}, {"handle_chinese_chars": False}),
        ({"do_lower_case": True, "never_split": None, "do_basic_tokenize": True}, {}),
    ],
)
@pytest.mark.parametrize("named", ["folder", "file"])
def test_the_options_beside_a_list_are_read(tmp_path: Path, config: dict, options: dict, named: str) -> None:
    folder = listed(tmp_path / "tok", {"tokenizer_class": "BertTokenizer", **config})
    theirs = BertWordPieceTokenizer(str(folder / "vocab.txt"), **{"lowercase": True, **options})
    tokenizer = WordPieceTokenizer(str(folder if named == "folder" else folder / "vocab.txt"))
    assert tokenizer.piece_ids(TEXTS) == [theirs.encode(text, add_special_tokens=False).ids for text in TEXTS]


@pytest.mark.parametrize("lowercase", [True, False])
def test_berts_own_reading_keeps_its_recipe(tmp_path: Path, lowercase: bool) -> None:
    """The recipe that stored runs have: pieces and case, however many files say it."""
    digest = hashlib.sha256("\n".join([*SPECIALS, *WORDS]).encode()).hexdigest()
    wanted = {"kind": "wordpieces", "vocab": {"sha256": digest}, "lowercase": lowercase}
    both = listed(written(tmp_path / "both", normalizer={**BERT, "lowercase": lowercase}), {"do_lower_case": lowercase})
    bare = listed(tmp_path / "list")
    assert WordPieceTokenizer(str(both)).recipe() == wanted
    assert WordPieceTokenizer(str(bare), lowercase=lowercase).recipe() == wanted
    explicit = written(tmp_path / "said", normalizer={**BERT, "lowercase": lowercase, "strip_accents": lowercase})
    assert WordPieceTokenizer(str(explicit), lowercase=lowercase).recipe() == wanted


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"do_basic_tokenize": False}, "do_basic_tokenize: False cannot be had; give a tokenizer.json that reads so"),
        ({"never_split": ["[X]"]}, r"never_split: \['\[X\]'\] cannot be had"),
        ({"wordpieces_prefix": "@@"}, "wordpieces_prefix: '@@' cannot be had"),
        (
            {"tokenizer_class": "BertJapaneseTokenizer"},
            "tokenizer_class: BertJapaneseTokenizer does not read as BERT's",
        ),
        ({"do_lower_case": "no"}, "do_lower_case: 'no' is neither true nor false; correct it"),
        ({"additional_special_tokens": ["@USER"]}, "'@USER' is a token that was added to its vocab.txt"),
        ({"added_tokens_decoder": 3}, "its lists of added tokens are none; correct it"),
        ({"unk_token": "<unk>"}, "there is no <unk> in it"),
    ],
)
def test_what_cannot_be_had_is_refused_by_its_key(tmp_path: Path, config: dict, said: str) -> None:
    with pytest.raises(InputError, match=said):
        WordPieceTokenizer(str(listed(tmp_path / "tok", config)))


@pytest.mark.parametrize("name", ["vocab.txt", "tokenizer.json", "tokenizer_config.json"])
def test_a_byte_order_mark_is_no_part_of_a_file(tmp_path: Path, name: str) -> None:
    made = (listed(tmp_path / "list", {"strip_accents": False}), written(tmp_path / "file"))
    for folder in (folder for folder in made if (folder / name).is_file()):
        before = WordPieceTokenizer(str(folder))
        (folder / name).write_text("\ufeff" + (folder / name).read_text("utf-8"), encoding="utf-8")
        after = WordPieceTokenizer(str(folder))
        assert after.recipe() == before.recipe() and after.spellings() == before.spellings()


def test_files_that_disagree_are_refused(tmp_path: Path) -> None:
    folder = listed(written(tmp_path / "tok"), {"do_lower_case": False})
    said = "tokenizer_config.json says do_lower_case: false, tokenizer.json lowercase: true; make the two files agree"
    for place in (folder, folder / "vocab.txt", folder / "tokenizer.json"):
        with pytest.raises(InputError, match=said):
            WordPieceTokenizer(str(place))
    (folder / "tokenizer_config.json").unlink()
    (folder / "vocab.txt").write_text("\n".join(SPECIALS))
    with pytest.raises(InputError, match="vocab.txt and the tokenizer.json beside it hold other pieces; keep the one"):
        WordPieceTokenizer(str(folder))


def test_an_option_that_a_file_contradicts_is_refused(tmp_path: Path) -> None:
    folder = written(tmp_path / "tok", normalizer={**BERT, "lowercase": False})
    with pytest.raises(InputError, match="lowercase: true, but its files say that texts are not lower-cased; leave it"):
        WordPieceTokenizer(str(folder), lowercase=True)
    assert WordPieceTokenizer(str(folder), lowercase=False).lowers is False


def test_tokens_that_were_added_are_read_and_numbers_with_gaps_stay(tmp_path: Path) -> None:
    vocab = {**{piece: i for i, piece in enumerate(SPECIALS)}, "da": 7, "x": 9}
    added = {"id": 7, "content": "@user", "single_word": False, "lstrip": False, "rstrip": False, "normalized": True}
    folder = written(tmp_path / "tok", vocab=vocab)
    assert WordPieceTokenizer(str(folder)).spellings()[5:] == ["", "", "da", "", "x"]
    dense = {piece: i for i, piece in enumerate([*SPECIALS, "da", "x"])}
    folder = written(tmp_path / "tok", vocab=dense, added_tokens=[{**added, "special": True}])
    tokenizer = WordPieceTokenizer(str(folder))
    assert tokenizer.tokenize("da @user x") == ["da", "@user", "x"] and tokenizer.pieces == ["da", "x", "@user"]
    assert tokenizer.portable() is None
    folder = written(tmp_path / "tok", vocab=dense, added_tokens=[{**added, "id": 40, "special": False}])
    with pytest.raises(InputError, match="the added token '@user' has the number 40, and by its place 7"):
        WordPieceTokenizer(str(folder))


def test_special_tokens_never_arise_though_a_file_adds_them(tmp_path: Path) -> None:
    added = [{"id": 3, "content": "[SEP]", "special": True}]
    tokenizer = WordPieceTokenizer(str(written(tmp_path / "tok", added_tokens=added)))
    assert "[SEP]" not in tokenizer.tokenize("da [SEP] da")


def test_cased_pieces_that_no_text_gives_are_remarked(tmp_path: Path) -> None:
    (remark,) = WordPieceTokenizer(str(listed(tmp_path / "tok"))).remarks()
    assert remark.startswith("texts are lower-cased, so pieces as 'Good' never occur")
    assert WordPieceTokenizer(str(tmp_path / "tok"), lowercase=False).remarks() == []
    (tmp_path / "tok" / "vocab.txt").write_text("\n".join([*SPECIALS, "мир", "Мир"]), encoding="utf-8")
    assert WordPieceTokenizer(str(tmp_path / "tok")).unreachable() == "Мир"


def test_harmless_values_of_options_that_are_not_read() -> None:
    assert (
        not_read({"never_split": ["[CLS]", "[SEP]"], "do_basic_tokenize": None, "word_tokenizer_type": "basic"}) == ""
    )
