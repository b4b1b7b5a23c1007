"""Tokens of a model of the `transformers` library, by the tokenizer that was trained with it.

A type is a token as its vocabulary spells it, a special token that a text spells out included: the library reads it as
that token too.

Since version 5 the library builds some tokenizers (of BERT, DistilBERT, ELECTRA, RoBERTa and GPT-2) by their class, and
passes over normalizer, pre-tokenizer and longest word of the tokenizer.json beside the weights. So both are compared on
probe texts, and where they differ texts are read as the file says.
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

from tokenizers import Tokenizer as LibraryTokenizer

from hashbench.common.errors import InputError, first_line
from hashbench.models.text.pieces import FILE, PieceTokenizer, folder_from_hub, lower_cases, spelled
from hashbench.models.text.unicode import well_formed
from hashbench.models.text.wordpiece_files import LIST, disagreement, not_read, read_config

PACKAGE = "transformers"
# Files that make the identity, besides the files that hold a vocabulary.
SETTINGS = ("tokenizer_config.json", "special_tokens_map.json", "added_tokens.json")
FIRST_TEXT, SECOND_TEXT = "A", "B"  # the place of a text in a layout
# Chosen here: two texts of different length by which a layout is found, and one that is longer than what is kept of it.
PROBES, LONG = ("a", "a b"), "a " * 40
# Texts on which the library and a tokenizer.json are compared: blank lines, case, accents,
# apostrophes, digits, signs, other scripts, compatibility characters, what shows nothing
TEXTS = (
    "a\n\n\nb\t c  d \r\n",
    " Good DAY, Don't e-mail; it's 'so' (now)...",
    "caf\u00e9 cafe\u0301 \u00c7ocuk \u0130stanbul",
    "1,234.56 and 2026-11-28 x\u00b2 007",
    "\u00a350 50% a@b.example #x_y http://a.example/?q=1&r=%20",
    "\u041c\u0438\u0440 \u0439\u043e\u0434 \u039f\u0394\u039f\u03a3",
    "\u6771\u4eac\u90fd\u306e\u5929\u6c17\u3002a\u4e2db",
    "\ud55c\uad6d\uc5b4 \u0939\u093f\u0928\u094d\u0926\u0940 \u0e20\u0e32\u0e29\u0e32 \u05e2\u05b4\u05d1",
    "\ufb01x \uff21\uff42 \u00bd \u2026 \u2019s \u201cq\u201d \u2014",
    "\U0001f600\u2764\ufe0f co\u00adld a\u200bb\ufeff \u00a0x\u0000y\u0001",
)
LONG_WORDS = (90, 101, 150, 250)  # letters
OF_VOCABULARY = 2_000  # pieces, at most, that are probes as well
PARTS = ("normalizer", "pre_tokenizer", "model")


@functools.cache
def library() -> ModuleType:
    """The package `transformers`, its progress bars and warnings off. Raises InputError where it is missing."""
    try:
        package = importlib.import_module(PACKAGE)
    except ImportError as error:
        raise InputError(f"{PACKAGE} is not installed; run: pip install 'hashbench[{PACKAGE}]'") from error
    package.logging.set_verbosity_error()
    package.logging.disable_progress_bar()
    return package


@dataclass(frozen=True)
class TokenLayout:
    """How a tokenizer makes one input of a text or two: ids of special tokens, and FIRST_TEXT and SECOND_TEXT."""

    single: tuple[int | str, ...]
    pair: tuple[int | str, ...]
    # Start, padding, end, unknown, mask; padding where there is none.
    specials: tuple[int, int, int, int, int]
    # Whether the second text and what follows it have type 1, all else type 0.
    segments: bool
    truncation: Literal["longest_first", "longer_keeps"]  # as in `embeddings.base.Template`


class LibraryTokens(PieceTokenizer):
    """A tokenizer of the `transformers` library, from the files beside a model's weights."""

    kind = "transformers"
    title = "tokenizer of transformers"
    argument = "name"

    def __init__(self, name: str) -> None:
        """`name`: a folder with a tokenizer of the library, or a hub name (REPOSITORY or REPOSITORY@REVISION).

        Raises:
            InputError: the library is not installed, there is no such tokenizer, or it cannot be read.
        """
        if not isinstance(name, str) or not name:
            raise InputError(f"tokenizer transformers: {name!r} is no name; give a folder or a hub name")
        super().__init__()
        folder = Path(name).expanduser()
        self._where = f"tokenizer of {name}"
        if not folder.is_dir():
            folder = folder_from_hub(name, f"{self._where}: no such folder", "name another")
        self._digest = digest_of(folder)
        self._tokenizer, self._otherwise = loaded(folder, self._digest, self._where)
        strings = spelled(self._tokenizer.get_vocab())  # a made-up one where an id has none, or another id has it too
        self._strings = [string or f"<id {i}>" for i, string in enumerate(strings)]

    def recipe(self) -> dict[str, object]:
        """The kind, and a digest of the content of its files and of what is read by the file alone; never a path."""
        digest = self._digest
        if self._otherwise:  # earlier runs read as the library does
            digest = hashlib.sha256(f"{digest} {' '.join(PARTS)} of {FILE}".encode()).hexdigest()
        return {"kind": self.kind, self.argument: {"sha256": digest}}

    def remarks(self) -> list[str]:
        """A remark where the library would read texts otherwise than the file."""
        if not self._otherwise:
            return []
        passed_over = f"{PACKAGE} {library().__version__} passes over its {' and '.join(self._otherwise)}"
        return [f"texts are read as the {FILE} of the weights says; {passed_over}"]

    @property
    def spelled_specials(self) -> tuple[str, ...]:
        """The special tokens, which a text that spells one has."""
        return tuple(str(token) for token in self._tokenizer.all_special_tokens)

    @property
    def pieces(self) -> list[str]:
        """The string of every id, special tokens included."""
        return list(self._strings)

    def piece_ids(self, texts: Sequence[str]) -> list[list[int]]:
        """The library's ids of each text, without the special tokens that it would add."""
        if not texts:
            return []
        encoded: list[list[int]] = self._tokenizer(
            [well_formed(text) for text in texts], add_special_tokens=False, return_attention_mask=False,
            return_token_type_ids=False, verbose=False,
        )["input_ids"]  # fmt: skip
        return encoded

    def reach(self, texts: Sequence[str], kept: Sequence[int]) -> list[int]:
        """The number of characters of each text up to the end of its first `kept` tokens, as the library says, if so.

        Its tokenizers in plain Python do not say it.
        """
        if not texts or not self._tokenizer.is_fast:
            return super().reach(texts, kept)
        places = self._tokenizer(
            list(texts), add_special_tokens=False, return_attention_mask=False, return_token_type_ids=False,
            return_offsets_mapping=True, verbose=False,
        )["offset_mapping"]  # fmt: skip
        return [int(of_text[n - 1][1]) if n else 0 for of_text, n in zip(places, kept, strict=True)]

    def spellings(self) -> list[str]:
        """The string of every id."""
        return list(self._strings)

    def save(self, folder: Path) -> None:
        """Writes the files of the library's tokenizer."""
        self._tokenizer.save_pretrained(folder)

    @classmethod
    def saved(cls, folder: Path, arguments: Mapping[str, Any]) -> LibraryTokens:
        """The tokenizer that `save` wrote."""
        return cls(str(folder))

    @property
    def lowers(self) -> bool:
        """True where it lower-cases texts."""
        if self._tokenizer.is_fast:
            return lower_cases(self._tokenizer.backend_tokenizer)
        return bool(getattr(self._tokenizer, "do_lower_case", False))

    def layout(self) -> TokenLayout:
        """The layout of the library's inputs, read off inputs that it makes of two short texts.

        Raises:
            InputError: texts are not whole between special tokens, or on another side than the left.
        """
        tokenizer = self._tokenizer
        if tokenizer.pad_token_id is None or "right" not in {tokenizer.padding_side} & {tokenizer.truncation_side}:
            raise InputError(f"{self._where}: it pads or cuts on the left, or cannot pad; take another encoder")
        parts = self.piece_ids(PROBES)
        single, pair = ([*tokenizer(*PROBES[:n], verbose=False)["input_ids"]] for n in (1, 2))
        names = ("cls", "pad", "sep", "unk", "mask")
        ids = (getattr(tokenizer, f"{name}_token_id") for name in names)
        start, pad, end, unknown, mask = (tokenizer.pad_token_id if special is None else special for special in ids)
        forms = self._form(single, parts[:1]), self._form(pair, parts)
        specials = (start, pad, end, unknown, mask)
        others = {special for form in forms for special in form if special not in (*specials, FIRST_TEXT, SECOND_TEXT)}
        if others or forms[1].index(SECOND_TEXT) - forms[1].index(FIRST_TEXT) < 2:
            shown = ", ".join(repr(self._strings[int(special)]) for special in sorted(others, key=str)) or "nothing"
            beside = f"it puts {shown} beside texts, which is neither its CLS nor its SEP"
            raise InputError(f"{self._where}: {beside}; take another encoder")
        return TokenLayout(*forms, specials, self._has_segments(forms[1]), self._truncation(forms[1]))

    def _form(self, ids: list[int], parts: Sequence[list[int]]) -> tuple[int | str, ...]:
        """Ids of an input with the texts `parts` in it -> its special tokens, FIRST_TEXT and SECOND_TEXT."""
        form: list[int | str] = []
        rest = ids
        for name, part in zip((FIRST_TEXT, SECOND_TEXT), parts, strict=False):
            place = next((i for i in range(len(rest)) if part and rest[i : i + len(part)] == part), None)
            if place is None:
                raise InputError(f"{self._where}: it joins texts in a way of its own; take another encoder")
            form += [*rest[:place], name]
            rest = rest[place + len(part) :]
        return (*form, *rest)

    def _has_segments(self, pair: tuple[int | str, ...]) -> bool:
        encoded = self._tokenizer(*PROBES, verbose=False)
        if "token_type_ids" not in encoded or not any(encoded["token_type_ids"]):
            return False
        lengths = [len(part) for part in self.piece_ids(PROBES)]
        first = pair.index(SECOND_TEXT) - 1 + lengths[0]  # tokens before the second text
        kinds = encoded["token_type_ids"]
        if kinds != [0] * first + [1] * (len(kinds) - first):
            raise InputError(f"{self._where}: its token types are not 0 and, from the second text on, 1; take another")
        return True

    def _truncation(self, pair: tuple[int | str, ...]) -> Literal["longest_first", "longer_keeps"]:
        """The kind of truncation, by which of two equally long texts keeps one more token of an odd number."""
        place, kept = pair.index(FIRST_TEXT), 5
        length = len(pair) - 2 + kept
        cut = self._tokenizer(LONG, LONG, truncation=True, max_length=length, verbose=False)["input_ids"]
        n_first = cut.index(pair[place + 1], place) - place
        return "longest_first" if n_first > kept // 2 else "longer_keeps"


