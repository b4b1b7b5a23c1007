"""Generated text sides, in Python and in JavaScript, against hashbench's own tokens and codes on a thousand texts."""

from __future__ import annotations

import importlib
import json
import pickle
import re
import shutil
import subprocess
import sys
import unicodedata
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import hashbench
from hashbench.common.errors import InputError
from hashbench.deployment.loading import Predictor
from hashbench.deployment.onnx_graph import graph_inputs
from hashbench.deployment.text_side import (
    N_TEXTS,
    PYTHON,
    VECTORS,
    TextSideParts,
    joined_parts,
    parts_of,
    texts_to_prove,
    write_text_side,
    write_vectors,
)
from hashbench.models.coders.base import Coder, make_coder
from hashbench.models.coders.ngram_pooling import NgramPooling
from hashbench.models.embeddings.base import CodeSpec
from hashbench.models.embeddings.registry import find_model
from hashbench.models.portable import assembling
from hashbench.models.portable.assembling import TextSide
from hashbench.models.portable.hashing import md5_bits
from hashbench.models.portable.ngram_pooling import ngram_pooling
from hashbench.models.portable.tokens import words as words_of
from hashbench.models.text.words import WordTokenizer
from hashbench.running.experiment.coder_contract import coder_contract
from tests.exported import exported_folder

# A model of each coder that a device can run: bits, rows, vectors, sums, characters, fitted tables.
MODELS = [
    "hashformer-md-proj", "hashformer-md-emb-1k", "hashformer-lsh-proj", "hashformer-lsh-emb-1k", "eelbert-tiny",
    "bert-tiny", "canine-c-scratch", "sgnn", "proformer-k4", "hash-emb-k2", "multi-hash", "fasttext-buckets",
    "floret-buckets-2", "tfree-8k", "byte-ngrams", "dhe-small", "qr-hash-mult", "character-cnn",
    "bytes", "ternary-dense",
]  # fmt: skip
# Other tokenizers and normal forms below a coder: model, kind of tokenizer, its arguments.
TOKENIZERS = [
    ("hashformer-md-proj", "unicode", {"version": 1}), ("hashformer-md-proj", "unicode", {}),
    ("hashformer-md-proj", "unicode", {"normalise": "NFKC"}), ("hashformer-md-proj", "words", {"normalise": "NFC"}),
    ("bert-tiny", "wordpieces", {"normalise": "NFKC"}), ("canine-c-scratch", "characters", {"normalise": "NFC"}),
    ("bytes", "bytes", {"normalise": "NFKC"}), ("bert-mlm", "bpe", {}),
    ("bert-mlm", "bpe", {"lowercase": True, "prefix_space": True, "normalise": "NFC"}),
    ("ternary-dense", "spaces", {}), ("ternary-dense", "spaces", {"normalise": "NFKC"}),
]  # fmt: skip
RIGHT = f"{N_TEXTS} texts, all right"
IN_NODE = """
import { readFileSync } from "node:fs";
import { load, check } from "./hashed_text.mjs";
const read = (name) => readFileSync(new URL(name, import.meta.url), "utf8");
const { right, wrong } = check(await load(read), read("vectors.jsonl").trim().split("\\n"));
console.log(wrong ? JSON.stringify(wrong) : `${right} texts, all right`);
"""
INPUTS = """
import { readFileSync } from "node:fs";
import { load } from "./hashed_text.mjs";
const side = await load((name) => readFileSync(new URL(name, import.meta.url), "utf8"));
console.log(JSON.stringify(side.inputs(JSON.parse(process.argv[2]))));
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A function from a model's name to a folder with its text side and vectors, made once."""
    root, known = tmp_path_factory.mktemp("sides"), {}

    def make(name: str, *, is_pair: bool = False) -> tuple[Predictor, Path]:
        if (name, is_pair) not in known:
            place = root / f"{name}-{is_pair}"
            folder = exported_folder(name, place, small=True, is_pair=is_pair, texts=texts_to_prove())
            predictor = hashbench.load(folder)
            write_text_side(predictor, folder)
            write_vectors(predictor, folder / VECTORS)
            shutil.copyfile(folder / "hashed_text.js", folder / "hashed_text.mjs")  # for node
            known[name, is_pair] = predictor, folder
        return known[name, is_pair]

    return make


