"""Word pieces of a file, read as the file says: vocab.txt, tokenizer.json and tokenizer_config.json.

A tokenizer.json says all: pieces with their ids, normalizer, pre-tokenizer, the prefix of pieces, the longest word. A
vocab.txt has pieces alone; a tokenizer_config.json beside it has the options of BERT's reading, and what nobody says is
as in uncased BERT. Where both are there they must agree. What the `tokenizers` library cannot do is refused by its key.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

from hashbench.common.errors import InputError, first_line
from hashbench.models.text.pieces import FILE, TRAIN, folder_from_hub, lower_cases, read_file, read_model, spelled

LIST = "vocab.txt"  # one piece a line
CONFIG = "tokenizer_config.json"
ADDED = "added_tokens.json"
# BERT's: they have rows, and never arise from a text.
SPECIALS = frozenset(("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"))
UNKNOWN = "[UNK]"
MARKER = "##"  # before a piece that goes on with a word
LONGEST_WORD = 100  # characters; longer words are [UNK], as in BERT
BERT: dict[str, Any] = {
    "type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None,
}  # its normalizer, but for whether it lower-cases  # fmt: skip
# Options of tokenizer_config.json, and what they are called in a BertNormalizer
OPTIONS = {
    "do_lower_case": "lowercase", "strip_accents": "strip_accents", "tokenize_chinese_chars": "handle_chinese_chars",
    "clean_text": "clean_text",
}  # fmt: skip
# Keys of tokenizer_config.json that change a reading in a way that the library does not have, but for these values
NOT_READ: dict[str, tuple[object, ...]] = {
    "do_basic_tokenize": (True,), "never_split": ([],), "wordpieces_prefix": (MARKER,),
    "max_input_chars_per_word": (LONGEST_WORD,), "word_tokenizer_type": ("basic",),
    "subword_tokenizer_type": ("wordpiece",), "do_word_tokenize": (True,), "do_subword_tokenize": (True,),
}  # fmt: skip
# Classes of transformers that read a vocab.txt as BERT's does, "Fast" left out
CLASSES = frozenset(
    f"{name}Tokenizer" for name in (
        "Bert", "DistilBert", "Electra", "MobileBert", "ConvBert", "SqueezeBert", "LayoutLM", "Lxmert", "RetriBert",
        "PreTrained",
    )
) | {"TokenizersBackend"}  # fmt: skip


@dataclass(frozen=True)
class WordPieceFile:
    """The word pieces of a file, with their reading."""

    tokenizer: Tokenizer
    identity: str  # a text that differs where pieces, ids or reading differ; of BERT's reading the pieces alone
    size: int  # ids, special tokens included


def read_word_pieces(name: str, lowercase: bool | None) -> WordPieceFile:
    """The word pieces of a file, a folder or a hub name. `lowercase`: what an experiment says; None: nothing.

    Raises:
        InputError: there is no such file, or it is no vocabulary with [UNK] in which each piece occurs once; two files
            disagree, or an option cannot be had.
    """
    where, path = f"vocab {name}", Path(name).expanduser()
    if not path.exists():
        remedy = f"give the path of a {LIST}, or {TRAIN}"
        path = folder_from_hub(name, f"{where}: no such file", remedy)
    if path.is_dir():
        there = [path / file for file in (LIST, FILE) if (path / file).is_file()]
        if not there:
            raise InputError(f"{where}: neither {LIST} nor {FILE} is in it; name another folder")
        path = there[0]
    content = _of_file(path, name) if path.suffix == ".json" else _of_list(path, name)
    _settle_case(content, where, lowercase)
    return _made(content, where)


def _of_file(path: Path, name: str) -> dict[str, Any]:
    """The content of a tokenizer.json; special tokens that are no pieces of its model are among the pieces."""
    where = f"vocab {name}"
    text = read_file(path, name, LIST, "vocab")
    content = read_model(text, "WordPiece", where, remedy=f"give one, or a {LIST}", wanted="word pieces")
    model, added = content["model"], content.get("added_tokens") or []
    pieces = model["vocab"]
    try:
        bare = {**content, "added_tokens": [], "post_processor": None, "model": {**model, "vocab": {}}}
        content = json.loads(Tokenizer.from_str(json.dumps(bare)).to_str())  # in today's form, no key left out
        tokens = [_token(entry["id"], entry) for entry in added]
    except Exception as error:  # the library raises no narrower one
        raise InputError(f"{where}: {FILE} cannot be read ({first_line(error)[:160]}); give another") from None
    special = SPECIALS | {content["model"]["unk_token"]}
    content["model"]["vocab"] = {of["content"]: of["id"] for of in tokens if of["content"] in special} | pieces
    content["added_tokens"] = [of for of in tokens if of["content"] not in special]
    if path.name == FILE and (problem := disagreement(content, read_config(path.parent, where))):
        raise InputError(f"{where}: {problem}; make the two files agree")
    return content


def _of_list(path: Path, name: str) -> dict[str, Any]:
    """The content that a tokenizer.json would have for a vocab.txt with the options beside it."""
    where = f"vocab {name}"
    lines = [line.rstrip("\r") for line in read_file(path, name, LIST, "vocab").split("\n")]
    while lines and not lines[-1]:
        lines.pop()
    if len(set(lines)) < len(lines):
        double = next(piece for piece, n in Counter(lines).items() if n > 1)
        raise InputError(f"{where}: the piece {double!r} stands twice; leave one out")
    pieces, beside = {piece: i for i, piece in enumerate(lines)}, path.parent / FILE
    if path.name == LIST and beside.is_file():
        content = _of_file(beside, name)
        if content["model"]["vocab"] != pieces:
            raise InputError(f"{where}: {LIST} and the {FILE} beside it hold other pieces; keep the one that counts")
        return content
    config = read_config(path.parent, where)
    kind = str(config.get("tokenizer_class") or "BertTokenizer").removesuffix("Fast")
    if kind not in CLASSES:
        raise InputError(f"{where}: {CONFIG}: tokenizer_class: {kind} does not read as BERT's; give a {FILE}")
    if option := not_read(config):
        raise InputError(f"{where}: {CONFIG}: {option} cannot be had; give a {FILE} that reads so, or other weights")
    options = {OPTIONS[key]: value for key, value in config.items() if key in OPTIONS and value is not None}
    unknown = _string(config.get("unk_token")) or UNKNOWN
    return {
        "normalizer": {**BERT, "lowercase": None, **options},  # None: no file has it
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "added_tokens": _added(path.parent, config, SPECIALS | {unknown}, where),
        "model": {
            "type": "WordPiece", "unk_token": unknown, "continuing_subword_prefix": MARKER,
            "max_input_chars_per_word": LONGEST_WORD, "vocab": pieces,
        },
    }  # fmt: skip


def read_config(folder: Path, where: str) -> dict[str, Any]:
    """The content of a folder's tokenizer_config.json, its options of the right type; {} where there is none."""
    path = folder / CONFIG
    if not path.is_file():
        return {}
    try:
        config = json.loads(path.read_text("utf-8-sig"))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{where}: {CONFIG} cannot be read ({first_line(error)[:120]}); correct it") from None
    if not isinstance(config, dict):
        raise InputError(f"{where}: {CONFIG} is no JSON object; correct it")
    for key in OPTIONS:
        if not isinstance(config.get(key), bool | None):
            raise InputError(f"{where}: {CONFIG}: {key}: {config[key]!r} is neither true nor false; correct it")
    return config