def digest_of(folder: Path) -> str:
    """SHA-256 (hex) of the files of a tokenizer, by name and content."""
    digest = hashlib.sha256()
    for file in sorted(folder.iterdir()):
        if file.is_file() and (file.name in SETTINGS or _holds_vocabulary(file)):
            content = file.read_bytes()
            digest.update(f"{file.name} {len(content)} ".encode() + content)
    return digest.hexdigest()


def _holds_vocabulary(file: Path) -> bool:
    return file.suffix in (".txt", ".model") or file.name in ("tokenizer.json", "vocab.json")


@functools.lru_cache(maxsize=4)
def loaded(folder: Path, digest: str, where: str) -> tuple[Any, tuple[str, ...]]:
    """-> (the library's tokenizer of a folder, its parts that are from tokenizer.json against the library's reading).

    `digest`: of its files, so that changed files are read anew.
    """
    package = library()
    try:
        tokenizer = package.AutoTokenizer.from_pretrained(str(folder), trust_remote_code=False)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, ImportError, RuntimeError) as error:
        reason = first_line(error)[:160]
        raise InputError(f"{where}: cannot be read ({reason}); put its files beside the weights") from error
    files = set(tokenizer.vocab_files_names.values())
    if files and not any((folder / file).is_file() for file in files):
        raise InputError(
            f"{where}: no {' or '.join(sorted(files))} in it; put the tokenizer's files beside the weights"
        )
    if not tokenizer.is_fast:
        return tokenizer, ()
    if not (folder / FILE).is_file():
        if (folder / LIST).is_file() and (option := not_read(read_config(folder, where))):
            raise InputError(
                f"{where}: {PACKAGE} does not read {option} of its config; put a {FILE} beside the weights"
            )
        return tokenizer, ()
    return tokenizer, read_by_file(tokenizer, folder, where)