def python(folder: Path, *arguments: str) -> str:
    """What the generated file prints, run by itself: no site packages, nothing of the environment."""
    command = [sys.executable, "-I", "-S", str(folder / PYTHON), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def node(folder: Path, script: str, *arguments: str) -> str:
    program = shutil.which("node")
    if program is None:
        pytest.skip("node is not installed")
    (folder / "script.mjs").write_text(script)
    command = [program, str(folder / "script.mjs"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


@pytest.mark.parametrize("model", MODELS)
def test_python_makes_all_tokens_and_codes(made, model: str) -> None:
    _, folder = made(model)
    assert python(folder, "--check", str(folder / VECTORS)) == RIGHT


@pytest.mark.parametrize("model", MODELS)
def test_javascript_makes_all_tokens_and_codes(made, model: str) -> None:
    _, folder = made(model)
    assert node(folder, IN_NODE) == RIGHT


@pytest.mark.parametrize(("model", "kind", "arguments"), TOKENIZERS)
def test_every_tokenizer_and_normal_form_is_read_alike(tmp_path: Path, model: str, kind: str, arguments: dict) -> None:
    spec = find_model(model)
    spec = replace(spec, text=replace(spec.text, tokenizer=kind, args=arguments))
    folder = exported_folder(model, tmp_path / "folder", small=True, spec=spec, texts=texts_to_prove())
    predictor = hashbench.load(folder)
    assert predictor.tokenizer.recipe()["kind"] == kind
    write_text_side(predictor, folder)
    write_vectors(predictor, folder / VECTORS)
    shutil.copyfile(folder / "hashed_text.js", folder / "hashed_text.mjs")  # for node
    assert python(folder, "--check", str(folder / VECTORS)) == RIGHT
    assert node(folder, IN_NODE) == RIGHT


@pytest.mark.parametrize("model", MODELS)
def test_buffers_by_numpy_are_those_without(made, monkeypatch: pytest.MonkeyPatch, model: str) -> None:
    """More tokens than are coded at once, in one call and in several."""
    parts = parts_of(made(model)[0])
    steps = [
        getattr(importlib.import_module(f"hashbench.models.portable.{part.source}"), part.entry)
        for part in (parts.tokenizer, parts.coder)
    ]
    values = {"tokenizer": parts.tokenizer.values, "coder": parts.coder.values, "inputs": parts.values}
    texts = list(texts_to_prove()[:120])

    def buffers() -> list[object]:
        side = TextSide.of(*steps, values, lambda name: parts.files[name].decode())
        return [side.buffers(texts), *(side.buffers([text]) for text in texts[:5])]

    by_numpy = buffers()
    monkeypatch.setattr(assembling, "numpy_here", lambda: None)
    assert buffers() == by_numpy


def test_a_wrong_code_is_found(made, tmp_path: Path) -> None:
    """The check can fail: of one text the last digit of one code is another."""
    _, folder = made("hashformer-md-proj")
    lines = (folder / VECTORS).read_text().splitlines()
    wanted = json.loads(lines[5])
    wanted["codes"][-1] = wanted["codes"][-1][:-1] + ("0" if wanted["codes"][-1][-1] != "0" else "1")
    wrong = tmp_path / "wrong.jsonl"
    wrong.write_text("\n".join([*lines[:5], json.dumps(wanted)]) + "\n")
    with pytest.raises(subprocess.CalledProcessError) as failed:
        python(folder, "--check", str(wrong))
    assert "wrong.jsonl:6: 'play plays playing'" in failed.value.stderr


def test_no_text_gives_inputs_without_rows(made) -> None:
    predictor, folder = made("hashformer-md-proj")
    parts = parts_of(predictor)
    side = TextSide.of(
        words_of,
        md5_bits,
        {"tokenizer": parts.tokenizer.values, "coder": parts.coder.values, "inputs": parts.values},
        str,
    )
    assert side.inputs([])["positions"] == []
    content, kind, shape = side.buffers([])["positions"]
    assert (content, kind, shape) == (b"", "int64", (0, 3)) and side.buffers([])["codes"][2] == (1, 128)


def test_a_text_side_can_be_pickled(made) -> None:
    """Also one whose coder reads a table."""
    _, folder = made("hashformer-lsh-proj")
    code = (
        "import sys, pickle; sys.path.insert(0, sys.argv[1]); import hashed_text as h; side = h.load();"
        "again = pickle.loads(pickle.dumps(side)); print(again.inputs(['A film']) == side.inputs(['A film']))"
    )
    command = [sys.executable, "-I", "-S", "-c", code, str(folder)]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip() == "True"
    with pytest.raises(TypeError, match="can be pickled if TextSide.of made it"):
        pickle.dumps(TextSide(str.split, len, {}))


def test_one_text_in_place_of_a_list_is_no_list_of_characters() -> None:
    side = TextSide(str.split, lambda token: [0], {})
    for made_of in (side.inputs, side.buffers):
        with pytest.raises(TypeError, match="'a film': give a list of texts"):
            made_of("a film")


def test_vectors_hold_what_a_port_must_meet() -> None:
    texts = texts_to_prove()
    assert len(texts) == len(set(texts)) == N_TEXTS
    assert "" in texts and max(map(len, texts)) >= 300
    assert any("\U0001f600" in text for text in texts) and any("\u0301" * 2 in text for text in texts)
    words = re.findall(r"\w{4,}", " ".join(texts))
    scripts = [{unicodedata.name(letter, "").partition(" ")[0] for letter in word} for word in words]
    of_one_script = {name for names in scripts for name in names if len(names) == 1}
    assert {"ARABIC", "CJK", "CYRILLIC", "DEVANAGARI", "GREEK", "HANGUL", "LATIN", "THAI"} <= of_one_script


@pytest.mark.parametrize(
    ("model", "texts"),
    [
        ("hashformer-md-proj", ["a film", "", "the old, the new " * 40]),
        ("canine-c-scratch", ["a film", "x" * 70]),
        ("hashformer-md-proj", [["a film", "b c"], ["", "x"], ["a b " * 60, "c"], ["c", "a b " * 60]]),
        ("hashformer-md-proj", [["a " * 90, "b " * 91], ["a " * 31, "b " * 90]]),
        ("bert-tiny", [["a film", "b c"], ["the train " * 60, "the river " * 61], ["x", ""]]),
        ("proformer-k4", [["a film", "b c"], ["a " * 90, "b " * 90]]),
    ],
)  # fmt: skip
def test_inputs_are_put_together_as_in_hashbench(made, model: str, texts: list) -> None:
    predictor, folder = made(model, is_pair=isinstance(texts[0], list))
    found = json.loads(
        subprocess.run(
            [sys.executable, "-I", "-S", "-c",
             "import sys, json; sys.path.insert(0, sys.argv[1]); import hashed_text;"
             "print(json.dumps(hashed_text.load().inputs(json.loads(sys.argv[2]))))", str(folder), json.dumps(texts)],
            capture_output=True, text=True, check=True,
        ).stdout
    )  # fmt: skip
    for i, text in enumerate(texts):
        columns = [[each] for each in text] if isinstance(text, list) else [[text]]
        inputs = graph_inputs(predictor, next(predictor.batches(columns, 1)))
        codes, positions = inputs[0].tolist(), inputs[1][0].tolist()
        specials = len(predictor.spec.text.template.specials)
        spelled = [codes[at - specials] if at >= specials else at for at in positions]
        row = found["positions"][i]
        ours = [found["codes"][at - specials] if at >= specials else at for at in row]
        assert np.allclose(_flat(ours[: len(spelled)]), _flat(spelled)) and set(row[len(positions) :]) <= {1}
        if len(inputs) == 3:
            assert found["segments"][i][: len(positions)] == inputs[2][0].tolist()
    assert json.loads(node(folder, INPUTS, json.dumps(texts))) == found


def _flat(rows: list) -> list[float]:
    return [number for row in rows for number in (row if isinstance(row, list) else [row])]


def test_what_needs_a_library_has_no_text_side(tmp_path: Path) -> None:
    folder = exported_folder("bert-mlm", tmp_path / "out", small=True)
    file = folder / "tokenizer" / "tokenizer.json"
    content = json.loads(file.read_text())
    content["pre_tokenizer"]["use_regex"] = False  # of a file from elsewhere
    file.write_text(json.dumps(content))
    predictor = hashbench.load(folder)
    with pytest.raises(InputError, match="bert-mlm: text side not exported: tokenizer 'bpe' needs a library"):
        parts_of(predictor)


def portable_codes(coder: Coder, words: list[str], folder: Path) -> list[list]:
    """What the generated Python makes of words by the coder's part."""
    part = coder.portable()
    assert part is not None
    words_part = WordTokenizer().portable()
    assert words_part is not None
    code, imports = joined_parts(TextSideParts(words_part, part, {}), extra=["import json\n"])
    (folder / "part.py").write_text(
        f"from __future__ import annotations\n{imports}\n{code}\n"
        f"encode = {part.entry}(json.loads({json.dumps(json.dumps(part.values))}), None)\n"
        f"print(json.dumps([encode(word) for word in json.loads({json.dumps(json.dumps(words))})]))\n"
    )
    command = [sys.executable, "-I", "-S", str(folder / "part.py")]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("ngram-buckets", {"hash": "fnv", "word": False, "minn": 1, "signs": 3}),
        ("ngram-buckets", {"hashes": 4, "minn": 1, "signs": 5}),
        ("trigrams", {"lowercase_rows": 4, "signs": 3, "num_buckets": 50}),
        ("byte-ngrams", {"pad": True, "signs": 3, "sizes": [1, 8]}),
        ("word-features", {"features": ["shape", "norm"], "hashes": 3, "signs": 2}),
        ("hash-rows", {"nested": True, "signs": 3}),
        ("signature", {"hashes": 3, "num_buckets": 10_624}),
        ("byte-positions", {"positions": 5, "ends": True}),
        ("ternary-projection", {"hash": "xfixhash8", "features": 100}),
    ],
)
def test_every_option_of_a_coder_is_portable(name: str, options: dict, tmp_path: Path) -> None:
    words = [
        "a", "The", "McDonald's", "I", "x" * 130, "\u0130stanbul", "\u03a3\u0391\u03a3", "1234567", "aaaa",
        "\U0001f600\u6771\u4eac",
    ]  # fmt: skip
    coder = make_coder(name, **options)
    assert portable_codes(coder, words, tmp_path) == coder.encode(words).tolist()


@pytest.mark.parametrize("pattern", [r"[^\W\d_]+|\d|_|[^\w\s]", r"\w+", r"[a-z|]+|\S"])
def test_patterns_of_classes_are_portable(pattern: str) -> None:
    tokenizer = WordTokenizer(pattern)
    part = tokenizer.portable()
    assert part is not None
    split = words_of(part.values, str)
    for text in texts_to_prove():
        assert split(text) == tokenizer.tokenize(text)
    assert WordTokenizer(r"\w+(?:'\w+)?").portable() is None


def test_a_word_piece_is_pooled_without_its_marker_where_the_coder_strips_it() -> None:
    coder = NgramPooling(dim=24, strip=True)
    tokens = ["##ing", "ing", "##", "###", "playing", "a"]
    encode = ngram_pooling(coder.portable().values, lambda _: "")
    np.testing.assert_array_equal(np.float32([encode(token) for token in tokens]), coder.encode(tokens))


EXTEND = (Path(__file__).parents[2] / "docs" / "extend.md").read_text()
BLOCKS = re.findall(r"```python\n(.*?)```", EXTEND, re.DOTALL)


def plugin_coder(change: str = "", to: str = "") -> str:
    """The coder that the page shows, with its text side; a piece of that may be changed."""
    coder = next(block for block in BLOCKS if block.startswith("# plugins/crc32.py"))
    side = next(block for block in BLOCKS if "def portable(self)" in block)
    assert change in side
    coder = coder.replace("import Coder, split", "import Coder, PortablePart, split")
    return f"{coder}\n{side.replace(change, to) if change else side}\nCrc32.portable = portable\n"


@pytest.fixture
def crc32(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Predictor]:
    """A function that exports a model with the coder of a plug-in, made of its text, and loads it."""

    def made(text: str) -> Predictor:
        (tmp_path / "crc32.py").write_text(text)
        monkeypatch.setenv("HASHBENCH_PLUGINS", str(tmp_path / "crc32.py"))
        spec = find_model("hashformer-md-emb-1k")
        spec = replace(spec, name="mine", code=CodeSpec("crc32", {"num_buckets": 50}))
        spec = replace(spec, embedding=replace(spec.embedding, small={"num_rows": 55}))
        folder = exported_folder("mine", tmp_path / "out", small=True, spec=spec, texts=texts_to_prove())
        return hashbench.load(folder, trust_code=True)

    return made


def test_a_plug_in_brings_its_text_side(crc32: Callable[..., Predictor], tmp_path: Path) -> None:
    predictor, folder = crc32(plugin_coder()), tmp_path / "out"
    words = ["a", "", "the", "\u6771\u4eac", "\U0001f642"]
    coder = make_coder("crc32", num_buckets=50)
    np.testing.assert_array_equal(coder.encode_few(words), coder.encode(words))
    write_text_side(predictor, folder)
    write_vectors(predictor, folder / VECTORS)
    assert python(folder, "--check", str(folder / VECTORS)) == RIGHT
    shutil.copyfile(folder / "hashed_text.js", folder / "hashed_text.mjs")
    assert node(folder, IN_NODE) == RIGHT


def test_the_file_with_a_text_side_of_its_own_keeps_every_promise(tmp_path: Path) -> None:
    (tmp_path / "crc32.py").write_text(plugin_coder())
    assert [each for each in coder_contract(f"{tmp_path / 'crc32.py'}:Crc32") if each.problem] == []
    (tmp_path / "crc32.py").write_text(plugin_coder("% values", "+ 1 % values"))
    (broken,) = [each for each in coder_contract(f"{tmp_path / 'crc32.py'}:Crc32") if each.problem]
    assert broken.problem == "its text side, portable(), makes other codes; compute the same there"


@pytest.mark.parametrize(
    ("change", "to", "message"),
    [
        ('code={"py": PYTHON, "js": JAVASCRIPT}', "", "portable has no crc32_side.py; give the source in"),
        ('"py": PYTHON, ', "", "text side 'crc32_side': code has no 'py'; add that source"),
        ("def crc32_rows(", "def other_rows(", "crc32_rows cannot be made: AttributeError: .*; correct it"),
        ("import zlib\n", "import zlib, no_such_package\n", "cannot be made: ModuleNotFoundError: .*no_such_package"),
        ("def encode(token):", "def encode(token:", "crc32_rows cannot be made: SyntaxError: "),
    ],
)  # fmt: skip
def test_a_text_side_of_a_plug_in_that_cannot_be_made_is_one_line(
    crc32: Callable[..., Predictor], change: str, to: str, message: str
) -> None:
    predictor = crc32(plugin_coder(change, to))
    with pytest.raises(InputError, match=f"^mine: text side not exported: coder 'crc32': .*{message}") as error:
        parts_of(predictor)
    assert "\n" not in str(error.value)
    with pytest.raises(InputError, match=message):
        make_coder("crc32").encode_few(["a"])


@pytest.mark.parametrize(
    ("change", "to", "message"),
    [
        (', "js": JAVASCRIPT', "", "text side 'crc32_side': code has no 'js'; add that source"),
        ("zlib.crc32(token.encode())", "gone(token)", "mine: hashed_text.py would lack gone; define or import"),
        ("import zlib\n", "import zlib\nfrom hashbench.extend import split\n", "mine: hashed_text.py would import h"),
        ("import zlib\n", "import zlib\n\ndef words():\n    pass\n", "words is in the sources 'tokens' and 'crc"),
        ("function crc32Rows(", "function words() {}\nfunction crc32Rows(", "words is in the sources 'tok"),
        ('"crc32_side"', '"tokens"', "text side: two sources have the name 'tokens'; rename one"),
    ],
)  # fmt: skip
def test_a_text_side_of_a_plug_in_that_cannot_be_joined_is_one_line(
    crc32: Callable[..., Predictor], tmp_path: Path, change: str, to: str, message: str
) -> None:
    predictor = crc32(plugin_coder(change, to))
    with pytest.raises(InputError, match=message) as error:
        write_text_side(predictor, tmp_path / "out")
    assert "\n" not in str(error.value)


def test_a_coder_of_ones_own_without_a_text_side_is_named_as_such(crc32: Callable[..., Predictor]) -> None:
    predictor = crc32(next(block for block in BLOCKS if block.startswith("# plugins/crc32.py")))
    with pytest.raises(InputError, match="mine: text side not exported: coder 'crc32' is of your own and brings none"):
        parts_of(predictor)