def not_read(config: Mapping[str, Any]) -> str:
    """The first option of a tokenizer_config.json that no library here reads, as it is written; "" where all are.

    >>> not_read({"do_lower_case": False, "never_split": ["[X]"]}), not_read({"do_basic_tokenize": True})
    ("never_split: ['[X]']", '')
    """
    for key, harmless in NOT_READ.items():
        value = config.get(key)
        specials_alone = isinstance(value, list) and {str(token) for token in value} <= SPECIALS
        if value is not None and value not in harmless and not specials_alone:
            return f"{key}: {value!r}"[:120]
    return ""


def disagreement(content: Mapping[str, Any], config: Mapping[str, Any]) -> str:
    """The first option of a tokenizer_config.json that a tokenizer.json has another value of; "" where they agree.

    Of a normalizer that is not BERT's the options say nothing.
    """
    normalizer = content["normalizer"] or {}
    if normalizer.get("type") != BERT["type"]:
        return ""
    for key, name in OPTIONS.items():
        value = config.get(key)
        if value is not None and value != _settled(normalizer)[name]:
            return f"{CONFIG} says {key}: {json.dumps(value)}, {FILE} {name}: {json.dumps(normalizer[name])}"
    return ""


def _settled(normalizer: Mapping[str, Any]) -> dict[str, Any]:
    """A BertNormalizer with the value that strip_accents has where it is not set."""
    accents = normalizer["strip_accents"]
    return {**normalizer, "strip_accents": normalizer["lowercase"] if accents is None else accents}