def read_by_file(tokenizer: Any, folder: Path, where: str) -> tuple[str, ...]:
    """The parts of the tokenizer.json of a folder by which it reads probe texts otherwise than `tokenizer`, in whose
    place they are put; () where all are read in one way.

    Raises InputError where the tokens differ even then, or tokenizer_config.json says otherwise than tokenizer.json.
    """
    try:
        own = LibraryTokenizer.from_file(str(folder / FILE))
    except Exception as error:  # the library raises no narrower one
        raise InputError(f"{where}: {FILE} cannot be read ({first_line(error)[:160]}); give another") from None
    backend, texts = tokenizer.backend_tokenizer, probe_texts(own)
    for reading in (own, backend):  # both may have them from the file; `piece_ids` sets neither
        reading.no_truncation()
        reading.no_padding()
    if _readings(own, texts) == _readings(backend, texts):
        return ()
    content = json.loads(own.to_str())
    if problem := disagreement(content, read_config(folder, where)):
        raise InputError(f"{where}: {problem}; make the two files agree")
    other = tuple(part for part in PARTS if _state(own, part) != _state(backend, part))
    for part in other:
        setattr(backend, part, getattr(own, part))
    if _readings(own, texts) != _readings(backend, texts):
        raise InputError(f"{where}: {PACKAGE} reads texts otherwise than its {FILE}; take another encoder")
    return other