def _added(folder: Path, config: Mapping[str, Any], special: frozenset[str], where: str) -> list[dict[str, Any]]:
    """The tokens that were added to a vocab.txt, without the special ones, as a tokenizer.json has them."""
    try:
        listed = config.get("added_tokens_decoder") or {}
        added = [_token(number, entry) for number, entry in listed.items() if entry["content"] not in special]
        more = config.get("extra_special_tokens") or ()
        names = [*(config.get("additional_special_tokens") or ()), *(more.values() if isinstance(more, dict) else more)]
    except (AttributeError, TypeError, KeyError, ValueError):
        raise InputError(f"{where}: {CONFIG}: its lists of added tokens are none; correct it") from None
    if (folder / ADDED).is_file():
        try:
            names += list(json.loads((folder / ADDED).read_text("utf-8-sig")))
        except (OSError, ValueError, TypeError) as error:
            raise InputError(f"{where}: {ADDED} cannot be read ({first_line(error)[:120]}); correct it") from None
    there = {str(token["content"]) for token in added} | special
    if missing := [name for name in map(_string, names) if name not in there]:
        raise InputError(f"{where}: {missing[0]!r} is a token that was added to its {LIST}; give a {FILE} that has it")
    return sorted(added, key=lambda token: int(token["id"]))


def _token(number: object, entry: Mapping[str, Any]) -> dict[str, Any]:
    """An added token with its id, as a tokenizer.json has it."""
    usual = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": True, "special": False}
    return {**usual, **entry, "id": int(str(number)), "content": str(entry["content"])}


def _string(token: object) -> str:
    """A token of tokenizer_config.json, which writes some as mappings."""
    return str(token.get("content", "")) if isinstance(token, Mapping) else str(token or "")


def _settle_case(content: dict[str, Any], where: str, lowercase: bool | None) -> None:
    """Sets whether texts are lower-cased where no file says it. Raises InputError where a file says otherwise."""
    normalizer = content["normalizer"]
    if normalizer is not None and normalizer.get("lowercase", False) is None:
        normalizer["lowercase"] = lowercase is not False
        return
    model = {**content["model"], "vocab": {}}
    lowers = lower_cases(Tokenizer.from_str(json.dumps({**content, "model": model, "added_tokens": []})))
    if lowercase is not None and lowercase != lowers:
        written, other = json.dumps(lowercase), "are" if lowers else "are not"
        raise InputError(
            f"{where}: lowercase: {written}, but its files say that texts {other} lower-cased; leave it out"
        )


def _made(content: dict[str, Any], where: str) -> WordPieceFile:
    model = content["model"]
    if model["unk_token"] not in model["vocab"]:
        form = f"give a {LIST} of BERT's form, one piece a line"
        raise InputError(f"{where}: there is no {model['unk_token']} in it; {form}")
    content = {**content, "version": "1.0"} | dict.fromkeys(("post_processor", "decoder", "truncation", "padding"))
    try:
        tokenizer = Tokenizer.from_str(json.dumps(content))
    except Exception as error:  # the library raises no narrower one
        raise InputError(f"{where}: cannot be read ({first_line(error)[:160]}); give another {FILE}") from None
    for token in content["added_tokens"]:
        if (place := tokenizer.token_to_id(token["content"])) != token["id"]:
            problem = f"the added token {token['content']!r} has the number {token['id']}, and by its place {place}"
            raise InputError(f"{where}: {problem}; correct it")
    strings = spelled(tokenizer.get_vocab(with_added_tokens=True))
    other = _unlike_bert(content)
    reading = [json.dumps(other, sort_keys=True)] if other else []
    return WordPieceFile(tokenizer, "\n".join([*strings, *reading]), len(strings))


def _unlike_bert(content: Mapping[str, Any]) -> dict[str, Any]:
    """The parts of a reading that differ from BERT's, cased or uncased; {} for BERT's."""
    normalizer, model = content["normalizer"] or {}, content["model"]
    case = bool(normalizer.get("lowercase"))
    parts = {
        "normalizer": (
            _settled(normalizer) if normalizer.get("type") == BERT["type"] else normalizer,
            _settled({**BERT, "lowercase": case}),
        ),
        "pre_tokenizer": (content["pre_tokenizer"], {"type": "BertPreTokenizer"}),
        "added_tokens": (content["added_tokens"], []),
        "unk_token": (model["unk_token"], UNKNOWN),
        "continuing_subword_prefix": (model["continuing_subword_prefix"], MARKER),
        "max_input_chars_per_word": (model["max_input_chars_per_word"], LONGEST_WORD),
    }
    return {name: value for name, (value, usual) in parts.items() if value != usual}