def probe_texts(tokenizer: LibraryTokenizer) -> list[str]:
    """Texts on which two readings of one vocabulary differ, where they do: TEXTS, and words of the vocabulary."""
    pieces = sorted(tokenizer.get_vocab(with_added_tokens=False))
    some = pieces[:: max(1, len(pieces) // OF_VOCABULARY)]
    words = [piece.strip("#\u2581\u0120 ") for piece in some if not piece.startswith(("[", "<"))]
    letters = [word for word in words if len(word) == 1 and word.isalpha()]
    long = [letter * n for letter in ["a", *letters[:3]] for n in LONG_WORDS]
    joined = [" ".join(words[i : i + 50]) for i in range(0, len(words), 50)]
    added = [f"a {token.content} b" for token in tokenizer.get_added_tokens_decoder().values()]
    return [*TEXTS, *long, *added, *joined, *(text.upper() for text in joined), *(text.title() for text in joined)]


def _readings(tokenizer: LibraryTokenizer, texts: Sequence[str]) -> list[Any]:
    """The ids of texts under a tokenizer, and of the first texts also the words."""
    ids: list[Any] = [encoding.ids for encoding in tokenizer.encode_batch(list(texts), add_special_tokens=False)]
    return [ids, [_words(tokenizer, text) for text in texts[: len(TEXTS)]]]


def _words(tokenizer: LibraryTokenizer, text: str) -> list[str]:
    """The words into which a text is split before its pieces are found."""
    normal = text if tokenizer.normalizer is None else tokenizer.normalizer.normalize_str(text)
    if tokenizer.pre_tokenizer is None:
        return [normal]
    return [word for word, _ in tokenizer.pre_tokenizer.pre_tokenize_str(normal)]


def _state(tokenizer: LibraryTokenizer, part: str) -> Any:
    """The settings of a part of a tokenizer; for a model without its vocabulary, which both have."""
    value = json.loads(tokenizer.to_str())[part]
    return {key: of for key, of in value.items() if key not in ("vocab", "merges")} if part == "model" else value
